"""The scanner knows where each element stands, and refuses what is not well-formed."""

from __future__ import annotations

import pytest

from commonplace.toolsets.pages.confluence.elements import (
    MalformedBodyError,
    check_well_formed,
    elements_of,
    parameters_of,
    plain,
)


def test_elements_know_their_bytes_and_their_characters() -> None:
    body = "<p a=\"x>y\">é<br/><ac:x ri:b='1'><![CDATA[</p>]]></ac:x><!-- <b> --></p>".encode()
    (paragraph,) = elements_of(body).children
    assert (paragraph.start, paragraph.end, paragraph.attributes) == (0, len(body), {"a": "x>y"})
    assert [child.tag for child in paragraph.children] == ["br", "ac:x"]
    assert plain(body, paragraph) == "é</p>"
    macro = b'<ac:m><ac:parameter ac:name="t">a &amp; b</ac:parameter></ac:m>'
    assert parameters_of(macro, elements_of(macro).children[0])["t"][0] == "a & b"


def test_what_is_not_well_formed_is_refused() -> None:
    check_well_formed(b"<p>&nbsp;&#252;&rsquo;</p>")
    for body in (
        b"<p>",
        b"</p>",
        b"<a b=1/>",
        b"<p>&nope;</p>",
        b"a & b",
        b"<p></x>",
        b'<!DOCTYPE x [<!ENTITY a "b">]>',
    ):
        with pytest.raises(MalformedBodyError):
            check_well_formed(body)
