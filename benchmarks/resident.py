"""Sessions of `mcp` over a resident, against sessions that serve by themselves: start, first search, memory, floods.

Rounds alternate between the two ways, on 173 files and on all files of the corpus. CPU seconds are those of the whole
process tree and, over a resident, of the resident and its sessions.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.machine.processes import cpu_seconds, descendants
from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.stdio import INITIALIZE, StdioServer
from benchmarks.trees import Tree, tree_of
from commonplace.faces.cli.residents import running_residents

PART = "resident"
SMALL = 173
ROUNDS = 5
SETTLED_SECONDS = 2.0
"""Seconds after which a session has done what it does in the background after its first answers."""
READS = 50
FLOOD = 100
"""Number of times that a session asks all questions without a pause while another one reads."""
WAYS = {"by itself": "--no-resident", "over a resident": "--resident"}


@dataclass(slots=True)
class _Costs:
    start_cpu: list[float] = field(default_factory=list[float])
    start: list[float] = field(default_factory=list[float])
    first_cpu: list[float] = field(default_factory=list[float])
    first: list[float] = field(default_factory=list[float])
    memory: list[float] = field(default_factory=list[float])


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    login = work.folder / "login"
    login.mkdir(mode=0o700)
    environment = {"XDG_RUNTIME_DIR": login, "XDG_CACHE_HOME": work.folder / "c", "XDG_STATE_HOME": work.folder / "s"}
    os.environ.update({name: str(path) for name, path in environment.items()})
    tree = tree_of(work, 10_000)
    for measured in (_part_of(tree, work.folder / "small"), tree):
        with StdioServer(measured.folder, *_flags("--no-resident")) as server:
            server.await_index("search", query="a word")
        with StdioServer(measured.folder, *_flags("--resident")) as server:  # leaves the resident
            server.call("search", query="a word")
        yield from _rows(measured)


def _part_of(tree: Tree, folder: Path) -> Tree:
    """The first files of a tree, as one folder."""
    folder.mkdir()
    for number, file in enumerate(sorted(tree.folder.rglob("*.md"))[:SMALL]):
        shutil.copy(file, folder / f"{number}-{file.name}")
    return Tree(f"{SMALL} files of {tree.name}", folder, SMALL, tree.questions)


def _flags(way: str) -> Sequence[str]:
    return ("--toolset", "notes", "--no-embed", way)


def _rows(tree: Tree) -> Iterator[Row]:
    costs = {way: _Costs() for way in WAYS}
    for _ in range(ROUNDS):
        for way, flag in WAYS.items():
            _measure(tree, flag, costs[way])
    for way, cost in costs.items():
        name = f"{way}, {tree.name}"
        wall = f"{statistics.median(cost.start):.2f} s wall"
        yield Row(PART, f"start until initialize, {name}", statistics.median(cost.start_cpu), "CPU s", "≤ 0.1", wall)
        cpu = f"{statistics.median(cost.first_cpu):.2f} CPU s"
        yield Row(PART, f"first search, nothing changed, {name}", statistics.median(cost.first), "ms", "≤ 100", cpu)
        yield Row(PART, f"one more session, {name}", statistics.median(cost.memory), "MB", "≤ 15", "not shared")
        ratio = statistics.median(_slowed(tree, WAYS[way]) for _ in range(ROUNDS))
        yield Row(PART, f"reads beside a flooding session, {name}", ratio, "times their time", "≤ 1.2", "p50")


def _measure(tree: Tree, flag: str, costs: _Costs) -> None:
    with StdioServer(tree.folder, *_flags(flag)), ExitStack() as stack:
        time.sleep(SETTLED_SECONDS)
        others = _processes()
        before = _cpu()
        server = stack.enter_context(StdioServer(tree.folder, *_flags(flag)))
        costs.start_cpu.append(server.cpu() + _cpu() - before)
        costs.start.append(server.started)
        before = server.cpu() + _cpu()
        costs.first += milliseconds([lambda: server.call("search", query=tree.questions[0])])
        costs.first_cpu.append(server.cpu() + _cpu() - before)
        time.sleep(SETTLED_SECONDS)
        new = _processes() - others
        costs.memory.append(sum(map(_not_shared, {server.process.pid, *new})))


def _slowed(tree: Tree, flag: str) -> float:
    """The time of a session's reads while another session searches without a pause, in times of their usual time."""
    calls = [{"name": "search", "arguments": {"query": text}} for text in tree.questions]
    messages = [_message(0, "initialize", INITIALIZE)]
    messages += [_message(number, "tools/call", call) for number, call in enumerate(calls * FLOOD, 1)]
    requests = tree.folder.with_name("requests")
    requests.write_text("".join(messages))
    with StdioServer(tree.folder, *_flags(flag)) as reader:
        read = [partial(reader.call, "search", query=text) for text in tree.questions[:READS]]
        milliseconds(read)
        alone = percentile(milliseconds(read), 50)
        line = [sys.executable, "-m", "commonplace", "mcp", *_flags(flag), str(tree.folder)]
        with requests.open() as file, subprocess.Popen(line, stdin=file, stdout=subprocess.DEVNULL) as flood:
            time.sleep(SETTLED_SECONDS)
            beside = percentile(milliseconds(read), 50)
            flood.terminate()
        return beside / alone


def _message(number: int, method: str, params: Mapping[str, object]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def _processes() -> set[int]:
    """The residents, and the sessions that they have forked."""
    residents = [resident.process for resident in running_residents()]
    return {process for resident in residents for process in descendants(resident)}


def _cpu() -> float:
    return sum(cpu_seconds(resident.process) for resident in running_residents())


def _not_shared(process: int) -> float:
    """Memory that the end of a process would free, in MB."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1000
