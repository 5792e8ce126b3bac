"""The growth of costs from 1,000 to 100,000 generated files, with the `kb` toolset over stdio in a Git repository."""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.machine.processes import memory
from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.serving import BY_WORDS, COMMITTED, committed
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, generated_tree

PART = "scale"
SIZES = (1_000, 10_000, 50_000, 100_000)
SECTIONS_EACH = 5
STARTS = 3
WRITES = 40
LISTS = 40
SAMPLE_SECONDS = 0.05
"""Interval in seconds at which the memory of an indexing process is read."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    searches: dict[int, float] = {}
    for size in dict.fromkeys(map(work.size, SIZES)):
        tree = generated_tree(work.folder, size, SECTIONS_EACH)
        committed(tree.folder)
        state = work.folder / "state"
        for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
            os.environ[name] = str(state)
        yield from _indexing(tree, state)
        yield _first_search(tree)
        with StdioServer(tree.folder, *BY_WORDS, *COMMITTED) as server:
            server.await_index("kb_list")
            for what, calls, reach in _questions(server, tree):
                row, spent = _timed(server, what, calls, reach, tree)
                if what == _SEARCH:
                    searches[size] = spent
                yield row
            now, most = server.memory()
            yield Row(PART, f"memory after these calls, {_files(tree)}", now, "MB", "", f"most ever {most:.0f} MB")
        shutil.rmtree(tree.folder)
        shutil.rmtree(state)
    yield from _growth(searches)


_SEARCH = "search, ten hits with snippets"
_MEMORY = {10_000: "≤ 200", 100_000: "≤ 300"}
_FIRST = {10_000: "≤ 120", 100_000: "≤ 400"}


def _files(tree: Tree) -> str:
    return f"{tree.files:,} files"


def _indexing(tree: Tree, state: Path) -> Iterator[Row]:
    """The cost of `commonplace index` from nothing."""
    peak = 0.0
    ended = threading.Event()

    def watch(process: int) -> None:
        nonlocal peak
        while not ended.wait(SAMPLE_SECONDS):
            peak = max(peak, memory(process)[0])

    began = time.perf_counter()
    command = [sys.executable, "-m", "commonplace", "index", "-C", str(tree.folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        watcher = threading.Thread(target=watch, args=(process.pid,))
        watcher.start()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    ended.set()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"indexing ended with {process.returncode}")
    cpu = used.ru_utime + used.ru_stime
    size = sum(file.stat().st_size for file in state.rglob("*") if file.is_file()) / 1e6
    detail = f"{cpu:.1f} CPU s, {wall:.1f} s wall, {tree.files / wall:,.0f} files a second; {size:.0f} MB on disk"
    yield Row(PART, f"index from nothing, {_files(tree)}", tree.files / cpu, "files per CPU second", "≥ 900", detail)
    reach = _MEMORY.get(tree.files, "")
    yield Row(PART, f"memory while indexing, all processes, {_files(tree)}", peak, "MB", reach)


def _first_search(tree: Tree) -> Row:
    """The time from the answer to `initialize` to that of the first search, without changes."""
    taken: list[float] = []
    for start in range(STARTS):
        with StdioServer(tree.folder, *BY_WORDS) as server:
            question = tree.questions[start % len(tree.questions)]
            taken += milliseconds([partial(server.call, "kb_search", query=question, mode="keyword", limit=10)])
    name = f"first search after initialize, nothing changed, {_files(tree)}"
    shown = ", ".join(f"{element:.0f}" for element in taken)
    return Row(PART, name, statistics.median(taken), "ms", _FIRST.get(tree.files, ""), f"starts: {shown}")


def _questions(server: StdioServer, tree: Tree) -> Iterator[tuple[str, Sequence[Callable[[], object]], str]]:
    """Names of the figures, the calls, and the targets."""
    base = tree.folder.name
    yield _SEARCH, [partial(server.call, "kb_search", query=text, limit=10) for text in tree.questions], "p50 < 5"
    listed = server.call("kb_list_entries", limit=100)["structuredContent"]["entries"]
    names = [str(entry["id"]) for entry in listed]
    yield "list 50 entries", [partial(server.call, "kb_list_entries", limit=50)] * LISTS, "p50 < 5"
    yield "backlinks", [partial(server.call, "kb_backlinks", entry_id=name, kb_name=base) for name in names], "p50 < 5"
    chance = random.Random(5)
    writes = [partial(_create, server, base, f"Scale {chance.randrange(10**9)}") for _ in range(WRITES)]
    yield "create one entry: durable, committed, searchable", writes, "p50 < 25"


def _create(server: StdioServer, base: str, title: str) -> None:
    server.call("kb_create", kb_name=base, entry_type="note", title=title, body="A durable sentence.")


def _timed(
    server: StdioServer, what: str, calls: Sequence[Callable[[], object]], reach: str, tree: Tree
) -> tuple[Row, float]:
    """The row of the calls, and the CPU milliseconds per call."""
    milliseconds(calls[:3] if what == _SEARCH else ())
    cpu = server.cpu()
    times = milliseconds(calls)
    spent = 1000 * (server.cpu() - cpu) / len(calls)
    detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms"
    return Row(PART, f"{what} over stdio, {_files(tree)}", percentile(times, 50), "ms", reach, detail), spent


def _growth(searches: Mapping[int, float]) -> Iterator[Row]:
    """Ratio of a search's CPU time for more files; the target is slower growth than that of the files."""
    sizes = sorted(searches)
    for few, many in pairwise(sizes):
        name = f"CPU time of a search, {many:,} files against {few:,}"
        yield Row(PART, name, searches[many] / searches[few], "times", f"< {many / few:g}")
    few, many = sizes[0], sizes[-1]
    yield Row(
        PART,
        f"CPU time of a search, {many:,} files against {few:,}",
        searches[many] / searches[few],
        "times",
        f"< {many / few:g}",
    )
