"""Chapters of documents: read, replaced, added and removed."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.toolsets.projects.rules.chapters import (
    MAX_SUMMARY_SHOWN,
    Position,
    add_chapter,
    chapter_at,
    find_chapter,
    first_paragraph,
    introduction_of,
    new_body,
    read_chapters,
    remove_chapter,
    replace_chapter,
    require_text,
)

TEXT = """\
---
title: T
# a comment
---

# T

Intro.

## One

First.

### Below

Deep.

##### Too deep

Still below.

## Two

Second.
"""


def of(text: str | bytes) -> Document:
    return read_document(Address("a.md"), text.encode() if isinstance(text, str) else text)


def titles(raw: bytes) -> list[str]:
    return [chapter.title for chapter in read_chapters(of(raw))]


def test_chapters_are_the_headings_of_the_levels_2_to_4() -> None:
    chapters = read_chapters(of(TEXT))
    assert [(chapter.title, chapter.index, chapter.summary) for chapter in chapters] == [
        ("One", 0, "First."),
        ("Below", 1, "Deep."),
        ("Two", 2, "Second."),
    ]
    assert chapters[0].text == "First."
    assert chapters[1].whole == "### Below\n\nDeep.\n\n##### Too deep\n\nStill below."
    assert introduction_of(of(TEXT)) == "Intro."


@each_case("text", ["", "# T\n", "no heading\n", "##### five\n", "```\n## in a fence\n```\n"])
def test_a_document_may_have_no_chapters(text: str) -> None:
    assert read_chapters(of(text)) == []
    with pytest.raises(NotFoundError, match="Chapter 'x' not found") as caught:
        find_chapter(of(text), "x")
    assert caught.value.kind == "chapter"


@each_case(
    ("text", "paragraph"),
    [
        ("", ""),
        ("\n\none\ntwo\n\nthree", "one two"),
        ("```\ncode\n```\n\ntext", "text"),
        ("| a |\n|---|\n\ntext", "text"),
        ("---\n\n<!-- x -->\n\n### H\n\ntext", "text"),
        ("* * *\n\ntext", "text"),
        ("x" * MAX_SUMMARY_SHOWN, "x" * MAX_SUMMARY_SHOWN),
        ("x" * (MAX_SUMMARY_SHOWN + 1), "x" * (MAX_SUMMARY_SHOWN - 3) + "..."),
    ],
)
def test_the_first_paragraph_is_the_summary(text: str, paragraph: str) -> None:
    assert first_paragraph(text) == paragraph


def test_a_chapter_is_found_as_written_or_as_rendered_and_by_its_index() -> None:
    document = of("## The API\n\na\n\n## The *API*\n\nb\n")
    assert find_chapter(document, " The *API* ").text == "b"
    assert find_chapter(document, "The API").text == "a"
    assert chapter_at(document, 1).text == "b"
    for index in (-1, 2):
        with pytest.raises(NotFoundError, match=f"index {index} is out of range: the document has 2 chapters"):
            chapter_at(document, index)
    with pytest.raises(NotFoundError) as caught:
        find_chapter(document, "the api")
    assert caught.value.context["nearest"] == ["The API", "The *API*"]


@each_case("newline", ["\n", "\r\n"])
@each_case("text", ["New.", "## One\n\nNew.\n", "##  One\nNew."])
def test_a_replaced_chapter_leaves_every_other_byte(text: str, newline: str) -> None:
    source = TEXT.replace("\n", newline)
    made = replace_chapter(of(source), "One", text)
    assert made.raw.decode() == source.replace("First.", "New.")
    assert made.gone == ()


def test_a_text_with_subchapters_replaces_those_below_and_names_them() -> None:
    made = replace_chapter(of(TEXT), "One", "New.\n\n### Other\n\nx\n")
    assert titles(made.raw) == ["One", "Other", "Two"]
    assert made.gone == ("Below",)


def test_a_summary_becomes_the_first_paragraph_unless_it_is_there() -> None:
    assert b"## One\n\nIn short.\n\nNew.\n" in replace_chapter(of(TEXT), "One", "New.", "In short.").raw
    again = replace_chapter(of(TEXT), "One", "In\nshort.\n\nNew.", "In short.").raw
    assert again.count(b"short.") == 1


@pytest.mark.parametrize("text", ["```\nopen", "<!-- open", "~~~\n## x"])
def test_a_text_that_would_hide_a_chapter_is_refused(text: str) -> None:
    for change in (
        lambda: replace_chapter(of(TEXT), "One", text),
        lambda: add_chapter(of(TEXT), "N", text, "before", "Two"),
    ):
        with pytest.raises(InvalidInputError, match=r"would hide '|would hide a chapter") as caught:
            change()
        assert caught.value.hint.startswith("Close it")


@pytest.mark.parametrize(
    ("position", "reference", "expected"),
    [
        ("end", "", ["One", "Below", "Two", "New"]),
        ("before", "One", ["New", "One", "Below", "Two"]),
        ("after", "One", ["One", "Below", "New", "Two"]),
        ("after", "Below", ["One", "Below", "New", "Two"]),
    ],
)
def test_a_chapter_is_added_beside_another_at_its_level(
    position: Position, reference: str, expected: list[str]
) -> None:
    made = add_chapter(of(TEXT), "New", "text\r\n", position, reference)
    assert titles(made) == expected
    chapter = find_chapter(of(made), "New")
    assert (chapter.text, chapter.section.level) == ("text", 3 if reference == "Below" else 2)
    assert made.startswith(TEXT[: TEXT.index("## One")].encode())


@each_case("text", ["", "# T", "---\ntitle: x\n---", "---\ntitle: x\n---\n", "a\n\n\n"])
def test_the_first_chapter_of_a_document_stands_behind_a_blank_line(text: str) -> None:
    made = add_chapter(of(text), "New", "x").decode()
    assert made.startswith(text)
    assert made.endswith("## New\n\nx\n")
    assert not text or made[: made.index("## New")].endswith("\n\n")
    assert titles(made.encode()) == ["New"]


def test_a_title_that_is_taken_and_a_reference_that_is_not_there_are_refused() -> None:
    with pytest.raises(AlreadyExistsError, match="Chapter 'Two' already exists"):
        add_chapter(of(TEXT), " Two ", "x")
    with pytest.raises(NotFoundError, match="Reference chapter 'gone' not found"):
        add_chapter(of(TEXT), "New", "x", "before", "gone")
    with pytest.raises(InvalidInputError, match="The last chapter would hide one after it"):
        add_chapter(of("```\nopen"), "New", "x")


@pytest.mark.parametrize("line", ["## ", "###", "## \u200b", "#### \u2060 \u200d"])
def test_a_text_with_a_chapter_that_no_title_leads_to_is_refused(line: str) -> None:
    for change in (
        lambda text: replace_chapter(of(TEXT), "One", text),
        lambda text: add_chapter(of(TEXT), "Three", text),
    ):
        with pytest.raises(InvalidInputError, match="without a title") as caught:
            change(f"Some.\n\n{line}\n\nMore.\n")
        assert caught.value.kind == "content"


def test_a_removed_chapter_takes_its_subchapters_with_it() -> None:
    made = remove_chapter(of(TEXT), "One")
    assert titles(made.raw) == ["Two"]
    assert made.gone == ("Below",)
    assert made.raw.decode() == TEXT[: TEXT.index("## One")] + TEXT[TEXT.index("## Two") :]


def test_a_document_that_is_no_utf8_is_never_changed() -> None:
    document = of(b"## One\n\ncaf\xe9\n")
    with pytest.raises(InvalidInputError, match="not UTF-8 and is never changed"):
        require_text(document)
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        add_chapter(document, "New", "x")
    assert read_chapters(document)[0].text == "café"


def test_the_body_of_a_new_document_holds_introduction_and_chapters() -> None:
    body = new_body([("A #", "a\r\n"), ("B", "")], "\nIntro.\n")
    assert body.startswith("Intro.\n\n## A \\#\n\na\n\n## B")
    assert titles(body.encode()) == ["A #", "B"]
    assert new_body([], " \n") == ""
