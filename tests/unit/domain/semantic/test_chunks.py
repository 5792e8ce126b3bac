"""Documents are divided into pieces of the size that a model reads."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.semantic.chunks import MAX_CHUNK_CHARS, MAX_CHUNKS, MAX_HEADING_CHARS, Chunk, chunks_of


def chunks(text: str, path: str = "page.md") -> list[Chunk]:
    return chunks_of(read_document(Address(path), text.encode()))


@pytest.mark.parametrize("text", ["", "\n\n", "---\ntags: [a]\n---\n", "***\n\n---\n", "🏗️ !?\n", "\x00"])
def test_a_document_without_a_letter_has_no_chunk(text: str) -> None:
    assert chunks(text) == []


def test_a_short_document_is_one_chunk_under_its_headings() -> None:
    (only,) = chunks("# Harbour\n\n## Cranes\n\nThey *lift* [forty](x.md) tonnes.\n")
    assert only.text.splitlines()[0] == "Harbour"
    assert only.text.endswith("They lift forty tonnes.")


def test_a_title_of_the_frontmatter_stands_in_front() -> None:
    (only,) = chunks("---\ntitle: Größe\n---\n## Part\n\ntext\n")
    assert only.text == "Größe > Part\ntext"


def test_sections_under_different_parents_are_not_joined() -> None:
    found = chunks("# A\n\nalpha\n\n## A1\n\nbeta\n\n# B\n\ngamma\n")  # the title is the first heading
    assert [chunk.text.splitlines()[0] for chunk in found] == ["A", "A > B"]
    assert "beta" in found[0].text


def test_a_chunk_of_several_sections_names_the_longest() -> None:
    (only,) = chunks("# A\n\nshort\n\n## B\n\nthis text is much longer\n")
    assert only.ordinal == 2


@pytest.mark.parametrize(
    "text",
    [
        "The crane lifts forty tonnes of steel. " * 200,
        "The crane lifts forty tonnes.\n\n" * 200,
        "The crane lifts forty tonnes.\r\n\r\n" * 200,
        "x" * 20_000,
        "港" * 5000,
        "港を点検する。" * 800,
        "🏗️漢" * 1500,
        "ü" * 9001,
    ],
)
def test_a_long_text_is_split_to_what_a_model_reads_and_nothing_is_lost(text: str) -> None:
    found = chunks(f"# A\n\n{text}\n")
    assert len(found) > 1
    assert all(len(chunk.text.encode()) <= MAX_CHUNK_CHARS for chunk in found)
    bare = "".join("".join(chunk.text.splitlines()[1:]).replace(" ", "") for chunk in found)
    assert bare == "".join(text.split())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_long_section_is_split_between_its_paragraphs(end: str) -> None:
    paragraph = "The crane lifts. " * 20 + "It stands at the quay"
    found = chunks(f"# A{end}{end}" + f"{end}{end}".join([paragraph] * 8))
    assert all(chunk.text.endswith("at the quay") for chunk in found)


def test_headings_are_cut_to_their_limit() -> None:
    (only,) = chunks(f"# {'long ' * 100}\n\ntext\n")
    assert len(only.text.splitlines()[0]) == MAX_HEADING_CHARS


def test_a_document_has_a_largest_number_of_chunks() -> None:
    assert len(chunks("\n\n".join(f"# H{at}\n\ntext {at}" for at in range(MAX_CHUNKS + 50)))) == MAX_CHUNKS


def test_the_key_is_that_of_the_text_alone() -> None:
    (one,), (other,), (third,) = chunks("# A\n\nb\n"), chunks("# A\n\nb\n", "x/other.md"), chunks("# A\n\nc\n")
    assert one.key == other.key
    assert one.key != third.key
    assert len(one.key) == 16
