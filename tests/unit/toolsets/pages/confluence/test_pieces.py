"""Bytes that a push writes where the base has none."""

from __future__ import annotations

import pytest

from commonplace.toolsets.pages.confluence.elements import check_well_formed
from commonplace.toolsets.pages.confluence.from_markdown import EditError
from commonplace.toolsets.pages.confluence.pieces import as_cdata, as_text, new_code, new_tag, patched
from commonplace.toolsets.pages.confluence.tokens import Token


def test_new_pieces_are_well_formed_whatever_their_text_is() -> None:
    assert (as_text("a<\xa0&"), as_cdata("a]]>b")) == (b"a&lt;&nbsp;&amp;", b"a]]]]><![CDATA[>b")
    check_well_formed(new_code(Token("leaf", "code", value=("a]]>b", "c<", '"t"', ""))).encode())
    for name, key, value in (
        ("panel", "info", ("<t>",)),
        ("expand", "", ("a&b",)),
        ("ol", "", ("3",)),
        ("section", "", ('"',)),
    ):
        token = Token("open", name, key, value)
        check_well_formed((new_tag(token, opens=True) + new_tag(token, opens=False)).encode())
    with pytest.raises(EditError, match="no inline comment"):
        new_tag(Token("open", "comment", "r"), opens=True)


def test_a_value_that_is_none_is_refused() -> None:
    for name, value, reason in (("date", "soon", "is no date"), ("macro", "x", "cannot be edited")):
        token = Token("leaf", name, "k", (value,), line=4)
        with pytest.raises(EditError, match=f"Line 4: .*{reason}"):
            patched(token, Token("leaf", name, "k", ("y",)), b"<time/>")
