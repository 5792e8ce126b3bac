"""A page as documents of the cluster, and what a hit reads back of them."""

from __future__ import annotations

from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import SharedPage
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.opensearch.indexes import (
    MAX_SORTED_CHARS,
    PROPERTIES,
    address_of_section,
    page_document,
    page_key,
    section_documents,
    shown_record,
    shown_section,
    text_of,
)
from opensearch_cluster.engines import page

ANALYZE = words_analyzer().analyze
TEXT = """---
type: Note
tags: [X, x/y]
aliases: [Eins]
date: 2024-02-29
extra: {deep: [1, null]}
---
Before.

# Größe

Text über Café 烏龍茶.

## Leer

## Ende

Schluss.
"""


def document(shared_page: SharedPage) -> dict[str, Any]:
    return page_document(shared_page, text_of(shared_page), ANALYZE)


def test_a_record_is_read_back_as_it_was() -> None:
    for text in (TEXT, "", "---\ntags: [a\n---\n# Broken\n"):
        shared_page = page("notes/a.md", text)
        assert shown_record(document(shared_page)["shown"]) == shared_page.record


def test_only_mapped_fields_are_written() -> None:
    shared_page = page("notes/a.md", TEXT)
    assert set(document(shared_page)) <= set(PROPERTIES)
    for _, section in section_documents(shared_page, text_of(shared_page), ANALYZE):
        assert set(section) <= set(PROPERTIES)


def test_a_page_is_found_by_its_words_its_names_and_its_filters() -> None:
    made = document(page("notes/a.md", TEXT))
    assert {"grosse", "cafe", "eins"} <= set(made["body"].split())
    assert "café" in made["accented"].split()
    assert "烏龍" in made["grams"].split()
    assert set(made["body_terms"]) == set(made["body"].split())
    assert len(made["body_terms"]) == len(set(made["body_terms"]))
    assert (made["page"], made["path"], made["day"]) == (page_key("notes/a.md"), "notes/a.md", 20240229)
    assert "in:notes/" in made["filter_terms"]
    assert (made["tags"], made["kind"]) == (["X", "x/y"], "Note")


def test_each_section_with_text_is_a_document_that_shows_it_as_written() -> None:
    shared_page = page("notes/a.md", TEXT)
    documents = dict(section_documents(shared_page, text_of(shared_page), ANALYZE))
    assert list(documents) == document(shared_page)["ordinals"]
    shown = shown_section(documents[1]["shown"])
    assert (shown.path, shown.anchor) == (("Größe",), "größe")
    assert "Text über Café" in shown.text
    assert address_of_section(documents[1]["shown"]) == Address("notes/a.md")
    assert {other_document["page"] for other_document in documents.values()} == {page_key("notes/a.md")}


def test_what_is_longer_than_the_engine_takes_is_cut_and_tags_are_left_out() -> None:
    long = "x" * (MAX_SORTED_CHARS + 1)
    made = document(page("a.md", f"---\ntitle: {long}\ntype: {long}\ntags: [{long}, short]\n---\n"))
    assert made["tags"] == ["short"]
    assert {len(made[name]) for name in ("sort_title", "sort_type", "kind")} == {MAX_SORTED_CHARS}
