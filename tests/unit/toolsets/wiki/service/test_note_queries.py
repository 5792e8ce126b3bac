"""Search, links and latest changes of notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError, UnavailableError
from commonplace.toolsets.wiki.rules import NoteNode
from commonplace.toolsets.wiki.service.note_queries import MAX_LINK_LOOKUPS, SNIPPET_CHARS, LocalNoteQueries
from indexed import Indexed
from support import GitRepo, new_repo

FILES = {
    "a.md": "---\ntitle: Alpha\n---\nTide tide. [[b]] [[Missing]] [[a]]\n",
    "b.md": "# B\n\n" + "filler words here " * 40 + "tide\n\n[[missing]] [[a]]\n",
    "c.md": "# C\n\nnothing\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = new_repo(tmp_path / "base", FILES)
    repo.commit("Picture and page", **{"p.png": b"x", "c.md": "# C\n\nmore\n"})
    return repo


@pytest.fixture
def queries(repo: GitRepo, tmp_path: Path) -> Iterator[LocalNoteQueries]:
    del repo
    with Indexed(tmp_path) as base:
        yield LocalNoteQueries(base.collection)


def test_hits_have_names_snippets_and_scores_between_0_and_1(queries: LocalNoteQueries) -> None:
    hits = queries.search("tide", 10)
    assert [(hit.path, hit.name) for hit in hits.hits] == [("a", "Alpha"), ("b", "b")]
    assert (hits.total, hits.notice) == (2, "")
    scores = [hit.score for hit in hits.hits]
    assert 1 > scores[0] > scores[1] > 0
    assert all("tide" in hit.snippet.casefold() and len(hit.snippet) <= SNIPPET_CHARS + 2 for hit in hits.hits)
    limited = queries.search("tide", 1)
    assert (len(limited.hits), limited.total) == (1, 2)


@pytest.mark.parametrize("query", ["", " \n"])
def test_an_empty_query_is_refused(queries: LocalNoteQueries, query: str) -> None:
    with pytest.raises(InvalidInputError):
        queries.search(query, 10)
    with pytest.raises(InvalidInputError):
        queries.semantic_search(query, 5, 2)


def test_without_a_model_semantic_search_says_that_it_is_not_set_up(queries: LocalNoteQueries) -> None:
    with pytest.raises(UnavailableError) as refused:
        queries.semantic_search("tide", 5, 2)
    assert refused.value.kind == "semantic"


def test_links_are_those_of_a_note_or_of_one_that_is_only_wanted(queries: LocalNoteQueries) -> None:
    assert queries.links("A").links_to == ("b", "Missing")
    assert queries.links("a").linked_from == ("b",)
    links = queries.links("MISSING")
    assert (links.path, links.linked_from) == ("Missing", ("a", "b"))
    with pytest.raises(NotFoundError):
        queries.links("nobody")


def test_the_graph_has_each_missing_note_once(queries: LocalNoteQueries) -> None:
    graph = queries.graph()
    assert [node for node in graph.nodes if not node.exists] == [NoteNode("Missing", exists=False)]
    assert {node.path for node in graph.nodes if node.exists} == {"a", "b", "c"}
    assert set(graph.edges) == {("a", "b"), ("b", "a"), ("a", "Missing"), ("b", "Missing")}


def test_what_any_of_some_notes_links_to_is_the_same_for_few_and_for_many(queries: LocalNoteQueries) -> None:
    assert queries.linked_from_any({"a"}) >= {"b"}
    many = {"a", *(f"x{n}" for n in range(MAX_LINK_LOOKUPS + 1))}
    assert "b" in queries.linked_from_any(many)
    assert queries.linked_from_any(set()) == set()


def test_the_latest_changes_name_the_notes_and_not_the_pictures(queries: LocalNoteQueries) -> None:
    latest, first = queries.changes(5)
    assert (latest.message, latest.pages) == ("Picture and page", ("c",))
    assert set(first.pages) == {"a", "b", "c"}
    assert len(queries.changes(1)) == 1
