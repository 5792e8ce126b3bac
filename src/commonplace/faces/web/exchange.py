"""A request to a page, checked, and the response of a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from commonplace.domain.errors import NotFoundError
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.urls import Urls, split_path
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.services import Services

MAX_PAGE = 100_000
"""Highest number of a page of a list."""
HTML = "text/html; charset=utf-8"


AgentText = Callable[[Services, FoundDocument, int, str], str]
"""What a client of MCP is given for a document: within so many tokens (0 for whole), for a question or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request."""

    services: Services
    """What the caller may see."""
    caller: Caller
    urls: Urls
    origin: str
    """`http://host:port` as the client wrote it."""
    path: str
    """The decoded path behind the view's name, without slashes at its ends."""
    query: Mapping[str, str]
    """The last value of each parameter."""
    agent_text: AgentText
    theme: str = ""
    """`light`, `dark`, or "" to follow the system."""
    signed_in: bool = False
    """Whether a cookie brought the key."""

    @property
    def collections(self) -> Collections:
        """The collections that the caller may see."""
        return self.services.collections

    def located(self) -> tuple[Collection, str]:
        """The collection that the path names, and the path in it.

        Raises:
            NotFoundError: the caller sees no such collection.
        """
        collection, path = split_path(self.path, self.collections, self.urls.first)
        if collection is None:
            raise NotFoundError("There is no such collection.", kind="collection", hint="Begin at the home page.")
        return collection, path

    def number(self, name: str, default: int = 1) -> int:
        """A parameter as a positive number; the default if it is none."""
        given = self.query.get(name, "")
        return min(int(given[:7]), MAX_PAGE) or default if given.isascii() and given.isdigit() else default


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A response."""

    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further headers; they replace the usual ones of the same name."""

    def with_headers(self, headers: Mapping[str, str]) -> PageResponse:
        """The same response with further headers."""
        return replace(self, headers={**self.headers, **headers})


def redirect(url: str, status: int = 302) -> PageResponse:
    """A redirect to another URL of this server."""
    return PageResponse(b"", status=status, headers={"location": url})
