"""References by which callers name a document."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from commonplace.domain.addresses import parse_document_address
from commonplace.domain.query import SEARCH_MODES, Background, Filter, ListQuery, Record, SearchMode, SearchQuery

RECORD = Record(address=parse_document_address("notes/a.md"), id="x", title="A", type="")


def test_an_id_names_a_document_unless_another_one_has_it_too() -> None:
    assert RECORD.reference == "x"
    assert replace(RECORD, shares_id=True).reference == "notes/a.md"


def test_that_another_document_shares_the_id_makes_no_other_record() -> None:
    assert replace(RECORD, shares_id=True) == RECORD
    assert replace(RECORD, title="B") != RECORD


def test_an_empty_query_selects_everything() -> None:
    assert ListQuery().filter == SearchQuery(text="x").filter == Filter()
    assert not any(getattr(Filter(), name) for name in Filter.__slots__)


def test_every_mode_is_listed_once() -> None:
    assert get_args(SearchMode) == SEARCH_MODES


def test_what_stands_out_exceeds_the_median_by_a_deviation() -> None:
    assert Background(0.25, 0.125).threshold == 0.375
    assert Background().threshold == 0.0
