"""Errors of the OpenSearch adapter: foreign indexes, blocks, credentials, certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from cases import each_case
from commonplace.domain.cluster import BranchPosition, SharedBase
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError, UnavailableError
from commonplace.domain.query import SearchQuery
from commonplace.index.opensearch import indexes
from commonplace.index.opensearch.connection import Answer, Body, ClusterAddress, Connection
from commonplace.index.opensearch.indexes import PROPERTIES, SCHEMA, alias_of, creation, index_of
from commonplace.index.opensearch.writer import ClusterReader, ClusterWriter
from opensearch_cluster.engines import COMMIT, Engine, cluster, new_base, page, pages
from opensearch_cluster.gateway import PASSWORD, USER, gateway

PREFIX = "adapter"
TEXTS = {"a.md": "# Apple\n\nRed.\n", "b.md": "# Pear\n\nGreen apple.\n\n## Tree\n\nBrown.\n"}
QUERY = SearchQuery(text="apple")


@pytest.fixture
def engine(opensearch_url: str) -> Iterator[Engine]:
    with cluster(opensearch_url, PREFIX) as made:
        yield made


@pytest.fixture
def client(opensearch_url: str) -> Iterator[OpenSearch]:
    with OpenSearch([opensearch_url], timeout=30) as made:
        yield made


@pytest.fixture
def base(engine: Engine) -> Iterator[SharedBase]:
    made = engine.filled(new_base(), TEXTS)
    yield made
    engine.writer.drop(made)


def refusal(act: Callable[[], object]) -> KnowledgeError:
    """The error of a call, which must be one of the domain's that says what to do."""
    with pytest.raises(KnowledgeError) as refused:
        act()
    assert refused.value.kind == "engine"
    assert refused.value.hint
    return refused.value


def test_an_index_that_was_just_made_is_the_one_that_is_expected(client: OpenSearch, base: SharedBase) -> None:
    (found_value,) = client.indices.get_mapping(index=alias_of(PREFIX, base)).values()
    assert found_value["mappings"]["properties"] == PROPERTIES


def test_an_index_of_a_newer_version_is_neither_read_nor_written(client: OpenSearch, engine: Engine) -> None:
    base = new_base()
    _made(client, base, {"schema": SCHEMA + 1})
    for act in (
        lambda: engine.reader.search([base], QUERY),
        lambda: engine.reader.through(base),
        lambda: engine.writer.put(base, 9, pages(TEXTS)),
        lambda: engine.writer.advance(base, BranchPosition(9, COMMIT)),
    ):
        assert "newer version" in str(refusal(act))
    refusal(lambda: engine.writer.begin(base))
    refusal(lambda: engine.writer.drop(base))
    assert client.count(index=alias_of(PREFIX, base))["count"] == 0
    client.indices.delete(index=index_of(alias_of(PREFIX, base), 1))


def test_an_index_of_an_older_version_is_built_anew_beside_it(client: OpenSearch, engine: Engine) -> None:
    base = new_base()
    _made(client, base, {"schema": SCHEMA - 1})
    assert refusal(lambda: engine.reader.through(base)).context["rebuild"] == 1
    engine.filled(base, TEXTS)
    assert engine.paths(base, "apple") == ["a.md", "b.md"]
    assert not client.indices.exists(index=index_of(alias_of(PREFIX, base), 1))
    engine.writer.drop(base)


class Recovering(Connection):
    """A connection to a cluster whose answers are those between the election of a manager and the recovery, or later.

    The answers were seen at a node that was killed and started again.
    """

    def __init__(self, url: str) -> None:
        super().__init__(ClusterAddress((url,)))
        self.is_recovering = True
        self.is_searched = True

    def ask(self, method: str, path: str, body: Body | None = None, **more: Any) -> Answer:
        if self.is_recovering:
            if path.startswith("/_cluster/health/"):
                return {"status": "red", "number_of_nodes": 1, "active_shards": 0}
            raise NotFoundError("The search cluster has no such index.", kind="engine", hint="Wait.")
        if not self.is_searched and path.endswith("/_search"):
            return {"_shards": {"total": 1, "successful": 0, "skipped": 0, "failed": 1}}
        return super().ask(method, path, body, **more)


def test_an_absent_index_counts_only_from_a_recovered_cluster(opensearch_url: str, base: SharedBase) -> None:
    connection = Recovering(opensearch_url)
    reader = ClusterReader(connection, PREFIX)
    assert "not recovered" in str(refusal(lambda: reader.through(base)))
    connection.is_recovering = False
    assert reader.through(base) == BranchPosition(1, COMMIT)
    assert reader.through(new_base()) is None
    connection.close()


