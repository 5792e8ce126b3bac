"""Brackets around the text of a Markdown link, which begin no wikilink."""

from __future__ import annotations

from commonplace.domain.link_brackets import definition_key, with_marked_brackets, without_marks


def test_brackets_are_marked_where_a_destination_or_a_definition_follows() -> None:
    cases = {
        "see [[1]](page.md)": True,
        'see [[1]](page.md "a title")': True,
        "see [[1]](#part)": True,
        "see [[1]](<a page>)": True,
        "see [[1]][Label  One]": True,
        "see [[1]][another]": False,
        "two [[Dog]](s)": False,
        "a wikilink [[page]]": False,
        r"escaped \[[1]](page.md)": False,
    }
    for text, is_link in cases.items():
        marked = with_marked_brackets(text, {definition_key("label one")})
        assert (marked != text) == is_link, text
        assert len(marked) == len(text), text
        assert ("[[" in marked) != is_link, text
        assert without_marks(marked) == text, text
