"""Documents that wait in memory: their words, and what of them is read again."""

from __future__ import annotations

from commonplace.index.fulltext.document_text import DocumentText, Postings, RecentDocument, RecentDocuments, TextTerms


def words(text: str) -> list[str]:
    return text.lower().split()


def recent(body: str, title: str = "", sections: tuple[tuple[int, str], ...] = ()) -> RecentDocument:
    return RecentDocument(
        DocumentText(
            title=title,
            body=body,
            terms=("t",),
            numbers={},
            sections=sections,
        ),
        words,
    )


def test_the_words_of_a_text_are_counted() -> None:
    terms = TextTerms(["a", "b", "a"])
    assert (terms.counts["a"], terms.lengths, sorted(terms.vocabulary)) == (2, (3,), ["a", "b"])
    assert (terms.holding("a"), terms.holding("none")) == (1, 0)
    assert TextTerms([]).lengths == (0,)


def test_the_sections_of_a_document_are_found_by_their_words() -> None:
    postings = Postings([["a", "b", "a"], [], ["b"]])
    assert postings.lengths == [3, 0, 1]
    assert list(postings.places("a")) == [(0, 2)]
    assert list(postings.places("b")) == [(0, 1), (2, 1)]
    assert (postings.holding("b"), postings.holding("none"), list(postings.places("none"))) == (2, 0, [])


def test_a_document_has_words_by_field_and_grams_of_scripts_without_blanks() -> None:
    document = recent("Tea 烏龍茶 café", "Tea")
    assert document.fields["title"].counts["tea"] == 1
    assert "烏龍" in document.fields["grams"].counts
    assert "café" in document.fields["accented"].counts
    assert document.terms == frozenset({"t"})


def test_a_section_keeps_the_ordinal_that_it_has_in_its_document() -> None:
    sections = recent("one two", sections=((2, "one"), (5, "two 茶"))).sections
    assert list(sections.ordinals) == [2, 5]
    assert list(sections.fields["body"].places("two")) == [(1, 1)]
    assert sections.fields["grams"].holding("茶") == 1


def test_words_and_grams_with_a_beginning_come_in_order() -> None:
    documents = RecentDocuments({1: recent("tea team beer"), 2: recent("teak tea 茶葉 茶碗")}, [1, 2, 3])
    assert documents.words_beginning("tea") == ["tea", "teak", "team"]
    assert documents.grams_beginning("茶") == ["茶碗", "茶葉"]
    assert documents.words_beginning("x") == []
    assert documents.words_beginning("") == ["beer", "tea", "teak", "team"]
    assert (documents.holders("body", "tea"), documents.holders("title", "tea")) == (2, 0)
    assert documents.hidden == (1, 2, 3)
