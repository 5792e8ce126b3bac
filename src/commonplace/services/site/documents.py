"""Finds documents by the path of a URL, and the targets of links in a text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address, document_suffixes, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.paths import INDEX_NAMES
from commonplace.domain.query import ResolvedLink
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection, Collections, FoundDocument, record_of_new_file
from commonplace.services.links import target_by_name
from commonplace.services.site.derived import BoundedCache

MAX_PARSED_BYTES = 24_000_000
"""Maximum size in bytes of the files whose parsed documents are cached."""
_PARSED: BoundedCache[Document] = BoundedCache(MAX_PARSED_BYTES)


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Target of a link."""

    collection: Collection
    address: Address
    """A document, or another file of the collection."""
    is_document: bool
    title: str = ""


def document_at_path(collection: Collection, path: str) -> FoundDocument | None:
    """The document at exactly this path, with or without its suffix; None if there is none."""
    for name in (*(f"{path}{suffix}" for suffix in document_suffixes()), path):
        with suppress(InvalidInputError):
            address = parse_address(name)
            if not address.is_document:
                continue
            record = collection.index.record(address)
            if record is not None:
                return FoundDocument(collection, record)
    for name in (f"{path}.md", path):
        with suppress(InvalidInputError):
            address = parse_address(name)
            record = record_of_new_file(collection, address) if address.is_document else None
            if record is not None:
                return FoundDocument(collection, record)
    return None


def parsed_document(collection: Collection, address: Address) -> Document:
    """The current document of a file; parsed again only if the file's bytes have changed.

    Raises:
        NotFoundError: there is no such document.
    """
    raw = collection.store.read(address)
    key = (collection.store.identity, address, revision_of(raw))
    return _PARSED.get(key) or _PARSED.put(key, read_document(address, raw), len(raw))


def folder_document(collection: Collection, folder: str) -> FoundDocument | None:
    """The `index.md` or `README.md` that represents a folder ("" for the root); None if there is none."""
    for name in INDEX_NAMES:
        with suppress(InvalidInputError):
            record = collection.index.record(parse_address(f"{folder}/{name}" if folder else name))
            if record is not None:
                return FoundDocument(collection, record)
    return None


def named_document(collections: Sequence[Collection], reference: str) -> FoundDocument | None:
    """The document that an id, title or alias names, in the first of these collections that has it."""
    for collection in collections:
        record = collection.index.find(reference)
        if record is not None:
            return FoundDocument(collection, record)
    return None


def link_targets(
    collections: Collections, collection: Collection, document: Document, links: Sequence[Link]
) -> list[tuple[Link, LinkTarget | None]]:
    """Each link with its target, in order; the target of a broken link is None.

    In the result, a link `[[a|b]]` is replaced by that of the side that is the page.

    Args:
        collections: All collections that the reader may see.
        collection: The document's collection.
        document: The document that contains the links.
        links: The links; they need not be those of `document.links`.
    """
    if not links:
        return []
    resolved = collection.index.resolve(replace(document, links=tuple(links)))
    return [(one.link, _target(collections, collection, one)) for one in resolved]


def _target(collections: Collections, collection: Collection, resolved: ResolvedLink) -> LinkTarget | None:
    if resolved.target is None:
        found = target_by_name(collections, collection, resolved)
        return (
            LinkTarget(found.collection, found.record.address, is_document=True, title=found.record.title)
            if found
            else None
        )
    record = collection.index.record(resolved.target) if resolved.target.is_document else None
    title = record.title if record else ""
    return LinkTarget(collection, resolved.target, is_document=resolved.target.is_document, title=title)
