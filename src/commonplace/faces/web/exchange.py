"""A request to a page, checked, the response of a view, and the pages that toolsets add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.domain.documents import Document
from commonplace.domain.errors import NotFoundError
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.urls import Urls, split_path
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.services import Services

MAX_PAGE = 100_000
"""Highest number of a page of a list."""
MAX_MOMENT_CHARS = 200
"""Characters of a moment that are read."""
HTML = "text/html; charset=utf-8"


AgentText = Callable[[Services, FoundDocument, int, str], str]
"""Returns the text of a document for an MCP client: within a number of tokens (0: whole), for a question or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request."""

    services: Services
    """Services with the collections that the caller may see."""
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
    provider: str = ""
    """Host of the identity provider at which people can sign in; "" without one."""
    toolsets: Sequence[ToolsetPages] = ()
    """Pages of toolsets that the caller may use."""

    @property
    def collections(self) -> Collections:
        """Services with the collections that the caller may see."""
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

    @property
    def at(self) -> str:
        """The moment that is asked about, as the reader gave it; "" for now."""
        return self.query.get("at", "").strip()[:MAX_MOMENT_CHARS]

    def number(self, name: str, default: int = 1) -> int:
        """A parameter as a positive number; the default if it is none."""
        given = self.query.get(name, "")
        digits = given.lstrip("0")[:7]
        return min(int(digits), MAX_PAGE) if digits and given.isascii() and given.isdigit() else default


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


View = Callable[[PageRequest], PageResponse]


@dataclass(frozen=True, slots=True)
class CardRow:
    """One line of a card, or one sentence above a page's text."""

    name: str
    """The text of its link; "" for a sentence without one."""
    url: str
    about: str = ""
    """The rest of the sentence; before the link if there are details, else behind it."""
    details: tuple[str, ...] = ()
    """Content shown on demand."""


@dataclass(frozen=True, slots=True)
class HomeCard:
    """A toolset's part of the home page."""

    title: str
    url: str
    about: str
    rows: tuple[CardRow, ...] = ()


def _no_card(_: PageRequest) -> None:
    return None


def _nothing(request: PageRequest, shown: object) -> Sequence[CardRow]:
    del request, shown
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetPages:
    """The pages of one toolset, and what it adds to others."""

    views: Mapping[str, View] = field(default_factory=dict[str, View])
    """By the first segment of their path."""
    templates: Path | None = None
    """The folder of their templates."""
    menu: tuple[tuple[str, str], ...] = ()
    """Name and URL of what the menu of every page leads to."""
    card: Callable[[PageRequest], HomeCard | None] = _no_card
    """The toolset's part of the home page; None for nothing."""
    about: Callable[[PageRequest, Collection], Sequence[CardRow]] = _nothing
    """The toolset's part for a collection on the home page."""
    notes: Callable[[PageRequest, FoundDocument], Sequence[CardRow]] = _nothing
    """The toolset's part above the text of a document's page."""
    withheld: Callable[[PageRequest, Collection, Document], Sequence[tuple[int, int]]] | None = None
    """Runs `[start, end)` of a document's bytes that no page shows unasked but the document's own, which marks them."""
    agent_url: Callable[[PageRequest, FoundDocument], str] | None = None
    """The URL at which stands what an agent of this toolset is given for a document; "" if it is given nothing."""
    confined: bool = False
    """Whether they show nothing but collections that the caller may see; others are for callers who may see all."""
