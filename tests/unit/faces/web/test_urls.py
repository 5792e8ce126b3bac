"""The URLs of pages, and what paths of URLs mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from cases import each_case
from commonplace.domain.addresses import address_or_none
from commonplace.domain.document_reader import slug_of_fragment
from commonplace.faces.web.urls import Urls, element_fragment, first_name, split_path, with_query
from commonplace.services.collections import Collections
from indexed import Indexed


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    files = {"@types/a.md": "# A\n", "@top.md": "# Top\n", "@two/c.md": "# C\n"}
    with ExitStack() as stack:
        members = [
            replace(stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files)).collection, name=name)
            for name in ("one", "two")
        ]
        yield Collections(lambda: members)


@each_case(
    ("collection", "path", "url"),
    [
        ("one", "notes/a b.md", "/p/notes/a%20b"),
        ("two", "notes/a.md", "/p/@two/notes/a"),
        ("one", "@types/a.md", "/p/@one/@types/a"),
        ("one", "notes/潮.md", "/p/notes/%E6%BD%AE"),
        ("one", "a?b#c%d.md", "/p/a%3Fb%23c%25d"),
        ("one", "x.markdown", "/p/x.markdown"),
    ],
)
def test_a_path_has_one_url(collection: str, path: str, url: str) -> None:
    assert Urls("one").page(collection, path) == url


@each_case(
    ("fragment", "url"),
    [
        ("", ""),
        ("Part *one*", "#part-one"),
        ("A#B c", "#b-c"),
        ("^block", "#^block"),
        ("Über", "#%C3%BCber"),
        ("!!", "#%21%21"),
    ],
)
def test_a_fragment_leads_to_the_anchor_of_its_heading(fragment: str, url: str) -> None:
    assert Urls("one").page("one", "a.md", slug_of_fragment(fragment)) == f"/p/a{url}"
    assert element_fragment(slug_of_fragment(fragment)) == url


def test_a_view_has_the_path_of_the_page_and_only_the_parameters_that_say_something() -> None:
    assert Urls("one").view("history", "two", "a b.md", page="2", q="") == "/history/@two/a%20b?page=2"
    assert Urls("one").file("one", "a/b.md") == "/files/a/b.md"
    assert with_query("/search", q="a&b ü", type="") == "/search?q=a%26b+%C3%BC"
    assert with_query("/search", q="") == "/search"


@each_case("path", ["../a", "/etc/passwd", "a//b", "a\0b", ".git/config", ""])
def test_a_path_that_leads_elsewhere_spells_no_address(path: str) -> None:
    assert address_or_none(path) is None or not address_or_none(path).path.startswith(("/", ".."))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("path", "name", "rest"),
    [
        ("@types/a", "one", "@types/a"),
        ("@types", "one", "@types"),
        ("@top", "one", "@top"),
        ("@one/@types/a", "one", "@types/a"),
        ("@two/b", "two", "b"),
        ("@none/b", "", "b"),
        ("a", "one", "a"),
    ],
)
def test_a_folder_or_page_whose_name_begins_with_the_mark_has_its_path(
    bases: Collections, path: str, name: str, rest: str
) -> None:
    collection, inside = split_path(path, bases, "one")
    assert (collection.name if collection else "", inside) == (name, rest)


def test_a_reader_who_may_not_see_the_first_collection_is_led_into_no_other(bases: Collections) -> None:
    assert split_path("@types/a", bases.only(frozenset({"two"})), "one")[0] is None


def test_a_server_without_collections_has_no_first_one() -> None:
    assert first_name(Collections(list)) == ""
