"""Rules for the pages of a collection: outdated pages, repeated texts, broken anchors, unused attachments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import Fragments
from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.frontmatter import block_end
from commonplace.domain.query import Record, ResolvedLink
from commonplace.services.collections import Collection
from commonplace.services.health.comparisons import (
    CONTRADICTING,
    HealthFinding,
    LineIndex,
    contradictions,
    declared,
    declared_contradiction,
    document_or_none,
    outdated,
)
from commonplace.services.health.text_rules import text_findings

REVIEW_KEYS = ("review_by", "review-by", "valid_until", "expires")
"""Front-matter keys of the day until which a page is valid."""
_LOOKED_AT = ("#", "^", "contradict")
"""Texts in links to headings or blocks, and in links that declare contradictions; only these links are read."""
_BLANKS = b" \t\r\n\v\f"
MIN_SAME_BYTES = 70
"""Minimum length in bytes, without blanks, of a text whose repetition is a finding."""
MAX_ATTACHMENTS = 20_000
"""Maximum number of files that are checked for being unused attachments."""


def health_findings(
    collection: Collection, records: Sequence[Record], today: date | None = None
) -> Iterator[HealthFinding]:
    """Everything that the rules of this package find in a collection.

    Args:
        collection: The collection.
        records: Records of the pages.
        today: The current day; None for the clock's.
    """
    day = (today or datetime.now(UTC).date()).isoformat()
    texts: dict[tuple[int, int], Address] = {}
    lines = LineIndex()
    with collection.store.reading() as read:
        for record in sorted(records, key=lambda one: one.address):
            yield from _stale(record, day)
            yield from outdated(collection, record)
            yield from declared(collection, record)
            try:
                raw = read(record.address)
            except KnowledgeError:  # deleted meanwhile, or unreadable, which is another rule's finding
                continue
            yield from _of_text(record, raw)
            yield from _same(record, raw, texts)
            lines.add(record.address, raw[block_end(raw) :])
    yield from lines.findings()
    yield from contradictions(collection, records)
    yield from _linked(collection, records)
    yield from _unused(collection)


def known_findings(collection: Collection, records: Sequence[Record]) -> Iterator[HealthFinding]:
    """Findings that need only the index: outdated pages, declared contradictions, broken anchors."""
    day = datetime.now(UTC).date().isoformat()
    for record in records:
        yield from _stale(record, day)
        yield from outdated(collection, record)
        yield from declared(collection, record)
    yield from _linked(collection, records)


def _linked(collection: Collection, records: Sequence[Record]) -> Iterator[HealthFinding]:
    known = {record.address for record in records}
    links = collection.index.links_from(None, _LOOKED_AT)
    yield from _of_links(collection, [one for one in links if one.source in known])


def page_findings(collection: Collection, record: Record) -> Iterator[HealthFinding]:
    """The findings of the rules in one page, without comparison with others."""
    yield from _stale(record, datetime.now(UTC).date().isoformat())
    with suppress(KnowledgeError):  # deleted meanwhile, or unreadable, which is another rule's finding
        yield from _of_text(record, collection.store.read(record.address))
    yield from _of_links(collection, collection.index.links_from(record.address, _LOOKED_AT))


def _of_text(record: Record, raw: bytes) -> Iterator[HealthFinding]:
    for found in text_findings(raw):
        line = raw.count(b"\n", 0, found.offset) + 1
        yield record.address, line, found.rule, found.severity, found.message


def _stale(record: Record, today: str) -> Iterator[HealthFinding]:
    for key in REVIEW_KEYS:
        value = record.frontmatter.get(key)
        if isinstance(value, str) and len(value) >= len(today) and value[:4].isdigit() and value[: len(today)] < today:
            message = f"It was to be reviewed by {value[:10]} ({key}). Review it, then set a later day."
            yield record.address, 0, "stale", Severity.WARNING, message


def _same(record: Record, raw: bytes, texts: dict[tuple[int, int], Address]) -> Iterator[HealthFinding]:
    """A finding if another page has the same text, apart from blanks and front matter."""
    letters = raw[block_end(raw) :].translate(None, _BLANKS)
    if len(letters) < MIN_SAME_BYTES:
        return
    first = texts.setdefault((len(letters), hash(letters)), record.address)
    if first != record.address:
        message = f"{first.path} has the same text. Keep one, and link to it from the other."
        yield record.address, 0, "same_text", Severity.WARNING, message


def _of_links(collection: Collection, links: Sequence[ResolvedLink]) -> Iterator[HealthFinding]:
    """Declared contradictions, and links to missing headings and blocks."""
    fragments: dict[Address, Fragments | None] = {}
    dead: dict[tuple[Address, str], bool] = {}
    anchors = collection.index.anchors({one.target for one in links if one.target and one.link.fragment})
    read, raw = Address(""), b""
    for one in links:
        if one.link.relation in CONTRADICTING and one.target is not None:
            yield declared_contradiction(one.source, one.target)
        fragment, target = one.link.fragment, one.target
        if not fragment or target is None or not target.is_document or fragment in anchors.get(target, ()):
            continue
        if (target, fragment) not in dead:
            if target not in fragments:
                document = document_or_none(collection, target)
                fragments[target] = Fragments(document) if document else None
            there = fragments[target]
            dead[target, fragment] = there is not None and fragment not in there
        if not dead[target, fragment]:
            continue
        if one.source != read:
            document = document_or_none(collection, one.source)
            read, raw = one.source, document.raw if document else b""
        line = raw.count(b"\n", 0, one.link.span.start) + 1 if one.link.span.end else 0
        message = f"{target.path} has no heading or block {fragment[:60]!r}. Name one that it has."
        yield one.source, line, "dead_anchor", Severity.WARNING, message


def _unused(collection: Collection) -> Iterator[HealthFinding]:
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
            if address.is_document or address.name == "kb.yaml" or not _is_attachment(address):
                continue
            if not collection.index.links_to(address, sentences=False):
                message = "No page links to this file. Link to it, or delete it."
                yield address, 0, "unused_attachment", Severity.INFO, message


def _is_attachment(address: Address) -> bool:
    """Whether a file is of a type that pages embed or link to, unlike program code and configuration."""
    return address.name.rpartition(".")[2].lower() in _ATTACHED


_PICTURES = "png jpg jpeg gif svg webp avif bmp tiff heic"
_OTHERS = "pdf mp3 m4a wav ogg mp4 mov webm docx xlsx pptx odt ods odp csv zip"
_ATTACHED = frozenset([*_PICTURES.split(), *_OTHERS.split()])
"""Suffixes of the files that pages embed or link to."""
