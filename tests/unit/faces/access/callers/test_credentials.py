"""Fields that are given twice are not read as the first of them."""

from __future__ import annotations

from starlette.datastructures import Headers

from commonplace.faces.access.callers import authorization, combined


def headers(*fields: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.encode(), value.encode()) for name, value in fields])


def test_all_values_of_a_field_count() -> None:
    given_headers = headers(("x-a", "1"), ("x-b", "2"), ("x-a", "3"))
    assert combined(given_headers, "X-A") == "1, 3"
    assert combined(given_headers, "x-b") == "2"
    assert combined(given_headers, "x-c") == ""


def test_no_credentials_are_told_from_empty_ones_and_two_are_none_that_is_known() -> None:
    assert authorization(headers()) is None
    assert authorization(headers(("authorization", ""))) == ""
    assert authorization(headers(("authorization", "Bearer a"), ("authorization", "Bearer b"))) == "Bearer a, Bearer b"
