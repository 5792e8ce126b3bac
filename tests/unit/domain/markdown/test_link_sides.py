"""The side of `[[a|b]]` that is the page, for each kind of reader."""

from __future__ import annotations

from collections.abc import Mapping

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Link
from commonplace.domain.markdown.link_sides import EVERY_SIDE, PageSide, chosen, in_order, page_side, presence, readers
from pages import page

A, B = Address("a.md"), Address("b.md")


def link(text: str) -> Link:
    (found_link,) = page(f"# T\n\n{text}\n").links
    return found_link


def target(text: str, side: PageSide, there: Mapping[str, Address], collection: str = "") -> tuple[str, Address | None]:
    taken, address = chosen(link(text), side, lambda other_link: (other_link, there.get(other_link.target)), collection)
    return taken.target, address


@each_case(
    ("style", "side"),
    [
        (None, PageSide.EXISTING),
        ("linktitle", PageSide.FIRST),
        ("pagenametitle", PageSide.FIRST),
        ("titlelink", PageSide.LAST),
        ("titlepagename", PageSide.LAST),
    ],
)
def test_the_style_of_a_wiki_names_the_side(style: str | None, side: PageSide) -> None:
    assert page_side(style) is side


@each_case(
    ("there", "expected"),
    [
        ({"a": A}, ("a", "b", "a", "a")),
        ({"b": B}, ("a", "b", "b", "b")),
        ({"a": A, "b": B}, ("a", "b", "a", "b")),
        ({}, ("a", "b", "a", "b")),
        ({"a": Address("a.png"), "b": B}, ("a", "b", "b", "b")),
        ({"a": Address("a.png")}, ("a", "b", "a", "a")),
    ],
)
def test_a_reader_takes_a_fixed_side_or_the_one_of_which_there_is_more(
    there: Mapping[str, Address], expected: tuple[str, ...]
) -> None:
    sides = (PageSide.FIRST, PageSide.LAST, PageSide.EXISTING, PageSide.EXISTING_ELSE_LAST)
    assert tuple(target("[[a|b]]", side, there)[0] for side in sides) == expected


def test_a_side_that_names_another_collection_is_taken_to_exist_and_the_own_name_is_none() -> None:
    assert target("[[x|kb:b]]", PageSide.EXISTING, {})[0] == "b"
    assert target("[[x|kb:b]]", PageSide.EXISTING, {}, collection="kb")[0] == "x"


def test_a_link_with_one_side_and_an_embedded_one_have_no_choice() -> None:
    assert in_order(link("[[a]]")) is None
    assert target("[[a]]", PageSide.LAST, {"a": A}) == ("a", A)
    assert target("![[a|b]]", PageSide.LAST, {"a": A, "b": B})[0] == "a"
    assert target("[text](a.md)", PageSide.LAST, {"a.md": A}) == ("a.md", A)


def test_both_sides_come_in_the_order_in_which_they_are_written() -> None:
    both = in_order(link("[[a|b]]"))
    assert both is not None
    assert [other_link.target for other_link in both] == ["a", "b"]
    again = in_order(both[1])
    assert again is not None
    assert [other_link.target for other_link in again] == ["a", "b"]


def test_every_reader_takes_exactly_one_side() -> None:
    for first in range(3):
        for last in range(3):
            side, two = readers(first, last)
            assert side | two == EVERY_SIDE
            assert not side & two


def test_a_page_is_more_than_a_file_and_a_file_more_than_nothing() -> None:
    presences = [presence(address, elsewhere=False) for address in (A, Address("p.png"), None)]
    assert presences == [2, 1, 0]
    assert presence(None, elsewhere=True) == 2
