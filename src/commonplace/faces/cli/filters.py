"""Filters of pages on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.errors import ConfigError
from commonplace.domain.query import Filter, SortKey
from commonplace.faces.cli.options import MAX_LIMIT, pair

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
