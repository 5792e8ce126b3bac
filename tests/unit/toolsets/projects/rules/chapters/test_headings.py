"""Titles of headings, as written."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.toolsets.projects.rules.chapters import has_title, heading_line, split_header, title_of, titles_between


@each_case(
    ("line", "title"),
    [
        ("## Plain", "Plain"),
        ("##   Wide\t ##", "Wide"),
        ("## C#", "C#"),
        ("## About \\##", "About ##"),
        ("## *Emphasis* and `code`", "*Emphasis* and `code`"),
        ("## Title {#anchor}", "Title {#anchor}"),
        ("## ", ""),
        ("   ## Ü 茶 😀", "Ü 茶 😀"),
        ("Setext\ntitle\n---", "Setext title"),
    ],
)
@each_case("newline", ["\n", "\r\n"])
def test_a_title_is_the_text_of_the_heading_without_its_markers(line: str, title: str, newline: str) -> None:
    raw = f"{line}\n\ntext\n".replace("\n", newline).encode()
    document = read_document(Address("a.md"), raw)
    (section,) = [other_section for other_section in document.sections if other_section.level]
    assert title_of(document, section) == title


@each_case(
    "title",
    ["Plain", "C#", "#", "##", "a #", "a ##", "# a", "a#b", "*x*", "`x` #", "{#id}", "Ü 茶", "1. x", "- x", "&amp;"],
)
@each_case("level", [1, 2, 6])
def test_a_heading_line_parses_to_its_title(title: str, level: int) -> None:
    document = read_document(Address("a.md"), f"{heading_line(level, title)}\n\ntext\n".encode())
    (section,) = [other_section for other_section in document.sections if other_section.level]
    assert (section.level, title_of(document, section)) == (level, title)


@each_case(
    ("header", "level", "title"),
    [
        ("## Testing", 2, "Testing"),
        (" ###### Deep ", 6, "Deep"),
        ("Testing", 2, "Testing"),
        ("#Testing", 2, "#Testing"),
        ("####### Seven", 2, "####### Seven"),
        ("##", 2, "##"),
        ("", 2, ""),
    ],
)
def test_a_header_has_a_level_and_a_title(header: str, level: int, title: str) -> None:
    assert split_header(header) == (level, title)


def test_a_section_is_named_as_written_or_as_rendered() -> None:
    document = read_document(Address("a.md"), b"## The *API*\n\n### `x`\n")
    first, second = [section for section in document.sections if section.level]
    assert has_title(document, first, "The *API*")
    assert has_title(document, first, "The API")
    assert not has_title(document, first, "the api")
    assert titles_between(document, 0, len(document.raw)) == ("The *API*", "`x`")
    assert titles_between(document, first.content, second.start) == ()


def test_bytes_that_are_no_utf8_have_titles_too() -> None:
    document = read_document(Address("a.md"), b"caf\xe9\n\n## Caf\xe9 b\n")
    (section,) = [other_section for other_section in document.sections if other_section.level]
    assert title_of(document, section) == "Café b"
