"""Pages of very many headings: writing, comparing and finding one costs as much as it is long, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.query import SearchQuery
from commonplace.services import searches, typed_entries
from commonplace.services.collections import Collection
from commonplace.services.related_documents import NearDuplicates
from commonplace.services.typed_entries import NewEntry
from indexed import Indexed
from ways.linear import assert_linear, cost

HEADINGS = 800


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    files = {f"{name}.md": f"# Notes on {name}\n\nSomething about {name}.\n" for name in ("tides", "ropes", "sails")}
    with Indexed(tmp_path, files) as base:
        yield Collection(name="base", store=base.store, index=base.index)


def test_creating_a_page_is_linear_in_its_headings(collection: Collection) -> None:
    numbers = iter(range(1000))

    def work(headings: int) -> Callable[[], object]:
        body = page_of(headings)

        def create() -> None:
            entry = NewEntry(entry_type="note", title=f"Page {next(numbers)}", body=body, fields={}, metadata={})
            typed_entries.delete_entry(collection, typed_entries.create_entry(collection, entry).written.address)

        return create

    assert_linear(work, HEADINGS)


@pytest.mark.soak
def test_looking_for_a_page_that_says_the_same_costs_the_same_however_long_pages_are(collection: Collection) -> None:
    def comparing(headings: int) -> Callable[[], object]:
        body, title = page_of(headings, f"of{headings} words"), f"First of {headings}"
        entry = NewEntry(entry_type="note", title=title, body=body, fields={}, metadata={})
        there = typed_entries.create_entry(collection, entry).entry_id
        new = read_document(Address("new.md"), f"# Second\n\n{body}".encode())

        def compare() -> None:
            assert NearDuplicates(collection).of("new", new) == there

        return compare

    few, many = comparing(2 * HEADINGS), comparing(32 * HEADINGS)
    costs = [(cost(few), cost(many)) for _ in range(6)]
    least_few, least_many = (min(column) for column in zip(*costs, strict=True))
    assert least_many < 4 * least_few, costs


def test_finding_a_page_that_was_just_written_is_linear_in_its_headings(collection: Collection) -> None:
    def work(headings: int) -> Callable[[], object]:
        entry = NewEntry(entry_type="note", title="Page", body=page_of(headings), fields={}, metadata={})

        def create_and_search() -> None:
            address = typed_entries.create_entry(collection, entry).written.address
            hits = searches.search([collection], SearchQuery(text="words about a numbered heading"), "keyword").hits
            assert hits[0].hit.record.address == address
            typed_entries.delete_entry(collection, address)

        return create_and_search

    assert_linear(work, HEADINGS)


def page_of(headings: int, words: str = "Some words") -> str:
    """A page in which every section shares these words with all others, and has some of its own."""
    return "".join(f"## Heading numbered {n}\n\n{words} about {n * 7919 % 1000} and n{n}.\n\n" for n in range(headings))
