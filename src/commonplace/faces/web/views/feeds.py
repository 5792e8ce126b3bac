"""Views for programs: the Atom feed of changes, the OpenSearch description, and `robots.txt`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import Commit
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.pages import environment, site_name
from commonplace.faces.web.shown import shown_commit
from commonplace.faces.web.views.changes import CommitRow
from commonplace.services.collections import Collection
from commonplace.services.site.changes import LATEST

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FEED_TYPE = "application/atom+xml; charset=utf-8"


def atom(request: PageRequest) -> PageResponse:
    """Changes as an Atom feed (RFC 4287): all, or those of a `folder` or `tag`."""
    folder, tag = request.query.get("folder", "").strip("/"), request.query.get("tag", "")
    rows: list[CommitRow] = []
    for collection in request.collections:
        for one in LATEST.of(collection):
            touched = tuple(
                address
                for address in one.addresses
                if (not folder or address.path.startswith(f"{folder}/")) and (not tag or _has(collection, address, tag))
            )
            if touched:
                rows.append(
                    CommitRow(collection, shown_commit(Commit(one.id, one.author, one.when, one.message)), touched)
                )
    rows.sort(key=lambda row: -row.commit.when)
    body = (
        environment()
        .get_template("feed.xml")
        .render(
            request=request, urls=request.urls, site=site_name(request), rows=rows, folder=folder, tag=tag, iso=_iso
        )
    )
    return PageResponse(_xml(body), FEED_TYPE)


def opensearch(request: PageRequest) -> PageResponse:
    """The OpenSearch description, with which browsers search from the address bar."""
    body = environment().get_template("opensearch.xml").render(request=request, site=site_name(request))
    return PageResponse(_xml(body), "application/opensearchdescription+xml; charset=utf-8")


def robots(request: PageRequest) -> PageResponse:
    """The rules for robots: search engines may index no page."""
    del request
    return PageResponse(b"User-agent: *\nDisallow: /\n", "text/plain; charset=utf-8")


def _has(collection: Collection, address: Address, tag: str) -> bool:
    record = collection.index.record(address)
    wanted = fold(tag)
    return record is not None and any(f"{fold(one)}/".startswith(f"{wanted}/") for one in record.tags)


def _xml(text: str) -> bytes:
    """The text with characters that XML 1.0 excludes replaced; commit messages may contain them."""
    return _NOT_XML.sub("\ufffd", text).encode()


def _iso(seconds: int) -> str:
    """The time in RFC 3339 form; the epoch for times outside the range of the calendar."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}".zfill(20)
    except (OverflowError, OSError, ValueError):
        return _iso(0)
