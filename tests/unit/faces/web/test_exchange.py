"""Requests and responses of web pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.exchange import MAX_PAGE, PageResponse, ToolsetPages, redirect


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("exchange")
    for name in ("one", "two"):
        (place / name).mkdir()
    with Pages(place, place / "one", place / "two") as served:
        yield served


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("7", 7),
        ("007", 7),
        ("0000000000012", 12),
        ("", 3),
        ("0", 3),
        ("-1", 3),
        ("+1", 3),
        ("1.5", 3),
        ("1_0", 3),
        (" 1", 3),
        ("٣", 3),
        ("²", 3),
        ("x", 3),
        ("100000", MAX_PAGE),
        ("100001", MAX_PAGE),
        ("9" * 10_000, MAX_PAGE),
    ],
)
def test_a_parameter_is_a_positive_number_or_the_default(pages: Pages, given: str, number: int) -> None:
    assert pages.request(page=given).number("page", 3) == number


@pytest.mark.parametrize(
    ("path", "name", "rest"),
    [("a/b", "one", "a/b"), ("", "one", ""), ("@two/a", "two", "a"), ("@two", "two", ""), ("@one/@x", "one", "@x")],
)
def test_a_path_names_its_collection_or_means_the_first(pages: Pages, path: str, name: str, rest: str) -> None:
    collection, found_text = pages.request(path).located()
    assert (collection.name, found_text) == (name, rest)


@pytest.mark.parametrize("path", ["@three/a", "@/a", "@", "@TWO/a"])
def test_a_collection_that_is_not_served_is_not_found(pages: Pages, path: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        pages.request(path).located()
    assert caught.value.kind == "collection"


def test_a_collection_that_the_key_does_not_open_is_not_found_and_no_other_takes_its_place(pages: Pages) -> None:
    confined = pages.request_of(Caller("k", "read", frozenset({"two"})), "a")

    assert [collection.name for collection in confined.collections] == ["two"]
    with pytest.raises(NotFoundError):
        confined.located()
    assert replace(confined, path="@two/a").located()[1] == "a"


def test_further_headers_replace_those_of_the_same_name() -> None:
    first = PageResponse(b"", headers={"a": "1", "b": "1"})

    assert first.with_headers({"b": "2", "c": "2"}).headers == {"a": "1", "b": "2", "c": "2"}
    assert first.headers == {"a": "1", "b": "1"}
    assert redirect("/p/a").headers == {"location": "/p/a"}
    assert (redirect("/p/a").status, redirect("/", 303).status) == (302, 303)


def test_a_toolset_that_adds_nothing_shows_nothing(pages: Pages) -> None:
    added, request = ToolsetPages(), pages.request()
    (collection, _) = request.collections

    assert added.card(request) is None
    assert list(added.about(request, collection)) == []
    assert added.confined is False
