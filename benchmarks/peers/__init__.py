"""The same files and questions, in turn, for this program and for others that serve folders of Markdown.

The others are qmd (npm) and markdown-vault-mcp (PyPI), both by words only, and ripgrep as the lower bound. Rounds
alternate between the programs, so that noise of the machine affects all. Each ratio is the median of the rounds'
ratios.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.machine.processes import await_idle
from benchmarks.measuring import Row, Work, percentile
from benchmarks.peers import installed
from benchmarks.peers.programs import OWN, Program, programs
from benchmarks.stdio import StdioProcess
from benchmarks.trees import Tree, tree_of

PART = "peers"
FILES = 10_000
QUESTIONS = 150
"""Number of questions of three words."""
WARM_UP = 10
"""Number of questions before the measured ones."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_SEARCH = "three-word search over stdio, ten hits"
_REACHES = {"index from nothing, wall": "≥ 3", "index from nothing, CPU": "≥ 2"}

Figures = dict[str, tuple[float, str]]
"""Figure and unit by name of the measurement."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part: the medians of each program, and their ratios to this program's."""
    tree = tree_of(work, FILES)
    questions = three_words(tree)
    compared = programs(tree.folder, work.folder / "state")
    rounds: dict[str, list[Figures]] = {}
    for turn in range(work.runs):
        order = [*compared[turn % len(compared) :], *compared[: turn % len(compared)]]
        for name, figures in _round(order, tree, questions).items():
            rounds.setdefault(name, []).append(figures)
    for name, all_ in rounds.items():
        for what, (_, unit) in all_[0].items():
            values = [figures[what][0] for figures in all_]
            shown = ", ".join(f"{value:.3g}" for value in values)
            yield Row(PART, f"{name}: {what}, {tree.name}", statistics.median(values), unit, "", f"rounds: {shown}")
    for name, all_ in rounds.items():
        if name != OWN:
            yield from _ratios(name, all_, rounds[OWN])


def three_words(tree: Tree) -> list[str]:
    """Questions of three words each, made from the tree's questions."""
    found_texts = dict.fromkeys(
        " ".join(words[:3]) for text in tree.questions if len(words := list(dict.fromkeys(_WORD.findall(text)))) >= 3
    )
    return list(found_texts)[:QUESTIONS]


def _ratios(name: str, others: Sequence[Figures], own: Sequence[Figures]) -> Iterator[Row]:
    for what in others[0]:
        ratios = [theirs[what][0] / ours[what][0] for theirs, ours in zip(others, own, strict=True) if what in ours]
        shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        reach = _REACHES.get(what, "") if name.startswith("qmd") else ""
        yield Row(PART, f"{name} against {OWN}: {what}", statistics.median(ratios), "times", reach, f"rounds: {shown}")


def _round(order: Sequence[Program], tree: Tree, questions: Sequence[str]) -> dict[str, Figures]:
    figures = {program.name: _indexed(program) for program in order}
    for program in order:
        figures[program.name] |= _first_answer(program, questions[0])
    for name, searched in _searches(order, tree, questions).items():
        figures[name] = figures.get(name, {}) | searched
    return figures


def _indexed(program: Program) -> Figures:
    """Index from nothing with the program's own command."""
    shutil.rmtree(program.state, ignore_errors=True)
    program.state.mkdir(parents=True)
    began = time.perf_counter()
    with subprocess.Popen(
        program.index, env=_environment(program), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"{program.name} could not index: exit code {process.returncode}")
    size = sum(file.stat().st_size for file in program.state.rglob("*") if file.is_file())
    return {
        "index from nothing, wall": (wall, "s"),
        "index from nothing, CPU": (used.ru_utime + used.ru_stime, "CPU s"),
        "index on disk": (size / 1e6, "MB"),
    }


def _first_answer(program: Program, question: str) -> Figures:
    """Start without changes, until the first search is answered."""
    began = time.perf_counter()
    with StdioProcess(program.serve, program.environment) as server:
        started = time.perf_counter() - began
        server.call(program.tool, **program.arguments(question))
        return {
            "start to first answer, wall": (time.perf_counter() - began, "s"),
            "start to first answer, CPU": (server.cpu(), "CPU s"),
            "first search after `initialize`": (1000 * (time.perf_counter() - began - started), "ms"),
        }


def _searches(order: Sequence[Program], tree: Tree, questions: Sequence[str]) -> dict[str, Figures]:
    """Each question to each program in turn, while all of them run and are otherwise idle; then ripgrep."""
    figures: dict[str, Figures] = {}
    with ExitStack() as stack:
        servers = {item.name: stack.enter_context(StdioProcess(item.serve, item.environment)) for item in order}
        asks = {program.name: _asking(program, servers[program.name]) for program in order}
        for question in questions[:WARM_UP]:
            for ask in asks.values():
                ask(question)
        await_idle(server.process.pid for server in servers.values())
        before = {name: server.cpu() for name, server in servers.items()}
        times = _in_turn(asks, questions)
        for name, taken in times.items():
            figures[name] = _latencies(taken)
        for name, server in servers.items():
            spent = 1000 * (server.cpu() - before[name]) / len(questions)
            figures[name] |= {
                f"{_SEARCH}, CPU": (spent, "CPU ms"),
                "memory after the searches": (server.memory()[0], "MB"),
            }
    if rg := installed.ripgrep():  # separately: its reads notify servers that watch
        grep = f"ripgrep {installed.version(rg)}"
        figures[grep] = _latencies(_in_turn({grep: _grepping(rg, tree.folder)}, questions)[grep])
    return figures


def _latencies(times: Sequence[float]) -> Figures:
    return {f"{_SEARCH}, p50": (percentile(times, 50), "ms"), f"{_SEARCH}, p99": (percentile(times, 99), "ms")}


def _in_turn(asks: Mapping[str, Callable[[str], object]], questions: Sequence[str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in asks}
    for question in questions:
        for name, ask in asks.items():
            began = time.perf_counter()
            ask(question)
            times[name].append(1000 * (time.perf_counter() - began))
    return {name: sorted(taken) for name, taken in times.items()}


def _asking(program: Program, server: StdioProcess) -> Callable[[str], object]:
    return lambda question: server.call(program.tool, **program.arguments(question))


def _grepping(command: Path, folder: Path) -> Callable[[str], object]:
    """A search that counts the lines with any of the words in each file, without ranking."""

    def ask(question: str) -> object:
        words = [part for word in question.split() for part in ("-e", word)]
        grep = [str(command), "--ignore-case", "--count", "--fixed-strings", *words, str(folder)]
        return subprocess.run(grep, check=False, stdout=subprocess.DEVNULL)

    return ask


def _environment(program: Program) -> dict[str, str]:
    return {**os.environ, **program.environment}
