"""Filtering and sorting pages by what their frontmatter says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.domain.pages.asking import PageFilter, Sort
from commonplace.domain.pages.page import Page, same


def chosen(pages: Iterable[Page], filter_: PageFilter) -> list[Page]:
    """The pages that a filter keeps, in their order."""
    kept = list(pages)
    if filter_.labels:
        wanted = frozenset(map(same, filter_.labels))
        kept = [page for page in kept if not wanted.isdisjoint(map(same, page.labels))]
    if filter_.author:
        author = same(filter_.author)
        kept = [page for page in kept if author in {same(who) for who in (page.author_email, page.author_name) if who}]
    if filter_.created != PageFilter().created:
        kept = [page for page in kept if filter_.created.holds(page.created)]
    if filter_.updated != PageFilter().updated:
        kept = [page for page in kept if filter_.updated.holds(page.updated)]
    return kept


def ordered(pages: Sequence[Page], sort: Sort | None) -> list[Page]:
    """The pages in the order of a sort, ties by path; pages without the date last. Without a sort: by path."""
    by_path = sorted(pages, key=lambda page: page.address)
    if sort is None:
        return by_path
    sign = -1 if sort.startswith("-") else 1

    def key(page: Page) -> tuple[bool, int]:
        moment = moment_of(page, sort)
        return moment is None, sign * (moment or 0)

    return sorted(by_path, key=key)


def moment_of(page: Page, sort: Sort) -> int | None:
    """The date of a page that a sort compares."""
    return page.created if sort.endswith("created_at") else page.updated
