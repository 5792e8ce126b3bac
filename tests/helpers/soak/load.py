"""A mixed load at a bounded rate: some clients over HTTP, one over a process's pipes, an editor, and Git."""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
from mcp import Client, MCPError
from mcp_types import EmptyResult, SubscribeRequest, SubscribeRequestParams

from agent import agent
from serving import Server, rpc_request
from soak.folder import QUESTIONS, SharedFolder
from support import eventually
from wire import Wire

PAGES = 40
MISSING = "ENTRY_NOT_FOUND"
MAX_ANSWER = 200_000
"""Bytes: far above what any of the questions asked here should be answered with."""
Act = Callable[[], None]


@dataclass(slots=True)
class Noted:
    """Results of the load, recorded by many threads."""

    counts: Counter[str] = field(default_factory=Counter[str])
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Duration of each call since the last evaluation, by kind of call."""
    failures: list[BaseException] = field(default_factory=list[BaseException])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, seconds: float) -> None:
        """One call that was answered rightly."""
        with self._lock:
            self.counts[kind] += 1
            self.seconds[kind].append(seconds)

    def take(self) -> dict[str, list[float]]:
        """The times since the last taking."""
        with self._lock:
            taken, self.seconds = self.seconds, defaultdict(list)
        return taken


class Actor:
    """One that does one of its acts at a time, drawn by weight, at random intervals."""

    def __init__(self, noted: Noted, seed: int) -> None:
        self.noted = noted
        self.chance = random.Random(seed)

    def acts(self) -> Mapping[Act, int]:
        """The possible actions with their relative frequency."""
        raise NotImplementedError

    def live(self, stop: threading.Event, rate: float) -> None:
        """Act until told to stop; `rate` acts a second on average. A failure ends everything and is kept."""
        acts, weights = list(self.acts()), list(self.acts().values())
        try:
            while not stop.wait(self.chance.expovariate(rate)):
                act = self.chance.choices(acts, weights)[0]
                began = time.monotonic()
                act()
                self.noted.add(act.__name__[1:], time.monotonic() - began)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test's own thread raises it
            self.noted.failures.append(error)
            stop.set()

    def words(self) -> str:
        """Something to search for."""
        return self.chance.choice(QUESTIONS)


class Reader(Actor):
    """Asks over HTTP, REST and MCP alike, and sometimes goes away in the middle."""

    def __init__(self, noted: Noted, seed: int, server: Server, folder: SharedFolder) -> None:
        super().__init__(noted, seed)
        self._server = server
        self._folder = folder

    def acts(self) -> Mapping[Act, int]:
        return {
            self._search_rest: 20, self._search_mcp: 20, self._read_rest: 15, self._read_mcp: 15, self._list_rest: 8,
            self._links_rest: 6, self._history_rest: 4, self._overview_mcp: 4, self._vanish: 8, self._listen: 2,
            self._visit: 1,
        }  # fmt: skip

    def _search_rest(self) -> None:
        hits = self._get(f"search?q={quote(self.words())}")
        assert hits["results"], hits

    def _search_mcp(self) -> None:
        shown = self._call("kb", "kb_search", {"query": self.words(), "limit": 10})
        assert shown["total"] > 0, shown

    def _read_rest(self) -> None:
        answer = self._server.page("GET", self._file())
        assert answer.status in {200, 404}, answer.body[:500]

    def _read_mcp(self) -> None:
        self._call("kb", "kb_get", {"entry_id": self._file(), "body_limit": 4000}, missing=True)

    def _list_rest(self) -> None:
        assert self._get(f"pages?prefix=cpp-docs&limit=50&offset={self.chance.randrange(100)}")["total"] > 0

    def _links_rest(self) -> None:
        answer = self._server.ask("GET", f"/api/v1/links/{quote(self._file(), safe='')}")
        assert answer.status in {200, 404}, answer.body[:500]

    def _history_rest(self) -> None:
        self._get("changelog?limit=10")

    def _overview_mcp(self) -> None:
        tool = self.chance.choice(("kb_stats", "kb_tags", "kb_recent", "kb_list_entries"))
        self._call("kb", tool, {})

    def _vanish(self) -> None:
        """A request that is half sent, or whole and never read."""
        host = "HTTP/1.1\r\nHost: localhost\r\n"
        wholes = (
            f"GET /api/v1/search?q={quote(self.words())} {host}\r\n",
            f"GET /api/v1/pages {host}\r\n",
            f'PUT /api/v1/pages/vanished {host}Content-Length: 99\r\n\r\n{{"content": "never',
        )
        whole = self.chance.choice(wholes).encode()
        cut = len(whole) if self.chance.random() < 0.5 else self.chance.randrange(len(whole))
        with self._server.connect() as connection:
            connection.sendall(whole[:cut])

    def _listen(self) -> None:
        """A stream of news, where the toolset has one, that its client leaves without a word."""
        headers, body = rpc_request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        raw = json.dumps(body).encode()
        lines = ["POST /mcp/kb HTTP/1.1", "Host: localhost", f"Content-Length: {len(raw)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        with self._server.connect() as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + raw)
            assert connection.recv(100).startswith((b"HTTP/1.1 200", b"HTTP/1.1 404"))

    def _visit(self) -> None:
        """A whole client of the older era comes, looks around, follows a resource where it may, and just leaves."""

        async def talk() -> None:
            async with Client(f"{self._server.url}/mcp/kb", mode="legacy") as client:
                assert (await client.list_tools()).tools
                uri = (await client.list_resources()).resources[1].uri
                assert (await client.read_resource(uri)).contents
                resources = client.server_capabilities.resources
                if resources and resources.subscribe:
                    follow = SubscribeRequest(params=SubscribeRequestParams(uri=uri))
                    await client.session.send_request(follow, EmptyResult)
                assert not (await client.call_tool("kb_search", {"query": self.words()})).is_error

        anyio.run(talk)

    def _file(self) -> str:
        return self.chance.choice(self._folder.files).removesuffix(".md")

    def _get(self, path: str) -> Any:
        answer = self._server.ask("GET", f"/api/v1/{path}")
        assert answer.status == 200, (path, answer.body[:500])
        assert len(answer.body) < MAX_ANSWER, path
        return answer.json

    def _call(self, toolset: str, tool: str, arguments: dict[str, Any], *, missing: bool = False) -> Any:
        result = self._server.call(toolset, tool, arguments)
        text = result["content"][0]["text"]
        assert len(text) < MAX_ANSWER, tool
        shown = json.loads(text)
        assert not result.get("isError") or (missing and shown["error_code"] == MISSING), (tool, arguments, text)
        return shown


class Piped(Actor):
    """An agent on a process's pipes, which reads, writes, and changes its mind."""

    def __init__(self, noted: Noted, seed: int, server: Wire, folder: SharedFolder) -> None:
        super().__init__(noted, seed)
        self._server = server
        self._folder = folder
        self._made = 0

    def acts(self) -> Mapping[Act, int]:
        return {
            self._search_piped: 20,
            self._read_piped: 15,
            self._list_piped: 6,
            self._cancel: 10,
            self._write_piped: 8,
        }

    def _search_piped(self) -> None:
        assert self._call("kb_search", query=self.words(), limit=10)["total"] > 0

    def _read_piped(self) -> None:
        name = self.chance.choice(self._folder.files).removesuffix(".md")
        shown = self._call("kb_get", entry_id=name, body_limit=4000)
        assert "entry" in shown or shown["error_code"] == MISSING, shown

    def _list_piped(self) -> None:
        assert self._call("kb_list_entries", limit=50, offset=self.chance.randrange(len(self._folder.files) // 2))[
            "entries"
        ]

    def _cancel(self) -> None:
        """A call is taken back at once; the next is answered all the same."""
        arguments = {"name": "kb_search", "arguments": {"query": self.words(), "include_body": True, "limit": 50}}
        request = self._server.ask("tools/call", arguments)
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request, "reason": "no"}}
        self._server.send(json.dumps(note).encode())
        assert self._call("kb_stats")["total_entries"] > 0

    def _write_piped(self) -> None:
        """An entry is made, changed, linked and deleted."""
        with self._folder.turn:
            self._made += 1
            name = {"kb_name": self._folder.repo.path.name}
            title = f"Piped {self._made}"
            made = self._call("kb_create", **name, entry_type="note", title=title, body=f"{title} {self.words()}")
            entry = {**name, "entry_id": made["entry_id"]}
            self._call("kb_update", **entry, body=f"changed {title}\n")
            assert self._call("kb_get", entry_id=made["entry_id"])["entry"]["body"].strip() == f"changed {title}"
            self._call("kb_delete", **entry)

    def _call(self, tool: str, **arguments: Any) -> Any:
        result = self._server.call(tool, **arguments)
        assert result is not None, "the process ended"
        text = result["content"][0]["text"]
        assert len(text) < MAX_ANSWER, tool
        shown = json.loads(text)
        assert not result.get("isError") or shown["error_code"] == MISSING, (tool, arguments, text)
        return shown


