"""The log of activity and the hourly use of keys, in files that several processes write."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from commonplace.domain.activity import KEPT_DAYS, Access, Actor, HourlyUse
from commonplace.store.activity_log import MAX_FILES, FileAccessLog, FileHourlyUses

DAY = 86_400.0
NOW = 1_800_000_000.0
ACTOR = Actor(face="mcp", session="0f3a5c7e9b1d2f40", caller="key:1", name="Ada \u00e4", client="x\ny", tool="edit")


def access(when: float, **more: object) -> Access:
    return Access(when=when, actor=ACTOR, base="one", **more)  # type: ignore[arg-type]


def test_what_is_added_is_read_again_in_order(tmp_path: Path) -> None:
    log = FileAccessLog(tmp_path / "activity", lambda: NOW)
    rows = [
        access(NOW - DAY, read=("a.md", "b\u2028.md")),
        access(NOW - 2, commit="c" * 40, paths=("a.md", "b.md")),
        access(NOW - 1, proposal="20260301-1a2b3c", commit="d" * 40),
        access(NOW, paths=("a.md",), files={"a.md": ("", "e" * 40)}),
    ]
    for row in reversed(rows):
        log.add(row)
    log.add(Access(when=NOW, actor=ACTOR, base="two", read=("secret.md",)))
    assert list(log.accesses(["one"])) == rows
    assert list(log.accesses(["one"], NOW - 2)) == rows[1:]
    assert [row.is_write for row in rows] == [False, True, True, True]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "activity").iterdir())


def test_it_is_kept_for_90_days(tmp_path: Path) -> None:
    now = [NOW]
    log = FileAccessLog(tmp_path, lambda: now[0])
    log.add(access(NOW, commit="c" * 40))
    now[0] = NOW + KEPT_DAYS * DAY
    assert len(log.accesses(["one"])) == 1
    log.add(access(now[0], commit="d" * 40))
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    now[0] += DAY
    assert [other_access.commit[0] for other_access in log.accesses(["one"])] == ["d"]
    log.add(access(now[0], commit="e" * 40))
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_damaged_lines_are_left_out_and_a_full_disk_fails_no_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = FileAccessLog(tmp_path, lambda: NOW)
    log.add(access(NOW, commit="c" * 40))
    (path,) = tmp_path.glob("*.jsonl")
    damaged = b'{"when": 1\n[]\nnull\n{"when": "x", "face": "mcp"}\n{"when": 1, "face": "other"}\n\xff\n'
    path.write_bytes(damaged + path.read_bytes())
    assert len(log.accesses(["one"])) == 1
    (tmp_path / "file").write_text("")
    FileAccessLog(tmp_path / "file" / "activity").add(access(NOW))
    assert "activity cannot be recorded" in caplog.text


def test_the_files_of_a_very_large_write_are_not_listed(tmp_path: Path) -> None:
    log = FileAccessLog(tmp_path, lambda: NOW)
    log.add(access(NOW, files={f"{number}.md": ("", "e" * 40) for number in range(MAX_FILES + 1)}))
    assert [other_access.files for other_access in log.accesses(["one"])] == [None]


class TooMuchError(Exception):
    """More than 10 pages."""


def check(use: HourlyUse) -> None:
    if use.pages + 1 > 10:
        raise TooMuchError


def write(folder: Path, times: int) -> int:
    """The number of writes that were allowed."""
    uses, allowed = FileHourlyUses(folder), 0
    for _ in range(times):
        try:
            uses.reserve("key:1", 1, 5, check)
        except TooMuchError:
            continue
        allowed += 1
    return allowed


def test_processes_share_the_limit_of_a_key(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert sum(pool.starmap(write, [(tmp_path, 6)] * 3)) == 10


def test_an_hour_passes_and_what_was_not_written_does_not_count(tmp_path: Path) -> None:
    now, seen = [NOW], list[HourlyUse]()
    uses = FileHourlyUses(tmp_path, lambda: now[0])
    uses.reserve("key:1", 2, 30, seen.append)
    now[0] += 600
    release = uses.reserve("key:1", 1, 10, seen.append)
    uses.reserve("key:2", 5, 50, seen.append)
    release()
    uses.reserve("key:1", 1, 1, seen.append)
    now[0] += 3_000
    uses.reserve("key:1", 1, 1, seen.append)
    assert [(use.pages, use.size, round(use.until)) for use in seen] == [
        (0, 0, 0),
        (2, 30, 3_000),
        (0, 0, 0),
        (2, 30, 3_000),
        (1, 1, 600),
    ]
    (first, _) = sorted(tmp_path.iterdir(), key=lambda path: -path.stat().st_size)
    first.write_text("[[1")
    uses.reserve("key:1", 1, 1, seen.append)
    assert seen[-1] == HourlyUse(0, 0, 0)
