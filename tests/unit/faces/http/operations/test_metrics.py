"""Metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from asgi import Answer, asked
from commonplace import __version__
from commonplace.domain.cluster import EngineStatus, ReplicaStatus, WriterStatus
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.call_log import traced_call
from commonplace.faces.http.operations import Metrics
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import Services
from indexed import Indexed
from remotes.fixed import FixedReplica

Samples = dict[tuple[str, frozenset[str]], float]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Indexed(tmp_path) as base:
        yield Collection("notes", base.store, base.index)


def served(*collections: Collection) -> Metrics:
    found_collections = Collections(lambda: collections)
    assert found_collections.members == collections
    return Metrics(Services(collections=found_collections))


def scraped(metrics: Metrics, method: str = "GET", caller: Caller | None = None) -> Answer:
    who = caller or Caller("", "read")
    return asked(metrics.part().app, method, "/metrics", scope={SCOPE_KEY: who})


def samples(answer: Answer) -> Samples:
    """Values by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_calls_are_counted_by_verb_and_outcome_with_their_durations() -> None:
    metrics = served()
    metrics.listen()
    for _ in range(2):
        with traced_call("test_verb"):
            pass
    with pytest.raises(NotFoundError), traced_call("test_verb"):
        raise NotFoundError("No.")
    with pytest.raises(KnowledgeError), traced_call("GET /pages/{path} ü"):
        raise RuntimeError
    answer = scraped(metrics)
    found_samples = samples(answer)
    assert answer.headers["content-type"].startswith("text/plain")
    assert found_samples["commonplace_calls_total", frozenset({"test_verb", "ok"})] == 2
    assert found_samples["commonplace_calls_total", frozenset({"test_verb", "not_found"})] == 1
    assert found_samples["commonplace_calls_total", frozenset({"GET /pages/{path} ü", "RuntimeError"})] == 1
    assert found_samples["commonplace_call_seconds_count", frozenset({"test_verb"})] == 3
    assert found_samples["commonplace_info", frozenset({__version__})] == 1


def test_two_servers_in_one_process_count_apart() -> None:
    metrics, other = served(), served()
    metrics.listen()
    with traced_call("counted_once"):
        pass
    assert ("commonplace_calls_total", frozenset({"counted_once", "ok"})) in samples(scraped(metrics))
    assert ("commonplace_calls_total", frozenset({"counted_once", "ok"})) not in samples(scraped(other))


def test_a_head_request_counts_nothing_out() -> None:
    assert scraped(served(), "HEAD").body == b""


def test_a_replica_tells_its_state(collection: Collection) -> None:
    following = FixedReplica()
    metrics = served(replace(collection, replica=following))
    found_samples = samples(scraped(metrics))
    assert found_samples["commonplace_replica_ready", frozenset({"notes"})] == 1
    assert found_samples["commonplace_replica_age_seconds", frozenset({"notes"})] == 2.25
    assert found_samples["commonplace_replica_problem", frozenset({"notes"})] == 0
    following.now = ReplicaStatus("", ready=False, age=None, problem="no answer")
    candidate = samples(scraped(metrics))
    assert candidate["commonplace_replica_ready", frozenset({"notes"})] == 0
    assert candidate["commonplace_replica_problem", frozenset({"notes"})] == 1
    assert ("commonplace_replica_age_seconds", frozenset({"notes"})) not in candidate


def test_a_replica_tells_of_its_writes_and_of_the_search_cluster_if_it_has_them(collection: Collection) -> None:
    following = FixedReplica()
    metrics = served(replace(collection, replica=following))
    for name in ("replica_waiting_writes", "replica_has_lease", "engine_behind_seconds"):
        assert (f"commonplace_{name}", frozenset({"notes"})) not in samples(scraped(metrics))
    following.now = ReplicaStatus(
        "ab" * 20,
        ready=True,
        age=1.0,
        engine=EngineStatus(behind=3.5, searches={"engine": 7, "engine, in part": 2}),
        writer=WriterStatus(waiting=4, has_lease=True),
    )
    found_samples = samples(scraped(metrics))
    assert found_samples["commonplace_replica_waiting_writes", frozenset({"notes"})] == 4
    assert found_samples["commonplace_replica_has_lease", frozenset({"notes"})] == 1
    assert found_samples["commonplace_engine_behind_seconds", frozenset({"notes"})] == 3.5
    assert found_samples["commonplace_engine_searches_total", frozenset({"notes", "engine"})] == 7
    assert found_samples["commonplace_engine_searches_total", frozenset({"notes", "engine, in part"})] == 2


def test_nobody_learns_of_a_collection_that_their_key_does_not_name(collection: Collection) -> None:
    metrics = served(replace(collection, replica=FixedReplica()), collection)
    assert "notes" in scraped(metrics, caller=Caller("k", "read", frozenset({"notes"}))).text
    assert "notes" not in scraped(metrics, caller=Caller("k", "admin", frozenset({"other"}))).text
    assert "replica" not in scraped(served(collection)).text
