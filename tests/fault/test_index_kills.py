"""Killed and many processes: the index is whole afterwards, and nobody waits for the dead."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.query import ListQuery, SearchQuery
from indexed import WAIT_SECONDS, Indexed, eventually
from support import ROOT, Amount

SCRIPT = Path(__file__).with_name("index_process.py")


def started(place: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(place), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
    )


def assert_whole(base: Indexed) -> None:
    """The index holds exactly what the files say, in both halves."""
    files = {str(path.relative_to(base.folder)): path.read_text() for path in base.folder.rglob("*.md")}
    assert base.listed() == sorted(files)
    assert base.index.search(SearchQuery(text="shared", limit=0)).total == len(files)
    for path, text in files.items():
        word = text.split()[4]
        assert base.found(f"{word} ", prefix=False) == [path], word
    records = base.index.list(ListQuery(limit=1000)).records
    assert all(base.index.document(record.address).title == record.title for record in records)


def test_a_killed_first_sync_is_finished_by_the_next(tmp_path: Path, amount: Amount) -> None:
    chance = random.Random(5)
    folder = tmp_path / "base"
    folder.mkdir()
    count = amount(600, 1500)
    for number in range(count):
        (folder / f"n{number:04}.md").write_text(f"# N{number}\n\nthe text w{number}x shared [[n{number // 2:04}]]\n")
    for _ in range(amount(2, 60)):
        process = started(tmp_path, "sync")
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(chance.uniform(0.0, count / 750))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=WAIT_SECONDS)
    with Indexed(tmp_path) as base:
        assert base.index.counts().documents == count
        assert base.index.search(SearchQuery(text="shared", limit=0)).total == count
        assert len(base.index.links()) == count - 1
        assert base.index.broken() == []
        assert base.found("w577x ", prefix=False) == ["n0577.md"]


def test_what_a_killed_sync_left_in_the_full_text_alone_is_put_right(tmp_path: Path) -> None:
    files = {f"n{number:03}.md": f"# N\n\nthe text w{number}x shared\n" for number in range(100)}
    with Indexed(tmp_path, files) as base:
        for path in files:
            base.write(path, "# N\n\nthe text wallaby and more\n")
        process = started(tmp_path, "halfway")
        assert process.communicate(timeout=WAIT_SECONDS) == ("", "")
        for path, content in files.items():
            base.write(path, content)
        base.index.sync()
        assert_whole(base)
        assert base.found("wallaby ") == []


def test_a_killed_writer_loses_and_blocks_nothing(tmp_path: Path, amount: Amount) -> None:
    chance = random.Random(9)
    with Indexed(tmp_path, {"first.md": "# Page\n\nthe text firstx shared\n"}) as base:
        for round_ in range(amount(2, 100)):
            process = started(tmp_path, "write", str(round_))
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            acknowledged = [process.stdout.readline().split() for _ in range(chance.randrange(1, 30))]
            process.send_signal(signal.SIGKILL)
            rest, errors = process.communicate(timeout=WAIT_SECONDS)
            acknowledged += [line.split() for line in rest.splitlines() if line.endswith("x")]
            assert not errors
            latest = dict(acknowledged)
            base.index.update([Address(path) for path in latest])
            base.index.sync()
            assert_whole(base)


def test_what_one_process_takes_in_all_others_find(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"first.md": "# Page\n\nthe text firstx shared\n"}) as base:
        processes = [started(tmp_path, "write", str(number)) for number in range(3)]
        seen = 0
        for _ in range(12):
            for process in processes:
                assert process.stdout is not None
                line = process.stdout.readline()
                if line != "ready\n":
                    assert line, process.communicate(timeout=WAIT_SECONDS)[1]
                    path, word = line.split()
                    current = (base.folder / path).read_text()
                    found_texts = base.found(f"{word} ", prefix=False)
                    assert found_texts == [path] or word not in current or word not in (base.folder / path).read_text()
                    seen += 1
        assert seen > 25
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=WAIT_SECONDS)
        base.index.sync()
        assert eventually(lambda: base.index.counts().documents == len(list(base.folder.rglob("*.md"))))
        assert_whole(base)
