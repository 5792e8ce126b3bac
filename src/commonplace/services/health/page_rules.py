"""Rules for the pages of a collection: outdated pages, repeated texts, broken anchors, unused attachments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from commonplace.domain.addresses import Address, is_attachment_name, unportable
from commonplace.domain.document_reader import Fragments
from commonplace.domain.documents import Document, Finding, Link
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.findings import finding_of, shortened
from commonplace.domain.frontmatter import block_end
from commonplace.domain.links import LinkLookup, ambiguous_targets
from commonplace.domain.query import Record, ResolvedLink
from commonplace.services.collections import Collection
from commonplace.services.health.comparisons import (
    CONTRADICTING,
    LineIndex,
    LocatedFinding,
    declared,
    declared_contradiction,
    outdated,
)
from commonplace.services.health.text_rules import text_findings

REVIEW_KEYS = ("review_by", "review-by", "valid_until", "expires")
"""Front-matter keys of the day until which a page is valid."""
MAX_NAMED = 5
"""Maximum number of pages that a finding names."""
_BLANKS = b" \t\r\n\v\f"
MIN_SAME_BYTES = 70
"""Minimum length in bytes, without blanks, of a text whose repetition is a finding."""
MAX_ATTACHMENTS = 20_000
"""Maximum number of files that are checked for being unused attachments."""


def collection_findings(
    collection: Collection, records: Sequence[Record], contradicting: Sequence[ResolvedLink], *, read: bool = True
) -> Iterator[LocatedFinding]:
    """The findings of the rules that compare pages or read their texts, in a collection.

    Args:
        collection: The collection.
        records: Records of the pages.
        contradicting: The links of the collection that may declare a contradiction.
        read: Whether to read the text of every page. Without it, rules about texts and attachments are left out.
    """
    texts: dict[tuple[int, int], Address] = {}
    lines = LineIndex()
    if read:
        with collection.store.reading() as content:
            for record in sorted(records, key=lambda one: one.address):
                try:
                    raw = content(record.address)
                except KnowledgeError:  # deleted meanwhile, or unreadable, which is another rule's finding
                    continue
                yield from ((record.address, finding) for finding in text_rule_findings(raw))
                yield from _same(record, raw, texts)
                lines.add(record.address, raw[block_end(raw) :])
    pages = {record.address for record in records}
    links = dict.fromkeys([*contradicting, *collection.index.dead_links()])
    yield from link_findings(collection, [one for one in links if one.source in pages])
    if read:
        yield from lines.findings()
        yield from _unused(collection)


def page_findings(
    collection: Collection, record: Record, document: Document, links: Sequence[ResolvedLink]
) -> Iterator[Finding]:
    """The findings of the rules in one version of a page, without comparison with all others.

    Args:
        collection: The collection.
        record: The record of the version.
        document: The version.
        links: Its links.
    """
    yield from record_findings(collection, record, datetime.now(UTC).date().isoformat())
    yield from text_rule_findings(document.raw)
    yield from (finding for _, finding in link_findings(collection, links, document))


def broken_link(resolved: ResolvedLink, lookup: LinkLookup, field: str = "", line: int = 0) -> Finding:
    """The finding for a link that leads nowhere, or to none of several documents."""
    target = shortened(resolved.link.raw)
    paths = [one.path for one in ambiguous_targets(resolved.link, resolved.source, lookup)]
    message = f"The link to {target!r} leads nowhere."
    if paths:
        more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
        message = f"The link to {target!r} is ambiguous: {', '.join(paths[:MAX_NAMED])}{more}. Give the path of one."
    return finding_of("broken_link", message, field, line)


def dead_anchor(target: Address, link: Link, line: int = 0) -> Finding:
    """The finding for a link to a heading or block that its target does not have."""
    message = f"{target.path} has no heading or block {shortened(link.fragment)!r}. Name one that it has."
    return finding_of("dead_anchor", message, line=line)


def record_findings(collection: Collection, record: Record, today: str) -> Iterator[Finding]:
    """The findings of the rules in the record of a page: review dates, files that changed after it, its name.

    Args:
        collection: The collection.
        record: The record.
        today: The current day in ISO 8601.
    """
    yield from _past_review(record, today)
    yield from (finding for _, finding in outdated(collection, record))
    yield from (finding for _, finding in declared(collection, record))
    if reason := unportable(record.address.path):
        yield finding_of("unportable_name", f"{reason}. Rename it.")


def text_rule_findings(raw: bytes) -> Iterator[Finding]:
    """The findings of the rules about the text of a page: secrets, invisible characters, words to agents."""
    for found in text_findings(raw):
        yield finding_of(found.rule, found.message, line=raw.count(b"\n", 0, found.offset) + 1)


def _past_review(record: Record, today: str) -> Iterator[Finding]:
    for key in REVIEW_KEYS:
        value = record.frontmatter.get(key)
        if isinstance(value, str) and len(value) >= len(today) and value[:4].isdigit() and value[: len(today)] < today:
            message = f"It was to be reviewed by {value[:10]} ({key}). Review it, then set a later day."
            yield finding_of("stale", message)


def _same(record: Record, raw: bytes, texts: dict[tuple[int, int], Address]) -> Iterator[LocatedFinding]:
    """A finding if another page has the same text, apart from blanks and front matter."""
    letters = raw[block_end(raw) :].translate(None, _BLANKS)
    if len(letters) < MIN_SAME_BYTES:
        return
    first = texts.setdefault((len(letters), hash(letters)), record.address)
    if first != record.address:
        message = f"{first.path} has the same text. Keep one, and link to it from the other."
        yield record.address, finding_of("same_text", message)


def link_findings(
    collection: Collection, links: Sequence[ResolvedLink], version: Document | None = None
) -> Iterator[LocatedFinding]:
    """Declared contradictions, and links to missing headings and blocks.

    Args:
        collection: The collection.
        links: Links of its documents.
        version: A document that is read instead of the file at its address.
    """
    linked = {one.target for one in links if one.target and one.link.fragment}
    fragments = collection.index.fragments(linked) | ({version.address: Fragments(version)} if version else {})
    source, raw = (version.address, version.raw) if version else (Address(""), b"")
    for one in links:
        target = one.target
        if one.link.relation in CONTRADICTING and target is not None:
            yield declared_contradiction(one.source, target)
        if not one.link.fragment or target not in fragments or one.link.fragment in fragments[target]:
            continue
        if one.source != source:
            source, raw = one.source, b""
            with suppress(KnowledgeError):  # deleted meanwhile, or unreadable, which is another rule's finding
                raw = collection.store.read(source)
        line = raw.count(b"\n", 0, one.link.span.start) + 1 if one.link.span.end else 0
        yield one.source, dead_anchor(target, one.link, line)


def _unused(collection: Collection) -> Iterator[LocatedFinding]:
    """Attachments that no page links to."""
    pending, looked = [""], 0
    while pending and looked < MAX_ATTACHMENTS:
        folder = pending.pop()
        try:
            pending += collection.store.folders(folder)
            files = sorted(collection.store.files(folder))
        except KnowledgeError:  # the folder cannot be listed, so its files are not reported
            continue
        for address, _ in files:
            looked += 1
            if address.is_document or address.name == "kb.yaml" or not is_attachment_name(address.name):
                continue
            if not collection.index.links_to(address, sentences=False):
                message = "No page links to this file. Link to it, or delete it."
                yield address, finding_of("unused_attachment", message)
