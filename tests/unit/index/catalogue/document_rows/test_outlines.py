"""The outline of a document survives being stored, and leads to its texts."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import Fragments, fragment_marks, read_document
from commonplace.domain.documents import Outline
from commonplace.index.catalogue.document_rows import fragment_names, stored_marks

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


def test_a_section_without_text_is_represented_by_its_first_subsection_with_text() -> None:
    raw = b"# A\r\n\r\n## B\n\n### C\n\nText of C.\n\n## D\n\n# E\n\n# F\n\nText of F.\n"
    outline = Outline.of(read_document(Address("a.md"), raw).sections)
    shown = [raw[outline.shown_text(ordinal)].decode().strip() for ordinal in range(outline.last + 1)]
    assert shown == ["", *["Text of C."] * 3, "", "", "Text of F."]


FRAGMENTS = """\
---
a: '^front'
---
text ^first
# A **very** _odd_ step ^marked
## Usage
<a name="Element"></a> <b id='z#z'>
- item ^Item
### `code` in = it
## Usage
# C# & .NET {#net}
Setext *here*
---
"""
NAMES = [
    "", "#", " ", "^first", "^FIRST", "^item", "^marked",
    "A very _odd_ step", "^front", "^none", "A very odd step", "a VERY odd step",
    "A **very** _odd_ step", "A very odd step marked", "Usage", "usage", "USAGE-1", "usage-2", "usage#code in = it",
    "A very odd step ^marked#Usage", "Usage#Usage", "code#Usage", "`code` in = it", "element", "Element", "#Element",
    "z#z", "C NET", "net", "#net", "#Usage", "Setext here", "Setext *here*", "front", "first",
]  # fmt: skip


def test_stored_names_decide_as_the_document_does() -> None:
    document = read_document(Address("a.md"), FRAGMENTS.encode())
    stored = Outline.of(document.sections).stored(), stored_marks(fragment_marks(document))
    names, fragments = fragment_names(*stored), Fragments(document)
    assert [name for name in NAMES if name in names] == [name for name in NAMES if name in fragments]
    assert [name for name in NAMES if name not in names] == [
        "^front", "^none", "A very odd step", "a VERY odd step", "usage-2",
        "Usage#Usage", "code#Usage", "element", "front", "first",
    ]  # fmt: skip


def test_a_document_whose_parts_have_no_other_names_stores_none() -> None:
    assert stored_marks(fragment_marks(read_document(Address("a.md"), b"# A\n\n## B 2\n\nC\n===\n"))) == ""
