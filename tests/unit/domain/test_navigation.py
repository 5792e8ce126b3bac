"""The ordered tree of a base's pages, and the way through it."""

from __future__ import annotations

from commonplace.domain.declared_navigation import natural_key
from commonplace.domain.navigation import Navigation, NavigationNode

TREE = Navigation(
    (
        NavigationNode("Home", "home.md"),
        NavigationNode("Part", children=(NavigationNode("A", "a.md"), NavigationNode("Home again", "home.md"))),
        NavigationNode("Elsewhere", url="https://example.org"),
        NavigationNode("B", "b.md"),
    )
)


def test_numbers_sort_by_value_and_marks_and_case_do_not_count() -> None:
    titles = ["Chapter 10", "chapter 2", "Äpfel", "Zebra", "apfelmus", "2 steps", "10 steps", ""]
    expected = ["", "2 steps", "10 steps", "Äpfel", "apfelmus", "chapter 2", "Chapter 10", "Zebra"]
    assert sorted(titles, key=natural_key) == expected


def test_a_page_has_its_first_place_and_neighbours_in_reading_order() -> None:
    assert TREE.places == {"home.md": (0,), "a.md": (1, 0), "b.md": (3,)}
    assert TREE.first == "home.md"
    assert TREE.around("home.md") == ("", "a.md")
    assert TREE.around("a.md") == ("home.md", "b.md")
    assert TREE.around("b.md") == ("a.md", "")
    assert TREE.around("none.md") == ("", "")
    assert Navigation(()).first == ""


def test_a_branch_is_found_by_its_place() -> None:
    assert [node.title for node in TREE.children(())] == ["Home", "Part", "Elsewhere", "B"]
    assert [node.path for node in TREE.children((1,))] == ["a.md", "home.md"]
    assert [tuple(TREE.children(place)) for place in ((9,), (-1,), (1, 5), (0, 0))] == [()] * 4
    assert [node.title for node in TREE.ancestors((1, 0))] == ["Part"]


def test_the_version_tells_one_tree_from_another() -> None:
    assert TREE.version == Navigation(TREE.roots).version
    assert TREE.version != Navigation(TREE.roots[:1]).version
