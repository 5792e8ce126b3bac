"""Search results in which what holds comes first, and what replaces the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.query import SearchQuery
from commonplace.domain.status import Status
from commonplace.services.evidence import evidence
from commonplace.services.searches import FoundHits, search, search_collection
from commonplace.services.statuses import NOTHING_CURRENT, CollectionStatuses
from indexed import Indexed

PAGES = {
    "old.md": "---\nsuperseded_by: new.md\n---\n# Port of the server\n\nThe port of the server is 8080. port server\n",
    "new.md": "# Network\n\nAmong other things that matter to nobody the server listens on the port 9090.\n",
    "expired.md": "---\nexpires: 2020-01-01\n---\n# Server port campaign\n\nport of the server\n",
    "mixed.md": (
        "# Mixed\n\n## Server port {status=superseded by=new.md}\n\nport server port server port\n\n"
        "## Weather\n\nIt rains.\n"
    ),
    "both.md": (
        "# Both\n\n## Timeout before {status=superseded by=#timeout}\n\ntimeout of the gateway 10 s\n\n"
        "## Timeout\n\ntimeout of the gateway 20 s\n"
    ),
    "draft.md": "---\nstatus: draft\n---\n# Draft\n\nserver port idea\n",
    "only.md": "---\nstatus: deprecated\n---\n# Abacus\n\nabacus\n",
    "one.md": "---\nsuperseded_by: two.md\n---\n# One\n\ncircle\n",
    "two.md": "---\nsuperseded_by: one.md\n---\n# Two\n\ncircle\n",
    "chain.md": "---\nsuperseded_by: old.md\n---\n# Chain\n\nlink\n",
    "self.md": "---\nsuperseded_by: self.md\n---\n# Self\n\nmirror\n",
    "dec/a.md": "---\nsuperseded_by: b.md\n---\n# First\n\nfolder\n",
    "dec/b.md": "# Beside\n",
    "dec/c.md": "---\nstatus: superseded by [it](../b.md)\n---\n# Third\n\nfolder\n",
    "dec/d.md": "---\nsuperseded-by: /b.md\n---\n# Fourth\n\nfolder\n",
    "dec/e.md": "---\nSuperceded by: dec/b.md\n---\n# Fifth\n\nfolder\n",
    "dec/f.md": "---\nstatus: superseded by [x](with%20blank.md)\n---\n# Sixth\n\nfolder\n",
    "dec/with blank.md": "# With blank\n",
    "b.md": "# At the top\n",
    "lost.md": "---\nsuperseded_by: nowhere.md\n---\n# Lost\n\nlost\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("statuses"), PAGES) as opened:
        yield opened


def _paths(hits: FoundHits) -> list[str]:
    return [hit.hit.record.address.path for hit in hits.hits]


def test_what_holds_comes_first_on_every_page_of_the_results(base: Indexed) -> None:
    whole = search([base.collection], SearchQuery(text="server port"))
    assert set(_paths(whole)[:2]) == {"new.md", "draft.md"}
    assert set(_paths(whole)[2:]) == {"old.md", "expired.md", "mixed.md"}
    marks = {hit.hit.record.address.path: hit.hit.status.mark for hit in whole.hits if hit.hit.status}
    assert marks["old.md"] == "SUPERSEDED by new.md"
    assert marks["expired.md"] == "EXPIRED"
    assert marks["mixed.md"] == "SUPERSEDED by new.md"
    assert marks["draft.md"] == "DRAFT"
    single = [
        _paths(search([base.collection], SearchQuery(text="server port", offset=at, limit=1)))[0] for at in range(5)
    ]
    assert single == _paths(whole)
    assert whole.total == 5
    scores = [hit.hit.score for hit in whole.hits]
    assert scores == sorted(scores, reverse=True)


def test_of_a_page_the_section_that_holds_comes_first(base: Indexed) -> None:
    (hit,) = search([base.collection], SearchQuery(text="timeout gateway", sections=2)).hits
    assert [section_hit.anchor for section_hit in hit.hit.sections] == ["timeout", "timeout-before"]
    assert not hit.hit.is_lapsed
    sections = evidence([base.collection], SearchQuery(text="timeout gateway"), "keyword").sections
    assert [(section.anchor, section.is_lapsed) for section in sections] == [
        ("timeout", False),
        ("timeout-before", True),
    ]
    assert "10 s" not in sections[0].text


def test_a_search_can_be_narrowed_to_a_status(base: Indexed) -> None:
    expected = {
        "": 5,
        "any": 5,
        "current": {"new.md"},
        "draft": {"draft.md"},
        "superseded": {"old.md", "mixed.md"},
        "expired": {"expired.md"},
        "retired": set[str](),
    }
    for status, pages in expected.items():
        hits = search([base.collection], SearchQuery(text="server port", status=status))
        assert (len(hits.hits) if isinstance(pages, int) else set(_paths(hits))) == pages
    for status, anchor, answer, other in (
        ("current", "timeout", "20 s", "10 s"),
        ("superseded", "timeout-before", "10 s", "20 s"),
    ):
        query = SearchQuery(text="timeout gateway", status=status, sections=2)
        hits = search([base.collection], query)
        assert [[section.anchor for section in hit.hit.sections] for hit in hits.hits] == [[anchor]]
        assert hits.total == 1
        texts = [section.text for section in evidence([base.collection], query, "keyword").sections]
        assert answer in texts[0]
        assert not any(other in text for text in texts)
        assert search([base.collection], replace(query, offset=1)).hits == ()
    with pytest.raises(InvalidInputError, match="no status 'gone'"):
        search([base.collection], SearchQuery(text="server port", status="gone"))


def test_the_answer_says_that_nothing_holds(base: Indexed) -> None:
    assert NOTHING_CURRENT in search([base.collection], SearchQuery(text="abacus")).notice
    assert NOTHING_CURRENT not in search([base.collection], SearchQuery(text="server port")).notice
    (found_result,) = search_collection(base.collection, SearchQuery(text="abacus"))
    assert found_result.hits[0].is_lapsed


def test_an_order_that_was_asked_for_stays(base: Indexed) -> None:
    hits = search([base.collection], SearchQuery(text="server port", sort="path", descending=False))
    assert _paths(hits) == sorted(_paths(hits))


def test_replacements_are_followed(base: Indexed) -> None:
    statuses = CollectionStatuses(base.collection)
    records = {record.address.path: record.address for record in base.index.records()}
    shown = {path: statuses.at(records[path]) for path in ("chain.md", "one.md", "two.md", "self.md", "lost.md")}
    assert {path: status.by for path, status in shown.items()} == {
        "chain.md": "new.md",
        "one.md": "two.md",
        "two.md": "one.md",
        "self.md": "self.md",
        "lost.md": "nowhere.md",
    }
    assert not shown["lost.md"].resolved
    assert statuses.at(records["new.md"]).status is Status.CURRENT


def test_a_change_of_the_status_counts_at_once(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# Cat\n\ncat cat cat\n", "b.md": "# Dog\n\nno cat\n"}) as base:
        assert _paths(search([base.collection], SearchQuery(text="cat")))[0] == "a.md"
        base.write("a.md", "---\nsuperseded_by: b.md\n---\n# Cat\n\ncat cat cat\n")
        base.index.sync()
        assert _paths(search([base.collection], SearchQuery(text="cat"))) == ["b.md", "a.md"]
        base.write("a.md", "# Cat\n\ncat cat cat\n")
        base.index.sync()
        assert _paths(search([base.collection], SearchQuery(text="cat"))) == ["a.md", "b.md"]


def test_what_replaces_a_page_counts_from_its_folder_and_then_from_the_top(base: Indexed) -> None:
    statuses = CollectionStatuses(base.collection)
    places = {name: statuses.at(Address(f"dec/{name}.md")).by for name in "acdef"}
    assert places == {"a": "dec/b.md", "c": "b.md", "d": "b.md", "e": "dec/b.md", "f": "dec/with blank.md"}
    for name, place in places.items():
        links = base.collection.index.links_from(Address(f"dec/{name}.md"))
        assert [link.target.path for link in links if link.target] == [place], name


def test_the_status_of_a_section_is_one_whether_it_is_read_from_the_index_or_from_its_page(base: Indexed) -> None:
    statuses = CollectionStatuses(base.collection)
    compared = 0
    for record in base.index.records():
        document = base.index.document(record.address)
        for section in document.sections:
            indexed, own = statuses.at(record.address, section.ordinal), statuses.in_version(document, section.ordinal)
            assert (indexed.status, bool(indexed.by)) == (own.status, bool(own.by) and own.is_lapsed), section.heading
            compared += own.is_lapsed
    assert compared > 10
