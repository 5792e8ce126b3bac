"""The search box: words, and the operators `type:`, `tag:`, `in:`, `base:`, `status:`, `after:` and `before:`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from commonplace.domain.query import Filter
from commonplace.services.collections import Collection

MAX_CHARS = 1_000
"""Maximum characters of a query."""
OPERATORS = ("type", "tag", "in", "base", "status", "after", "before")
_OPERATOR = re.compile(r'(?<!\S)(type|tag|in|base|status|after|before):(?:"([^"]*)"|(\S+))')
DAYS = ("after", "before")
"""Operators whose value is a day."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Chip:
    """An operator of a query, with its value."""

    operator: str
    value: str

    @property
    def text(self) -> str:
        """The operator as typed."""
        return f'{self.operator}:"{self.value}"' if len(self.value.split()) > 1 else f"{self.operator}:{self.value}"


@dataclass(frozen=True, slots=True)
class QueryText:
    """A parsed query."""

    words: str
    """The query without operators."""
    chips: tuple[Chip, ...] = ()

    def filter(self) -> Filter:
        """The filter that the operators express."""
        days = {one.operator: one.value for one in self.chips if _is_day(one.value)}
        folders = [one.value.strip("/") for one in self.chips if one.operator == "in"]
        return Filter(
            types=tuple(one.value for one in self.chips if one.operator == "type"),
            tags=tuple(one.value.lstrip("#") for one in self.chips if one.operator == "tag"),
            prefix=f"{folders[-1]}/" if folders and folders[-1] else "",
            updated_from=days.get("after", ""),
            updated_to=days.get("before", ""),
        )

    @property
    def status(self) -> str:
        """The status to which the search is narrowed; "" for any."""
        return next((one.value.casefold() for one in self.chips if one.operator == "status"), "")

    def problem(self) -> str:
        """The error in an operator's value; "" if there is none."""
        wrong = next((one for one in self.chips if one.operator in DAYS and not _is_day(one.value)), None)
        return f"{wrong.value[:40]!r} is no day. Write one as {wrong.operator}:2026-01-31." if wrong else ""

    def chosen(self, collections: Iterable[Collection]) -> list[Collection]:
        """The collections selected by operators; all without such an operator."""
        names = {one.value for one in self.chips if one.operator == "base"}
        return [one for one in collections if not names or one.name in names]

    def text(self) -> str:
        """The query as typed."""
        return " ".join([*(one.text for one in self.chips), self.words]).strip()

    def without(self, chip: Chip) -> str:
        """The query without one of its operators."""
        return QueryText(self.words, tuple(one for one in self.chips if one != chip)).text()

    def with_chip(self, operator: str, value: str) -> str:
        """The query with an additional operator."""
        return QueryText(self.words, (*self.chips, Chip(operator, value))).text()


def _is_day(value: str) -> bool:
    try:
        return bool(_DAY.fullmatch(value)) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def read_query(query: Mapping[str, str]) -> QueryText:
    """Parse the query of a request: the parameter `q`, and parameters named like operators."""
    text = query.get("q", "")[:MAX_CHARS].replace("\n", " ")
    chips = [Chip(found[1], found[2] or found[3] or "") for found in _OPERATOR.finditer(text)]
    chips += [Chip(name, query[name][:200]) for name in OPERATORS if query.get(name)]
    words = " ".join(_OPERATOR.sub(" ", text).split())
    return QueryText(words, tuple(dict.fromkeys(one for one in chips if one.value)))


@dataclass(frozen=True, slots=True)
class FacetChip:
    """A value by which results can be narrowed."""

    label: str
    count: int
    query: str
    """The narrowed query."""


@dataclass(frozen=True, slots=True)
class FacetRow:
    """The values of one property."""

    name: str
    chips: tuple[FacetChip, ...] = field(default=())
