"""A collection at a glance: hubs, wanted pages, orphans and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.services.collections import Collection, Collections
from commonplace.services.site.overview import MAX_HUBS, ORPHANS, OVERVIEWS, issues, wanted_pages
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "hub.md": "---\ntags: [x]\n---\n# Hub\n\n[[hub]]\n",
    "a.md": "[[hub]] [[hub]] [[Not yet]] [[z]]\n",
    "b.md": "[[hub]] [[not yet#Part]] [[never]] [x](lost.md)\n",
    "c.md": "[[Not yet|later]] [[b]] ghp_" + "a1" * 18 + "\n",
    "bad.md": "---\ntitle: [\n---\n# Bad\n",
    "p.png": b"\x89PNG",
}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Indexed(tmp_path_factory.mktemp("overview"), FILES) as base:
        yield base.collection


def test_a_hub_is_linked_to_by_several_pages_of_which_each_counts_once(collection: Collection) -> None:
    overview = OVERVIEWS.of(collection)
    assert [(hub.record.address.path, hub.links) for hub in overview.hubs] == [("hub.md", 2)]
    assert (overview.counts.documents, overview.tags) == (5, (("x", 1),))


def test_a_wanted_page_is_one_however_its_name_is_written(collection: Collection) -> None:
    shown = [
        (page.name, [address.path for address in page.sources])
        for page in wanted_pages(Collections(lambda: [collection]), collection).pages
    ]
    assert shown == [
        ("Not yet", ["a.md", "b.md", "c.md"]),
        ("lost", ["b.md"]),
        ("never", ["b.md"]),
        ("z", ["a.md"]),
    ]


def test_orphans_are_the_pages_that_no_other_links_to(collection: Collection) -> None:
    assert [record.address.path for record in ORPHANS.of(collection)] == ["a.md", "bad.md", "c.md"]


def test_what_is_wrong_comes_gravest_first(collection: Collection) -> None:
    collections = Collections(lambda: [collection])
    issue_rows = issues(collections, collection, read=True).rows
    order = ["error", "warning", "info"]
    graveness = [order.index(row.issue.severity.value) for row in issue_rows]
    assert graveness == sorted(graveness)
    rows = {(row.issue.path, row.issue.rule): row for row in issue_rows}
    assert rows["c.md", "secret"].issue.line == 1
    assert (rows["p.png", "unused_attachment"].is_document, rows["p.png", "unused_attachment"].title) == (
        False,
        "p.png",
    )
    without_reading = issues(collections, collection, read=False).rows
    assert {row.issue.rule for row in without_reading} == {"bad_yaml", "broken_link", "orphan_entry"}
    assert {(row.issue.path, row.issue.rule) for row in without_reading} <= rows.keys()


def test_an_empty_collection_has_nothing_of_all_that(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Indexed(tmp_path_factory.mktemp("empty")) as base:
        overview = OVERVIEWS.of(base.collection)
        assert (overview.counts.documents, overview.tags, overview.hubs) == (0, (), ())
        assert not [*wanted_pages(base.collections, base.collection).pages, *ORPHANS.of(base.collection)]


def test_no_more_hubs_are_shown_than_fit(tmp_path_factory: pytest.TempPathFactory) -> None:
    hubs = {f"h{number:02}.md": f"# {number}\n" for number in range(MAX_HUBS + 3)}
    links = "".join(f"[[{name.removesuffix('.md')}]] " for name in hubs)
    with Indexed(tmp_path_factory.mktemp("many"), {**hubs, "x.md": links, "y.md": links}) as base:
        assert len(OVERVIEWS.of(base.collection).hubs) == MAX_HUBS
