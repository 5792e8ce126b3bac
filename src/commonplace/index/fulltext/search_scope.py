"""A filter in the form that the full text applies."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.domain.query import Filter
from commonplace.domain.records import LAST_DAY, day_number, wanted_terms
from commonplace.index.catalogue.document_rows import document_key
from commonplace.index.catalogue.listing import matching_keys
from commonplace.index.fulltext.document_text import DAY_FIELD, FOLDER_TERM_PREFIX


@dataclass(frozen=True, slots=True)
class SearchScope:
    """A selection of documents; every given part must match."""

    groups: tuple[frozenset[str], ...] = ()
    """Groups of terms; a document must have at least one term of each."""
    ranges: tuple[tuple[str, int | None, int | None], ...] = ()
    """Ranges of a document's numbers: name, minimum and maximum (None: unlimited)."""
    keys: frozenset[int] | None = None
    """Documents that match those parts of a filter that only the catalogue can evaluate; None without such parts."""
    without: frozenset[int] = frozenset()
    """Documents to exclude."""

    def holds(self, key: int, terms: frozenset[str], numbers: Mapping[str, int]) -> bool:
        """Whether a document matches."""
        return (
            all(not group.isdisjoint(terms) for group in self.groups)
            and all(_within(numbers.get(name), least, most) for name, least, most in self.ranges)
            and (self.keys is None or key in self.keys)
            and key not in self.without
        )


def scope_of(connection: sqlite3.Connection, filter_: Filter) -> SearchScope:
    """The scope of a filter.

    Two parts are evaluated by the catalogue: created and updated days, which change with commits, and a path prefix
    that ends inside a name, which is not a term.
    """
    groups = wanted_terms(filter_)
    folder = filter_.prefix.endswith("/") and not (filter_.prefix.startswith("/") or filter_.prefix_any_case)
    if folder:
        groups = (*groups, frozenset(FOLDER_TERM_PREFIX + one for one in filter_.prefixes))
    rest = Filter(
        prefix="" if folder else filter_.prefix,
        prefix_any_case=filter_.prefix_any_case,
        created_from=filter_.created_from,
        created_to=filter_.created_to,
        updated_from=filter_.updated_from,
        updated_to=filter_.updated_to,
    )
    keys = None if rest == Filter() else frozenset(matching_keys(connection, rest))
    if filter_.among is not None:
        among = frozenset(document_key(address.path) for address in filter_.among)
        keys = among if keys is None else among & keys
    ranges = filter_.dates
    if filter_.date_from or filter_.date_to:
        ranges = (*ranges, (DAY_FIELD, day_number(filter_.date_from) or 1, day_number(filter_.date_to) or LAST_DAY))
    return SearchScope(
        groups=groups,
        ranges=ranges,
        keys=keys,
        without=frozenset(document_key(address.path) for address in filter_.without),
    )


def _within(number: int | None, least: int | None, most: int | None) -> bool:
    if number is None:
        return False
    return (least is None or number >= least) and (most is None or number <= most)
