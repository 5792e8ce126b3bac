"""Diagnostics of a page while somebody types."""

from __future__ import annotations

from lsprotocol.types import Diagnostic, Position, Range

from commonplace.faces.lsp.diagnostics import BROKEN_LINK, DEAD_ANCHOR, broken_at, diagnose
from editor.desk import Desk


def told(desk: Desk, text: str) -> list[tuple[str, int]]:
    page = desk.type("index.md", text)
    return [(str(diagnostic.code), diagnostic.range.start.line) for diagnostic in diagnose(desk.pages, page)]


def test_links_are_those_of_the_typed_text(desk: Desk) -> None:
    assert told(desk, "# Start\n\n[[guide]] and [[nothing]]\n") == [(BROKEN_LINK, 2)]
    assert told(desk, "# Start\n\n[[guide#Set down]] [x](guide.md#set-up)\n") == [(DEAD_ANCHOR, 2)]
    assert told(desk, "# Start\n\n[x](#start) [y](#end)\n") == [(DEAD_ANCHOR, 2)]
    assert told(desk, "# Start\n\n[[guide#^block1]] [p](notes/photo.png)\n") == []


def test_a_new_title_of_the_page_itself_is_no_broken_link(desk: Desk) -> None:
    assert told(desk, "# Brand new\n\n[[Brand new]] [[brand NEW]]\n") == []


def test_front_matter_is_told_on_its_line(desk: Desk) -> None:
    found_pairs = told(desk, "---\ntitle: a\ntags: [\n---\n# A\n")
    assert [line for _, line in found_pairs] == [2] or [line for _, line in found_pairs] == [3]


def test_rules_about_other_pages_wait_until_the_page_is_saved(desk: Desk) -> None:
    desk.base.update("twin.md", "---\nid: guide\n---\n# Twin\n")
    desk.base.update("guide2.md", "---\nid: guide\n---\n# Twin too\n")
    saved = {str(diagnostic.code) for diagnostic in diagnose(desk.pages, desk.page("twin.md"))}
    assert saved
    text = (desk.base.folder / "twin.md").read_text()
    typed = desk.type("twin.md", f"{text}\nMore.\n")
    assert {str(diagnostic.code) for diagnostic in diagnose(desk.pages, typed)} < saved


def test_a_diagnostic_leads_back_to_its_link(desk: Desk) -> None:
    page = desk.page("index.md")
    (diagnostic,) = [element for element in diagnose(desk.pages, page) if element.code == BROKEN_LINK]
    rule, resolved = broken_at(desk.pages, page, diagnostic) or ("", None)
    assert rule == BROKEN_LINK
    assert resolved is not None
    assert resolved.link.target == "nothing"
    elsewhere = Diagnostic(page.lines.line_range(0), diagnostic.message, source=diagnostic.source)
    assert broken_at(desk.pages, page, elsewhere) is None


def test_a_diagnostic_whose_columns_were_counted_in_bytes_leads_back_to_its_link(desk: Desk) -> None:
    page = desk.type("index.md", "# Start\n\n😀é [[guide]] [[nothing]] [[nowhere]]\n")
    for diagnostic in diagnose(desk.pages, page):
        start, end = diagnostic.range.start, diagnostic.range.end
        moved = Range(Position(start.line, start.character + 4), Position(end.line, end.character + 4))
        sent = Diagnostic(moved, diagnostic.message, source=diagnostic.source)
        _, resolved = broken_at(desk.pages, page, sent) or ("", None)
        assert resolved is not None
        assert resolved.link.target in diagnostic.message
