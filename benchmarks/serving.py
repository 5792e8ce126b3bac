"""The `kb` toolset over stdio, as an agent uses it: the first search after a start, searches, lists, links, writes.

Uses the real corpus if it is available beside the project, else a generated tree of 10,000 files, in a Git repository.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, generated_tree, real_tree

PART = "serving"
FILES = 10_000
PROCESSES = 4
WRITES = 50
"""Number of writes of each process."""
BY_WORDS = ("--no-embed",)
"""Flags without search by meaning, which is measured separately."""
COMMITTED = ("--tier", "write", "--commit", "auto")


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder) or generated_tree(work.folder, FILES, 10)
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    committed(tree.folder)
    yield _first_start(tree)
    yield from _reading(tree, work)
    yield _fsync(work.folder)
    yield from _writing(tree)
    yield _writing_at_once(work)


def committed(folder: Path) -> None:
    """Make the folder a repository with everything in it committed."""
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Benchmark"),
        ("config", "user.email", "benchmark@example.org"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "Begin"),
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def _first_start(tree: Tree) -> Row:
    """The time from spawning a server on a folder that was never indexed to the first answer."""
    began = time.perf_counter()
    with StdioServer(tree.folder, *BY_WORDS) as server:
        initialized = time.perf_counter() - began
        server.call("kb_search", query="a word", limit=1)
        total = time.perf_counter() - began
        now, most = server.memory()
        detail = (
            f"initialize answered after {initialized:.2f} s; {server.cpu():.1f} CPU s; {now:.0f} MB, most {most:.0f}"
        )
    return Row(PART, f"never indexed: spawn to first answer, {tree.name}", total, "s", "", detail)


def _reading(tree: Tree, work: Work) -> Iterator[Row]:
    firsts: list[float] = []
    for _ in range(work.runs):
        with StdioServer(tree.folder, *BY_WORDS) as server:
            firsts += milliseconds(
                [partial(server.call, "kb_search", query=tree.questions[0], mode="keyword", limit=10)]
            )
    name = f"first search after initialize, nothing changed, {tree.name}"
    yield Row(PART, name, percentile(sorted(firsts), 50), "ms", "< 500")
    with StdioServer(tree.folder, *BY_WORDS) as server:
        server.call("kb_list")
        for what, calls, reach in _questions(server, tree):
            cpu = server.cpu()
            times = milliseconds(calls)
            spent = 1000 * (server.cpu() - cpu) / len(calls)
            detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms in the server"
            yield Row(PART, f"{what} over stdio, {tree.name}", percentile(times, 50), "ms", reach, detail)
        now, most = server.memory()
        yield Row(PART, f"memory after these calls, {tree.name}", now, "MB", "< 200", f"most ever {most:.0f} MB")
        yield _answer_size(server, tree.questions)


def _questions(server: StdioServer, tree: Tree) -> Iterator[tuple[str, Sequence[Callable[[], object]], str]]:
    """Names of the figures, the calls, and the targets."""
    partials = [partial(server.call, "kb_search", query=text, mode="keyword", limit=10) for text in tree.questions]
    yield "search, ten hits with snippets", partials * 3, "p50 < 5, p99 < 20"
    base = tree.folder.name
    names = [str(entry["id"]) for entry in server.call("kb_list_entries", limit=100)["structuredContent"]["entries"]]
    yield "list 50 entries", [partial(server.call, "kb_list_entries", limit=50)] * 60, "p50 < 5"
    yield "read an entry", [partial(server.call, "kb_get", entry_id=name) for name in names], "p50 < 5"
    yield "backlinks", [partial(server.call, "kb_backlinks", entry_id=name, kb_name=base) for name in names], "p50 < 5"
    yield "recent entries", [partial(server.call, "kb_recent", limit=20)] * 60, "p50 < 5"


def _answer_size(server: StdioServer, questions: Sequence[str]) -> Row:
    sizes: list[int] = []
    for text in questions[:100]:
        content = server.call("kb_search", query=text, mode="keyword", limit=10)["content"]
        sizes.append(sum(len(str(block.get("text", ""))) for block in content) // 4)
    sizes.sort()
    return Row(
        PART,
        "ten hits with snippets",
        percentile(sizes, 50),
        "tokens",
        "≤ 2,000",
        f"most {sizes[-1]:,} (characters / 4)",
    )


def _fsync(folder: Path) -> Row:
    """The time of one fsync of the disk, as a reference for the figures of writes."""

    def flush() -> None:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())

    with (folder / "flushed").open("wb") as file:
        times = milliseconds([flush] * 200)
    return Row(PART, "one fsync of this disk", percentile(times, 50), "ms", "", f"p99 {percentile(times, 99):.2f} ms")


def _writing(tree: Tree) -> Iterator[Row]:
    chance = random.Random(4)
    with StdioServer(tree.folder, *BY_WORDS, *COMMITTED) as server:
        server.call("kb_list")
        base = tree.folder.name
        kinds = {
            "create": [partial(_create, server, base, f"Bench {number}") for number in range(100)],
            "update": [
                partial(_update, server, base, f"bench-{chance.randrange(100)}", f"words {n}") for n in range(200)
            ],
        }
        for name, calls in kinds.items():
            cpu = server.cpu()
            times = milliseconds(calls)
            spent = 1000 * (server.cpu() - cpu) / len(calls)
            detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms"
            what = f"{name} one entry: durable, committed, searchable, {tree.name}"
            yield Row(PART, what, percentile(times, 50), "ms", "p50 < 25, ≤ 12 CPU ms plus fsyncs", detail)


def _create(server: StdioServer, base: str, title: str) -> None:
    server.call("kb_create", kb_name=base, entry_type="note", title=title, body="A durable sentence.")


def _update(server: StdioServer, base: str, entry: str, body: str) -> None:
    server.call("kb_update", kb_name=base, entry_id=entry, body=body)


def _writing_at_once(work: Work) -> Row:
    """Several processes that write to one repository, half of the writes to separate pages."""
    folder = work.folder / "at-once"
    folder.mkdir()
    (folder / "first.md").write_text("# First\n", encoding="utf-8")
    committed(folder)
    servers = [StdioServer(folder, *BY_WORDS, *COMMITTED) for _ in range(PROCESSES)]
    for server in servers:
        server.call("kb_list")
    threads = [threading.Thread(target=_load, args=(server, number)) for number, server in enumerate(servers)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = PROCESSES * WRITES / (time.perf_counter() - began)
    cpu = sum(server.cpu() for server in servers)
    for server in servers:
        server.__exit__(None, None, None)
    folders = ["git", "-C", str(folder), "rev-list", "--count", "HEAD"]
    commits = int(subprocess.run(folders, check=True, capture_output=True, text=True).stdout) - 1
    detail = f"{commits} commits of {PROCESSES * WRITES} writes; {cpu:.1f} CPU s with the starts"
    return Row(PART, f"durable writes of {PROCESSES} processes at once", rate, "a second", "≥ 50", detail)


def _load(server: StdioServer, number: int) -> None:
    for step in range(WRITES // 2):
        title = f"Writer {number} page {step}"
        _create(server, "at-once", title)
        _update(server, "at-once", f"writer-{number}-page-{step}", f"Another sentence of {number}.")
