"""The pages of folders, asked in this process: `with Pages(tmp_path, repo.path) as pages: pages.get("/recent")`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

import anyio
from starlette.types import Message

from commonplace.bootstrap import Application
from commonplace.domain.errors import KnowledgeError
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.web.app import WebPages
from commonplace.faces.web.exchange import AgentAnswer, PageRequest, View
from commonplace.faces.web.urls import Urls
from commonplace.registration import toolset_pages
from commonplace.services.collections import FoundDocument
from commonplace.services.services import Services
from commonplace.settings import default_settings

BROWSER = {"accept": "text/html"}
ANYBODY = Caller("", "read")


@dataclass(frozen=True, slots=True)
class Answered:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Pages:
    """The web pages of folders, or of the layers of a manifest; indexed if `synced`, not watched."""

    def __init__(self, place: Path, *folders: Path, manifest: Path | None = None, synced: bool = True) -> None:
        self.settings = replace(
            default_settings(),
            cache_dir=place / "cache",
            state_dir=place / "state",
            embed=False,
            kb=folders,
            manifest=manifest,
        )
        self.application = Application(folders, self.settings)
        if synced:
            self.application.sync()
        self.services = self.application.services
        self.app = WebPages(self.services, told, lambda: toolset_pages(self.settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.application.close()

    def request(self, path: str = "", /, **query: str) -> PageRequest:
        """A request of a view: the decoded path behind its name, and its parameters (`from_` is `from`)."""
        return self.request_of(ANYBODY, path, **query)

    def request_of(self, caller: Caller, path: str = "", /, **query: str) -> PageRequest:
        """The same, of somebody."""
        first = next(iter(self.services.collections)).name
        seen = self.services.only(caller.collections)
        shown = [pages for pages in toolset_pages(self.settings) if seen.unrestricted or pages.confined]
        return PageRequest(
            services=seen,
            caller=caller,
            urls=Urls(first),
            origin="http://localhost",
            path=path,
            query={name.rstrip("_"): value for name, value in query.items()},
            agent_text=told,
            toolsets=shown,
        )

    def view(self, view: View, path: str = "", /, **query: str) -> str:
        """The text of a view's page, which must be a success."""
        answered = view(self.request(path, **query))
        assert answered.status == 200, answered
        return answered.body.decode()

    def location(self, view: View, path: str = "", /, **query: str) -> str:
        """The target of a view's redirect."""
        answered = view(self.request(path, **query))
        assert answered.status == 302, answered
        return answered.headers["location"]

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] = BROWSER,
        *,
        caller: Caller = ANYBODY,
        body: bytes = b"",
    ) -> Answered:
        """One request to the whole application, behind the guard."""
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            sent.append(message)

        anyio.run(self.app, {**_scope(method, url, headers), SCOPE_KEY: caller}, receive, send)
        return _answered(sent)

    def refused(self, url: str, headers: Mapping[str, str], error: KnowledgeError) -> Answered | None:
        """The pages' response to an error of the guard; None if they leave the error to the guard."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        shown = anyio.run(self.app.show_error, _scope("GET", url, headers), send, error)
        return _answered(sent) if shown else None

    def get(self, url: str, headers: Mapping[str, str] = BROWSER, **more: Any) -> Answered:
        """A browser's request."""
        return self.ask("GET", url, headers, **more)


def _scope(method: str, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = url.partition("?")
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), *raw],
    }


def _answered(sent: Sequence[Message]) -> Answered:
    start, *rest = sent
    found_values = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Answered(start["status"], found_values, b"".join(message["body"] for message in rest))


def told(services: Services, document: FoundDocument, tokens: int, question: str) -> AgentAnswer:
    """A stand-in for the answer to an agent: the arguments, and whether the caller may see the document."""
    name = document.collection.name if document.collection in services.collections.members else "none"
    return AgentAnswer("read", f"{name}:{document.record.address.path} within {tokens} for {question!r}", bounded=True)
