"""The `projects` toolset: search over 1,000 documents, a write, and what the activity log adds to a call.

python -m benchmarks.projects [--documents N] [--rounds N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.projects.knowledge import new_document, now_text
from commonplace.services.projects import chapters, instructions, knowledge
from commonplace.services.projects.home import IDENTITY, Home
from commonplace.store.remote.opening import open_home

DOCUMENTS = 1000
ROUNDS = 21
QUERIES = ("C++", "C#", "Node.js", "中文", "e", "tokens rotate", "authentication session storage cache")
PROJECT = "bench"
WORDS = ("the", "a", "session", "token", "rotate", "store", "cache", "request", "user", "index", "write", "branch")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    name: str
    median: float
    """Milliseconds."""
    cpu: float
    """Milliseconds of CPU time, the median."""


def main() -> int:
    """Measure and print a table; 0."""
    parser = argparse.ArgumentParser(description="Measure the toolset of projects.")
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    for row in measure(arguments.documents, arguments.rounds):
        print(f"{row.name:<52} {row.median:8.3f} ms  {row.cpu:8.3f} CPU-ms")
    return 0


def measure(documents: int = DOCUMENTS, rounds: int = ROUNDS) -> list[Row]:
    """Median times of searches, writes and lines of the log, in this process.

    Args:
        documents: Of the one project.
        rounds: Of each measurement.
    """
    with tempfile.TemporaryDirectory() as folder:
        opened = open_home(Path(folder) / "home", Path(folder) / "state", IDENTITY)
        home = Home(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
        _fill(home, documents)
        rows = [_row(f"search {query!r}", rounds, lambda query=query: _search(home, query)) for query in QUERIES]
        rows.append(_row("update_chapter, durable, one commit", rounds, lambda: _update(home)))
        line = {"timestamp": now_text(), "method": "get_chapter", "success": True, "traceId": "0" * 32, "duration": 1.5}
        rows.append(_row("activity log, as the caller waits for it", rounds, lambda: home.activity.record(line)))
        opened.activity.close()
        return rows


def _fill(home: Home, documents: int) -> None:
    instructions.update_main(home, PROJECT, "# Bench\n")
    where = Path(home.path) / home.folder(PROJECT) / knowledge.KNOWLEDGE
    where.mkdir()
    for number in range(documents):
        (where / f"document-{number}.md").write_bytes(_document(number))


def _document(number: int) -> bytes:
    """Five chapters of some 60 words, the rarer names in some of them."""
    chance = random.Random(number)
    names = ["C++", "C#", "Node.js", "中文", "authentication", "storage"]
    found = [
        (f"Chapter {n}", " ".join([*chance.choices(WORDS, k=60), *chance.choices(names, k=n % 2)])) for n in range(5)
    ]
    return new_document(f"Document {number}", ["bench", chance.choice(WORDS)], "An introduction.", found, now_text())


def _search(home: Home, query: str) -> None:
    knowledge.search(home, PROJECT, query)


def _update(home: Home) -> None:
    chapters.update_chapter(home, (PROJECT, "document-1"), "Chapter 1", f"New text {time.perf_counter_ns()}", None)


def _row(name: str, rounds: int, act: Callable[[], None]) -> Row:
    act()
    times: list[float] = []
    used: list[float] = []
    for _ in range(rounds):
        began, cpu = time.perf_counter(), time.thread_time()
        act()
        times.append((time.perf_counter() - began) * 1000)
        used.append((time.thread_time() - cpu) * 1000)
    return Row(name, statistics.median(times), statistics.median(used))


if __name__ == "__main__":
    sys.exit(main())
