"""Searched text of a document and of its sections, folded equally as a whole and part by part."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.documents import Document
from commonplace.domain.records import build_record
from commonplace.domain.words.grams import parted_names
from commonplace.domain.words.scripts import fold_text
from commonplace.domain.words.text_decoder import ReadableText, readable_text
from commonplace.index.fulltext.document_text import DocumentText, document_text, text_from_json, text_to_json
from pages import markdown, page

ascii_markdown = markdown.map(lambda text: text.encode("ascii", "ignore").decode())
signs = st.sampled_from(["", "C++ ", "C# ", "Écrit ", "ΣΟΦΟΣ ", "\u0130zmir "])


def searched(document: Document) -> DocumentText:
    return document_text(document, build_record(document, "1"))


def behind(heading: ReadableText, text: ReadableText) -> str:
    """The text that is searched behind a section's."""
    return "\n".join(filter(None, (heading.hidden, text.hidden, parted_names(f"{heading.text}{text.text}"))))


@given(st.builds("".join, st.tuples(signs, markdown | ascii_markdown, signs, markdown)))
@example("# One\r\n\r\nText\r\n## Two Über\nC# and C++\n")
@example("# ONE\n\nTWO\n\n## THREE\n\nFour\n")
@settings(max_examples=100)
def test_a_section_is_searched_by_its_headings_and_its_own_folded_bytes(text: str) -> None:
    document = page(text)
    source = document.source
    sections = dict(searched(document).sections)
    for section in document.sections:
        head = readable_text(source[section.start : section.content].decode())
        own = readable_text(source[section.content : section.end].decode())
        hidden = behind(head, own)
        if section.level or own.text.strip() or hidden:
            text = f"{own.text}\n{hidden}" if hidden else own.text
            headings = "\n".join((*section.path, ""))
            assert sections[section.ordinal] in {headings.lower() + fold_text(text), fold_text(headings + text)}
        else:
            assert section.ordinal not in sections


@given(st.builds("".join, st.tuples(signs, markdown)))
def test_a_document_is_searched_by_its_folded_body(text: str) -> None:
    document = page(text)
    source = document.source
    spans = [pair for part in document.sections for pair in ((part.start, part.content), (part.content, part.end))]
    parts = [readable_text(source[start:end].decode()) for start, end in spans]
    read = "".join(part.text for part in parts)
    hidden = "\n".join(filter(None, (behind(*pair) for pair in zip(parts[::2], parts[1::2], strict=True))))
    assert searched(document).body.endswith(f"\n{fold_text(read)}" + (f"\n{fold_text(hidden)}" if hidden else ""))


@each_case("start", ["", "\ufeff", "---\ntitle: Größe\n---\n", "\ufeff---\na: 1\n---\n"])
@each_case("tail", ["", "É", "C#", "\u0130"])
def test_offsets_count_from_the_top_of_the_file(start: str, tail: str) -> None:
    sections = searched(page(f"{start}Lead IN\n# First\n\nSome TEXT\n\n## Second\n\nMore {tail}\n")).sections
    folded = {"": "more ", "É": "more é", "C#": "more csharp", "\u0130": "more i"}[tail]
    expected = [(0, "lead in\n"), (1, "first\n\nsome text\n\n"), (2, f"first\nsecond\n\n{folded}\n")]
    assert list(sections) == [(ordinal, text) for ordinal, text in expected]


def test_a_text_comes_back_from_the_catalogue_as_it_was() -> None:
    text = searched(page("---\ntags: [a, b]\ndate: 2024-05-01\n---\n# Title\n\n日本 text\n"))
    assert text_from_json(text_to_json(text)) == text
