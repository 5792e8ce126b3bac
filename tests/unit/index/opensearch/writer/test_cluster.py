"""A search cluster is opened without asking it, and only for names of its own."""

from __future__ import annotations

from contextlib import closing

import pytest

from cases import each_case
from commonplace.domain.cluster import SharedBase
from commonplace.domain.errors import ConfigError, InvalidInputError, UnavailableError
from commonplace.domain.query import SearchQuery
from commonplace.index.opensearch.connection import ClusterAddress
from commonplace.index.opensearch.writer import SearchCluster

NOWHERE = ClusterAddress(("http://127.0.0.1:1",))


@each_case("prefix", ["", "Notes", "-notes", "no tes", "no_tes", "*", "n" * 61, "notes,other"])
def test_a_prefix_that_no_index_may_have_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigError, match="engine_prefix") as refused:
        SearchCluster(NOWHERE, prefix)
    assert "hyphens" in refused.value.hint


def test_a_cluster_that_does_not_answer_is_an_error_of_each_call_and_not_of_opening_it() -> None:
    base = SharedBase("notes", "source")
    with closing(SearchCluster(NOWHERE, "commonplace-1")) as cluster:
        with pytest.raises(InvalidInputError):
            cluster.reader.search([base], SearchQuery(text=" "))
        with pytest.raises(UnavailableError):
            cluster.reader.search([base], SearchQuery(text="word"))
        with pytest.raises(UnavailableError):
            cluster.writer.begin(base)
        with pytest.raises(UnavailableError):
            cluster.reader.through(base)
