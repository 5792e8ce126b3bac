"""Lists of documents, tags and totals of one collection or of all, and what is near to a filter that none matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from commonplace.domain.addresses import fold
from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, ListQuery, Record, SortKey
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection, FoundDocument

T = TypeVar("T")

BATCH_DOCUMENTS = 500
"""Number of records fetched at a time while all records are read."""


@dataclass(frozen=True, slots=True)
class DocumentList:
    """A page of the documents of all listed collections."""

    found: tuple[FoundDocument, ...]
    total: int
    """Number of all documents."""


def list_documents(collections: Sequence[Collection], query: ListQuery) -> DocumentList:
    """A page of the documents of all collections, sorted as one list."""
    if len(collections) == 1:
        page = collections[0].index.list(query)
        return DocumentList(tuple(FoundDocument(collections[0], record) for record in page.records), page.total)
    documents: list[FoundDocument] = []
    total = 0
    reach = replace(query, offset=0, limit=query.offset + query.limit)
    for collection in collections:
        page = collection.index.list(reach)
        total += page.total
        documents += (FoundDocument(collection, record) for record in page.records)
    found_documents = in_order(documents, lambda document: document.record, query.sort, descending=query.descending)
    return DocumentList(tuple(found_documents[query.offset : query.offset + query.limit]), total)


def every_document(collection: Collection, query: ListQuery | None = None) -> Iterator[Record]:
    """All records that match the query, in its order, regardless of its limit and offset; without one, all by path."""
    if query is None:
        yield from collection.index.records()
        return
    offset = 0
    while True:
        page = collection.index.list(replace(query, offset=offset, limit=BATCH_DOCUMENTS))
        yield from page.records
        offset += len(page.records)
        if not page.records or offset >= page.total:
            return


def list_tags(
    collections: Sequence[Collection], filter_: Filter | None = None, prefix: str = ""
) -> list[tuple[str, int]]:
    """Tags with their number of documents, most frequent first, then by name."""
    counts: Counter[str] = Counter()
    for collection in collections:
        counts.update(dict(collection.index.tags(filter_ or Filter(), prefix)))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@dataclass(frozen=True, slots=True)
class Facet:
    """The counts of documents by the values of one property."""

    name: str
    """`type`, `tags`, `folder`, `year`, or a key of the frontmatter."""
    values: tuple[tuple[str, int], ...]
    """Values with their number of documents, most frequent first, then by name; "" for documents without a value."""


def collection_names(collections: Iterable[Collection], prefix: str) -> list[str]:
    """Names of collections that begin with a text, regardless of case."""
    wanted_prefix = prefix.casefold()
    return [collection.name for collection in collections if collection.name.casefold().startswith(wanted_prefix)]


def facets(records: Iterable[Record], names: Sequence[str]) -> list[Facet]:
    """The counts of these documents for each property. A document counts once for each of its values."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for record in records:
        for name, counter in counts.items():
            counter.update(set(property_values(record, name)) or {""})
    return [Facet(name, tuple(sorted(counts[name].items(), key=lambda pair: (-pair[1], pair[0])))) for name in names]


def property_values(record: Record, name: str) -> Sequence[str]:
    """The values of a document's property; empty if there are none."""
    match name:
        case "type":
            values: Sequence[str] = [record.type]
        case "tags":
            values = record.tags
        case "folder":
            values = [record.address.path.partition("/")[0] if record.address.folder else "."]
        case "year":
            values = [(record.date or record.created)[:4]]
        case _:
            values = text_items(_listed(record.frontmatter.get(name)))
    return [value for value in values if value]


def _listed(value: Json) -> Json:
    return [value] if isinstance(value, str) else value


def in_order(
    documents: Iterable[T], record: Callable[[T], Record], key: SortKey, *, descending: bool = False
) -> list[T]:
    """Documents of several collections, sorted as by an index: ties by path, whether descending or not."""
    by_path = sorted(documents, key=lambda document: record(document).address)
    return sorted(by_path, key=lambda element: _sort_value(record(element), key), reverse=descending)


