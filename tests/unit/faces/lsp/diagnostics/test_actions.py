"""Code actions for a broken link."""

from __future__ import annotations

from lsprotocol.types import CreateFile, TextDocumentEdit

from commonplace.faces.lsp.diagnostics import actions, diagnose
from editor.desk import Desk


def offered(desk: Desk, path: str, text: str) -> dict[str, str]:
    """Titles of the actions, each with the text of the page after it, or the file that it makes."""
    page = desk.type(path, text)
    uris: dict[str, str] = {}
    for action in actions(desk.pages, page, diagnose(desk.pages, page)):
        assert action.edit is not None
        changes = action.edit.document_changes or []
        if any(isinstance(change, CreateFile) for change in changes):
            uris[action.title] = next(change.uri for change in changes if isinstance(change, CreateFile))
            continue
        (change,) = changes
        assert isinstance(change, TextDocumentEdit)
        (edit,) = change.edits
        start, end = page.lines.offset(edit.range.start), page.lines.offset(edit.range.end)
        source = page.document.source
        new_text = edit.new_text  # type: ignore[union-attr]
        uris[action.title] = (source[:start] + str(new_text).encode() + source[end:]).decode()
    return uris


def test_a_misspelt_link_is_changed_to_the_nearest_page_or_the_page_is_made(desk: Desk) -> None:
    found_values = offered(desk, "index.md", "[[giude]]\n")
    assert found_values["Change the link to guide"] == "[[guide]]\n"
    assert found_values["Create giude.md"] == (desk.base.folder / "giude.md").as_uri()


def test_a_path_is_written_from_the_page_s_folder_and_quoted(desk: Desk) -> None:
    found_values = offered(desk, "notes/deep.md", "[x](giude.md)\n")
    assert found_values["Change the link to guide"] == "[x](../guide.md)\n"
    assert found_values["Create notes/giude.md"] == (desk.base.folder / "notes/giude.md").as_uri()
    odd = offered(desk, "index.md", "[x](notes/C%23%20(new)%2051%25.md)\n")
    changed = next(text for title, text in odd.items() if title.startswith("Change the link"))
    assert changed == "[x](notes/C%23%20%28new%29%2050%25.md)\n"
    assert diagnose(desk.pages, desk.type("index.md", changed)) == []


def test_a_misspelt_heading_is_changed_in_the_style_of_the_link(desk: Desk) -> None:
    assert offered(desk, "index.md", "[[guide#Set upp]]\n")["Change the heading to Set up"] == "[[guide#Set up]]\n"
    assert "[x](guide.md#set-up)\n" in offered(desk, "index.md", "[x](guide.md#set-upp)\n").values()


def test_an_image_or_a_path_outside_makes_no_page(desk: Desk) -> None:
    assert not any(title.startswith("Create") for title in offered(desk, "index.md", "![x](none.png)\n"))
    assert not any(title.startswith("Create") for title in offered(desk, "index.md", "[x](../../none.md)\n"))
    assert offered(desk, "index.md", "[[guide]]\n") == {}
