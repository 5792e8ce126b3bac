"""Footnotes of one page."""

from __future__ import annotations

from commonplace.faces.web.markup.blocks import Footnotes


def test_a_page_without_footnotes_has_no_list() -> None:
    assert Footnotes().html() == ""
    notes = Footnotes()
    notes.reference("undefined")
    assert notes.html() == ""


def test_footnotes_are_numbered_by_their_first_reference() -> None:
    notes = Footnotes()
    for name, text in (("b", "<p>B</p>"), ("a", "<p>A</p>"), ("unused", "<p>U</p>")):
        notes.define(name, text)
    assert ">1</a>" in notes.reference("a")
    assert ">2</a>" in notes.reference("b")
    html = notes.html()
    assert html.index("A") < html.index("B") < html.index("U")
    assert 'id="footnote-3"' in html


def test_each_reference_has_an_id_of_its_own_and_the_note_leads_back_to_the_first() -> None:
    notes = Footnotes()
    notes.define("a", "<p>One</p>\n<p>Two</p>\n")
    first, second = notes.reference("a"), notes.reference("a")
    assert 'id="footnote-ref-1"' in first
    assert 'id="footnote-ref-1-2"' in second
    assert 'href="#footnote-1"' in second
    assert '<p>Two <a class="footnote-back" href="#footnote-ref-1"' in notes.html()


def test_the_first_definition_counts_and_a_note_may_be_empty() -> None:
    notes = Footnotes()
    notes.define("a", "<ul><li>x</li></ul>")
    notes.define("a", "<p>other</p>")
    notes.define("b", "")
    assert "other" not in notes.html()
    assert '</ul> <a class="footnote-back"' in notes.html()
    assert '<li id="footnote-2"> <a' in notes.html()
