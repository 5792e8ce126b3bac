"""Files of a large batch are parsed by several processes, as one would."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.domain.changes import FileStat
from commonplace.index.parse_pool import CHUNK_FILES, MIN_FILES, Parsed, ParsePool, parse_here, parsing
from commonplace.index.parse_worker import FileToParse
from commonplace.index.transaction import LoadedFile

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="lists this process's children in /proc")
CORES = 3
"""Number of cores with which two processes parse."""


def files() -> Iterator[LoadedFile]:
    for number in range(CHUNK_FILES * 12):
        text = f"---\nid: n{number}\n---\n# N{number}\n\n[[n{number + 1}]] {'word ' * (number % 40)}\n"
        file = FileToParse(f"n{number}.md", str(number), text.encode())
        yield LoadedFile(None, FileStat(1, 1, 1, 1), True, file)


def children() -> set[int]:
    """Processes that this one has started."""
    found_pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            found_pids.update(int(pid) for pid in (task / "children").read_text().split())
    return found_pids


@pytest.mark.soak
def test_several_processes_parse_as_this_one_does_and_in_order() -> None:
    with parsing(MIN_FILES, CORES) as parse:
        assert list(parse(files())) == list(parse_here(files()))
        assert list(parse(files())) == list(parse_here(files())), "a pool serves every batch"


@LINUX
def test_processes_end_with_the_batch_and_few_files_start_none() -> None:
    before = children()
    with parsing(MIN_FILES, CORES) as parse:
        assert len(children() - before) == 2
        next(iter(parse(files())))
    assert children() == before
    with parsing(MIN_FILES - 1, CORES) as parse:
        assert children() == before
        assert parse is parse_here


@LINUX
def test_a_process_that_is_killed_leaves_no_file_unparsed(caplog: pytest.LogCaptureFixture) -> None:
    before = children()
    parsed: list[Parsed] = []
    with parsing(MIN_FILES, CORES) as parse:
        for other_parsed in parse(files()):
            if not parsed:
                os.kill(min(children() - before), signal.SIGKILL)
            parsed.append(other_parsed)
    assert parsed == list(parse_here(files()))
    assert "a process that parses files failed" in caplog.text


def test_without_its_processes_this_one_parses(caplog: pytest.LogCaptureFixture) -> None:
    pool = ParsePool(2, "/nowhere/python")
    assert list(pool.parse(files())) == list(parse_here(files()))
    pool.close()
    assert "FileNotFoundError" in caplog.text


def test_one_core_parses_alone() -> None:
    with parsing(10 * MIN_FILES, cores=1) as parse:
        assert parse is parse_here
