"""Views for programs: the Atom feeds of changes and of proposals, the OpenSearch description, and `robots.txt`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.site_file import declared_site
from commonplace.faces.access.callers import allows, require_tier
from commonplace.faces.web.edit_requests import page_proposer
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.pages import environment, site_name
from commonplace.faces.web.shown import shown_commit
from commonplace.faces.web.urls import with_query
from commonplace.services import notices
from commonplace.services.notices import NoticeFilter

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MAX_ENTRIES, MAX_PATHS = 30, 20
"""Maximum number of entries of a feed, and of the paths that an entry lists."""
UNLISTED = ("agent", "backlinks", "commit", "compare", "edit", "history", "mentions", "raw", "sections")
"""Views that search engines may not index even in a public base: they repeat the text of a page or its history."""
FEED_TYPE = "application/atom+xml; charset=utf-8"


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An entry of a feed."""

    id: str
    """A URI that no other entry has."""
    title: str
    when: int
    author: str
    url: str
    """URL of the page, without its host."""
    summary: str


def atom(request: PageRequest) -> PageResponse:
    """Changes as an Atom feed (RFC 4287): all, or those of a `folder`, `tag`, `author` or `base`."""
    notice_filter = _wanted(request)
    entries = [
        FeedEntry(
            id=f"urn:sha1:{event.commit.id}",
            title=shown_commit(event.commit).subject,
            when=event.commit.when,
            author=event.commit.author.name,
            url=request.urls.view("commit", event.collection.name, event.commit.id),
            summary=_paths(event.files),
        )
        for collection in request.collections
        for event in notices.latest_changes(collection, notice_filter, MAX_ENTRIES)
    ]
    return _feed(request, "feed.atom", "changes", "/recent", entries)


def proposals(request: PageRequest) -> PageResponse:
    """Proposals that the caller may see as an Atom feed, with the same parameters as the feed of changes."""
    require_tier(request.tier, "propose")
    viewer = None if allows(request.tier, "write") else page_proposer(request.caller)
    events = notices.proposals_of(request.collections, _wanted(request), limit=MAX_ENTRIES, viewer=viewer)
    entries = [
        FeedEntry(
            id=f"urn:commonplace:proposal:{event.found.proposal.id}:{event.found.proposal.tip}",
            title=f"{event.event}: {event.found.proposal.title}",
            when=event.found.proposal.when,
            author=event.found.proposal.author.name,
            url=f"/proposals/{event.found.proposal.id}",
            summary=_paths(event.files),
        )
        for event in events
    ]
    return _feed(request, "proposals.atom", "proposals", "/proposals", entries)


def _wanted(request: PageRequest) -> NoticeFilter:
    filters = {name: request.query.get(name, "").strip() for name in ("folder", "tag", "author", "base")}
    return NoticeFilter(**filters)


def _feed(request: PageRequest, name: str, kind: str, page: str, entries: Sequence[FeedEntry]) -> PageResponse:
    filters = {key: text for key in ("folder", "tag", "author", "base") if (text := request.query.get(key, ""))}
    words = [f"{key} {text}" for key, text in filters.items()]
    latest = sorted(entries, key=lambda entry: entry.when, reverse=True)[:MAX_ENTRIES]
    body = (
        environment()
        .get_template("feed.xml")
        .render(
            title=f"{site_name(request)}: {', '.join([kind, *words])}",
            self_url=f"{request.origin}{with_query(f'/{name}', **filters)}",
            page_url=f"{request.origin}{page}",
            origin=request.origin,
            entries=latest,
            iso=_iso,
        )
    )
    return PageResponse(_xml(body), FEED_TYPE)


def _paths(addresses: Sequence[Address]) -> str:
    more = f" and {len(addresses) - MAX_PATHS:,} more" if len(addresses) > MAX_PATHS else ""
    return f"{', '.join(address.path for address in addresses[:MAX_PATHS])}{more}"


def opensearch(request: PageRequest) -> PageResponse:
    """The OpenSearch description, with which browsers search from the address bar."""
    body = environment().get_template("opensearch.xml").render(request=request, site=site_name(request))
    return PageResponse(_xml(body), "application/opensearchdescription+xml; charset=utf-8")


def robots(request: PageRequest) -> PageResponse:
    """The rules for robots: search engines may index what is read without a key if every base declares its address."""
    addresses = [declared_site(collection.store).url for collection in request.collections]
    is_public = bool(addresses) and all(addresses)
    closed = [f"/{name}/" for name in UNLISTED] if is_public else ["/"]
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in closed)]
    return PageResponse("".join(f"{line}\n" for line in lines).encode(), "text/plain; charset=utf-8")


def _xml(text: str) -> bytes:
    """The text with characters that XML 1.0 excludes replaced; commit messages may contain them."""
    return _NOT_XML.sub("\ufffd", text).encode()


def _iso(seconds: int) -> str:
    """The time in RFC 3339 form; the epoch for times outside the range of the calendar."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}".zfill(20)
    except (OverflowError, OSError, ValueError):
        return _iso(0)
