"""Search in a synced space over stdio, as an assistant uses it, on each search engine.

The spaces are 5,000 real pages of documentation, if the corpora are available, and 1,000 and 10,000 generated pages.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.stdio import StdioServer
from benchmarks.trees import CORPORA, Tree, generated_tree, real_tree
from commonplace.toolsets.pages.rules.page import EXCLUDED_FOLDERS

PART = "pages"
SIZES = (1_000, 10_000)
REAL_PAGES = 5_000
MIN_REAL_BYTES = 2_500
"""Minimum size in bytes of a real page. Shorter files are mostly lists of links, which are rare in a space."""
SECTIONS_EACH = 5
LABELS = ("runbook", "draft", "howto", "policy", "faq", "architecture", "archive", "meeting")
TESTS = Path(__file__).resolve().parents[1] / "tests"
DAY = 86_400
REACH = {"embedded": "p50 < 5", "meilisearch": "p50 < 20"}
REACH_REAL = "p50 < 20, p99 < 100"


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part; those of the search server only if one is available."""
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    with ExitStack() as closing:
        server = _search_server(closing)
        real = _real_space(work.folder)
        if real:
            yield from _on_each_engine(real, server, dict.fromkeys(REACH, REACH_REAL))
        for size in SIZES:
            yield from _on_each_engine(_generated_space(work.folder, size), server, REACH)


def _on_each_engine(tree: Tree, server: Mapping[str, str], reach: Mapping[str, str]) -> Iterator[Row]:
    yield from _searching(tree, "embedded", {}, reach)
    if not server:
        return
    began = time.perf_counter()
    command = [sys.executable, "-m", "commonplace.cn", "search", "index"]
    done = subprocess.run(command, cwd=tree.folder, env={**os.environ, **server}, check=False, capture_output=True)
    if done.returncode not in {0, 1}:  # the exit code is 1 if a real page has unreadable frontmatter
        raise RuntimeError(done.stderr.decode())
    yield Row(PART, f"meilisearch, index built and swapped in, {tree.name}", time.perf_counter() - began, "s")
    yield from _searching(tree, "meilisearch", server, reach)


def _search_server(closing: ExitStack) -> Mapping[str, str]:
    """The settings that name the tests' search server; {} if it is not available."""
    sys.path.append(str(TESTS))
    from spaces.server import MissingError, fetched, running  # noqa: PLC0415 - a part of the tests

    try:
        fetched()
    except MissingError as error:
        print(f"no search server: {error}", file=sys.stderr)
        return {}
    return closing.enter_context(running()).environment


def _generated_space(place: Path, size: int) -> Tree:
    """A generated tree in the form of a synced space."""
    tree = generated_tree(place, size, SECTIONS_EACH)
    synced(tree.folder, f"B{size}")
    return Tree(f"{size:,} pages", tree.folder, tree.files, tree.questions)


def _real_space(place: Path) -> Tree | None:
    """Pages of both corpora in the form of a synced space; None if the corpora are not available."""
    corpora = [tree for name in CORPORA if (tree := real_tree(place, name))]
    if len(corpora) < len(CORPORA):
        return None
    pairs = [(tree, file) for tree in corpora for file in sorted(tree.folder.rglob("*.md"))]
    large = [(tree, file) for tree, file in pairs if file.stat().st_size >= MIN_REAL_BYTES and "/." not in str(file)]
    target = place / "real-space"
    size = 0
    for tree, file in random.Random(5).sample(large, REAL_PAGES):
        # A space has no pages in folders of these names.
        parts = [f"{part}-pages" if part in EXCLUDED_FOLDERS else part for part in file.relative_to(tree.folder).parts]
        copy = target.joinpath(tree.folder.name, *parts)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        size += file.stat().st_size
    synced(target, "REAL")
    name = f"{REAL_PAGES:,} real pages of {size / REAL_PAGES / 1000:.1f} kB"
    return Tree(name, target, REAL_PAGES, [question for tree in corpora for question in tree.questions])


def synced(folder: Path, key: str) -> None:
    """Write the space file, and into each page the frontmatter of a sync."""
    chance = random.Random(key)
    paths: dict[str, str] = {}
    for number, file in enumerate(sorted(folder.rglob("*.md"))):
        paths[str(number)] = str(file.relative_to(folder))
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - chance.randrange(1_000 * DAY)))
        front = (
            f"page_id: {number}\ncreated_at: {created}\nupdated_at: {created}\nauthor_name: Person {number % 50}\n"
            f"labels: [{', '.join(chance.sample(LABELS, 2))}]\n"
        )
        text = file.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
        head, _, rest = text.partition("\n")
        has_block = head.rstrip() == "---"
        file.write_text(f"---\n{front}{rest}" if has_block else f"---\n{front}---\n{text}", encoding="utf-8")
    (folder / ".confluence.json").write_text(json.dumps({"spaceKey": key, "pages": paths}))


def _searching(tree: Tree, engine: str, environment: Mapping[str, str], reach: Mapping[str, str]) -> Iterator[Row]:
    os.environ.update(environment)
    try:
        with StdioServer(tree.folder, "--toolset", "pages") as server:  # builds the index
            server.await_index("search", query=tree.questions[0])
        with StdioServer(tree.folder, "--toolset", "pages") as server:
            server.call("search", query=tree.questions[0])
            detail = f"{server.cpu():.1f} CPU s until the first answer"
            yield Row(PART, f"{engine}, spawn to initialize, {tree.name}", server.started, "s", "", detail)
            for what, calls in _questions(server, tree):
                cpu = server.cpu()
                times = milliseconds(calls)
                spent = 1000 * (server.cpu() - cpu) / len(calls)
                detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms in the MCP server"
                yield Row(PART, f"{engine}, {what}, {tree.name}", percentile(times, 50), "ms", reach[engine], detail)
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
