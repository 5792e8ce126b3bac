"""What the core costs on a folder of real Markdown: indexing, starting, searching, listing, writing.

Real input is `../shared/corpora` where it lies beside the project; otherwise a generated tree of `--files` files. Every
figure is the median of several rounds; CPU seconds stand beside wall seconds, as machines are noisy.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from commonplace.bootstrap import Workplace
from commonplace.domain.query import Filter, ListQuery, SearchQuery
from commonplace.services import linking, listing, searching
from commonplace.services.collections import Collection
from commonplace.settings import default_settings

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "cpp-docs.tar.xz"
WORDS = (
    "harbour",
    "tide",
    "berth",
    "signal",
    "quay",
    "engine",
    "anchor",
    "ledger",
    "storm",
    "lantern",
    "chart",
    "rope",
)
QUERIES = (
    "vector class",
    "how do I create a window",
    "compiler warning C4996",
    "unordered_map insert",
    "exception handling",
    "linker option",
    "memory leak detection",
    "std::string conversion",
    "thread local storage",
    "precompiled headers",
)
WRITERS = 4
WRITES = 40


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    what: str
    value: float
    unit: str
    aim: str
    """What is to be reached, or ""."""


def measure(files: int, rounds: int) -> list[Figure]:
    """All figures of the core.

    Args:
        files: How many to generate where there is no corpus.
        rounds: Of every timed operation.
    """
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folder = _folder(root, files)
        os.environ["XDG_CACHE_HOME"], os.environ["XDG_STATE_HOME"] = str(root / "cache"), str(root / "state")
        indexed = _indexing(root, folder)
        workplace = Workplace([folder], default_settings())
        workplace.sync()
        (collection,) = workplace.services.collections.members
        figures = [*indexed, *_questions(collection, rounds)]
        workplace.close()
        return [*figures, *_over_stdio(folder, rounds), *_writing(folder, rounds)]


def _folder(root: Path, files: int) -> Path:
    folder = root / "folder"
    if CORPUS.is_file():
        with tarfile.open(CORPUS) as tar:
            tar.extractall(folder, filter="data")
    else:
        chance = random.Random(1)
        for number in range(files):
            file = folder / f"part-{number % 50}" / f"page-{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            text = "\n\n".join(f"## Part {n}\n\n{' '.join(chance.choices(WORDS, k=150))}" for n in range(6))
            file.write_text(f"# Page {number}\n\nSee [[page-{chance.randrange(files)}]].\n\n{text}\n")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _git(folder, "config", "user.name", "Bench")
    _git(folder, "config", "user.email", "bench@example.org")
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def _indexing(root: Path, folder: Path) -> list[Figure]:
    count = sum(1 for path in folder.rglob("*.md") if not any(part.startswith(".") for part in path.parts[-3:]))
    cold: list[tuple[float, float]] = []
    for _ in range(3):
        shutil.rmtree(root / "cache", ignore_errors=True)
        cold.append(_timed_command("index", "--kb", str(folder)))
    warm = [_timed_command("index", "--kb", str(folder)) for _ in range(3)]
    cpu = statistics.median(one for one, _ in cold)
    wall = statistics.median(one for _, one in cold)
    idle = statistics.median(one for one, _ in warm)
    return [
        Figure("files", count, "", ""),
        Figure("index from nothing", count / cpu, "files per CPU-second", "≥ 900"),
        Figure("index from nothing", wall, "s wall", ""),
        Figure("command with nothing changed, whole process", idle, "CPU-s", ""),
    ]


def _timed_command(*arguments: str) -> tuple[float, float]:
    """CPU and wall seconds of one whole command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "commonplace", *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu, time.perf_counter() - began


