"""A search finds the same as a scan of every text, for any query and after any change."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from commonplace.domain.addresses import Address, fold
from commonplace.domain.document_reader import read_document
from commonplace.toolsets.projects.rules.search import (
    NO_DOCUMENTS,
    SearchableDocument,
    SearchableDocuments,
    Segment,
    SubstringIndex,
    find_documents,
    searchable,
)

PIECES = st.sampled_from(
    ["c++", "c#", "node.js", "a", "ab", "abc", "中文", "中", "++", ".", "_", "x_y", " ", "\n", "éa", "ß"]
)
TEXTS = st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=12)
WANTED = st.lists(PIECES, min_size=1, max_size=3).map("".join)


@given(TEXTS, WANTED)
def test_a_haystack_holds_what_looking_through_every_text_finds(texts: list[str], wanted: str) -> None:
    found_numbers = list(SubstringIndex(texts).holding(wanted))
    assert sorted(found_numbers) == [number for number, text in enumerate(texts) if wanted in text]


def test_a_string_in_very_many_tokens_is_found_in_each_text() -> None:
    texts = [f"word{number} common{number} {'rare' if number == 7 else ''}" for number in range(200)]
    haystack = SubstringIndex(texts)
    for wanted_text in ("o", "mm", "common", "common1", "rar", "d1"):
        assert sorted(haystack.holding(wanted_text)) == [n for n, text in enumerate(texts) if wanted_text in text]


def document(name: str, words: Sequence[str]) -> SearchableDocument:
    body = "\n\n".join(f"## {word}\n\n{word} and more" for word in words if word.strip())
    raw = f"---\ntitle: Of {name}\nkeywords: [k-{name}]\n---\n\nIntroduction {name}.\n\n{body}\n".encode()
    return searchable(f"{name}.md", read_document(Address(f"{name}.md"), raw))


NAMES = st.sampled_from("abcdef")
CHANGES = st.lists(st.tuples(NAMES, st.none() | st.lists(PIECES, max_size=4)), max_size=20)


@given(
    CHANGES, st.lists(st.sampled_from(["c++", "a", "ab", "中", "k-a", "of", "node.js", "x_y"]), min_size=1, max_size=4)
)
def test_documents_that_change_one_by_one_are_found_as_if_all_were_new(
    changes: list[tuple[str, list[str] | None]], words: list[str]
) -> None:
    texts, now = NO_DOCUMENTS, dict[str, SearchableDocument]()
    for name, content in changes:
        made = [] if content is None else [document(name, content)]
        texts = texts.updated({f"{name}.md"}, made)
        now.pop(name, None)
        now.update((name, searchable_document) for searchable_document in made)
    assert sorted(text.filename for text in texts.all) == sorted(text.filename for text in now.values())
    assert find_documents(texts, words, 20) == find_documents(
        SearchableDocuments(Segment(tuple(now.values()))), words, 20
    )


def test_many_changes_become_one_segment_again() -> None:
    texts = SearchableDocuments(Segment([document(f"d{number}", ["x"]) for number in range(40)]))
    for number in range(40):
        texts = texts.updated({f"d{number}.md"}, [document(f"d{number}", ["y"])])
    assert find_documents(texts, ["x"], 100).total_documents == 0
    assert find_documents(texts, ["y"], 100).total_documents == 40
    assert len(texts.segments[0][0].texts) + len(texts.segments[0][1]) <= 80


@given(st.lists(st.lists(PIECES, max_size=5), min_size=1, max_size=6), st.lists(WANTED.filter(str.strip), max_size=3))
def test_every_document_with_a_word_is_an_answer_and_its_chapters_are_counted(
    contents: list[list[str]], words: list[str]
) -> None:
    all_of = [document(f"d{number}", content) for number, content in enumerate(contents)]
    requested_words = [word for text in words for word in text.split()]
    answer = find_documents(SearchableDocuments(Segment(all_of)), requested_words, 20)
    wanted_words = [fold(word) for word in requested_words]
    with_any = [
        searchable_document
        for searchable_document in all_of
        if any(
            word in text
            for word in wanted_words
            for text in [*searchable_document.fields, *(p.folded for p in searchable_document.parts)]
        )
    ]
    assert {match.text.filename for match in answer.matches} == {other_document.filename for other_document in with_any}
    assert answer.total_matches == sum(
        any(w in p.folded for w in wanted_words) for searchable_document in all_of for p in searchable_document.parts
    )
