"""Queries for Tantivy match what the query says, in documents and in their sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.query_parser import parse_query
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import RecentDocuments
from commonplace.index.fulltext.query_builder import MAX_LISTED_TERMS, QueryBuilder, SearchScope
from commonplace.index.fulltext.term_dictionary import TermDictionary
from indexed import MakeBase, full_text

TEXTS = {
    1: "# Apple\n\nRed apples grow on trees.\n\n## Pie\n\nAn apple pie.\n",
    2: "---\ntype: note\ndate: 2024-02-01\n---\n# Pear\n\nA pear is no apple, but a pie is a pie.\n",
    3: "# Café\n\nLe café noir.\n",
    4: "# Cafe\n\nA cafe with pie and std::vector.\n",
    5: "# 茶\n\n烏龍茶與茶葉\n",
}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> ft.FullText:
    return full_text(tmp_path_factory.mktemp("full"), TEXTS)


def builder(full: ft.FullText, text: str) -> QueryBuilder:
    analyze = full.analyzer.analyze
    terms = TermDictionary(full.searchers(0).documents, RecentDocuments({}, ()), analyze)
    return QueryBuilder(terms.expand(parse_query(text, analyze)), full.document_schema, full.section_schema)


def found(
    full: ft.FullText, text: str, scope: SearchScope | None = None, hidden: tuple[int, ...] = ()
) -> dict[int, float]:
    """Documents with their scores, best first."""
    searcher = full.searchers(0).documents
    hits = searcher.search(builder(full, text).documents(scope or SearchScope(), hidden), limit=100).hits
    keys = searcher.fast_field_values(ft.KEY, [address for _, address in hits])
    return {key: score for key, (score, _) in zip(keys, hits, strict=True)}


def sections(full: ft.FullText, text: str, *keys: int) -> set[tuple[int, int]]:
    """Document and ordinal of the matching sections."""
    searcher = full.searchers(0).sections
    hits = searcher.search(builder(full, text).sections(keys), limit=100).hits
    addresses = [address for _, address in hits]
    fields = (searcher.fast_field_values(name, addresses) for name in (ft.KEY, ft.ORDINAL))
    return set(zip(*fields, strict=True))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("apple", {1, 2}),
        ("apple pear", {1, 2}),
        ('"apple pie"', {1}),
        ('"pie apple"', set[int]()),
        ("pie -apple", {4}),
        ('pie -"no apple"', {1, 4}),
        ("-apple", {3, 4, 5}),
        ("apple AND pear", {2}),
        ("pear OR noir", {2, 3}),
        ("pie NOT apple", {4}),
        ("std::vector", {4}),
        ("烏龍", {5}),
        ('"茶葉"', {5}),
        ("龍鳳", set[int]()),
    ],
)
def test_a_query_matches_what_it_says(full: ft.FullText, text: str, keys: set[int]) -> None:
    assert set(found(full, text)) == keys


def test_accents_that_were_typed_rank_the_word_that_has_them_first(full: ft.FullText) -> None:
    assert list(found(full, "café")) == [3, 4]
    assert set(found(full, "cafe")) == {3, 4}


def test_the_filter_and_superseded_documents_are_left_out_and_change_no_score(full: ft.FullText) -> None:
    every = found(full, "apple")
    assert found(full, "apple", SearchScope(keys=frozenset({2}))) == {2: pytest.approx(every[2])}
    assert found(full, "apple", SearchScope(without=frozenset({1}))) == {2: pytest.approx(every[2])}
    assert found(full, "apple", hidden=(2,)) == {1: pytest.approx(every[1])}
    assert found(full, "apple", SearchScope(keys=frozenset())) == {}


def test_numbers_and_terms_of_a_filter_are_matched(full: ft.FullText) -> None:
    inside = SearchScope(ranges=(("day", 20240101, 20240301),))
    assert set(found(full, "apple", inside)) == {2}
    assert set(found(full, "apple", SearchScope(ranges=(("day", 20240301, None),)))) == set()
    assert set(found(full, "apple", SearchScope(groups=(frozenset({"none"}),)))) == set()


def test_a_filter_of_many_documents_matches_like_one_of_few(full: ft.FullText) -> None:
    many = frozenset(range(2, 3 * MAX_LISTED_TERMS))
    assert set(found(full, "apple", SearchScope(keys=many))) == {2}
    assert set(found(full, "apple", SearchScope(without=many))) == {1}


def test_sections_are_those_of_the_given_documents_that_hold_a_word(full: ft.FullText) -> None:
    assert sections(full, "pie", 1, 2) == {(1, 2), (2, 1)}
    assert sections(full, "trees pie", 1) == {(1, 1), (1, 2)}
    assert sections(full, '"red pie"', 1) == set()


def test_a_title_counts_beside_the_text(tmp_path: Path) -> None:
    full = full_text(tmp_path / "full", {1: "# Tide\n\nother words here\n", 2: "# Other\n\ntide words here\n"})
    scores = found(full, "tide")
    assert scores[1] > scores[2]


def test_a_phrase_in_a_script_without_blanks_must_stand_there_as_it_is(base: MakeBase) -> None:
    files = {"a.md": "# A\n\n知识库管理", "b.md": "# B\n\n管理知识的库"}
    assert base(files).found('"知识库管理"') == ["a.md"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('"ดื่"', ["a.md"]),
        ('"มา" ทุก', ["b.md"]),
        ("ทุกวัน -มา", ["a.md"]),
        ("ทุกวัน -ดื่", ["b.md"]),
        ("ทุกวัน AND มา", ["b.md"]),
        ("มา OR ดื่", ["a.md", "b.md"]),
    ],
)
def test_a_part_of_a_run_is_found_wherever_it_stands(base: MakeBase, asked: str, found: list[str]) -> None:
    files = {"a.md": "# A\n\nเขาดื่มกาแฟทุกวัน\n", "b.md": "# B\n\nเขามาที่นี่ทุกวัน\n"}
    made = base(files)
    assert sorted(made.found(asked)) == found
    for path, text in files.items():
        made.update(path, f"{text}\nx\n")
    assert sorted(made.found(asked)) == found
