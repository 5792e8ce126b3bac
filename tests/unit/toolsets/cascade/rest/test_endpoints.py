"""The API of layers only reads."""

from __future__ import annotations

from commonplace.toolsets.cascade.rest import CASCADE_REST, endpoints


def test_every_endpoint_reads() -> None:
    rows = endpoints()
    assert {row.method for row in rows} == {"GET"}
    assert len({row.template for row in rows}) == len(rows)
    assert [row.template for row in rows if row.tier is None] == ["/health"]


def test_what_names_a_concept_or_a_layer_may_not_find_it() -> None:
    for row in CASCADE_REST.endpoints():
        assert (404 in row.error_statuses) == (row.template not in {"/health", "/pages"})
