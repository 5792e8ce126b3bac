"""Links once files have come and gone: which of them lead elsewhere then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.services.writes.links_after import LinksAfter, redirected_by
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "a/Compost.md": "---\naliases: [Heap]\n---\nOf the garden.\n",
    "b/Router.md": "# Router\n",
    "c.md": "[[Compost]] and [it](Compost.md), ![[pot.png]] [[Heap]] [[Wanted]] [up](guide/)\n",
    "files/pot.png": b"\x89PNG",
    "guide/README.md": "# Guide\n",
    "guide/inner.md": "[up](..) [here](.)\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("after"), FILES) as indexed:
        yield indexed


def redirects(base: Indexed, came: dict[str, str], gone: tuple[str, ...] = ()) -> set[tuple[str, str, str]]:
    after = LinksAfter(
        base.collection, {Address(path): text.encode() for path, text in came.items()}, list(map(Address, gone))
    )
    links = after.redirected()
    return {(link.found.link.target, str(link.found.target or ""), str(link.now or "")) for link in links}


def test_a_page_at_the_top_takes_links_over_that_named_the_end_of_another_path(base: Indexed) -> None:
    rows = redirects(base, {"Compost.md": "# Compost\n"})
    assert rows == {("Compost", "a/Compost.md", "Compost.md"), ("Compost.md", "a/Compost.md", "Compost.md")}


def test_a_second_page_with_a_path_as_long_makes_links_unclear(base: Indexed) -> None:
    assert redirects(base, {"d/Compost.md": "# X\n"}) == {
        ("Compost", "a/Compost.md", ""),
        ("Compost.md", "a/Compost.md", ""),
    }


def test_a_page_that_is_wanted_gets_the_links_to_it(base: Indexed) -> None:
    assert redirects(base, {"deep/in/Wanted.md": "# W\n"}) == {("Wanted", "", "deep/in/Wanted.md")}


def test_an_alias_of_two_pages_is_unclear(base: Indexed) -> None:
    assert redirects(base, {"x.md": "---\nalias: Heap\n---\n"}) == {("Heap", "a/Compost.md", "")}


def test_a_file_that_is_no_page_takes_links_over(base: Indexed) -> None:
    assert redirects(base, {"pot.png": "PNG"}) == {("pot.png", "files/pot.png", "pot.png")}


def test_links_to_what_is_gone_lead_to_the_next_of_that_name_or_nowhere(base: Indexed) -> None:
    assert redirects(base, {}, ("a/Compost.md",)) == {
        ("Compost", "a/Compost.md", ""),
        ("Compost.md", "a/Compost.md", ""),
        ("Heap", "a/Compost.md", ""),
    }
    moved = redirects(base, {"z/Compost.md": "# C\n"}, ("a/Compost.md",))
    assert ("Compost", "a/Compost.md", "z/Compost.md") in moved


def test_links_to_a_folder_lead_to_its_new_page(base: Indexed) -> None:
    assert redirects(base, {"guide/index.md": "# I\n"}) == {
        ("guide/", "guide/README.md", "guide/index.md"),
        (".", "guide/README.md", "guide/index.md"),
    }
    assert ("..", "", "index.md") in redirects(base, {"index.md": "# I\n"})


def test_a_change_of_its_names_alone_moves_links(base: Indexed) -> None:
    address, before = Address("a/Compost.md"), str(FILES["a/Compost.md"]).encode()
    assert redirected_by(base.collection, address, before, before + b"More.\n") == []
    links = redirected_by(base.collection, address, before, b"Of the garden.\n")
    assert [(link.found.link.target, link.now) for link in links] == [("Heap", None)]
    assert redirected_by(base.collection, Address("new.md"), None, b"# N\n") == []
    assert len(redirected_by(base.collection, address, before, None)) == 3
