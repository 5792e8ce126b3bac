"""Byte ranges of headings, links and code in a Markdown text."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cases import each_case
from commonplace.domain.markdown.structure import MAX_LABEL_PIECES, definition_key, link_definitions, scan


def test_headings_have_their_level_and_their_bytes() -> None:
    text = "Vorwort ü\r\n\r\n# Größe\r\n\r\nText\r\n\r\nSetext 漢字\r\n===\r\n\r\n###### Six ######\r\n"
    raw = text.encode()
    events = scan(text).headings
    assert [heading.level for heading in events] == [1, 1, 6]
    assert [raw[heading.start : heading.end].decode().split("\r\n")[0] for heading in events] == [
        "# Größe",
        "Setext 漢字",
        "###### Six ######",
    ]
    assert ["".join(text for _, text in heading.pieces) for heading in events] == ["Größe", "Setext 漢字", "Six"]


@each_case(
    "text",
    ["> # quoted\n", "- # in a list\n", "1. # in a list\n\n   ## too\n", "[^1]: # footnote\n", "```\n# code\n```\n"],
)
def test_a_heading_within_something_else_is_none(text: str) -> None:
    assert [heading.level for heading in scan(f"{text}\n# After\n").headings] == [1]


@each_case(
    ("text", "kind", "image", "destination", "label"),
    [
        ("[a](b.md)", "Inline", False, "b.md", "a"),
        ("![a](b.png 'title')", "Inline", True, "b.png", "a"),
        ("[a](<b c.md>)", "Inline", False, "b c.md", "a"),
        ("[*a* `b` c](d)", "Inline", False, "d", "a b c"),
        ("[a&amp;b](c&amp;d%20e)", "Inline", False, "c&d%20e", "a&b"),
        ("[[Note]]", "WikiLink", False, "Note", "Note"),
        ("[[Note|shown]]", "WikiLink", False, "Note", "shown"),
        ("![[Note#Part]]", "WikiLink", True, "Note#Part", "Note#Part"),
        ("<https://example.org/>", "Autolink", False, "https://example.org/", "https://example.org/"),
        ("[a][ref]\n\n[ref]: b.md", "Reference", False, "b.md", "a"),
        ("[ref][]\n\n[ref]: b.md", "Collapsed", False, "b.md", "ref"),
        ("[ref]\n\n[ref]: b.md", "Shortcut", False, "b.md", "ref"),
        ("[a\nb](c)", "Inline", False, "c", "a b"),
    ],
)
def test_a_link_has_its_kind_destination_and_label(
    text: str, kind: str, image: bool, destination: str, label: str
) -> None:
    (link,) = scan(text).links
    assert (link.kind, link.image, link.destination, link.label) == (kind, image, destination, label)


@pytest.mark.parametrize("text", ["ü [äö](b.md) z", "ü ![äö](b.md) z"])
def test_the_text_of_a_link_lies_between_its_brackets(text: str) -> None:
    (link,) = scan(text).links
    assert text.encode()[link.text_start : link.label_end].decode() == "äö"
    assert text.encode()[link.end :] == b" z"


def test_links_in_headings_and_images_in_links_are_found_outermost_first() -> None:
    structure = scan("# See [![alt](i.png)](b.md) now\n")
    assert [link.destination for link in structure.links] == ["b.md", "i.png"]
    assert "".join(text for _, text in structure.headings[0].pieces) == "See alt now"


def test_code_html_and_links_are_opaque_and_do_not_overlap() -> None:
    text = "`#a` <b title='#c'> [#d](e)\n\n```\n#f\n```\n\n    #g\n\n<div>#h</div>\n\n#i # `#j`\n"
    ranges = sorted(scan(text).opaque)
    inside = b"".join(text.encode()[start:end] for start, end in ranges).decode()
    assert all(f"#{letter}" in inside for letter in "acdfghj")
    assert "#i" not in inside
    assert all(end <= following for (_, end), (following, _) in pairwise(ranges))


def test_a_label_of_very_many_pieces_is_cut() -> None:
    (link,) = scan(f"[{'*a* ' * 500}](b)").links
    assert len(link.label) <= 2 * MAX_LABEL_PIECES


@each_case("text", ["", "\x00", "\r\n\r\n", "[" * 5000, "![" * 2000 + "](x)" * 2000, "> " * 3000 + "# x"])
def test_odd_texts_are_read_without_an_error(text: str) -> None:
    structure = scan(text)
    assert all(0 <= link.start <= link.end <= len(text.encode()) for link in structure.links)


def test_definitions_are_found_by_the_form_in_which_labels_are_compared() -> None:
    text = "ü\n\n[Fóo\n  BAR]: <b.md> 'title'\n[other]: c.md\n"
    spans = link_definitions(text)
    assert set(spans) == {"fóo bar", "other"}
    start, end, destination = spans["other"]
    assert destination == "c.md"
    assert text.encode()[start:end].decode().strip() == "[other]: c.md"


def test_labels_are_compared_regardless_of_case_and_blanks() -> None:
    assert definition_key(" A \n\t STRASSE ") == definition_key("a straße")
