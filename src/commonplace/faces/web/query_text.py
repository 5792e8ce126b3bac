"""The search box: words, and the operators `type:`, `tag:`, `in:`, `base:`, `status:`, `after:` and `before:`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from commonplace.domain.query import Filter
from commonplace.faces.web.messages import MessageCatalogue
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
        days = {chip.operator: chip.value for chip in self.chips if _is_day(chip.value)}
        folders = [chip.value.strip("/") for chip in self.chips if chip.operator == "in"]
        return Filter(
            types=tuple(chip.value for chip in self.chips if chip.operator == "type"),
            tags=tuple(chip.value.lstrip("#") for chip in self.chips if chip.operator == "tag"),
            prefix=f"{folders[-1]}/" if folders and folders[-1] else "",
            updated_from=days.get("after", ""),
            updated_to=days.get("before", ""),
        )

    @property
    def status(self) -> str:
        """The status to which the search is narrowed; "" for any."""
        return next((chip.value.casefold() for chip in self.chips if chip.operator == "status"), "")

    def problem(self, collections: Iterable[Collection], words: MessageCatalogue) -> str:
        """The error in an operator's value, of which collections are those that there are; "" if there is none."""
        names = [collection.name for collection in collections]
        base = next((chip.value for chip in self.chips if chip.operator == "base" and chip.value not in names), "")
        if base:
            said = "There is no base {name} here. Bases: {names}."
            return words.plain(said, name=repr(base[:40]), names=", ".join(names))
        wrong = next((chip for chip in self.chips if chip.operator in DAYS and not _is_day(chip.value)), None)
        said = "{value} is not a day. Write one as {example}."
        return words.plain(said, value=repr(wrong.value[:40]), example=f"{wrong.operator}:2026-01-31") if wrong else ""

    def chosen(self, collections: Iterable[Collection]) -> list[Collection]:
        """The collections selected by operators; all without such an operator."""
        names = {chip.value for chip in self.chips if chip.operator == "base"}
        return [collection for collection in collections if not names or collection.name in names]

    def text(self) -> str:
        """The query as typed."""
        return " ".join([*(chip.text for chip in self.chips), self.words]).strip()

    def without(self, chip: Chip) -> str:
        """The query without one of its operators."""
        return QueryText(self.words, tuple(other_chip for other_chip in self.chips if other_chip != chip)).text()

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
    chips = [Chip(match[1], match[2] or match[3] or "") for match in _OPERATOR.finditer(text)]
    chips += [Chip(name, query[name][:200]) for name in OPERATORS if query.get(name)]
    words = " ".join(_OPERATOR.sub(" ", text).split())
    return QueryText(words, tuple(dict.fromkeys(chip for chip in chips if chip.value)))


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
