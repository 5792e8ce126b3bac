"""What a search costs an agent: tokens of ten hits on cpp-docs, structured content and text together."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import Row, Work
from benchmarks.stdio import StdioServer
from benchmarks.trees import real_tree

PART = "tokens"
QUERIES = (
    "vector reserve capacity",
    "how do I convert a string to an integer",
    "memory leak detection",
    "lambda capture by reference",
    "thread local storage",
)
SEARCHES = (("kb", "kb_search"),)
"""Toolset and tool of each search that takes `query` and `limit`."""
MAX_WAITS = 10
"""Calls that may end while the first index is being built; each waits some 45 seconds."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder)
    if tree is None:
        return
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    for toolset, tool in SEARCHES:
        with StdioServer(tree.folder, "--toolset", toolset, "--no-embed") as server:
            _wait_ready(server, tool)
            found = sorted(tokens(server.call(tool, query=query, limit=10)) for query in QUERIES)
        detail = f"median {statistics.median(found):.0f} of {len(found)} searches by words"
        yield Row(PART, f"{tool}, ten hits on cpp-docs, the most", found[-1], "tokens", "<= 1,700", detail)


def tokens(result: dict[str, Any]) -> float:
    """The tokens of a result: characters of compact JSON / 4, structured content and text blocks together."""
    structured = json.dumps(result.get("structuredContent"), ensure_ascii=False, separators=(",", ":"))
    texts = [str(block["text"]) for block in result["content"] if "text" in block]
    return (len(structured) + sum(map(len, texts))) / 4


def _wait_ready(server: StdioServer, tool: str) -> None:
    """Call until the first index is built.

    Raises:
        RuntimeError: it is not built in time.
    """
    for _ in range(MAX_WAITS - 1):
        try:
            server.call(tool, query="string", limit=1)
        except RuntimeError as error:
            if "INDEXING" not in str(error):
                raise
        else:
            return
    server.call(tool, query="string", limit=1)
