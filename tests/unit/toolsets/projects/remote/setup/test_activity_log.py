"""Calls are logged as lines of JSON, and no caller waits or fails for it."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.toolsets.projects.remote.setup import ActivityLogFile


def lines(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_every_call_is_one_line_when_the_log_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "activity.jsonl"
    with closing(ActivityLogFile(path)) as log, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: log.record({"n": number, "text": "Größe\n\u2028"}), range(200)))
    assert sorted(line["n"] for line in lines(path)) == list(range(200))
    assert path.stat().st_mode & 0o777 == 0o600


def test_lines_of_an_earlier_process_stay(tmp_path: Path) -> None:
    path = tmp_path / "activity.jsonl"
    for number in range(2):
        with closing(ActivityLogFile(path)) as log:
            log.record({"n": number})
    assert lines(path) == [{"n": 0}, {"n": 1}]


def test_a_log_that_nothing_was_recorded_in_is_not_made(tmp_path: Path) -> None:
    ActivityLogFile(tmp_path / "activity.jsonl").close()
    assert not (tmp_path / "activity.jsonl").exists()


def test_a_log_that_cannot_be_written_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "target").write_text("precious\n")
    (tmp_path / "activity.jsonl").symlink_to("target")
    with caplog.at_level(logging.WARNING):
        log = ActivityLogFile(tmp_path / "activity.jsonl")
        for number in range(3):
            log.record({"n": number})
        log.close()
    assert len([record for record in caplog.records if "cannot be written" in record.message]) == 1
    assert (tmp_path / "target").read_text() == "precious\n"


def test_text_that_utf_8_lacks_is_written_in_another_way(tmp_path: Path) -> None:
    path = tmp_path / "activity.jsonl"
    with closing(ActivityLogFile(path)) as log:
        log.record({"text": "\ud800"})
    assert path.read_bytes() == b'{"text":"\\ud800"}\n'
