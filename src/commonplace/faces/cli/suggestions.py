"""Suggestions for names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from commonplace.domain.addresses import fold
from commonplace.domain.query import Filter, Record
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document, list_tags, property_values

MAX_NAMED = 8
"""Maximum number of valid names that are listed if none is similar."""


def nearest(given: str, known: Iterable[str]) -> str:
    """The most similar known name, ignoring case; "" if none is similar enough."""
    spelt = {fold(name): name for name in known}
    close = get_close_matches(fold(given), spelt, 1, cutoff=0.6)
    return spelt[close[0]] if close else ""


def unknown_values(collections: Sequence[Collection], asked: Filter) -> Iterator[str]:
    """One line for each part of a filter that no page matches, with the nearest valid value.

    Args:
        collections: The collections that were searched.
        asked: The filter without results.
    """
    types = dict.fromkeys(name for one in collections for name, _ in one.index.counts().types if name)
    for type_ in asked.types:
        if fold(type_) not in map(fold, types):
            yield _line(f"No page is of type {type_!r}.", type_, types)
    tags = dict(list_tags(collections)) if asked.tags else {}
    for tag in asked.tags:
        wanted = fold(tag.lstrip("#"))
        if not any(fold(name) == wanted or fold(name).startswith(f"{wanted}/") for name in tags):
            yield _line(f"No page has the tag {tag!r}.", tag.lstrip("#"), tags)
    if asked.fields or asked.prefix:
        records = [record for one in collections for record in every_document(one)]
        yield from _unknown_fields(records, asked)
        yield from _unknown_prefix(records, asked.prefix)


def _unknown_fields(records: Sequence[Record], asked: Filter) -> Iterator[str]:
    keys = dict.fromkeys(key for record in records for key in record.frontmatter)
    for key, value in asked.fields:
        outer = key.partition(".")[0]
        if fold(outer) not in map(fold, keys):
            yield _line(f"No page has the key {outer!r}.", outer, keys)
            continue
        values = dict.fromkeys(one for record in records for one in property_values(record, key))
        if values and fold(value) not in map(fold, values):
            yield _line(f"No page has {key}={value}.", value, values)


def _unknown_prefix(records: Sequence[Record], prefix: str) -> Iterator[str]:
    if prefix and not any(record.address.path.startswith(prefix) for record in records):
        folders = dict.fromkeys(f"{record.address.folder}/" for record in records if record.address.folder)
        yield _line(f"No page is under {prefix!r}.", prefix, folders)


def _line(said: str, given: str, known: Iterable[str]) -> str:
    known = list(known)
    near = nearest(given, known)
    if near:
        return f"{said} Did you mean {near!r}?"
    listed = f" There are: {', '.join(known[:MAX_NAMED])}{', …' if len(known) > MAX_NAMED else ''}." if known else ""
    return said + listed
