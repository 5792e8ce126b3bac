"""The language server as used by an editor: its start, and the response times of requests, over 9,753 pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from benchmarks.measuring import Row, Work, percentile
from benchmarks.trees import generated_tree, real_tree

PART = "editor"
PAGES = 60
"""Number of open pages. Each kind of request is sent once per page."""
REACH = "p50 20"
GENERATED = (10_000, 5)
"""Number of files, and of sections per file, if no corpus is available."""
_LINK = re.compile(r"\[[^\]\n`]+\]\(([\w./-]+\.md)(?:#[\w-]+)?\)")
_HEADING = re.compile(r"^#{1,3} \S.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """An open page with the positions of its requests, as 0-based lines and characters."""

    uri: str
    text: str
    link: dict[str, int]
    """Position in the target of a link."""
    heading: dict[str, int]


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder) or generated_tree(work.folder, *GENERATED)
    environment = {**os.environ, "XDG_CACHE_HOME": str(work.folder / "cache"), "COMMONPLACE_EMBED": "false"}
    command = [sys.executable, "-m", "commonplace"]
    subprocess.run([*command, "index", "-C", str(tree.folder)], env=environment, check=True, capture_output=True)
    pages = _pages(tree.folder)
    on = f"{tree.files:,} pages"
    starts = [_start([*command, "lsp"], tree.folder, environment, pages[0]) for _ in range(max(1, work.runs))]
    wall, cpu = sorted(starts)[len(starts) // 2]
    yield Row(PART, f"language server, {on}: start until the first answer", wall, "s", "1", f"{cpu:.2f} CPU s")
    with _Server([*command, "lsp"], tree.folder, environment) as server:
        for page in pages:
            server.open(page)
        server.ask("textDocument/hover", _at(pages[0], pages[0].link))
        for name, ask in _questions(server):
            before = server.cpu()
            times: list[float] = []
            for page in pages:
                began = time.perf_counter()
                ask(page)
                times.append(1000 * (time.perf_counter() - began))
            used = 1000 * (server.cpu() - before) / len(pages)
            ordered = sorted(times)
            reported_text = f"p99 {percentile(ordered, 99):.1f} ms; {used:.1f} CPU ms"
            yield Row(PART, f"language server, {on}: {name}", percentile(ordered, 50), "ms", REACH, reported_text)


def _questions(server: _Server) -> Iterator[tuple[str, Callable[[Page], object]]]:
    """The kinds of requests, each with a function that sends the request for a page."""
    yield "definition", lambda page: server.ask("textDocument/definition", _at(page, page.link))
    yield "hover", lambda page: server.ask("textDocument/hover", _at(page, page.link))
    yield "completion of a path", lambda page: server.ask("textDocument/completion", _at(page, page.link))
    context = {"context": {"includeDeclaration": False}}
    yield (
        "references of a heading",
        lambda page: server.ask("textDocument/references", _at(page, page.heading) | context),
    )
    new = {"newName": "Another name"}
    yield (
        "rename of a heading",
        lambda page: server.ask("textDocument/rename", _at(page, page.heading) | new),
    )
    yield "symbols of a page", lambda page: server.ask("textDocument/documentSymbol", _at(page, None))
    yield (
        "symbols of the folder",
        lambda page: server.ask("workspace/symbol", {"query": Path(page.uri).stem.replace("-", " ")[:12]}),
    )


def _at(page: Page, place: dict[str, int] | None) -> dict[str, Any]:
    document: dict[str, Any] = {"textDocument": {"uri": page.uri}}
    return document if place is None else {**document, "position": place}


def _pages(folder: Path) -> list[Page]:
    """Pages throughout the tree that have a link to another page and a heading."""
    pages: list[Page] = []
    files = sorted(folder.rglob("*.md"))
    for file in files[:: max(1, len(files) // (PAGES * 6))]:
        text = file.read_text(encoding="utf-8", errors="replace")
        link, heading = _LINK.search(text), _HEADING.search(text)
        if link and heading and (file.parent / link[1]).is_file():
            pages.append(Page(file.as_uri(), text, _place(text, link.start(1) + 1), _place(text, heading.start() + 3)))
        if len(pages) == PAGES:
            break
    return pages


def _place(text: str, offset: int) -> dict[str, int]:
    before = text[:offset]
    return {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}


def _start(command: list[str], folder: Path, environment: Mapping[str, str], page: Page) -> tuple[float, float]:
    """Wall and CPU seconds of a new server until its first answer about a page."""
    began = time.perf_counter()
    with _Server(command, folder, environment) as server:
        server.open(page)
        server.ask("textDocument/hover", _at(page, page.link))
        return time.perf_counter() - began, server.cpu()


class _Server:
    """A language server, started and initialized; terminated at the end of the `with` block."""

    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._next = 0
        root = folder.as_uri()
        self.ask("initialize", {"processId": None, "rootUri": root, "capabilities": {}})
        self._send({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()

    def open(self, page: Page) -> None:
        """Open a page as an editor does."""
        item = {"uri": page.uri, "languageId": "markdown", "version": 1, "text": page.text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": item}})

    def ask(self, method: str, params: Mapping[str, Any]) -> object:
        """The result of a request.

        Raises:
            RuntimeError: the server answered with an error.
        """
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params})
        while (answer := self._read()).get("id") != self._next or "method" in answer:
            if "method" in answer and "id" in answer:
                self._send({"id": answer["id"], "result": None})
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def cpu(self) -> float:
        """CPU seconds that the server has used."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stream = cast("IO[bytes]", self._process.stdin)
        stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        stream.flush()

    def _read(self) -> dict[str, Any]:
        stream, size = cast("IO[bytes]", self._process.stdout), 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        return json.loads(stream.read(size))
