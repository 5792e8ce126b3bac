"""Facts of a parsed document about its own bytes."""

from __future__ import annotations

import gc

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, gc_disabled


def read(raw: bytes, path: str = "a.md") -> Document:
    return read_document(Address(path), raw)


@each_case(
    ("raw", "body"),
    [
        (b"", ""),
        (b"Text\n", "Text\n"),
        (b"\nText\n", "\nText\n"),
        (b"---\ntitle: T\n---\nText\n", "Text\n"),
        (b"---\ntitle: T\n---\n\nText\n", "Text\n"),
        (b"---\ntitle: T\n---\n\n\nText\n", "\nText\n"),
        (b"---\r\ntitle: T\r\n---\r\n\r\nText\r\n", "Text\r\n"),
        (b"---\ntitle: T\n---\n", ""),
        (b"---\ntitle: T\n---", ""),
        ("---\ntitle: Ü\n---\n\nمرحبا 漢字 🏗️\n".encode(), "مرحبا 漢字 🏗️\n"),  # noqa: RUF001 - a text from right to left
        (b"\xef\xbb\xbf---\ntitle: T\n---\n\nText\n", "Text\n"),
        (b"\xef\xbb\xbfText\n", "Text\n"),
    ],
)
def test_the_body_is_the_text_below_the_frontmatter_without_one_blank_line(raw: bytes, body: str) -> None:
    assert read(raw).body == body


def test_the_body_of_a_document_with_undecodable_bytes_shows_what_can_be_read() -> None:
    document = read(b"---\ntitle: T\n---\nbefore \xff\xfe after\n")
    assert not document.decodable
    assert document.body == "before ÿþ after\n"
    assert document.source.decode() == document.text


@pytest.mark.parametrize("raw", [b"# A\ntext\n", b"---\na: 1\n---\n# A\r\ntext\r\n", "# Größe\n漢字\n".encode()])
def test_sections_cover_the_body_in_the_bytes_of_the_file(raw: bytes) -> None:
    document = read(raw)
    assert document.source == raw
    parts = [raw[section.start : section.end] for section in document.sections]
    assert b"".join(parts) == raw[document.body_start :]


def test_texts_of_mdx_are_read_from_blanked_bytes_while_the_body_is_as_written() -> None:
    raw = b"import X from 'y'\n\n# Title <Badge/>\n"
    document = read(raw, "a.mdx")
    assert len(document.source) == len(raw)
    assert b"Badge" not in document.source
    assert document.body == raw.decode()


def test_the_collector_works_again_after_a_batch_that_failed() -> None:
    def fail() -> None:
        seen.append(gc.isenabled())
        raise OSError("the disk is full")

    seen = [gc.isenabled()]
    with pytest.raises(OSError, match="full"), gc_disabled():
        fail()
    assert [*seen, gc.isenabled()] == [True, False, True]


def test_a_batch_within_another_ones_time_leaves_the_collector_to_that_one() -> None:
    with gc_disabled():
        with gc_disabled():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
