"""Hover, definitions, references and symbols."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lsprotocol.types import Location, MarkupContent, Position

from commonplace.faces.lsp import navigation
from commonplace.faces.lsp.pages import EditorPage
from editor.desk import Desk

At = Callable[[EditorPage, str], Position]


def hovered(desk: Desk, page: EditorPage, position: Position) -> str:
    hover = navigation.hover(desk.pages, page, position)
    assert hover is not None
    assert isinstance(hover.contents, MarkupContent)
    return hover.contents.value


def test_a_hover_shows_the_named_section_or_the_whole_page(desk: Desk, at: At) -> None:
    page = desk.page("notes/deep.md")
    whole = hovered(desk, page, at(page, "[the"))
    assert whole.startswith("**Guide** (guide.md)\n")
    assert "type: howto" not in whole
    section = hovered(desk, page, at(page, "[[guide#Set"))
    assert "Do it." in section
    assert "# Guide" not in section.partition("---")[2]
    start = desk.page("index.md")
    assert hovered(desk, start, at(start, "[[noth")) == "No page or file is named `nothing`."
    assert navigation.hover(desk.pages, start, Position(0, 0)) is None


def test_a_long_page_is_cut(desk: Desk, at: At) -> None:
    desk.type("guide.md", "# Guide\n\n" + "word " * 2_000)
    page = desk.page("index.md")
    assert hovered(desk, page, at(page, "[[gui")).endswith("…")


def test_a_definition_is_the_place_that_the_link_names(desk: Desk, at: At) -> None:
    page = desk.page("index.md")
    location = navigation.definition(desk.pages, page, at(page, "[how"))
    assert location is not None
    assert (location.uri.rpartition("/")[2], location.range.start.line) == ("guide.md", 7)
    image = desk.type("index.md", "![p](notes/photo.png)\n")
    file = navigation.definition(desk.pages, image, at(image, "![p"))
    assert file is not None
    assert file.uri.endswith("/notes/photo.png")
    broken = desk.type("index.md", "[[nothing]]\n")
    assert navigation.definition(desk.pages, broken, at(broken, "[[no")) is None


def test_of_equal_headings_a_link_names_the_first(desk: Desk, at: At) -> None:
    desk.base.update("twice.md", "# Twice\n\n## Same\n\nOne.\n\n## Same\n\nTwo.\n")
    page = desk.type("index.md", "[[twice#Same]] and [2](twice.md#same-1)\n")
    locations = [navigation.definition(desk.pages, page, at(page, text)) for text in ("[[twice", "and [2")]
    assert [location.range.start.line for location in locations if location] == [2, 6]
    assert "One." in hovered(desk, page, at(page, "[[twice"))
    assert len(navigation.highlights(desk.pages, page, at(page, "[[twice"))) == 1


def test_links_of_a_page_that_is_no_utf8_stand_where_an_editor_shows_them(desk: Desk, at: At) -> None:
    desk.base.write("latin.md", "# Latin\n\ncaf\xe9 \x93x\x94 [[guide]]\n".encode("latin-1"))
    desk.base.index.sync()
    guide = desk.page("guide.md")
    (location,) = [
        reference
        for reference in navigation.references(desk.pages, guide, at(guide, "# Guide"), declared=False)
        if reference.uri.endswith("latin.md")
    ]
    assert (location.range.start, location.range.end) == (Position(2, 9), Position(2, 18))


def test_references_are_of_the_section_or_the_page_and_count_what_is_typed(desk: Desk, at: At) -> None:
    guide = desk.page("guide.md")

    def named(text: str, *, declared: bool = False) -> list[str]:
        locations = navigation.references(desk.pages, guide, at(guide, text), declared=declared)
        return sorted(location.uri.rpartition("/")[2] for location in locations)

    assert named("# Guide") == ["deep.md", "deep.md", "index.md", "index.md"]
    assert named("## Set up") == ["deep.md", "index.md"]
    assert named("## Set up", declared=True) == ["deep.md", "guide.md", "index.md"]
    assert named("### Later") == []
    desk.type("index.md", "# Start\n\n[[guide#Later]]\n")
    assert named("# Guide") == ["deep.md", "deep.md", "index.md"]
    assert named("### Later") == ["index.md"]


def test_headings_are_nested_symbols_and_folds(desk: Desk) -> None:
    guide = desk.page("guide.md")
    (top,) = navigation.symbols(guide)
    assert (top.name, [symbol.name for symbol in top.children or ()]) == ("Guide", ["Set up"])
    assert [symbol.name for symbol in (top.children or ())[0].children or ()] == ["Later"]
    assert [(fold.start_line, fold.end_line) for fold in navigation.folds(guide)][-1] == (0, 4)


def test_pages_and_their_best_headings_are_found_by_words(desk: Desk) -> None:
    symbols = navigation.workspace_symbols(desk.pages, "later")
    assert [(symbol.name, symbol.container_name) for symbol in symbols] == [
        ("Guide", "guide.md"),
        ("Later", "guide.md"),
    ]
    assert [symbol.location.range.start for symbol in symbols if isinstance(symbol.location, Location)] == [
        Position(0, 0),
        Position(11, 4),
    ]
    assert navigation.workspace_symbols(desk.pages, "  ") == []
    assert navigation.workspace_symbols(desk.pages, "zzqq") == []


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("# Top\n\n```\n## Kettle\n```\n\n## Kettle\n\ncopper\n", 6, "Kettle"),
        ("# Top\n\n## The *Kettle*\n\ncopper\n", 2, "The Kettle"),
        ("# Top\n\nKettle\n------\n\ncopper\n", 2, "Kettle"),
    ],
)
def test_a_heading_is_found_where_it_stands_however_it_is_written(desk: Desk, text: str, line: int, name: str) -> None:
    desk.base.update("kettle.md", text)
    _, heading = navigation.workspace_symbols(desk.pages, "copper")
    assert isinstance(heading.location, Location)
    assert (heading.name, heading.location.range.start.line) == (name, line)
    desk.type("kettle.md", f"\n\n{text}")
    _, heading = navigation.workspace_symbols(desk.pages, "copper")
    assert isinstance(heading.location, Location)
    assert heading.location.range.start.line == line + 2, "the editor shows it there"


def test_links_of_a_page_that_lead_to_one_place_are_highlighted(desk: Desk, at: At) -> None:
    page = desk.type("index.md", "[[guide]] [g](guide.md) [[guide#Later]]\n")
    assert len(navigation.highlights(desk.pages, page, at(page, "[[gu"))) == 2
    assert navigation.highlights(desk.pages, page, Position(1, 0)) == []
    links = navigation.document_links(desk.pages, page)
    assert [link.tooltip for link in links] == ["guide.md"] * 3
