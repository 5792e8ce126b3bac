"""Filtering and sorting pages: what is kept in order beforehand gives what a filter and a sort of all pages give."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from commonplace.domain.addresses import Address
from commonplace.toolsets.pages.rules.page import Page
from commonplace.toolsets.pages.rules.queries import ANY_TIME, PageFilter, PageFilterIndex, Sort, TimeRange, sort_date

MOMENTS = st.one_of(st.none(), st.integers(-5, 5))
LABELS = st.lists(st.sampled_from(["a", "A", "b", "c"]), max_size=2).map(tuple)
AUTHORS = st.sampled_from(["", "Ann", "ann", "Bob"])
BOUNDS = st.one_of(st.just(ANY_TIME), st.builds(TimeRange, st.integers(-5, 5), st.integers(-5, 5)))
SORTS: st.SearchStrategy[Sort] = st.sampled_from(["created_at", "-created_at", "updated_at", "-updated_at"])


@st.composite
def some_pages(draw: st.DrawFn) -> list[Page]:
    """Pages in the order of their paths."""
    given_of_each = draw(st.lists(st.tuples(LABELS, AUTHORS, MOMENTS, MOMENTS), max_size=12))
    return [
        Page(
            address=Address(f"{at:02}.md"),
            id=str(at),
            title="T",
            labels=labels,
            author_name=author,
            created=created,
            updated=updated,
        )
        for at, (labels, author, created, updated) in enumerate(given_of_each)
    ]


def kept(pages: Sequence[Page], filter_: PageFilter) -> list[Page]:
    """The pages that match a filter, tested one by one."""
    labels = {label.lower() for label in filter_.labels}
    return [
        page
        for page in pages
        if (not labels or labels & {label.lower() for label in page.labels})
        and (not filter_.author or page.author_name.lower() == filter_.author.lower())
        and filter_.created.holds(page.created)
        and filter_.updated.holds(page.updated)
    ]


def in_order(pages: Sequence[Page], sort: Sort) -> list[Page]:
    """All of some pages, sorted; those without the date last."""
    sign = -1 if sort.startswith("-") else 1
    dated = [page for page in pages if sort_date(page, sort) is not None]
    dated.sort(key=lambda page: sign * (sort_date(page, sort) or 0))
    return [*dated, *(page for page in pages if sort_date(page, sort) is None)]


@given(some_pages(), st.builds(PageFilter, labels=LABELS, author=AUTHORS, created=BOUNDS, updated=BOUNDS))
def test_a_filter_keeps_what_it_says_in_the_order_of_paths(pages: list[Page], filter_: PageFilter) -> None:
    chooser = PageFilterIndex(pages)
    assert chooser.matching(filter_) == kept(pages, filter_)
    assert chooser.first(filter_, None, 3) == (kept(pages, filter_)[:3], len(kept(pages, filter_)))


@given(some_pages(), st.builds(PageFilter, labels=LABELS, updated=BOUNDS), st.lists(SORTS, min_size=1, max_size=3))
def test_the_first_of_a_sort_are_those_of_all_sorted(pages: list[Page], filter_: PageFilter, sorts: list[Sort]) -> None:
    chooser = PageFilterIndex(pages)
    for sort in sorts:
        every = in_order(kept(pages, filter_), sort)
        assert chooser.first(filter_, sort, 4) == (every[:4], len(every))
        assert chooser.undated(sort) == [page for page in pages if sort_date(page, sort) is None]