class Writer(Actor):
    """Writes over REST, saves files as an editor does, and switches branches."""

    def __init__(self, noted: Noted, seed: int, server: Server, folder: SharedFolder) -> None:
        super().__init__(noted, seed)
        self._server = server
        self._folder = folder

    def acts(self) -> Mapping[Act, int]:
        return {
            self._put: 14, self._patch: 8, self._rename: 4, self._delete: 4, self._attach: 2, self._save_outside: 14,
            self._move_outside: 4, self._switch_branch: 1,
        }  # fmt: skip

    def _put(self) -> None:
        with self._folder.turn:
            page = f"soak/page-{self.chance.randrange(PAGES)}"
            content = f"# {page}\n\n{self.words()} {self.chance.random()} [[note-{self.chance.randrange(PAGES)}]]\n"
            body = {"content": content}
            if page in self._folder.pages:
                body["revision"] = self._read(page)["revision"]
            self._done(self._server.page("PUT", page, body), {200, 201})
            self._folder.pages[page] = content
            assert self._read(page)["content"].strip() == content.strip(), "what was written is not what is read"

    def _patch(self) -> None:
        with self._folder.turn:
            if page := self._any():
                content = self._folder.pages[page]
                new = f"# {page} again {self.chance.random()}"
                old = content.splitlines()[0]
                body = {"revision": self._read(page)["revision"], "old_string": f"{old}\n", "new_string": f"{new}\n"}
                self._done(self._server.page("PATCH", page, body), {200})
                self._folder.pages[page] = content.replace(old, new, 1)

    def _rename(self) -> None:
        """Rename a page to an unused name and back, so that links to it stay the same."""
        with self._folder.turn:
            if page := self._any():
                other = f"soak/moved-{self.chance.randrange(10**9)}"
                self._done(self._server.page("POST", page, {"new_path": other}, below="/rename"), {200})
                self._done(self._server.page("POST", other, {"new_path": page}, below="/rename"), {200})

    def _delete(self) -> None:
        with self._folder.turn:
            if page := self._any():
                self._done(self._server.page("DELETE", page), {200})
                del self._folder.pages[page]
                assert self._server.page("GET", page).status == 404

    def _attach(self) -> None:
        with self._folder.turn:
            if page := self._any():
                content = self.chance.randbytes(20_000)
                body = {"filename": "data.bin", "content": base64.b64encode(content).decode()}
                self._done(self._server.page("POST", page, body, below="/attachments"), {201})
                shown = self._server.page("GET", page, below="/attachments/data.bin")
                assert base64.b64decode(shown.json["content"]) == content
                self._done(self._server.page("DELETE", page, below="/attachments/data.bin"), {200})

    def _save_outside(self) -> None:
        with self._folder.turn:
            self._folder.save()

    def _move_outside(self) -> None:
        with self._folder.turn:
            self._folder.move()

    def _switch_branch(self) -> None:
        """Also done when the server has seen it, which its watcher tells it a moment later."""
        with self._folder.turn:
            self._folder.switch()
            eventually(self._sees_the_branch)

    def _sees_the_branch(self) -> bool:
        listed = self._done(self._server.ask("GET", "/api/v1/pages?prefix=soak/"), {200})
        return {page["path"] for page in listed["pages"]} == self._folder.pages.keys()

    def _any(self) -> str | None:
        pages = sorted(self._folder.pages)
        return self.chance.choice(pages) if pages else None

    def _read(self, page: str) -> Any:
        return self._done(self._server.page("GET", page), {200})

    def _done(self, answer: Any, right: set[int]) -> Any:
        assert answer.status in right, (answer.status, answer.body[:500])
        return answer.json


def passing_client(folder: Path) -> None:
    """One more process on the folder, which answers one question and is killed or ends."""
    with suppress(MCPError), agent("mcp", "--toolset", "kb", folder, "--no-embed") as client:
        assert client.call("kb_search", query="module")["total"] > 0
