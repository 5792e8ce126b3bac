"""The share of a query that names and headings contain is that of their words, and headings count for what is below."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.records import build_record
from commonplace.domain.words.scripts import fold_text
from commonplace.index.fulltext.name_coverage import (
    NOT_COVERED,
    DocumentNames,
    NameCoverage,
    name_tokens,
    name_words,
    searchable_names,
)
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.fulltext.term_dictionary import NameTerm

WORDS = ("tide", "vent", "reef", "潮汐", "Größe")


def coverage(text: str, *terms: NameTerm, path: str = "notes/reef.md") -> NameCoverage:
    document = read_document(Address(path), text.encode())
    names = DocumentNames(name_words(document, build_record(document, "revision")))
    forms: dict[str, list[int]] = {}
    for number, term in enumerate(terms):
        for form in term.forms:
            forms.setdefault(form, []).append(number)
    return names.coverage(terms, forms)


def test_a_heading_counts_for_its_section_and_those_below_it() -> None:
    text = "---\ntitle: Coast\n---\n\n## Tides\n\n### High\n\n#### Vents\n\n## Other\n\ntext\n"
    covered = coverage(text, NameTerm(("tide", "tides"), 0.6), NameTerm(("vents",), 0.4))
    assert covered.title == 0
    assert covered.headings == pytest.approx({1: 0.6, 2: 0.6, 3: 1.0})
    assert not covered.others


def test_a_word_of_the_title_counts_for_every_section_that_is_not_blank() -> None:
    text = "---\ntitle: Tide\n---\n \n\n# Vent\n\n# Other\n"
    assert coverage(text, NameTerm(("tide",), 0.5), NameTerm(("vent",), 0.5)) == (0.5, {1: 1.0}, range(1, 3), {1})


def test_a_heading_of_words_of_the_query_alone_names_its_section() -> None:
    headings = ("## A tide vent", "## Vent", "## Vent vent tide", "### Deep", "## Tide", "## Write")
    text = "\n\n".join(("---\ntitle: Write-Tide\n---", *headings))
    covered = coverage(text, NameTerm(("tide",), 0.4), NameTerm(("vent", "vents"), 0.3), NameTerm(("write",), 0.3))
    assert covered.named == {2, 3}, "`Tide` and `Write` have no word beside the title's"


def test_the_other_forms_of_a_word_name_a_section() -> None:
    assert coverage("# A\n\n## Vents\n", NameTerm(("vent", "vents"), 1.0)).named == {2}


def test_the_file_name_counts_unless_it_is_one_of_every_folder() -> None:
    term = NameTerm(("reef",), 1.0)
    assert coverage("text", term, path="reef.md").title == 1
    assert coverage("# Tide\n", NameTerm(("index",), 1.0), path="reef/index.md") == NOT_COVERED


@given(
    title=st.lists(st.sampled_from(WORDS), max_size=2),
    headings=st.lists(st.tuples(st.integers(1, 6), st.lists(st.sampled_from(WORDS), max_size=2)), max_size=8),
)
def test_the_coverage_of_a_section_is_that_of_the_words_of_its_names_and_its_path(
    title: list[str], headings: list[tuple[int, list[str]]]
) -> None:
    analyze = words_analyzer().analyze
    lines = "".join(f"{'#' * level} {' '.join(words)}\n\n" for level, words in headings)
    document = read_document(Address("page.md"), f"---\ntitle: {' '.join(title) or 'x'}\n---\n{lines}".encode())
    record = build_record(document, "revision")
    terms = [NameTerm(tuple(name_tokens(fold_text(word), analyze)[:1]), 0.2) for word in WORDS]

    def share(*texts: str) -> float:
        words = {token for text in texts for token in name_tokens(fold_text(text), analyze)}
        return sum(term.share for term in terms if not words.isdisjoint(term.forms))

    names = searchable_names(record.address, record.title, record.aliases)
    covered = coverage(document.text, *terms, path="page.md")
    assert covered.title == pytest.approx(share(names))
    for section in document.sections:
        expected = share(names, *section.path)
        assert covered.headings.get(section.ordinal, covered.title) == pytest.approx(expected)
