"""Files of an editor: which are pages, with which text, and where their links lead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol.types import Position

from commonplace.domain.addresses import Address
from commonplace.faces.lsp.pages import EditorPage, file_path, heading_span
from editor.desk import Desk


def test_a_page_has_the_text_that_is_typed_saved_or_not(desk: Desk) -> None:
    assert desk.page("index.md").document.title == "Start"
    assert desk.type("index.md", "# Typed\n").document.title == "Typed"
    assert desk.type("new.md", "# Not saved\n").document.title == "Not saved"
    assert set(desk.pages.unsaved(desk.base.collection)) == {Address("index.md"), Address("new.md")}


@pytest.mark.parametrize(
    "uri",
    [
        "untitled:Untitled-1",
        "https://example.org/index.md",
        "file://other/index.md",
        "file:///nowhere/index.md",
        "file:///a%00b.md",
    ],
)
def test_what_is_in_no_open_folder_is_no_page(desk: Desk, uri: str) -> None:
    assert desk.pages.page(uri) is None


def test_a_file_that_is_no_page_or_not_there_is_none(desk: Desk) -> None:
    for path in ("notes/photo.png", "none.md", "notes", ".git/x.md"):
        assert desk.pages.page((desk.base.folder / path).as_uri()) is None


def test_a_symbolic_link_to_the_folder_names_the_same_pages(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(desk.base.folder)
    page = desk.pages.page((tmp_path / "link" / "index.md").as_uri())
    assert page is not None
    assert page.address == Address("index.md")
    assert file_path("file:///a%20b/%C3%BC.md") == Path("/a b/ü.md")


def test_a_link_is_found_where_the_cursor_stands(desk: Desk, at: Callable[[EditorPage, str], Position]) -> None:
    page = desk.page("notes/deep.md")
    resolved = page.link_at(at(page, "[the gui"))
    assert resolved is not None
    assert resolved.target == Address("guide.md")
    assert page.link_at(at(page, "and ")) is not None, "the end of a word belongs to the link behind it"
    assert page.link_at(Position(0, 1)) is None
    target = desk.pages.target(page, page.link_at(at(page, "[[guide#")) or resolved)
    assert target is not None
    assert target.section is not None
    assert target.section.heading == "Set up"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("## Set up", "Set up"),
        ("## Set up ##", "Set up"),
        ("##  C# ", "C#"),
        ("## A {#own}", "A"),
        ("Under\n===", "Under"),
    ],
)
def test_the_text_of_a_heading_is_without_its_marks(desk: Desk, line: str, text: str) -> None:
    page = desk.type("index.md", f"{line}\n\nText.\n")
    section = next(other_section for other_section in page.document.sections if other_section.level)
    span = heading_span(page, section)
    assert page.document.source[span.start : span.end].decode() == text
