"""Readable text without markup, and the sentence round a link."""

from __future__ import annotations

import pytest

from commonplace.domain.documents import Span
from commonplace.domain.readable_text import SENTENCE_CHARS, plain_text, sentence_around
from pages import page


def plain(text: str) -> str:
    return plain_text(page(text), 0, len(text.encode()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Some *emphasis*, `code` and [a link](x.md).", "Some emphasis, code and a link."),
        ("soft\nbreak and  \nhard", "soft break and\nhard"),
        ("# Heading {#k a=b}\n\ntext", "Heading\ntext"),
        ("- one\n- two\n  1. three\n", "one\ntwo\nthree"),
        ("> quoted\n> text\n", "quoted text"),
        ("| a | b |\n|---|---|\n| c | [[d\\|e]] |\n", "a b\nc e"),
        ("```py\nx = 1\n\ny = 2\n```\n", "x = 1\ny = 2"),
        ("<!-- hidden\n\nstill hidden -->\n\nshown", "shown"),
        ("<div>\n<b>bold</b> text\n</div>", "bold text"),
        ("a<br>b <b>c</b> <!-- d --> e", "a b c e"),
        ("[[Page]] [[p#h|shown]] ![alt](i.png)", "Page shown alt"),
        ("[text][ref] and [ref][] but [x]", "text and ref but [x]"),
        ("note[^1]\n\n[^1]: the note", "note\nthe note"),
        ("- [x] done", "done"),
        ("&amp; \\* &copy;", "& * ©"),
        ("", ""),
    ],
)
def test_markup_is_taken_away(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_a_range_of_the_body_is_read_and_no_front_matter() -> None:
    document = page("---\nt: 1\n---\n# Ä {#x}\n\nö\n\n# B {#y}\n\nb\n")
    assert plain_text(document, 0, len(document.raw)) == "Ä\nö\nB\nb"
    first = document.sections[1]
    assert plain_text(document, first.content, first.end) == "ö"


def test_a_document_that_is_no_utf8_can_be_read() -> None:
    document = page(b"# caf\xe9\n\ntext [[a]] more.\n")
    section = document.sections[1]
    assert plain_text(document, section.content, section.end) == "text a more."
    assert sentence_around(document, document.links[0].span) == "text a more."


def sentence(text: str) -> str:
    document = page(text)
    return sentence_around(document, document.links[-1].span)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("First. See [[a|the *page*]] for more. Last.", "See the page for more."),
        ('First! "Quoted [x](a.md)?" Last.', '"Quoted x?"'),
        ("See e.g. the [x](a.md) page.", "See e.g. the x page."),
        ("前の文。[[a]]を見る。後の文。", "aを見る。"),
        ("- one [[a]]\n- two [[b]]\n- three\n", "two b"),
        (
            "para\n\nwrapped text that\ngoes on to [[a]] and\nends here\n\nnext",
            "wrapped text that goes on to a and ends here",
        ),
        ("# On [[a]]\ntext", "On a"),
        ("| x | y |\n|---|---|\n| one | [[a]] |\n", "one | a"),
        ("> quoted [[a]]\n>\n> more", "quoted a"),
        ("line one\\\nline [[a]] two\\\nline three", "line a two"),
        ("[[a]]", "a"),
        ("text\r\n\r\nsee [[a]].\r\n\r\nmore", "see a."),
    ],
)
def test_the_sentence_round_a_link(text: str, expected: str) -> None:
    assert sentence(text) == expected


def test_a_long_sentence_is_cut_round_the_link() -> None:
    found = sentence(f"{'before ' * 80}[[target]] {'after ' * 80}")
    assert len(found) <= SENTENCE_CHARS
    assert "target" in found
    assert found.startswith("…before")
    assert found.endswith("after…")
    assert "\n" not in found
    unbroken = sentence(f"{'x' * 500}[[target]]{'y' * 500}")
    assert len(unbroken) <= SENTENCE_CHARS
    assert "target" in unbroken


def test_a_link_of_the_front_matter_has_no_sentence() -> None:
    assert sentence_around(page("x"), Span(0, 0)) == ""
