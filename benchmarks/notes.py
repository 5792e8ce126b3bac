"""The default toolset on real files: its search beside that of `kb`, and the move of a page to which many others link.

Rounds of both searches alternate on one folder, so that their quotient does not depend on the machine's speed.
"""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.serving import BY_WORDS, COMMITTED, committed
from benchmarks.stdio import StdioServer
from benchmarks.trees import skewed_prose, tree_of

PART = "notes"
LINKING = 1_000
"""Number of pages that link to the moved one, twice each."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    yield from _searches(work)
    yield from _moves(work.folder / "hub", work.size(LINKING))


def _searches(work: Work) -> Iterator[Row]:
    tree = tree_of(work, 10_000)
    costs: dict[str, list[float]] = {"search": [], "kb_search": []}
    times: dict[str, list[float]] = {"search": [], "kb_search": []}
    with ExitStack() as stack:
        notes = stack.enter_context(StdioServer("--toolset", "notes", *BY_WORDS, tree.folder))
        notes.await_index("search", query="a word")
        kb = stack.enter_context(StdioServer(*BY_WORDS, tree.folder))
        calls = {
            "search": [partial(notes.call, "search", query=text) for text in tree.questions],
            "kb_search": [
                partial(kb.call, "kb_search", query=text, mode="keyword", limit=10) for text in tree.questions
            ],
        }
        for _ in range(work.runs):
            for name, server in (("search", notes), ("kb_search", kb)):
                cpu = server.cpu()
                times[name] += milliseconds(calls[name])
                costs[name].append(1000 * (server.cpu() - cpu) / len(calls[name]))
    spent = {name: statistics.median(values) for name, values in costs.items()}
    walls = sorted(times["search"])
    detail = f"p99 {percentile(walls, 99):.1f} ms, {spent['search']:.1f} CPU ms in the server"
    yield Row(PART, f"search of notes, sections within a budget, {tree.name}", percentile(walls, 50), "ms", "", detail)
    detail = f"{spent['search']:.1f} and {spent['kb_search']:.1f} CPU ms; rounds: " + ", ".join(
        f"{mine / other:.2f}" for mine, other in zip(costs["search"], costs["kb_search"], strict=True)
    )
    quotient = spent["search"] / spent["kb_search"]
    yield Row(PART, f"search of notes against kb_search, {tree.name}", quotient, "times", "≤ 1.2", detail)


def _moves(folder: Path, linking: int) -> Iterator[Row]:
    """The move of a page, and what it costs until the index has taken it in."""
    chance = random.Random(5)
    prose = skewed_prose(chance)
    for number in range(linking):
        file = folder / f"area{number % 40:02}" / f"page-{number:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        start = chance.randrange(len(prose) - 300)
        text = " ".join(prose[start : start + 300])
        file.write_text(f"# Page {number}\n\n{text}\n\nSee [[hub]] and [the hub](../hub.md#hub).\n", encoding="utf-8")
    (folder / "hub.md").write_text("# Hub\n\nThe hub.\n", encoding="utf-8")
    committed(folder)
    with StdioServer("--toolset", "notes", *BY_WORDS, *COMMITTED, folder) as server:
        server.await_index("search", query="hub")
        plans = {
            "dry run of a move": (partial(server.call, "move", page="hub.md", to="center.md", dry_run=True), ""),
            "move": (partial(server.call, "move", page="hub.md", to="center.md"), "≤ 0.8 with the next search"),
            "search after the move": (partial(server.call, "search", query="hub"), ""),
        }
        for name, (call, reach) in plans.items():
            cpu = server.cpu()
            (wall,) = milliseconds([call])
            spent = server.cpu() - cpu
            what = f"{name}, {linking:,} pages link to the page"
            yield Row(PART, what, spent, "CPU s", reach, f"{wall / 1000:.2f} s")
