"""Properties of every document, however odd: nothing raises, sections tile the text, spans have the stated text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from commonplace.domain import edits
from commonplace.domain.document_reader import find_section
from commonplace.domain.documents import LinkKind, Span
from commonplace.domain.errors import InvalidInputError
from pages import blocks, check_document, markdown, page

texts = st.builds("".join, st.tuples(blocks, markdown, st.sampled_from(["", "---\n", "\n---\n"]), markdown))


@given(st.binary(max_size=200) | st.builds(lambda text, tail: text.encode() + tail, texts, st.binary(max_size=3)))
@example(b"\xef\xbb\xbf")
@example(b"---\n---")
@example(b"\xff---\na: 1\n---\n# \xff\n")
def test_any_bytes_are_a_document(raw: bytes) -> None:
    document = page(raw)
    assert document.raw == raw
    check_document(document)


@given(texts)
@settings(max_examples=100)
def test_any_markup_is_a_document(text: str) -> None:
    document = page(text)
    check_document(document)
    assert document.decodable


@given(texts)
@settings(max_examples=80)
def test_a_wikilink_stands_where_it_says(text: str) -> None:
    document = page(text)
    for link in document.links:
        written = document.raw[link.target_span.start : link.target_span.end].decode()
        if link.kind in {LinkKind.WIKI, LinkKind.EMBED} and link.target_span != Span(0, 0):
            assert written.split() == link.target.split()
            assert link.span.start < link.target_span.start or not written
            assert link.target_span.end <= link.span.end


@given(texts, markdown, st.integers(0, 30), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_replacing_a_section_changes_its_own_bytes_only(
    text: str, new: str, index: int, keep_heading: bool, subsections: bool
) -> None:
    document = page(text)
    section = document.sections[index % len(document.sections)]
    try:
        result = edits.replace_section(document, section, new, keep_heading=keep_heading, subsections=subsections)
    except InvalidInputError:  # the new text hides or deletes another section
        reject()
    start = section.content if keep_heading else section.start
    end = section.tree_end if subsections and section.level else section.end
    assert result.startswith(document.raw[:start])
    assert result.endswith(document.raw[end:])
    if document.newline == "\r\n" and "\r" not in text.replace("\r\n", ""):
        assert result.count(b"\r\n") == result.count(b"\n") or text.count("\n") != text.count("\r\n")


@given(texts, markdown)
@example("|\n\n", "|")  # a row stands below the row before it: blank lines at the end stay behind it
@settings(max_examples=80)
def test_appending_keeps_every_byte(text: str, new: str) -> None:
    document = page(text)
    if new.strip(" \t\r\n"):
        try:
            changed = edits.insert_text(document, len(document.raw), new)
        except InvalidInputError:  # what is new would hide a section
            reject()
        kept = document.raw.rstrip()
        behind = changed.startswith(kept) and changed.endswith(document.raw[len(kept) :])
        assert changed.startswith(document.raw) or behind


@given(texts, st.integers(0, 30))
def test_removing_a_section_takes_its_own_bytes_only(text: str, index: int) -> None:
    document = page(text)
    section = document.sections[index % len(document.sections)]
    end = section.tree_end if section.level else section.end
    try:
        shortened = edits.remove_section(document, section)
    except InvalidInputError:  # what is left hides or deletes another section
        reject()
    assert shortened == document.raw[: section.start] + document.raw[end:]


@given(texts, st.integers(0, 100), st.integers(1, 20), st.text(st.characters(codec="utf-8"), max_size=8))
@example("# Heading\n\r\r\n\r\n", 0, 1, "")
@settings(max_examples=80)
def test_replacing_once_changes_the_occurrence_only(text: str, at: int, length: int, new: str) -> None:
    document = page(text)
    target, replacement = unix(document.text[at : at + length]), unix(new)
    before = document.text.replace("\r\n", "\n")
    first = before.find(target)
    if not target or target == replacement or first < 0 or before.find(target, first + 1) >= 0:
        with pytest.raises(InvalidInputError):
            edits.replace_once(document, target, new)
        return
    try:
        replaced = edits.replace_once(document, target, new).decode()
    except InvalidInputError:  # what is left hides another section
        reject()
    result = replaced.removeprefix("\ufeff" if text[:1] == "\ufeff" else "")
    after = before.replace(target, replacement, 1)
    # A carriage return that belongs to no line break may have come to stand before one.
    assert re.sub("\r+\n", "\n", result) == re.sub("\r+\n", "\n", after)


def unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@given(texts)
@settings(max_examples=80)
def test_every_section_is_found_by_its_anchor(text: str) -> None:
    document = page(text)
    for section in document.sections[1:]:
        if not section.anchor.startswith("#"):
            assert find_section(document, [f"#{section.anchor}"]) == section