def _sort_value(record: Record, key: SortKey) -> str:
    values: dict[SortKey, str] = {
        "title": record.title.casefold(),
        "type": record.type.casefold(),
        "date": record.date,
        "created": record.created,
        "updated": record.updated,
        "updated_day": record.updated[:10],
    }
    return values.get(key, record.address.path)


# Suggestions for names that do not exist.


MAX_NAMED = 8
"""Maximum number of valid names that are listed if none is similar."""


def nearest(given_text: str, known_texts: Iterable[str]) -> str:
    """The most similar known name, ignoring case; "" if none is similar enough."""
    spelt = {fold(name): name for name in known_texts}
    close = get_close_matches(fold(given_text), spelt, 1, cutoff=0.6)
    return spelt[close[0]] if close else ""


def unknown_values(collections: Sequence[Collection], requested_filter: Filter) -> Iterator[str]:
    """One line for each part of a filter that no page matches, with the nearest valid value.

    Args:
        collections: The collections that were searched.
        requested_filter: The filter without results.
    """
    types = dict.fromkeys(name for collection in collections for name, _ in collection.index.counts().types if name)
    for type_ in requested_filter.types:
        if fold(type_) not in map(fold, types):
            yield _line(f"No page is of type {type_!r}.", type_, types)
    tags = dict(list_tags(collections)) if requested_filter.tags else {}
    for tag in requested_filter.tags:
        wanted_tag = fold(tag.lstrip("#"))
        if not any(fold(name) == wanted_tag or fold(name).startswith(f"{wanted_tag}/") for name in tags):
            yield _line(f"No page has the tag {tag!r}.", tag.lstrip("#"), tags)
    days = (requested_filter.date_from, requested_filter.date_to)
    if any((requested_filter.fields, requested_filter.prefix, *days)):
        records = [record for collection in collections for record in every_document(collection)]
        yield from _unknown_fields(records, requested_filter)
        yield from _unknown_prefix(records, requested_filter.prefix)
        yield from _unknown_dates(records, *days)


def _unknown_fields(records: Sequence[Record], requested_filter: Filter) -> Iterator[str]:
    keys = dict.fromkeys(key for record in records for key in record.frontmatter)
    for key, value in requested_filter.fields:
        outer = key.partition(".")[0]
        if fold(outer) not in map(fold, keys):
            yield _line(f"No page has the key {outer!r}.", outer, keys)
            continue
        values = dict.fromkeys(property_value for record in records for property_value in property_values(record, key))
        if values and fold(value) not in map(fold, values):
            yield _line(f"No page has {key}={value}.", value, values)


def _unknown_prefix(records: Sequence[Record], prefix: str) -> Iterator[str]:
    if prefix and not any(record.address.path.startswith(prefix) for record in records):
        folders = dict.fromkeys(f"{record.address.folder}/" for record in records if record.address.folder)
        yield _line(f"No page is under {prefix!r}.", prefix, folders)


def _unknown_dates(records: Sequence[Record], first: str, last: str) -> Iterator[str]:
    """A line on how pages are dated, if days are given and no page has a date from the first to the last."""
    dates = sorted(record.date[:10] for record in records if record.date)
    if first == last == "" or any(first <= day <= (last or day) for day in dates):
        return
    ranged = f"that of {amount(len(dates), 'page')} is from {dates[0]} to {dates[-1]}" if dates else ""
    yield f"The date of a page is the one in its front matter, not that of a change; {ranged or 'no page has one'}."


def _line(said: str, prefix: str, folders: Iterable[str]) -> str:
    texts = list(folders)
    near = nearest(prefix, texts)
    if near:
        return f"{said} Did you mean {near!r}?"
    listed = f" There are: {', '.join(texts[:MAX_NAMED])}{', …' if len(texts) > MAX_NAMED else ''}." if texts else ""
    return said + listed
