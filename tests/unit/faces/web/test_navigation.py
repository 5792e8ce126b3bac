"""The navigation as HTML: the way to the page is open, and what is not shown is a link."""

from __future__ import annotations

import pytest

from commonplace.domain.navigation import Navigation, NavigationNode
from commonplace.faces.web.navigation import MAX_ROWS, NavigationHtml, place_of
from commonplace.faces.web.urls import Urls

MANY = tuple(NavigationNode(f"Page {at}", f"many/{at}.md") for at in range(200))
TREE = Navigation(
    (
        NavigationNode("Home", "Home.md"),
        NavigationNode("A & <b>", "a/index.md", (NavigationNode("Deep", "a/deep.md"),)),
        NavigationNode("Many", "", MANY),
        NavigationNode("Web", url='https://example.org/?a="b"'),
    )
)
HTML = NavigationHtml(Urls("base"), "base", TREE)


def test_the_way_to_the_page_is_open_and_marked_once() -> None:
    shown = HTML.whole("a/deep.md")
    assert shown.count('aria-current="page"') == 1
    assert '<a dir="auto" href="/p/a/deep" aria-current="page">Deep</a>' in shown
    assert shown.count("<details open>") == 1
    assert "A &amp; &lt;b&gt;" in shown
    assert "<b>" not in shown
    assert 'href="https://example.org/?a=&quot;b&quot;"' in shown


def test_rows_of_other_pages_are_never_marked_and_those_of_another_navigation_are_its_own() -> None:
    for path in ("Home.md", "a/index.md", "a/deep.md", "Home.md", "many/3.md"):
        shown = NavigationHtml(Urls("base"), "base", TREE).whole(path)
        assert shown.count('aria-current="page"') == 1
        assert f'href="/p/{path.removesuffix(".md")}" aria-current="page"' in shown
    renamed = Navigation((NavigationNode("Start", "Home.md"), *TREE.roots[1:]))
    assert ">Start<" in NavigationHtml(Urls("base"), "base", renamed).whole("absent.md")
    assert 'href="/p/@base/Home"' in NavigationHtml(Urls("other"), "base", TREE).whole("absent.md")


def test_a_long_section_shows_the_rows_around_the_page() -> None:
    shown = HTML.whole("many/150.md")
    assert shown.count('href="/p/many/') == MAX_ROWS
    assert ">110 before<" in shown
    assert ">10 more<" in shown


def test_a_section_that_opens_with_a_loaded_one_is_not_cut() -> None:
    tree = Navigation((NavigationNode("Core", "", (NavigationNode("About", "", MANY), *TREE.roots[:1])),))
    shown = NavigationHtml(Urls("base"), "base", tree).section((0,))
    assert shown.count('href="/p/many/') == len(MANY)
    assert 'class="more"' not in shown


def test_a_page_without_a_place_opens_nothing() -> None:
    shown = HTML.whole("absent.md")
    assert "<details open>" not in shown
    assert "aria-current" not in shown
    assert '<a href="/section/2">All 200</a>' in shown


def test_as_many_whole_levels_open_as_fit() -> None:
    def section(name: str, *children: NavigationNode) -> NavigationNode:
        return NavigationNode(name, "", children)

    leaves = [NavigationNode(f"L{at}", f"l{at}.md") for at in range(80)]
    deep = section("Deep", section("Inner", *leaves[:20]), section("Other", leaves[20]))
    tree = Navigation((NavigationNode("Home", "Home.md"), deep, section("Long", *leaves[21:])))
    html = NavigationHtml(Urls("base"), "base", tree)
    for shown in (html.whole("Home.md"), html.whole("absent.md")):
        assert shown.count("<details open>") == 2, "Inner and Other would be 86 rows together with Long and Deep"
        assert shown.count('href="/p/l') == 59
    assert html.section(()).count("<details open>") == 4, "a section that is loaded may open more rows"
    assert html.section((1,)).count("<details open>") == 2
    assert html.section((1,)).count('href="/p/l') == 21
    assert html.whole("l30.md").count("<details open>") == 1, "beside a page only the way to it is open"


def test_a_section_is_given_in_parts() -> None:
    assert HTML.section((2,), 10, 30).count("<li>") == 20
    part = HTML.section((2,), 0, 0, limit=50)
    assert part.count('href="/p/many/') == 50
    assert ">150 more<" in part
    assert HTML.section((9,)) == "<ul></ul>"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("all", ()),
        ("0", (0,)),
        ("2.15", (2, 15)),
        ("", None),
        ("-1", None),
        ("a", None),
        ("9" * 8, None),
        ("\u0661", None),
    ],
)
def test_a_place_is_numbers_alone(text: str, place: tuple[int, ...] | None) -> None:
    assert place_of(text) == place