def _questions(collection: Collection, rounds: int) -> list[Figure]:
    chosen = (collection,)
    index = collection.index
    records = index.list(ListQuery(limit=200)).records
    chance = random.Random(2)

    def search() -> object:
        return searching.search(chosen, SearchQuery(text=chance.choice(QUERIES), limit=10))

    def sizes() -> object:
        return searching.search(chosen, SearchQuery(text=chance.choice(QUERIES), limit=10, sections=0))

    def back() -> object:
        return index.links_to(chance.choice(records).address)

    filtered = ListQuery(filter=Filter(prefix=records[0].address.folder), limit=50)
    start = time.perf_counter()
    index.sync()
    unchanged = time.perf_counter() - start
    return [
        Figure("sync with nothing changed", unchanged * 1000, "ms", ""),
        *_percentiles("search, top 10 with snippets", search, rounds, "p50 < 5"),
        *_percentiles("search, ranking alone", sizes, rounds, "1 / 4"),
        *_percentiles("list with a filter", lambda: listing.list_documents(chosen, filtered), rounds, "p50 < 5"),
        *_percentiles("links back", back, rounds, "p50 < 5"),
        *_percentiles("orphans", lambda: linking.orphans(collection), max(3, rounds // 20), "p50 < 5"),
    ]


def _percentiles(what: str, call: Callable[[], object], rounds: int, aim: str) -> list[Figure]:
    call()
    walls: list[float] = []
    cpu = time.process_time()
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        walls.append((time.perf_counter() - began) * 1000)
    spent = (time.process_time() - cpu) * 1000 / rounds
    walls.sort()
    return [
        Figure(f"{what}, p50", statistics.median(walls), "ms", aim),
        Figure(f"{what}, p99", walls[min(len(walls) - 1, int(len(walls) * 0.99))], "ms", ""),
        Figure(f"{what}, mean", spent, "CPU-ms", ""),
    ]


class _Server:
    """A `commonplace mcp` process, one JSON-RPC message a line."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "mcp", str(folder), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._next = 0
        client = {"name": "benchmark", "version": "0"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> dict[str, object]:
        """The result of a call."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def close(self) -> None:
        """End it by closing its input."""
        cast("IO[bytes]", self.process.stdin).close()
        self.process.wait(30)
        cast("IO[bytes]", self.process.stdout).close()

    def memory(self) -> float:
        """The most memory that it had resident, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024

    def _send(self, message: dict[str, object]) -> None:
        stdin = cast("IO[bytes]", self.process.stdin)
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def _ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        while True:
            answer = json.loads(cast("IO[bytes]", self.process.stdout).readline())
            if answer.get("id") == self._next:
                return answer["result"]


def _over_stdio(folder: Path, rounds: int) -> list[Figure]:
    server = _Server(folder)
    began = time.perf_counter()
    server.call("kb_search", query="vector class", limit=10)
    first = (time.perf_counter() - began) * 1000
    chance = random.Random(3)
    figures = [Figure("first search after `initialize`, index current", first, "ms", "< 500")]
    figures += _percentiles(
        "search over stdio, top 10 with snippets",
        lambda: server.call("kb_search", query=chance.choice(QUERIES), limit=10),
        rounds,
        "p50 < 5",
    )[:2]
    figures.append(Figure("memory of the server, most resident", server.memory(), "MB", "< 200"))
    server.close()
    return figures


def _writing(folder: Path, rounds: int) -> list[Figure]:
    server = _Server(folder, "--tier", "write", "--commit", "auto")
    server.call("kb_list")
    numbers = iter(range(1_000_000))

    def write() -> object:
        title = f"Bench {next(numbers)}"
        return server.call("kb_create", kb_name="folder", entry_type="note", title=title, body="A durable sentence.")

    figures = _percentiles("one durable write, committed and searchable", write, max(10, rounds // 4), "p50 < 25")[:2]
    server.close()
    servers = [_Server(folder, "--tier", "write", "--commit", "auto") for _ in range(WRITERS)]
    for one in servers:
        one.call("kb_list")
    began = time.perf_counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(_many, range(WRITERS), servers))
    rate = WRITERS * WRITES / (time.perf_counter() - began)
    for one in servers:
        one.close()
    return [*figures, Figure(f"durable writes from {WRITERS} processes at once", rate, "a second", "≥ 50")]


def _many(number: int, server: _Server) -> None:
    for step in range(WRITES):
        title = f"Writer {number} step {step}"
        server.call("kb_create", kb_name="folder", entry_type="note", title=title, body="A durable sentence.")


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = [f"| {one.what} | {one.value:,.4g} {one.unit} | {one.aim} |" for one in figures]
    return "\n".join(["| what | measured | aim |", "|---|---|---|", *rows])
