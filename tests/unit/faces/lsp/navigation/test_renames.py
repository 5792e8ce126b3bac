"""Renames of pages and headings, as edits that the editor makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lsprotocol.types import Position, Range, RenameFile, TextDocumentEdit, WorkspaceEdit

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError
from commonplace.faces.lsp.navigation import moved_pages, prepare, rename
from commonplace.faces.lsp.pages import EditorPage
from editor.desk import Desk

At = Callable[[EditorPage, str], Position]


def edited(desk: Desk, edit: WorkspaceEdit) -> dict[str, str]:
    """The texts after the edits, by path."""
    sources: dict[str, str] = {}
    for change in edit.document_changes or ():
        if not isinstance(change, TextDocumentEdit):
            continue
        page = desk.pages.page(change.text_document.uri)
        assert page is not None
        source = page.document.source
        places = [
            (page.lines.offset(edit.range.start), page.lines.offset(edit.range.end), edit) for edit in change.edits
        ]
        for start, end, text_edit in sorted(places, key=lambda place: -place[0]):
            source = source[:start] + str(text_edit.new_text).encode() + source[end:]  # type: ignore[union-attr]
        sources[page.address.path] = source.decode()
    return sources


def test_a_heading_is_renamed_in_every_link_in_its_style(desk: Desk, at: At) -> None:
    guide = desk.page("guide.md")
    before = prepare(desk.pages, guide, at(guide, "## Set"))
    assert before is not None
    assert before.placeholder == "Set up"
    texts = edited(desk, rename(desk.pages, guide, at(guide, "## Set"), "  Install   [now] "))
    assert "## Install [now]\n" in texts["guide.md"]
    assert "[how](guide.md#install-now)" in texts["index.md"]
    assert "[[guide#Install now]]" in texts["notes/deep.md"]


def test_a_page_is_renamed_at_a_link_to_it(desk: Desk, at: At) -> None:
    page = desk.page("index.md")
    edit = rename(desk.pages, page, at(page, "[[gui"), "handbook")
    texts = edited(desk, edit)
    assert "[[handbook]], [how](handbook.md#set-up)" in texts["index.md"]
    (file,) = [change for change in edit.document_changes or () if isinstance(change, RenameFile)]
    assert (file.old_uri.rpartition("/")[2], file.new_uri.rpartition("/")[2]) == ("guide.md", "handbook.md")
    elsewhere = rename(desk.pages, page, at(page, "[[gui"), "notes/handbook")
    assert "(handbook.md)" in edited(desk, elsewhere)["notes/deep.md"]


def test_the_fragment_of_a_link_renames_the_heading(desk: Desk, at: At) -> None:
    page = desk.page("notes/deep.md")
    placeholder = prepare(desk.pages, page, at(page, "guide#Set"))
    assert placeholder is not None
    assert placeholder.placeholder == "Set up"
    assert "## Install\n" in edited(desk, rename(desk.pages, page, at(page, "guide#Set"), "Install"))["guide.md"]


def test_what_cannot_be_renamed_is_refused(desk: Desk, at: At) -> None:
    page = desk.page("index.md")
    assert prepare(desk.pages, page, at(page, "#topic")) is None
    for where, name in ((at(page, "#topic"), "x"), (at(page, "# Sta"), "  "), (at(page, "[[gui"), "../out")):
        with pytest.raises(InvalidInputError):
            rename(desk.pages, page, where, name)
    with pytest.raises(AlreadyExistsError):
        rename(desk.pages, page, at(page, "[[gui"), "index")


def test_files_that_the_editor_moves_are_pages_or_whole_folders(desk: Desk) -> None:
    root = desk.base.folder

    def moved(old: str, new: str) -> dict[str, dict[Address, Address]]:
        return moved_pages(desk.pages, [((root / old).as_uri(), (root / new).as_uri())])

    (pages,) = moved("guide.md", "notes/guide.md").values()
    assert pages == {Address("guide.md"): Address("notes/guide.md")}
    (folder,) = moved("notes", "texts").values()
    assert folder[Address("notes/deep.md")] == Address("texts/deep.md")
    assert moved("guide.md", "../elsewhere.md") == {}


def test_edits_of_open_pages_name_the_version_that_they_were_made_for(desk: Desk, at: At) -> None:
    desk.type("index.md", "# Start\n\n[[guide#Set up]]\n")
    page = desk.type("index.md", "# Start\n\nSee [[guide#Set up]]\n")
    for place in ("#Set", "[[gui"):
        changes = rename(desk.pages, page, at(page, place), "Other").document_changes or ()
        versions = {
            change.text_document.uri.rpartition("/")[2]: change.text_document.version
            for change in changes
            if isinstance(change, TextDocumentEdit)
        }
        assert versions["index.md"] == 2
        assert versions["deep.md"] is None


def test_a_byte_order_mark_stays_where_it_is(desk: Desk, at: At) -> None:
    desk.base.write("bom.md", b"\xef\xbb\xbf# Marked\n\n[[guide]]\n")
    desk.base.update("index.md", "[[bom#Marked]]\n")
    desk.base.index.sync()
    page = desk.page("index.md")
    edit = rename(desk.pages, page, at(page, "#Mar"), "Other")
    assert isinstance(edit.document_changes, list)
    assert isinstance(edit.document_changes[0], TextDocumentEdit)
    assert edit.document_changes[0].edits[0].range == Range(Position(0, 2), Position(0, 8))  # type: ignore[union-attr]
    assert edited(desk, edit)["bom.md"] == "\ufeff# Other\n\n[[guide]]\n"
    edit = rename(desk.pages, desk.page("bom.md"), Position(2, 3), "Handbook")
    assert edited(desk, edit)["bom.md"] == "\ufeff# Marked\n\n[[Handbook]]\n"
