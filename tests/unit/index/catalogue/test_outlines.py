"""The outline of a document survives being stored, and leads to its texts."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.index.catalogue.outlines import Outline

RAW = '---\ntitle: T\n---\n\n# Größe\n\n## Teil\n\ntext 漢字\n\n#### Tief\n\n## "Zwei"\nmehr\n\n# Ende\n'.encode()


def test_a_stored_outline_is_the_same() -> None:
    document = read_document(Address("a.md"), RAW)
    outline = Outline.from_stored(Outline.of(document.sections).stored())
    assert outline.last == len(document.sections) - 1
    for section in document.sections:
        assert outline.path(section.ordinal) == section.path
        assert outline.anchor(section.ordinal) == section.anchor
        assert RAW[outline.text(section.ordinal)] == RAW[section.content : section.end]


def test_the_path_skips_headings_that_are_not_above() -> None:
    outline = Outline.of(read_document(Address("a.md"), RAW).sections)
    paths = [outline.path(ordinal) for ordinal in range(outline.last + 1)]
    assert paths == [
        (),
        ("Größe",),
        ("Größe", "Teil"),
        ("Größe", "Teil", "Tief"),
        ("Größe", '"Zwei"'),
        ("Ende",),
    ]


def test_the_first_section_with_text_is_found() -> None:
    def first(text: str) -> int:
        return Outline.of(read_document(Address("a.md"), text.encode()).sections).first_with_text()

    assert [first(text) for text in ("", "\n", "text", "# A\n", "# A\n# B\ntext", "# A\n\n", "text\n# A")] == [
        0,
        0,
        0,
        0,
        2,
        0,
        0,
    ]
