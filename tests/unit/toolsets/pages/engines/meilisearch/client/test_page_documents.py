"""Pages, filters and hits in the server's format."""

from __future__ import annotations

import json

from commonplace.domain.addresses import Address
from commonplace.toolsets.pages.engines.meilisearch.client import (
    FILTERABLE_ATTRIBUTES,
    MAX_BATCH_BYTES,
    RETRIEVED_ATTRIBUTES,
    SORTABLE_ATTRIBUTES,
    batches,
    filter_of,
    page_document,
    page_from_hit,
    snippet_of,
    sort_of,
)
from commonplace.toolsets.pages.rules.matched_words import QueryWords
from commonplace.toolsets.pages.rules.page import Page, PageText
from commonplace.toolsets.pages.rules.queries import PageFilter, TimeRange

PAGE = Page(
    address=Address("in/a.md"),
    id="12",
    title="Setup",
    labels=("ops", 'a "b"'),
    author_email="ann@example.org",
    created=5,
    url="https://example.org/12",
)


def test_a_page_is_read_back_from_what_was_sent() -> None:
    document = page_document(PageText(PAGE, "# Setup\n\ntext"), "ENG")
    assert page_from_hit(document) == PAGE
    assert (document["space_key"], document["content"], document["updated_at"]) == ("ENG", "# Setup\n\ntext", None)
    assert set(FILTERABLE_ATTRIBUTES) | set(SORTABLE_ATTRIBUTES) | set(RETRIEVED_ATTRIBUTES) <= set(document)


def test_a_hit_of_another_program_has_what_makes_sense_and_no_more() -> None:
    hit = {"id": 5, "title": "a\nb", "labels": ["x", 7], "created_at": "yesterday", "updated_at": True}
    page = page_from_hit(hit)
    assert (page.title, page.labels, page.created, page.updated) == ("a b", ("x",), None, None)
    assert page_from_hit({}).title == ""


def test_a_filter_is_a_list_of_expressions_with_quoted_values() -> None:
    assert filter_of(PageFilter(), 'E"\\') == ['space_key = "E\\"\\\\"']
    whole = PageFilter(labels=("ops", 'a "b"'), author="Ann", created=TimeRange(1, 2), updated=TimeRange(before=3))
    assert filter_of(whole, "ENG")[1:] == [
        'labels IN ["ops", "a \\"b\\""]',
        'author_email = "Ann" OR author_name = "Ann"',
        "created_at >= 1",
        "created_at < 2",
        "updated_at < 3",
    ]


def test_a_sort_is_a_direction() -> None:
    assert (sort_of(None), sort_of("created_at"), sort_of("-updated_at")) == (
        [],
        ["created_at:asc"],
        ["updated_at:desc"],
    )


def test_documents_come_in_batches_of_bounded_size_and_none_is_lost() -> None:
    documents = [{"id": str(n), "content": "x" * (MAX_BATCH_BYTES // 3)} for n in range(7)]
    json_objects = list(batches(documents))
    assert [json_object["id"] for batch in json_objects for json_object in batch] == [str(n) for n in range(7)]
    assert all(len(json.dumps(batch)) < 2 * MAX_BATCH_BYTES for batch in json_objects)
    assert len(json_objects) == 3
    assert list(batches([])) == []


def test_the_excerpt_of_a_hit_shows_the_words_of_the_query() -> None:
    hit = {"content": "# Setup\n\n" + "other words " * 50 + "the walrus swims"}
    assert "walrus" in snippet_of(hit, QueryWords.of("walrus"), 100)
    assert snippet_of({"content": 5}, QueryWords.of("walrus"), 100) == ""
