"""The order of documents: a page whose title is the query comes first."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Background, Filter, NearDocument, SearchQuery
from commonplace.domain.semantic import FLOOR
from commonplace.index.catalogue.document_rows import document_key
from commonplace.index.fulltext.ranking import MAX_FUSED, RankFusion
from commonplace.index.index_files import CATALOGUE_FILE
from indexed import Indexed, MakeBase


def test_a_page_whose_title_or_alias_is_the_query_comes_first(base: MakeBase) -> None:
    filler = "Other lines about something else entirely, and more of them.\n\n" * 30
    made = base(
        {
            **{f"x{n}.md": f"# Steph {n}\n\nMeeting Steph, meeting with Steph.\n" for n in range(40)},
            "meeting.md": f"# Meeting with  Steph\n\n{filler}",
            "alias.md": f"---\naliases: [Weekly call]\n---\n# Notes\n\n{filler}",
            "calls.md": "# Calls\n\nweekly call, weekly call, weekly call\n",
            "zh.md": f"# 自定义指令\n\n{filler}",
            "zh2.md": "# 指令\n\n自定义指令 自定义指令 自定义指令\n",
            "auth.md": f"# Authentication\n\n{filler}",
            "login.md": "# Logging in\n\nauthentication authentication\n",
        }
    )
    for text in ("meeting with steph", "Meeting With Steph", '"meeting with Steph"', "“Meeting with Steph”"):
        assert made.found(text)[0] == "meeting.md"
    assert made.found("meeting with steph", sections=0)[0] == "meeting.md"
    assert made.found("weekly call")[0] == "alias.md"
    assert made.found("自定义指令")[0] == "zh.md"
    assert made.found("authentication")[0] == "auth.md"
    assert made.found("authentication", Filter(among=(Address("login.md"),))) == ["login.md"]
    made.update("auth.md", f"# Authentication\n\n{filler}now\n")
    hits = made.index.search(SearchQuery(text="authentication")).hits
    assert [(hit.record.address.path, hit.titled) for hit in hits] == [("auth.md", True), ("login.md", False)]
    assert hits[0].score >= hits[1].score


def test_a_section_that_the_query_names_whole_is_better_than_one_with_further_words(base: MakeBase) -> None:
    """`vector push_back` is the page and the heading; the other page has more of both words, and others."""
    other = "## vector::push_back (STL/CLR)\n\nAdds an element: vector push_back, push_back, vector.\n\n"
    methods = "".join(f"## {name}\n\nSome words of {name} here.\n\n" for name in ("at", "back", "clear", "swap"))
    made = base(
        {
            **{f"x{n}.md": f"# Page {n}\n\nA vector and push_back of words.\n" for n in range(20)},
            "stl.md": f"# vector (STL/CLR)\n\n{other}",
            "vector-class.md": f"# vector class\n\n{methods}## push_back\n\nAdds an element to the end.\n",
        }
    )
    hits = made.index.search(SearchQuery(text="vector push_back")).hits
    assert [(hit.record.address.path, hit.sections[0].path[-1]) for hit in hits[:2]] == [
        ("vector-class.md", "push_back"),
        ("stl.md", "vector::push_back (STL/CLR)"),
    ]


def test_pages_of_an_answer_with_a_titled_page_neither_overlap_nor_leave_anything_out(base: MakeBase) -> None:
    filler = "Other lines about something else entirely, and more of them.\n\n" * 30
    files = {f"x{n:02}.md": f"# Steph {n}\n\nSteph steph steph\n" for n in range(45)} | {"z.md": f"# Steph\n\n{filler}"}
    made = base(files)
    pages = [path for offset in range(0, 50, 7) for path in made.found("steph", limit=7, offset=offset)]
    assert pages[0] == "z.md"
    assert sorted(pages) == sorted(files)


def test_of_a_title_that_is_another_page_s_alias_both_come_first_and_a_link_names_neither_silently(
    base: MakeBase,
) -> None:
    filler = "Other lines about something else entirely, and more of them.\n\n" * 30
    made = base(
        {
            **{f"x{n}.md": f"# Call {n}\n\nweekly call, weekly call, weekly call\n" for n in range(20)},
            "a.md": f"# Weekly call\n\n{filler}",
            "b.md": f"---\naliases: [Weekly call]\n---\n# Notes\n\n{filler}",
            "link.md": "[[Weekly call]]\n",
        }
    )
    for text in ("weekly call", "WEEKLY CALL", '"weekly call"'):
        for sections in (0, 3):
            assert sorted(made.found(text, sections=sections)[:2]) == ["a.md", "b.md"], (text, sections)
    (link,) = made.index.links_from(Address("link.md"))
    assert link.target is None


PATHS = ["a.md", "b.md", "c.md", "d.md"]
A, B, C, D = map(document_key, PATHS)

UNKNOWN = Background()


@dataclass(frozen=True)
class Similar:
    """Similarities as vectors give them."""

    near: Mapping[str, float]
    background: Background = UNKNOWN
    understood: float = 1.0
    best: Sequence[NearDocument] = field(default=())

    def of(self, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        return {path: NearDocument(path, 0, self.near[path]) for path in paths if path in self.near}


def similar(near: Mapping[str, float], background: Background = UNKNOWN, understood: float = 1.0) -> Similar:
    best = [NearDocument(path, 3, element) for path, element in sorted(near.items(), key=lambda element: -element[1])]
    return Similar(near, background, understood, best)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """The catalogue of four documents."""
    place: Path = tmp_path_factory.mktemp("hybrid")
    with Indexed(place, {path: f"# {path}\n" for path in PATHS}) as base:
        (path,) = base.cache.rglob(CATALOGUE_FILE)
        with closing(sqlite3.connect(path)) as made:
            yield made


def fusion(connection: sqlite3.Connection, similarity: Similar | None, **more: Any) -> RankFusion:
    strict = bool(more.pop("strict", False))
    return RankFusion(connection, SearchQuery(text="how to swim", similarity=similarity, **more), strict)


def test_without_similarities_the_order_is_that_of_the_words(connection: sqlite3.Connection) -> None:
    ranked = fusion(connection, None).fuse({B: 8.0, A: 4.0})
    assert ranked.scores == {B: 1.0, A: 0.5}
    assert (dict(ranked.nearest), ranked.added) == ({}, 0)


def test_a_document_that_is_more_similar_overtakes_one_with_more_words(connection: sqlite3.Connection) -> None:
    ranked = fusion(connection, similar({"a.md": 0.9, "b.md": 0.1})).fuse({B: 8.0, A: 4.0})
    assert list(ranked.scores) == [A, B]
    assert ranked.added == 0


def test_a_similar_document_without_the_words_is_added_unless_the_search_is_strict(
    connection: sqlite3.Connection,
) -> None:
    near = similar({"c.md": 0.8, "d.md": FLOOR - 0.01, "gone.md": 0.99})
    ranked = fusion(connection, near).fuse({A: 2.0})
    assert (set(ranked.scores), ranked.added) == ({A, C}, 1)
    assert ranked.nearest[C].ordinal == 3
    strict = fusion(connection, near, strict=True).fuse({A: 2.0})
    assert (set(strict.scores), strict.added) == ({A}, 0)


def test_what_is_as_near_as_any_document_is_not_added(connection: sqlite3.Connection) -> None:
    ranked = fusion(connection, similar({"c.md": 0.8}, background=Background(0.85))).fuse({A: 2.0})
    assert set(ranked.scores) == {A}


def test_a_query_that_the_model_does_not_understand_keeps_the_order_of_the_words(
    connection: sqlite3.Connection,
) -> None:
    ranked = fusion(connection, similar({"a.md": 0.9, "b.md": 0.1}, understood=0.0)).fuse({B: 8.0, A: 4.0})
    assert list(ranked.scores) == [B, A]


def test_documents_beyond_the_window_follow_in_the_order_of_their_words(connection: sqlite3.Connection) -> None:
    many = {number: float(1000 - number) for number in range(1, MAX_FUSED + 20)}
    ranked = fusion(connection, similar({})).fuse(many)
    assert list(ranked.scores) == list(many)
    assert ranked.scores[1] == 1.0


def test_a_given_scale_divides_the_scores(connection: sqlite3.Connection) -> None:
    assert fusion(connection, None, scale=16.0).fuse({B: 8.0}).scores == {B: 0.5}
    assert fusion(connection, None).fuse({}).scores == {}


def test_similarity_alone_ranks_the_documents_that_exist(connection: sqlite3.Connection) -> None:
    ranked = fusion(connection, similar({"b.md": 0.2, "c.md": 0.7, "gone.md": 0.9})).by_similarity()
    assert ranked.scores == {C: 0.7, B: 0.2}
    assert ranked.added == 2
