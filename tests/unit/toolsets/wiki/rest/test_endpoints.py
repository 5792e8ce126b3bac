"""The table of endpoints: what each row says of itself holds for all of them."""

from __future__ import annotations

import re

from commonplace.toolsets.wiki.rest.endpoints import MAX_UPLOAD, WIKI_REST, endpoints


def test_each_method_of_a_path_has_one_row() -> None:
    rows = [(row.method, row.template) for row in endpoints()]
    assert len(rows) == len(set(rows))
    assert all(re.fullmatch(r"(/[a-z{}-]+)+", template) for _, template in rows)


def test_what_changes_something_needs_the_tier_of_writers() -> None:
    for row in endpoints():
        assert (row.tier == "write") == (row.method != "GET"), row.template
    assert [row.template for row in endpoints() if row.tier is None] == ["/health"]


def test_what_is_written_conditionally_may_conflict() -> None:
    for row in endpoints():
        if row.method != "GET" and row.conditional:
            assert 409 in row.error_statuses, row.template
        if row.method == "GET":
            assert 409 not in row.error_statuses, row.template


def test_only_texts_and_files_may_be_large() -> None:
    large = {(row.method, row.template) for row in endpoints() if row.max_body == MAX_UPLOAD}
    assert {template for _, template in large} == {
        "/pages/{path}", "/pages/{path}/attachments", "/pages/{path}/attachments/{filename}",
    }  # fmt: skip
    assert all(method != "GET" for method, _ in large)


def test_every_row_of_the_contract_is_of_one_table() -> None:
    shapes = [(row.method, row.template, row.tier) for row in WIKI_REST.endpoints()]
    assert shapes == [(row.method, row.template, row.tier) for row in endpoints()]
