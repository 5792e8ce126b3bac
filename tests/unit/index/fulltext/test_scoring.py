"""A document that waits in memory is scored as the full text would score it."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.query_parser import parse_query
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import RecentDocument, RecentDocuments
from commonplace.index.fulltext.query_builder import QueryBuilder, SearchScope
from commonplace.index.fulltext.scoring import RecentScorer, RecentStatistics
from commonplace.index.fulltext.term_dictionary import TermDictionary
from indexed import full_text, searchable

TEXTS = {
    1: "# Tide\n\nThe tide rises and the tide falls.\n\n## Moon\n\nThe moon pulls the tide.\n",
    2: "# Harbour\n\nBoats wait for the tide in the harbour of the old town.\n",
    3: "# Café\n\nLe café noir, std::vector and 烏龍茶.\n",
    4: "# Notes\n\n" + "filler words " * 40 + "moon\n",
    5: "# Boats\n\nBoats, boats and the moon.\n",
    6: "# Keel\n\nThe [[old keel|keel]] was [laid](yard.md) <b>down</b>, 然后选择**实时预览**\n",
    7: "# Ropes\n\n使用Python3.11写的摘要, and Redis7.\n",
}
QUERIES = [
    "tide", "tides", "tide moon", "boat", "the moon pulls", '"moon pulls"', "tide -moon", "-tide", "café", "cafe",
    "烏龍", "std::vector", "boats AND moon", "tide OR noir", "boats NOT tide", "harbor", "nothing", "tiide",
    '"the keel was laid down"', '"选择实时预览"', "yard",
    "Python AND 摘要", "摘要 -python", '"Redis 7"', '"使用Python"', "3.11",
    'where do the boats wait for "the tide" tonight my friend',
]  # fmt: skip


def expanded_builder(full: ft.FullText, recent: RecentDocuments, text: str) -> tuple[RecentScorer, QueryBuilder]:
    analyze = full.analyzer.analyze
    searchers = full.searchers(0)
    query = TermDictionary(searchers.documents, recent, analyze).expand(parse_query(text, analyze))
    statistics = RecentStatistics(recent, full, searchers)
    return RecentScorer(query, recent, statistics), QueryBuilder(query, full.document_schema, full.section_schema)


def in_memory(full: ft.FullText, *keys: int) -> RecentDocuments:
    documents = {key: RecentDocument(searchable(key, TEXTS[key]), full.analyzer.analyze) for key in keys}
    return RecentDocuments(documents, keys)


def by_the_full_text(full: ft.FullText, text: str) -> dict[int, float]:
    _, builder = expanded_builder(full, RecentDocuments({}, ()), text)
    searcher = full.searchers(0).documents
    hits = searcher.search(builder.documents(SearchScope(), ()), limit=100).hits
    keys = searcher.fast_field_values(ft.KEY, [address for _, address in hits])
    return {key: score for key, (score, _) in zip(keys, hits, strict=True)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> ft.FullText:
    """All documents in the full text."""
    return full_text(tmp_path_factory.mktemp("whole"), TEXTS)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> ft.FullText:
    """None of them."""
    return full_text(tmp_path_factory.mktemp("empty"), {})


@pytest.mark.parametrize("text", QUERIES)
def test_documents_match_and_score_in_memory_as_in_the_full_text(
    whole: ft.FullText, empty: ft.FullText, text: str
) -> None:
    scorer, _ = expanded_builder(empty, in_memory(empty, *TEXTS), text)
    expected = by_the_full_text(whole, text)
    assert scorer.documents(SearchScope()) == pytest.approx(expected, rel=0.03), (
        "the full text rounds the lengths of long texts"
    )


@pytest.mark.parametrize("text", ["tide", "moon", "boats moon"])
def test_half_in_memory_is_scored_with_the_statistics_of_both(whole: ft.FullText, tmp_path: Path, text: str) -> None:
    half = full_text(tmp_path / "half", {key: TEXTS[key] for key in (1, 4, 5, 6, 7)})
    scorer, _ = expanded_builder(half, in_memory(half, 2, 3), text)
    expected = {key: score for key, score in by_the_full_text(whole, text).items() if key in {2, 3}}
    assert scorer.documents(SearchScope()) == pytest.approx(expected, rel=0.1)


def test_the_sections_of_a_document_in_memory_are_ranked_best_first(empty: ft.FullText) -> None:
    scorer, _ = expanded_builder(empty, in_memory(empty, *TEXTS), "tide moon")
    assert [ordinal for ordinal, _ in scorer.sections(1)] == [2, 1]
    ranked = [score for _, score in scorer.sections(1)]
    assert ranked == sorted(ranked, reverse=True)
    assert scorer.sections(3) == []


def test_a_phrase_finds_the_section_that_has_all_of_it(empty: ft.FullText) -> None:
    scorer, _ = expanded_builder(empty, in_memory(empty, *TEXTS), '"moon pulls"')
    assert [ordinal for ordinal, _ in scorer.sections(1)] == [2]


def test_a_filter_holds_for_documents_in_memory(empty: ft.FullText) -> None:
    scorer, _ = expanded_builder(empty, in_memory(empty, *TEXTS), "tide")
    assert set(scorer.documents(SearchScope(keys=frozenset({2, 3})))) == {2}
    assert set(scorer.documents(SearchScope(without=frozenset({1})))) == {2}
    assert scorer.documents(SearchScope(groups=(frozenset({"in:x/"}),))) == {}
