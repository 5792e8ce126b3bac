"""Requests and responses of web pages, and the interface for pages of toolsets."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from commonplace.domain.activity import PlannedWrite
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document
from commonplace.domain.errors import ForbiddenError, NotFoundError
from commonplace.domain.findings import Diagnostic
from commonplace.domain.proposals import Proposer
from commonplace.faces.access.callers import Caller, allows
from commonplace.faces.web.urls import Urls, split_path
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.services import Services
from commonplace.services.sites import SITES, Site
from commonplace.services.write_watch import named_limits, require_allowed
from commonplace.settings import Tier

if TYPE_CHECKING:  # `publish` makes pages without the libraries of the HTTP server
    from commonplace.faces.access.authentication import KeyStore

MAX_PAGE = 100_000
"""Maximum page number of a list."""
MAX_MOMENT_CHARS = 200
"""Maximum characters of a moment."""
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Administration:
    """The parts of a server that a person with the tier admin sees and changes on pages."""

    keys: KeyStore
    diagnose: Callable[[], Iterable[Diagnostic]]
    """Checks the installation and the folders, as `commonplace doctor` does."""
    locks: Callable[[], Iterable[Diagnostic]]
    """The locks of the folders, and who holds them."""


class AgentAnswer(NamedTuple):
    """The answer that an MCP client gets for a document."""

    tool: str
    text: str
    bounded: bool
    """Whether the tool takes a limit in tokens and a question."""


AgentText = Callable[[Services, FoundDocument, int, str], AgentAnswer]
"""Returns the answer for a document, given a limit in tokens (0 for the tool's own) and a question or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request."""

    services: Services
    """Services with the collections that the caller may see."""
    caller: Caller
    urls: Urls
    origin: str
    """Scheme, host and port as used by the client: `http://host:port`."""
    path: str
    """The decoded path after the view's name, without leading and trailing slashes."""
    query: Mapping[str, str]
    """The last value of each parameter."""
    agent_text: AgentText
    theme: str = ""
    """`light`, `dark`, or "" to follow the system."""
    signed_in: bool = False
    """Whether the key came from a cookie."""
    provider: str = ""
    """Host of the identity provider for sign-in; "" without a provider."""
    toolsets: Sequence[ToolsetPages] = ()
    """Pages of toolsets that the caller may use."""
    method: str = "GET"
    """`GET` also for HEAD."""
    form: Mapping[str, str] = field(default_factory=dict[str, str])
    """The last value of each field of a form that was sent."""
    body: bytes = b""
    """A body that is no form."""
    administration: Administration | None = None
    """The parts for pages of administration; None for a server without such pages."""
    proposer: Proposer | None = None
    """The caller of a view that edits, at the tier `propose`. The services then show and write the own proposal."""
    proposed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ids of the proposals that the request wrote, by name of the collection."""
    sites: dict[tuple[str, bool], Site] = field(default_factory=dict[tuple[str, bool], Site])
    """The sites that `site` has returned for this request, by identity and whether the collection is of the past."""

    @property
    def tier(self) -> Tier:
        """The caller's tier on pages."""
        return self.caller.page_tier

    def may_edit(self, collection: Collection) -> bool:
        """Whether the caller may write pages of a collection, or propose to."""
        if collection.is_past or not allows(self.tier, "propose"):
            return False
        takes_proposals = collection.proposals is not None
        if self.tier == "propose" and (takes_proposals or self.proposer is None):
            return takes_proposals
        return not collection.store.read_only_reason

    def may_edit_page(self, collection: Collection, address: Address, content: bytes | None) -> bool:
        """Whether the caller may write a page: the collection takes it, and the limits of the key allow it."""
        if not self.may_edit(collection):
            return False
        files = {address: content}
        limits = named_limits(self.caller.limits, self.collections)
        try:
            require_allowed(limits, PlannedWrite(collection.name, collection.store.identity, files, files), collection)
        except ForbiddenError:
            return False
        return True

    @property
    def collections(self) -> Collections:
        """The collections that the caller may see."""
        return self.services.collections

    def site(self, collection: Collection) -> Site:
        """The site of a collection: looked up once for a request that only reads."""
        if self.method != "GET":
            return SITES.of(collection)
        key = (collection.store.identity, collection.is_past)
        if key not in self.sites:
            self.sites[key] = SITES.of(collection)
        return self.sites[key]

    def located(self) -> tuple[Collection, str]:
        """The collection that the path names, and the path within the collection.

        Raises:
            NotFoundError: there is no such collection, or the caller may not see it.
        """
        collection, path = split_path(self.path, self.collections, self.urls.first)
        if collection is None:
            raise NotFoundError("There is no such collection.", kind="collection", hint="Begin at the home page.")
        return collection, path

    @property
    def at(self) -> str:
        """The requested moment as typed; "" for the present."""
        return self.query.get("at", "").strip()[:MAX_MOMENT_CHARS]

    def number(self, name: str, default: int = 1) -> int:
        """A parameter as a positive number; the default if it is not a positive number."""
        given_text = self.query.get(name, "")
        digits = given_text.lstrip("0")[:7]
        return min(int(digits), MAX_PAGE) if digits and given_text.isascii() and given_text.isdigit() else default


COMPRESSION = 4
"""Level of compression of what is compressed while the client waits, of 1 to 9."""


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A response."""

    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Additional headers; they replace default headers of the same name."""
    compressed: bytes = b""
    """The body compressed with gzip, if it is at hand; a large text is compressed for each answer otherwise."""

    def with_headers(self, headers: Mapping[str, str]) -> PageResponse:
        """A copy of the response with additional headers."""
        return replace(self, headers={**self.headers, **headers})


def compressed(content: bytes) -> bytes:
    """Content compressed with gzip, fast rather than small."""
    packer = zlib.compressobj(COMPRESSION, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(content) + packer.flush()


def redirect(url: str, status: int = 302) -> PageResponse:
    """A redirect to another URL of this server."""
    return PageResponse(b"", status=status, headers={"location": url})


View = Callable[[PageRequest], PageResponse]
MAX_FORM_BYTES = 16 * 1024 * 1024
"""Maximum size in bytes of a form with the text of a page; a form writes some characters as up to three bytes each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditingView:
    """A view that needs the right to write pages or to propose changes."""

    view: View
    methods: tuple[str, ...] = ("GET", "POST")
    tier: Tier = "propose"
    max_body: int = MAX_FORM_BYTES
    """Maximum size in bytes of a request's body."""
    writes: bool = True
    """Whether a request other than GET writes."""
    as_proposer: bool = True
    """Whether a caller who proposes sees and writes the own proposal, instead of what is served."""
    waits: bool = True
    """Whether it is answered only when every collection is indexed."""
    plans: bool = False
    """Whether GET plans a write without making it, for which it needs what it would write."""


@dataclass(frozen=True, slots=True)
class CardRow:
    """One line of a card, or one sentence above a page's text."""

    name: str
    """Text of the link; "" for a sentence without a link."""
    url: str
    about: str = ""
    """The rest of the sentence: before the link if there are details, otherwise after it."""
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
    """The pages of one toolset, and its additions to other pages."""

    views: Mapping[str, View] = field(default_factory=dict[str, View])
    """Views by the first segment of their path."""
    templates: Path | None = None
    """Folder of the views' templates; None without templates."""
    menu: tuple[tuple[str, str], ...] = ()
    """Entries for the menu of every page, as pairs of name and URL."""
    card: Callable[[PageRequest], HomeCard | None] = _no_card
    """Returns the toolset's card on the home page; None for no card."""
    about: Callable[[PageRequest, Collection], Sequence[CardRow]] = _nothing
    """Returns the toolset's rows for a collection on the home page."""
    notes: Callable[[PageRequest, FoundDocument], Sequence[CardRow]] = _nothing
    """Returns the toolset's rows above the text of a document."""
    withheld: Callable[[PageRequest, Collection, Document], Sequence[tuple[int, int]]] | None = None
    """Returns the byte ranges `[start, end)` of a document that only the document's own page shows."""
    agent_url: Callable[[PageRequest, FoundDocument], str] | None = None
    """Returns the URL of the text that an agent of this toolset gets for a document; "" if it gets none."""
    confined: bool = False
    """Whether the pages respect a caller's collections. Otherwise only callers of all collections may see them."""
