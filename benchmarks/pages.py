"""Searching a synced space over stdio, as an assistant has it: 1,000 and 10,000 pages, on each search engine."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, generated_tree

PART = "pages"
SIZES = (1_000, 10_000)
SECTIONS_EACH = 5
LABELS = ("runbook", "draft", "howto", "policy", "faq", "architecture", "archive", "meeting")
TESTS = Path(__file__).resolve().parents[1] / "tests"
DAY = 86_400
REACH = {"embedded": "p50 < 5", "meilisearch": "p50 < 20"}


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part; those of the search server only if one is available."""
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    with ExitStack() as closing:
        server = _search_server(closing)
        for size in SIZES:
            tree = _space(work.folder, size)
            yield from _searching(tree, "embedded", {})
            if server:
                began = time.perf_counter()
                command = [sys.executable, "-m", "commonplace.cn", "search", "index"]
                subprocess.run(command, cwd=tree.folder, env={**os.environ, **server}, check=True, capture_output=True)
                seconds = time.perf_counter() - began
                yield Row(PART, f"meilisearch, index built and swapped in, {tree.name}", seconds, "s")
                yield from _searching(tree, "meilisearch", server)


def _search_server(closing: ExitStack) -> Mapping[str, str]:
    """What names the search server of the tests; empty where it cannot be had."""
    sys.path.append(str(TESTS))
    from spaces.server import MissingError, fetched, running  # noqa: PLC0415 - a part of the tests

    try:
        fetched()
    except MissingError as error:
        print(f"no search server: {error}", file=sys.stderr)
        return {}
    return closing.enter_context(running()).environment


def _space(place: Path, size: int) -> Tree:
    """A generated tree as a sync would leave it."""
    tree = generated_tree(place, size, SECTIONS_EACH)
    chance = random.Random(size)
    paths: dict[str, str] = {}
    for number, file in enumerate(sorted(tree.folder.rglob("*.md"))):
        paths[str(number)] = str(file.relative_to(tree.folder))
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - chance.randrange(1_000 * DAY)))
        front = (
            f"page_id: {number}\ncreated_at: {created}\nupdated_at: {created}\nauthor_name: Person {number % 50}\n"
            f"labels: [{', '.join(chance.sample(LABELS, 2))}]\n"
        )
        file.write_text(file.read_text(encoding="utf-8").replace("---\n", f"---\n{front}", 1), encoding="utf-8")
    (tree.folder / ".confluence.json").write_text(json.dumps({"spaceKey": f"B{size}", "pages": paths}))
    return Tree(f"{size:,} pages", tree.folder, tree.files, tree.questions)


def _searching(tree: Tree, engine: str, environment: Mapping[str, str]) -> Iterator[Row]:
    os.environ.update(environment)
    try:
        with StdioServer(tree.folder, "--toolset", "pages") as server:  # the first one builds the index
            server.call("search", query=tree.questions[0])
        with StdioServer(tree.folder, "--toolset", "pages") as server:
            server.call("search", query=tree.questions[0])
            detail = f"{server.cpu():.1f} CPU s until the first answer"
            yield Row(PART, f"{engine}, spawn to initialize, {tree.name}", server.started, "s", "", detail)
            for what, calls in _questions(server, tree):
                cpu = server.cpu()
                times = milliseconds(calls)
                spent = 1000 * (server.cpu() - cpu) / len(calls)
                detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms in the MCP server"
                yield Row(PART, f"{engine}, {what}, {tree.name}", percentile(times, 50), "ms", REACH[engine], detail)
            now, most = server.memory()
            yield Row(PART, f"{engine}, memory of the MCP server, {tree.name}", now, "MB", "", f"most {most:.0f} MB")
    finally:
        for name in environment:
            del os.environ[name]


def _questions(server: StdioServer, tree: Tree) -> Iterator[tuple[str, Sequence[Callable[[], object]]]]:
    ask = partial(server.call, "search")
    words = [text for text in tree.questions if " " in text and not text.startswith("how ")][:100]
    yield "search by words", [partial(ask, query=text) for text in words]
    yield "search by a question", [partial(ask, query=text) for text in tree.questions if text.startswith("how ")][:100]
    label = [
        partial(ask, query=text, labels=[LABELS[at % 8]], author=f"Person {at % 50}") for at, text in enumerate(words)
    ]
    yield "search with labels and author", label[:100]
    yield "search in the last year", [partial(ask, query=text, updated_within="1y") for text in words][:50]
    yield "newest pages of a label", [partial(ask, query="", labels=[name], sort="-updated_at") for name in LABELS * 5]
    pages = [partial(server.call, "read_page", id=str(number)) for number in range(100)]
    yield "read a page", pages
