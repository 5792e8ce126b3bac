"""Pages with very many headings: creating and updating over MCP, REST and the command line, and reading afterwards."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from benchmarks.http.server import HttpServer
from benchmarks.measuring import Row, Work
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree

PART = "headings"
SIZES = (100, 1_000, 5_000, 10_000, 34_000, 50_000)
"""Numbers of headings of the pages."""
NAMED = 34_000
"""Number of headings of the page whose time is reported; it has 2.3 MB."""
SMALL, LARGE = 10_000, 50_000
"""Numbers of headings of the two pages whose CPU time per byte is compared."""
QUIET, SETTLING = 0.3, 10.0
"""Seconds without CPU use after which a process counts as idle, and maximum wait in seconds."""
OTHERS = 200
"""Number of pages that exist before."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of one write of one page."""

    headings: int
    size: int
    """Size of the page in bytes."""
    wall: float
    """Seconds until the acknowledgement."""
    cpu: float
    """CPU seconds until all subsequent work is done: the index and the full text."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    os.environ["XDG_CACHE_HOME"] = str(work.folder / "cache")
    os.environ["XDG_STATE_HOME"] = str(work.folder / "state")
    yield from _over_mcp(_tree(work.folder / "mcp"), "with the model")
    yield from _over_mcp(_tree(work.folder / "words"), "by words", "--no-embed")
    yield from _over_rest(_tree(work.folder / "rest"))
    yield from _by_command(_tree(work.folder / "command"))


def _over_mcp(tree: Tree, how: str, *flags: str) -> Iterator[Row]:
    base = tree.folder.name
    revisions: dict[int, str] = {}
    with StdioServer(tree.folder, "--tier", "write", *flags) as server:
        server.call("kb_search", query="tide")

        def create(text: str) -> None:
            made = server.call("kb_create", kb_name=base, entry_type="note", title=f"Page {len(text)}", body=text)
            revisions[len(text)] = made["structuredContent"]["revision"]

        def update(text: str) -> None:
            entry, revision = f"page-{len(text)}", revisions[len(text)]
            other = text.replace("words", "terms")
            server.call("kb_update", kb_name=base, entry_id=entry, body=other, revision=revision)

        for name, write in (("kb_create", create), ("kb_update", update)):
            yield from _rows(f"{name}, {how}", [_cost(size, write, server.cpu) for size in SIZES], idle=bool(flags))
        yield from _asking(server, how, base)


def _asking(server: StdioServer, how: str, base: str) -> Iterator[Row]:
    """Times of other calls after all these pages were written."""
    for tool, arguments in (
        ("kb_list_entries", {"kb_name": base}),
        ("kb_backlinks", {"kb_name": base, "entry_id": "page-0"}),
        ("kb_qa_validate", {"kb_name": base}),
        ("kb_search", {"query": "terms about a heading", "mode": "keyword"}),
    ):
        began = time.perf_counter()
        server.call(tool, **arguments)
        took = 1000 * (time.perf_counter() - began)
        yield Row(PART, f"{tool} beside pages of up to {SIZES[-1]:,} headings, {how}", took, "ms", "< 1,000")


def _over_rest(tree: Tree) -> Iterator[Row]:
    with HttpServer(tree, {}) as server:
        server.get("/search?q=tide")

        def put(text: str) -> None:
            server.put(f"/pages/{quote(f'put-{len(text)}')}", {"content": text})

        yield from _rows("PUT of a page", [_cost(size, put, server.cpu) for size in SIZES])


def _by_command(tree: Tree) -> Iterator[Row]:
    line = [sys.executable, "-m", "commonplace", "write", "-C", str(tree.folder)]

    def write(text: str) -> None:
        subprocess.run([*line, f"written-{len(text)}"], input=text.encode(), stdout=subprocess.DEVNULL, check=True)

    write(_page(1))
    yield from _rows("commonplace write", [_cost(size, write, _cpu_of_children) for size in SIZES])


def _rows(what: str, costs: list[_Cost], *, idle: bool = True) -> Iterator[Row]:
    """Wall and CPU time of writes. CPU time is reported only if the process is idle after each write."""
    by_size = {cost.headings: cost for cost in costs}
    named = by_size[NAMED]
    each = "; ".join(f"{cost.headings:,}: {cost.wall:.2f} s, {cost.cpu:.2f} CPU s" for cost in costs)
    yield Row(PART, f"{what}, {NAMED:,} headings in {named.size / 1e6:.1f} MB", named.wall, "s", "< 2", each)
    if not idle:
        return
    small, large = (by_size[size].cpu / by_size[size].size for size in (SMALL, LARGE))
    name = f"{what}, CPU for a byte at {LARGE:,} headings against {SMALL:,}"
    yield Row(PART, name, large / small, "times", "≤ 2")


def _cost(headings: int, write: Callable[[str], None], cpu: Callable[[], float]) -> _Cost:
    text = _page(headings)
    used, began = cpu(), time.perf_counter()
    write(text)
    wall = time.perf_counter() - began
    _settled(cpu)
    return _Cost(headings, len(text.encode()), wall, cpu() - used)


def _settled(cpu: Callable[[], float]) -> None:
    """Wait until the process uses no more CPU, at most `SETTLING` seconds."""
    end = time.perf_counter() + SETTLING
    before = -1.0
    while cpu() > before and time.perf_counter() < end:
        before = cpu()
        time.sleep(QUIET)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _page(headings: int) -> str:
    """A page in which every section shares some words with all others, and has some unique ones."""
    return "".join(
        f"## Heading number {n}\n\nSome words about subject {n * 7919 % 1000} and n{n}.\n\n" for n in range(headings)
    )


def _tree(folder: Path) -> Tree:
    folder.mkdir()
    for number in range(OTHERS):
        (folder / f"page-{number}.md").write_text(f"# Page {number}\n\nThe tide at gauge {number}.\n", encoding="utf-8")
    return Tree(f"{OTHERS} pages", folder, OTHERS, ())
