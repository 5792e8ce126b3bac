"""Filters of pages on the command line, and the nearest valid values for one that matches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.addresses import fold
from commonplace.domain.errors import ConfigError
from commonplace.domain.query import Filter, Record, SortKey
from commonplace.faces.cli.options import MAX_LIMIT, pair
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document, list_tags, property_values

# Groups of options for commands that select pages; a parameter of a group's type stands for all its options.


ListSort: TypeAlias = Literal["path", "title", "type", "date", "created", "updated"]
SearchSort: TypeAlias = Literal["score", ListSort]

NEWEST_FIRST: frozenset[SortKey] = frozenset({"created", "updated", "date", "score"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Options that filter pages."""

    type_: Annotated[
        list[str], typer.Option("--type", "-t", metavar="TYPE", help="Of this type or category; repeated: of either.")
    ] = field(default_factory=list[str])
    tag: Annotated[
        list[str], typer.Option("--tag", metavar="TAG", help="With this tag or one below it; repeated: with all.")
    ] = field(default_factory=list[str])
    prefix: Annotated[str, typer.Option("--prefix", "-p", metavar="PATH", help="Under this path, as in notes/.")] = ""
    field_: Annotated[
        list[str], typer.Option("--field", "-f", metavar="KEY=VALUE", help="With this front-matter field.")
    ] = field(default_factory=list[str])
    from_: Annotated[str, typer.Option("--from", metavar="DAY", help="Dated this day (2024-05-31) or later.")] = ""
    to: Annotated[str, typer.Option("--to", metavar="DAY", help="Dated this day or earlier.")] = ""

    def filter(self) -> Filter:
        """The filter that these options describe.

        Raises:
            ConfigError: a day is not valid, or a field has no `=`.
        """
        return Filter(
            prefix=self.prefix.removeprefix("./"),
            types=tuple(self.type_),
            tags=tuple(self.tag),
            fields=tuple(pair("--field", text) for text in self.field_),
            date_from=_day("--from", self.from_),
            date_to=_day("--to", self.to),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagingOptions:
    """Options for one page of a long answer."""

    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, metavar="N", help="Maximum number of results.")
    ] = 20
    offset: Annotated[
        int, typer.Option("--offset", min=0, metavar="N", help="Number of results to skip.", show_default=False)
    ] = 0

    def more(self, shown: int, total: int) -> str:
        """The line with the option for the next results; "" if all are shown."""
        after = self.offset + shown
        if after >= total:
            return ""
        return f"Showing {shown:,} of {total:,}; pass --offset {after} for more."


def newest_first(sort: SortKey, *, reverse: bool) -> bool:
    """Whether the sort order is descending: dates and scores by default, other keys only if `reverse` is set."""
    return (sort in NEWEST_FIRST) != reverse


def _day(option: str, text: str) -> str:
    if not text:
        return ""
    try:
        day = date.fromisoformat(text).isoformat()
    except ValueError:
        day = ""
    if day != text:  # other ISO forms, such as 20240531, are compared as text and would never match
        raise ConfigError(f"Invalid {option} {text!r}: expected a day such as 2024-05-31.", kind="option")
    return day


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
    if requested_filter.fields or requested_filter.prefix:
        records = [record for collection in collections for record in every_document(collection)]
        yield from _unknown_fields(records, requested_filter)
        yield from _unknown_prefix(records, requested_filter.prefix)


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


def _line(said: str, prefix: str, folders: Iterable[str]) -> str:
    texts = list(folders)
    near = nearest(prefix, texts)
    if near:
        return f"{said} Did you mean {near!r}?"
    listed = f" There are: {', '.join(texts[:MAX_NAMED])}{', …' if len(texts) > MAX_NAMED else ''}." if texts else ""
    return said + listed
