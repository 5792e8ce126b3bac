"""Filters and sorts pages by their frontmatter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nsmallest

from commonplace.toolsets.pages.rules.page import Page, fold_label
from commonplace.toolsets.pages.rules.queries import ANY_TIME, PageFilter, Sort


class PageFilterIndex:
    """Index of pages by label and author, so that a filter examines few of them.

    Args:
        pages: Pages in path order, which all results preserve.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = list(pages)
        self._by_label: dict[str, list[int]] = {}
        self._by_author: dict[str, list[int]] = {}
        self._orders: dict[Sort, Sequence[int]] = {}
        self._undated: dict[Sort, Sequence[Page]] = {}
        for place, page in enumerate(self._pages):
            for label in {fold_label(label) for label in page.labels}:
                self._by_label.setdefault(label, []).append(place)
            for author in {fold_label(who) for who in (page.author_email, page.author_name) if who}:
                self._by_author.setdefault(author, []).append(place)

    def matching(self, filter_: PageFilter) -> Sequence[Page]:
        """The pages that match a filter."""
        kept = self._kept(filter_)
        return self._pages if len(kept) == len(self._pages) else [self._pages[place] for place in kept]

    def undated(self, sort: Sort) -> Sequence[Page]:
        """All pages without the date of a sort."""
        if sort not in self._undated:
            self._undated[sort] = [page for page in self._pages if sort_date(page, sort) is None]
        return self._undated[sort]

    def first(self, filter_: PageFilter, sort: Sort | None, limit: int) -> tuple[list[Page], int]:
        """The first pages that match a filter in the order of a sort, and the number of all matches.

        Pages of the same second are in path order. Pages without the date are last, in path order.

        Args:
            filter_: The filter.
            sort: The sort; None for path order.
            limit: Maximum number of pages.
        """
        kept = self._kept(filter_)
        best = kept[:limit] if sort is None else nsmallest(limit, kept, key=self._order(sort).__getitem__)
        return [self._pages[place] for place in best], len(kept)

    def _kept(self, filter_: PageFilter) -> Sequence[int]:
        """Positions of the pages that match a filter, in order."""
        kept: Sequence[int] = range(len(self._pages))
        if filter_.labels or filter_.author:
            labelled = self._places(self._by_label, filter_.labels)
            written = self._places(self._by_author, (filter_.author,))
            kept = sorted(labelled & written if filter_.labels and filter_.author else labelled | written)
        if filter_.created != ANY_TIME:
            kept = [place for place in kept if filter_.created.holds(self._pages[place].created)]
        if filter_.updated != ANY_TIME:
            kept = [place for place in kept if filter_.updated.holds(self._pages[place].updated)]
        return kept

    def _order(self, sort: Sort) -> Sequence[int]:
        """Rank of every page in a sort. Cached, because comparing thousands of dates is slow."""
        if sort not in self._orders:
            sign = -1 if sort.startswith("-") else 1
            moments = [sort_date(page, sort) for page in self._pages]
            keys = [(moment is None, sign * (moment or 0)) for moment in moments]
            order = [0] * len(keys)
            for rank, place in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
                order[place] = rank
            self._orders[sort] = order
        return self._orders[sort]

    @staticmethod
    def _places(known: dict[str, list[int]], values: Iterable[str]) -> set[int]:
        return set[int]().union(*(known.get(fold_label(value), ()) for value in values))


def sort_date(page: Page, sort: Sort) -> int | None:
    """The date of a page for a sort."""
    return page.created if sort.endswith("created_at") else page.updated
