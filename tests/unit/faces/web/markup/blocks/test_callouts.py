"""The look of callouts."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.faces.web.markup.blocks import Piece, callout_open, container_html
from commonplace.faces.web.messages import ENGLISH_WORDS


@each_case(
    ("kind", "look", "label"),
    [
        ("note", "callout-note", "Note"),
        ("WARNING", "callout-warning", "Warning"),
        ("bug", "callout-danger", "Bug"),
        ("faq", "callout-warning", "Faq"),
        ("see-also", "callout-note", "See also"),
        ("my  own kind", "callout-note", "My own kind"),
        ("<b>", "callout-note", "&lt;b&gt;"),
    ],
)
def test_a_type_has_its_look_and_its_name_is_the_title(kind: str, look: str, label: str) -> None:
    opening, callout = callout_open(kind, "", ENGLISH_WORDS)
    assert opening == f'<div class="callout {look}"><p class="callout-title">'
    assert callout.label == label


@pytest.mark.parametrize(("fold", "state"), [("-", ""), ("+", " open")])
def test_a_callout_that_folds_is_a_disclosure(fold: str, state: str) -> None:
    opening, callout = callout_open("tip", fold, ENGLISH_WORDS)
    assert opening == f'<details class="callout callout-tip"{state}><summary>'
    assert callout.body.startswith("</summary>")
    assert callout.close.endswith("</details>\n")


def test_an_admonition_escapes_its_title_and_takes_its_inside_as_it_is() -> None:
    html = container_html(Piece(b"", 0, "tip", 'A <b> & "c"'), "<p>in</p>", ENGLISH_WORDS)
    assert '<p class="callout-title">A &lt;b&gt; &amp; "c"</p><div class="callout-body">\n<p>in</p></div></div>' in html
    assert '<p class="callout-title">Tip</p>' in container_html(Piece(b"", 0, "tip"), "", ENGLISH_WORDS)
    folded = container_html(Piece(b"", 0, "tip", fold="-"), "", ENGLISH_WORDS)
    assert folded.startswith('<details class="callout callout-tip"><summary>Tip')
