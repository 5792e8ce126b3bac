"""The token cost of a search for an agent: ten hits on cpp-docs, structured content and text together."""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row, Work
from benchmarks.pages import synced
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, real_tree

PART = "tokens"
QUERIES = (
    "vector reserve capacity",
    "how do I convert a string to an integer",
    "memory leak detection",
    "lambda capture by reference",
    "thread local storage",
)
TEN = {"limit": 10}
Search = tuple[str, str, Mapping[str, object], tuple[str | Path, ...]]
"""Name of the figure, tool, the tool's arguments besides `query`, and arguments of the server."""
MAX_NAME_CHARS = 200


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder)
    if tree is None:
        return
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    for name, tool, given_values, launch in _searches(tree, work.folder):
        with StdioServer(*launch) as server:
            server.await_index(tool, query="string", **given_values)
            found_tokens = sorted(tokens(server.call(tool, query=query, **given_values)) for query in QUERIES)
        detail = f"median {statistics.median(found_tokens):.0f} of {len(found_tokens)} searches by words"
        yield Row(PART, f"{name}, ten hits on cpp-docs, the most", found_tokens[-1], "tokens", "<= 1,700", detail)


def _searches(tree: Tree, place: Path) -> Iterator[Search]:
    yield "kb_search", "kb_search", TEN, (tree.folder, "--toolset", "kb", "--no-embed")
    yield "search_notes of wiki", "search_notes", TEN, (tree.folder, "--toolset", "wiki", "--no-embed")
    # This tool has a token budget instead of a limit of hits.
    yield "search of notes", "search", {}, (tree.folder, "--toolset", "notes", "--no-embed")
    pages = shutil.copytree(tree.folder, place / "tokens-space", dirs_exist_ok=True)
    synced(pages, "DOCS")
    yield "search of pages", "search", TEN, (pages, "--toolset", "pages")
    manifest = place / "tokens-layers.json"
    manifest.write_text(json.dumps({"layers": [{"name": "docs", "level": 0, "path": str(tree.folder)}]}))
    yield "search of cascade", "search", TEN, ("--manifest", manifest, "--toolset", "cascade", "--no-embed")
    store = _project(tree, place / "tokens-store")
    launch = (store, "--toolset", "projects", "--no-embed")
    yield "search_knowledge", "search_knowledge", {"project_id": "cpp", **TEN}, launch


def _project(tree: Tree, store: Path) -> Path:
    """A store with one project whose knowledge documents are the files of a tree."""
    knowledge = store / "projects" / "cpp" / "knowledge"
    knowledge.mkdir(parents=True, exist_ok=True)
    (store / "index.json").write_text(json.dumps({"projects": {"cpp": "cpp"}}))
    for file in tree.folder.rglob("*.md"):
        name = "-".join(file.relative_to(tree.folder).with_suffix("").parts)[-MAX_NAME_CHARS:].lower()
        shutil.copyfile(file, knowledge / f"{name.strip('-.')}.md")
    return store


def tokens(result: dict[str, Any]) -> float:
    """The number of tokens in a result: characters of compact JSON / 4, structured content and text blocks together."""
    structured = json.dumps(result.get("structuredContent"), ensure_ascii=False, separators=(",", ":"))
    texts = [str(block["text"]) for block in result["content"] if "text" in block]
    return (len(structured) + sum(map(len, texts))) / 4