def test_a_published_index_is_deleted_only_after_the_new_one_answered(
    client: OpenSearch, opensearch_url: str, base: SharedBase
) -> None:
    connection = Recovering(opensearch_url)
    connection.is_recovering = False
    writer = ClusterWriter(connection, PREFIX)
    generation = writer.begin(base)
    writer.put(base, 2, pages(TEXTS), generation)
    writer.advance(base, BranchPosition(2, COMMIT), generation)
    connection.is_searched = False
    assert "does not answer yet" in str(refusal(lambda: writer.publish(base, generation)))
    assert client.indices.exists(index=index_of(alias_of(PREFIX, base), 1))
    connection.is_searched = True
    writer.publish(base, generation)
    assert not client.indices.exists(index=index_of(alias_of(PREFIX, base), 1))
    connection.close()


def test_while_one_server_builds_an_index_no_other_does_unless_it_stops(
    engine: Engine, opensearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = new_base()
    with cluster(opensearch_url, PREFIX) as other:
        first = engine.writer.begin(base)
        assert refusal(lambda: other.writer.begin(base)).context["building"] == 1
        engine.writer.put(base, 1, pages(TEXTS), first)
        assert refusal(lambda: other.writer.begin(base)).context["building"] == 1
        monkeypatch.setattr(indexes, "BUILD_SECONDS", 0.0)
        second = other.writer.begin(base)
        assert second > first
        other.writer.put(base, 1, pages(TEXTS), second)
        other.writer.advance(base, BranchPosition(1, COMMIT), second)
        other.writer.publish(base, second)
        # The one that had stopped goes on: its index is gone, and what is published stays searched.
        refusal(lambda: engine.writer.put(base, 1, pages(TEXTS), first))
        refusal(lambda: engine.writer.publish(base, first))
        assert engine.paths(base, "apple") == ["a.md", "b.md"]
        assert other.reader.through(base) == BranchPosition(1, COMMIT)
    engine.writer.drop(base)


def test_what_is_written_to_a_generation_that_was_deleted_makes_no_index(
    client: OpenSearch, engine: Engine, base: SharedBase
) -> None:
    late = engine.writer.begin(base)
    name = index_of(alias_of(PREFIX, base), late)
    client.indices.delete(index=name)
    for act in (
        lambda: engine.writer.put(base, 2, pages(TEXTS), late),
        lambda: engine.writer.remove(base, [shared_page.document.address for shared_page in pages(TEXTS)], 2, late),
        lambda: engine.writer.advance(base, BranchPosition(2, COMMIT), late),
    ):
        refusal(act)
    assert not client.indices.exists(index=name)


def test_an_alias_of_several_indexes_is_built_anew(client: OpenSearch, engine: Engine, opensearch_url: str) -> None:
    base = engine.filled(new_base(), TEXTS)
    alias = alias_of(PREFIX, base)
    client.indices.create(index=index_of(alias, 7), body={**creation(base), "aliases": {alias: {}}})
    with cluster(opensearch_url, PREFIX) as fresh:
        assert refusal(lambda: fresh.reader.through(base)).context["rebuild"] == 1
        fresh.filled(base, TEXTS)
        assert fresh.paths(base, "apple") == ["a.md", "b.md"]
        fresh.writer.drop(base)


def test_two_clusters_of_servers_with_one_alias_do_not_mix(engine: Engine, base: SharedBase) -> None:
    other = SharedBase(base.name, "another source")
    error = refusal(lambda: engine.reader.search([other], QUERY))
    assert "engine_prefix" in error.hint
    assert base.source not in error.advice
    refusal(lambda: engine.writer.put(other, 9, [page("x.md", "# Other\n")]))
    refusal(lambda: engine.writer.publish(other, engine.writer.begin(other)))
    refusal(lambda: engine.writer.drop(other))
    assert engine.paths(base, "apple") == ["a.md", "b.md"]


def test_an_index_of_another_program_is_left_alone(client: OpenSearch, engine: Engine) -> None:
    base = new_base()
    client.indices.create(index="something-else", body={"aliases": {alias_of(PREFIX, base): {}}})
    assert "not one of this program" in str(refusal(lambda: engine.reader.search([base], QUERY)))
    refusal(lambda: engine.writer.drop(base))
    refusal(lambda: engine.writer.publish(base, engine.writer.begin(base)))
    assert client.indices.exists(index="something-else")
    client.indices.delete(index="something-else")


def test_a_mapping_that_was_changed_by_hand_is_refused(
    client: OpenSearch, opensearch_url: str, base: SharedBase
) -> None:
    client.indices.put_mapping(index=alias_of(PREFIX, base), body={"properties": {"extra": {"type": "keyword"}}})
    with cluster(opensearch_url, PREFIX) as fresh:
        error = refusal(lambda: fresh.reader.search([base], QUERY))
    assert "changed by hand" in str(error)


def test_a_block_for_a_full_disk_refuses_writes_and_says_so_while_reads_go_on(
    client: OpenSearch, engine: Engine, base: SharedBase
) -> None:
    alias = alias_of(PREFIX, base)
    client.indices.put_settings(index=alias, body={"index.blocks.read_only_allow_delete": True})
    try:
        error = refusal(lambda: engine.writer.put(base, 5, [page("c.md", "# Cherry apple\n")]))
        assert "disk" in str(error)
        assert engine.paths(base, "apple") == ["a.md", "b.md"]
    finally:
        client.indices.put_settings(index=alias, body={"index.blocks.read_only_allow_delete": None})
    engine.put(base, {"c.md": "# Cherry apple\n"}, 5)
    assert set(engine.paths(base, "apple")) == {"a.md", "b.md", "c.md"}


def test_sections_and_pages_that_the_engine_lost_are_found_and_mended(
    client: OpenSearch, engine: Engine, base: SharedBase
) -> None:
    index = alias_of(PREFIX, base)
    _lose(client, index, {"term": {"section_body": "brown"}})
    _lose(client, index, {"term": {"path": "a.md"}})
    expected = {shared_page.record.address: shared_page.record.revision for shared_page in pages(TEXTS)}
    differences = engine.writer.verify(base, expected)
    assert {address.path for address in differences.missing} == {"a.md", "b.md"}
    engine.put(base, TEXTS, 2)
    assert not engine.writer.verify(base, expected)
    # Sections whose page is gone from the engine and the base alike.
    _lose(client, index, {"term": {"path": "b.md"}})
    del expected[next(address for address in expected if address.path == "b.md")]
    index_differences = engine.writer.verify(base, expected)
    assert {address.path for address in index_differences.surplus} == {"b.md"}
    engine.writer.remove(base, index_differences.surplus, 4)
    assert not engine.writer.verify(base, expected)


def test_credentials_and_an_own_authority_are_needed_where_the_cluster_wants_them(
    opensearch_url: str, base: SharedBase, tmp_path: Path
) -> None:
    with gateway(opensearch_url, tmp_path) as (url, authority):
        good = ClusterAddress((url,), USER, PASSWORD, authority)
        assert _search(good, base) == 2
        for address, said in (
            (ClusterAddress((url,), USER, PASSWORD), "engine_ca"),
            (ClusterAddress((url,), USER, "wrong-secret", authority), "engine_password"),
            (ClusterAddress((url,), authority=authority), "engine_password"),
        ):
            error = refusal(lambda address=address: _search(address, base))
            assert said in error.hint
            assert "wrong-secret" not in error.advice
            assert PASSWORD not in error.advice


def test_a_cluster_that_does_not_answer_is_unavailable(base: SharedBase) -> None:
    error = refusal(lambda: _search(ClusterAddress(("http://127.0.0.1:9",)), base))
    assert isinstance(error, UnavailableError)
    assert "127.0.0.1" not in error.advice


@each_case(
    "url",
    [
        "ftp://host",
        "https://",
        "https://user:pw@host",
        "https://host/path",
        "https://host?x=1",
        "host:9200",
        "https://[x",
    ],
)
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Connection(ClusterAddress((url,)))
    assert "pw" not in refused.value.advice


def test_a_base_that_is_dropped_while_it_is_searched_is_an_answer_and_not_an_empty_result(
    engine: Engine, client: OpenSearch
) -> None:
    base = engine.filled(new_base(), TEXTS)
    assert engine.paths(base, "apple") == ["a.md", "b.md"]
    client.indices.delete(index=index_of(alias_of(PREFIX, base), 1))
    assert isinstance(refusal(lambda: engine.search(base, "apple")), NotFoundError)


def test_a_changed_page_that_cannot_be_written_whole_does_not_move_the_position(
    client: OpenSearch, engine: Engine, base: SharedBase
) -> None:
    client.indices.put_settings(index=alias_of(PREFIX, base), body={"index.blocks.write": True})
    refusal(lambda: engine.put(base, {"a.md": "# Apple\n\nBlue.\n"}, 3))
    client.indices.put_settings(index=alias_of(PREFIX, base), body={"index.blocks.write": None})
    assert engine.reader.through(base) == BranchPosition(1, COMMIT)


def _lose(client: OpenSearch, index: str, query: dict[str, object]) -> None:
    """Delete the one document that matches, as if the engine had never had it."""
    (hit,) = client.search(index=index, body={"query": query, "version": True})["hits"]["hits"]
    client.delete(index=index, id=hit["_id"], routing=hit["_routing"], refresh=True)


def _search(address: ClusterAddress, base: SharedBase) -> int:
    connection = Connection(address)
    try:
        return ClusterReader(connection, PREFIX).search([base], QUERY).results[base].total
    finally:
        connection.close()


def _made(client: OpenSearch, base: SharedBase, meta: dict[str, object]) -> None:
    body = creation(base)
    body["mappings"]["_meta"] |= meta
    alias = alias_of(PREFIX, base)
    client.indices.create(index=index_of(alias, 1), body={**body, "aliases": {alias: {}}})
