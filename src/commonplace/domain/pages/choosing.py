"""Filtering and sorting pages by what their frontmatter says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nsmallest

from commonplace.domain.pages.asking import ANY_TIME, PageFilter, Sort
from commonplace.domain.pages.page import Page, same


class Chooser:
    """Pages by label and by author, so that a filter looks at few of them.

    Args:
        pages: In the order of their paths, which all answers keep.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = list(pages)
        self._by_label: dict[str, list[int]] = {}
        self._by_author: dict[str, list[int]] = {}
        for place, page in enumerate(self._pages):
            for label in {same(label) for label in page.labels}:
                self._by_label.setdefault(label, []).append(place)
            for author in {same(who) for who in (page.author_email, page.author_name) if who}:
                self._by_author.setdefault(author, []).append(place)

    def chosen(self, filter_: PageFilter) -> list[Page]:
        """The pages that a filter keeps."""
        kept = self._pages
        if filter_.labels or filter_.author:
            labelled = self._places(self._by_label, filter_.labels)
            written = self._places(self._by_author, (filter_.author,))
            both = labelled & written if filter_.labels and filter_.author else labelled | written
            kept = [self._pages[place] for place in sorted(both)]
        if filter_.created != ANY_TIME:
            kept = [page for page in kept if filter_.created.holds(page.created)]
        if filter_.updated != ANY_TIME:
            kept = [page for page in kept if filter_.updated.holds(page.updated)]
        return kept

    @staticmethod
    def _places(known: dict[str, list[int]], values: Iterable[str]) -> set[int]:
        return {place for value in values for place in known.get(same(value), ())}


def first_of(pages: Sequence[Page], sort: Sort | None, limit: int) -> list[Page]:
    """The first pages in the order of a sort, those of one second and those without the date (last) as they are given.

    Args:
        pages: In the order of their paths.
        sort: None for just that order.
        limit: At most so many.
    """
    if sort is None:
        return list(pages[:limit])
    sign = -1 if sort.startswith("-") else 1

    def key(page: Page) -> tuple[bool, int]:
        moment = moment_of(page, sort)
        return moment is None, sign * (moment or 0)

    return nsmallest(limit, pages, key=key)


def moment_of(page: Page, sort: Sort) -> int | None:
    """The date of a page that a sort compares."""
    return page.created if sort.endswith("created_at") else page.updated
