"""Frontmatter of knowledge documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.projects.rules.chapters import (
    Metadata,
    iso_text,
    metadata_of,
    new_document,
    now_text,
    read_chapters,
    with_updated,
)

NOW = "2026-05-01T10:00:00.000Z"


def of(text: str) -> Metadata:
    return metadata_of(read_document(Address("my-file.md"), text.encode()))


@each_case(
    ("text", "metadata"),
    [
        ("", Metadata("my-file", (), "", "")),
        ("# Heading\n", Metadata("Heading", (), "", "")),
        ("---\ntitle: T\nkeywords: [a, ' b', 5]\n---\n", Metadata("T", ("a", " b", "5"), "", "")),
        ("---\ntitle: T\nkeywords: a, b ,, c\n---\n", Metadata("T", ("a", "b", "c"), "", "")),
        ("---\ntitle: T\nkeywords: 5\ncreated: 2026\nupdated: [x]\n---\n", Metadata("T", (), "2026", "")),
        ("---\ntitle: T\nkeywords: [null, '']\ncreated: true\n---\n", Metadata("T", (), "", "")),
        ("---\ntitle: [\n---\n# H\n", Metadata("H", (), "", "")),
    ],
)
def test_what_a_document_says_is_read_and_what_is_odd_is_left_out(text: str, metadata: Metadata) -> None:
    assert of(text) == metadata


def test_a_time_is_written_in_utc_with_milliseconds() -> None:
    moment = datetime(2026, 5, 1, 1, 2, 3, 456_789, tzinfo=timezone(timedelta(hours=2)))
    assert iso_text(moment) == "2026-04-30T23:02:03.456Z"
    assert datetime.fromisoformat(now_text()).tzinfo == UTC


def test_a_new_document_reads_back_as_it_was_given() -> None:
    chapters = [("One #", "text\n"), ("Two", "")]
    raw = new_document("T: 'x' \u8336", ["a, b", "yes", "5"], "Intro.", chapters, NOW)
    document = read_document(Address("a.md"), raw)
    assert metadata_of(document) == Metadata("T: 'x' \u8336", ("a, b", "yes", "5"), NOW, NOW)
    assert [chapter.title for chapter in read_chapters(document)] == ["One #", "Two"]
    assert read_chapters(read_document(Address("a.md"), new_document("T", [], "", [], NOW))) == []


@pytest.mark.parametrize("text", ["```\nopen", "<!-- open"])
def test_a_chapter_that_would_hide_the_next_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="would hide the next one"):
        new_document("T", [], "", [("One", text), ("Two", "x")], NOW)
    assert new_document("T", [], "", [("One", "x"), ("Two", text)], NOW)


@each_case(
    ("before", "after"),
    [
        ("updated: 2025 # when\n", f"updated: {NOW} # when\n"),
        ("updated: '2025'\n", f"updated: '{NOW}'\n"),
        ('updated :  "2025"  \n', f'updated :  "{NOW}"  \n'),
        ("a: 1\r\nupdated: x\r\nb: 2\r\n", f"a: 1\r\nupdated: {NOW}\r\nb: 2\r\n"),
        ("inner:\n  updated: 1\nupdated: 2\n", f"inner:\n  updated: 1\nupdated: {NOW}\n"),
        ("updated:\n", f"updated: {NOW}\n"),
    ],
)
def test_only_the_value_of_the_line_changes(before: str, after: str) -> None:
    raw = f"---\n{before}---\nupdated: in the text\n".encode()
    made = with_updated(read_document(Address("a.md"), raw), raw, NOW)
    assert made.decode() == f"---\n{after}---\nupdated: in the text\n"


def test_a_date_is_added_where_there_is_none_and_nothing_where_there_is_no_frontmatter() -> None:
    raw = b"---\ntitle: T\n---\ntext\n"
    made = with_updated(read_document(Address("a.md"), raw), raw, NOW)
    assert metadata_of(read_document(Address("a.md"), made)) == Metadata("T", (), "", NOW)
    for text in (b"text\n", b"---\ntitle: [\n---\n"):
        assert with_updated(read_document(Address("a.md"), text), text, NOW) == text


def test_what_stands_behind_the_frontmatter_may_have_changed() -> None:
    before = read_document(Address("a.md"), b"---\nupdated: 1\n---\nold\n")
    assert with_updated(before, b"---\nupdated: 1\n---\nnew and longer\n", NOW).endswith(b"---\nnew and longer\n")
