"""Documents are divided into pieces of the size that a model reads."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.semantic import (
    CHUNKS_VERSION,
    MAX_CHUNK_CHARS,
    MAX_CHUNKS,
    MAX_HEADING_CHARS,
    Chunk,
    chunked_revision,
    chunks_of,
    current_revision,
)


def chunks(text: str, path: str = "page.md") -> list[Chunk]:
    return chunks_of(read_document(Address(path), text.encode()))


@each_case("text", ["", "\n\n", "---\ntags: [a]\n---\n", "***\n\n---\n", "🏗️ !?\n", "\x00"])
def test_a_document_without_a_letter_has_no_chunk(text: str) -> None:
    assert chunks(text) == []


def test_a_short_document_is_one_chunk_under_its_headings() -> None:
    (only,) = chunks("# Harbour\n\n## Cranes\n\nThey *lift* [forty](x.md) tonnes.\n")
    assert only.text.splitlines()[0] == "Harbour"
    assert only.text.endswith("They lift forty tonnes.")


def test_a_title_of_the_frontmatter_stands_in_front() -> None:
    (only,) = chunks("---\ntitle: Größe\n---\n## Part\n\ntext\n")
    assert only.text == "Größe > Part\ntext"


@pytest.mark.parametrize("key", ["description", "summary"])
def test_a_description_is_a_chunk_under_the_title_that_names_the_first_section_with_text(key: str) -> None:
    first, second = chunks(f"---\ntitle: npm-ci\n{key}: Clean\n  install\n---\n\n## Use\n\nrun it\n", "npm-ci.md")
    assert (first.text, first.ordinal) == ("npm-ci\nClean install", second.ordinal)
    assert second.text == "Use\nrun it"


def test_a_description_that_the_text_repeats_is_no_chunk() -> None:
    (only,) = chunks("---\ndescription: Clean install\n---\n# Npm\n\n*Clean*\ninstall of it\n")
    assert only.text == "Npm\nClean install of it"


def test_a_long_description_is_cut_to_what_a_model_reads() -> None:
    first, _ = chunks(f"---\ndescription: {'word ' * 2000}\n---\n# A\n\ntext\n")
    assert len(first.text.encode()) <= MAX_CHUNK_CHARS


def test_a_document_of_a_description_alone_is_found_by_it() -> None:
    (only,) = chunks("---\ndescription: Clean install\n---\n")
    assert (only.text, only.ordinal) == ("page\nClean install", 0)


def test_a_title_of_several_words_that_only_the_file_name_says_is_a_chunk() -> None:
    assert [chunk.text for chunk in chunks("text\n", "a/Sleep and memory.md")] == ["Sleep and memory", "\ntext"]


@pytest.mark.parametrize("path", ["index.md", "2026-05-01.md", "Two words.md"])
def test_a_title_of_one_word_or_of_a_heading_is_no_chunk(path: str) -> None:
    assert len(chunks("# Two words\n\ntext\n", path)) == 1


def test_a_revision_is_current_if_its_chunks_are_of_this_version_or_a_later_one() -> None:
    assert current_revision(chunked_revision("a1")) == "a1"
    assert current_revision(f"{CHUNKS_VERSION + 1}:a1") == "a1"
    assert current_revision(f"{CHUNKS_VERSION - 1}:a1") == ""
    assert current_revision("a1") == "", "the first version had no number"
    assert chunked_revision("") == "", "a deleted document has none"


def test_sections_under_different_parents_are_not_joined() -> None:
    found_chunks = chunks("# A\n\nalpha\n\n## A1\n\nbeta\n\n# B\n\ngamma\n")  # the title is the first heading
    assert [chunk.text.splitlines()[0] for chunk in found_chunks] == ["A", "A > B"]
    assert "beta" in found_chunks[0].text


def test_a_chunk_of_several_sections_names_the_longest() -> None:
    (only,) = chunks("# A\n\nshort\n\n## B\n\nthis text is much longer\n")
    assert only.ordinal == 2


@each_case(
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
    found_chunks = chunks(f"# A\n\n{text}\n")
    assert len(found_chunks) > 1
    assert all(len(chunk.text.encode()) <= MAX_CHUNK_CHARS for chunk in found_chunks)
    bare = "".join("".join(chunk.text.splitlines()[1:]).replace(" ", "") for chunk in found_chunks)
    assert bare == "".join(text.split())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_long_section_is_split_between_its_paragraphs(end: str) -> None:
    paragraph = "The crane lifts. " * 20 + "It stands at the quay"
    found_chunks = chunks(f"# A{end}{end}" + f"{end}{end}".join([paragraph] * 8))
    assert all(chunk.text.endswith("at the quay") for chunk in found_chunks)


def test_headings_are_cut_to_their_limit() -> None:
    (only,) = chunks(f"# {'long ' * 100}\n\ntext\n")
    assert len(only.text.splitlines()[0]) == MAX_HEADING_CHARS


def test_a_document_has_a_largest_number_of_chunks() -> None:
    assert len(chunks("\n\n".join(f"# H{at}\n\ntext {at}" for at in range(MAX_CHUNKS + 50)))) == MAX_CHUNKS


def test_the_key_is_that_of_the_text_alone() -> None:
    (chunk,), (other,), (third,) = chunks("# A\n\nb\n"), chunks("# A\n\nb\n", "x/other.md"), chunks("# A\n\nc\n")
    assert chunk.key == other.key
    assert chunk.key != third.key
    assert len(chunk.key) == 16
