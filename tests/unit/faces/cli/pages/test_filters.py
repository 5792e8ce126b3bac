"""Options that choose among pages."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError
from commonplace.domain.query import Filter
from commonplace.faces.cli.pages import FilterOptions, PagingOptions, newest_first


def test_filters_become_one_filter() -> None:
    options = FilterOptions(
        type_=["note", "memo"], tag=["a"], prefix="./notes/", field_=["status=open", "url=a=b"], from_="2024-01-31"
    )
    assert options.filter() == Filter(
        types=("note", "memo"),
        tags=("a",),
        prefix="notes/",
        fields=(("status", "open"), ("url", "a=b")),
        date_from="2024-01-31",
    )
    assert FilterOptions().filter() == Filter()


@each_case("day", ["2024-13-01", "2024", "20240131", "yesterday", "2024-1-1", "2024-01-31T10:00"])
def test_a_day_that_is_none_is_refused(day: str) -> None:
    with pytest.raises(ConfigError, match="expected a day such as 2024-05-31"):
        FilterOptions(to=day).filter()


def test_a_long_answer_says_how_to_go_on() -> None:
    assert PagingOptions(limit=10, offset=0).more(10, 142) == "Showing 10 of 142; pass --offset 10 for more."
    assert PagingOptions(limit=10, offset=140).more(2, 142) == ""
    assert PagingOptions().more(0, 0) == ""
    assert (
        PagingOptions(limit=1000, offset=2000).more(1000, 9750)
        == "Showing 1,000 of 9,750; pass --offset 3000 for more."
    )


def test_dates_come_newest_first_and_names_do_not() -> None:
    assert newest_first("updated", reverse=False)
    assert newest_first("score", reverse=False)
    assert not newest_first("path", reverse=False)
    assert newest_first("title", reverse=True)
    assert not newest_first("date", reverse=True)


def test_a_day_of_a_leap_year_is_one_and_a_field_may_hold_anything_behind_its_equals() -> None:
    found_filter = FilterOptions(to="2024-02-29", field_=["a= b =c", "ü=茶"]).filter()
    assert found_filter.date_to == "2024-02-29"
    assert dict(found_filter.fields)["ü"] == "茶"
    with pytest.raises(ConfigError, match="Invalid --from '2023-02-29'"):
        FilterOptions(from_="2023-02-29").filter()
