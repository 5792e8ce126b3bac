"""The vectors of a base in a real OpenSearch: hybrid search as a server's own index has it, and the work of workers."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from opensearchpy import OpenSearch

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import SharedBase
from commonplace.domain.errors import NotFoundError, StorageError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, QuestionVector, SearchQuery, SearchResult
from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.embed.local import LocalSemanticIndex
from commonplace.embed.shared import DIMENSION_PROBE, EmbeddingWorker, SharedSemanticIndex, model_digest
from commonplace.index import open_index
from commonplace.index.opensearch import answers
from commonplace.index.opensearch.connection import ClusterAddress, Connection
from commonplace.index.opensearch.indexes import BaseIndexes, alias_of
from commonplace.index.opensearch.vectors import EXPIRY_SECONDS, ClusterWork, vectors_of
from commonplace.index.opensearch.writer import SearchCluster
from embeddings import EmbeddingServer, embedding_server
from opensearch_cluster.engines import Engine, new_base, pages
from page_store import PageStore
from shell import COMMAND

PREFIX = "vectors"
ROUNDED = 0.05
WAIT_SECONDS = 120.0


def _text(n: int) -> str:
    tea = f"kettle {'tea ' * (n % 5)}number{n} {'harbour depth ' * (n % 7)}"
    first = f"{'restore the database from a copy ' * (n % 3)}{tea}"
    second = f"{'backup server ' * (n % 4)}and the tide at berth {n}."
    head = f"---\ntags: [t{n % 4}]\ndate: 2024-01-{n + 1:02}\n---\n# Page {n}"
    return f"{head}\n\n{first}\n\n## More of {n}\n\n{second}\n"


TEXTS = {f"{'notes' if n % 3 else 'ops'}/p{n:02}.md": _text(n) for n in range(28)}
QUERIES = ["restore database", "tea in a kettle", "depth of the harbour", "backup of the server tide", "number7 berth"]


@dataclass(frozen=True, slots=True)
class BothIndexes:
    """A base in the cluster with all its vectors, and the same pages in a server's own index."""

    cluster: SearchCluster
    base: SharedBase
    shared: SharedSemanticIndex
    index: Index
    local: LocalSemanticIndex

    def question(self, text: str) -> QuestionVector:
        """A query as a vector."""
        return self.shared.nearest(text, Filter(), 1).question

    def found(self, text: str, **options: Any) -> tuple[SearchResult, SearchResult]:
        """The result of the cluster, and of the own index."""
        query = replace(SearchQuery(text=text), **options)
        take = "similar" if query.words else "nearest"
        near = getattr(self.shared, take)(text, query.filter, 100)
        own = getattr(self.local, take)(text, query.filter, 100)
        theirs = self.cluster.reader.search([self.base], query, question=near.question)
        assert not theirs.partial
        return theirs.results[self.base], self.index.search(replace(query, similarity=own))


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture(scope="module")
def embedding(server: EmbeddingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddingService]:
    made = _service(server, tmp_path_factory.mktemp("models"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def cluster(opensearch_url: str) -> Iterator[SearchCluster]:
    made = SearchCluster(ClusterAddress((opensearch_url,)), PREFIX)
    yield made
    made.close()


@pytest.fixture(scope="module")
def meant(
    cluster: SearchCluster, embedding: EmbeddingService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BothIndexes]:
    base = _filled(cluster, TEXTS)
    _embed(cluster, embedding, base)
    store = PageStore("own", "own")
    store.pages |= {page.record.address: page for page in pages(TEXTS)}
    with ExitStack() as closing:
        folder = tmp_path_factory.mktemp("own")
        index = open_index(store, folder, language="")
        closing.callback(index.close)
        index.sync()
        local = embedding.of(cast("Index", index), folder / "vectors")
        local.embed()
        yield BothIndexes(cluster, base, embedding.shared(cluster.vectors, base), cast("Index", index), local)


@pytest.mark.parametrize("text", QUERIES)
def test_a_search_by_both_has_the_hits_of_a_servers_own_index(meant: BothIndexes, text: str) -> None:
    theirs, own = meant.found(text, limit=10)
    # Vectors are rounded otherwise, so that what is nearly as good may stand elsewhere.
    assert [hit.score for hit in theirs.hits] == pytest.approx([hit.score for hit in own.hits], abs=ROUNDED)
    least = own.hits[-1].score + ROUNDED
    places = {hit.record.address: [section_hit.ordinal for section_hit in hit.sections] for hit in theirs.hits}
    for hit in own.hits:
        if hit.score > least:
            assert places[hit.record.address] == [section_hit.ordinal for section_hit in hit.sections]
    assert theirs.total == own.total


@pytest.mark.parametrize(
    "filter_",
    [
        Filter(prefix="ops/"), Filter(tags=("t2",)), Filter(date_from="2024-01-20"),
        Filter(without=(Address("notes/p01.md"), Address("ops/p00.md"))), Filter(among=(Address("notes/p07.md"),)),
    ],
    ids=repr,
)  # fmt: skip
def test_filters_hold_for_a_search_by_meaning_too(meant: BothIndexes, filter_: Filter) -> None:
    theirs, own = meant.found("restore the database server", filter=filter_, words=False, limit=50)
    assert {hit.record.address for hit in theirs.hits} == {hit.record.address for hit in own.hits}
    assert theirs.total == own.total


def test_a_search_by_meaning_alone_is_ordered_by_similarity(meant: BothIndexes) -> None:
    theirs, own = meant.found("depth of the harbour", words=False, limit=8)
    assert [hit.score for hit in theirs.hits] == pytest.approx([hit.score for hit in own.hits], abs=0.02)
    assert [hit.score for hit in theirs.hits] == sorted((hit.score for hit in theirs.hits), reverse=True)


def test_the_graph_finds_what_comparing_all_finds(meant: BothIndexes, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = meant.found("restore database", limit=10)
    monkeypatch.setattr(answers, "MAX_COMPARED", 0)
    by_graph, _ = meant.found("restore database", limit=10)
    assert [hit.record.address for hit in by_graph.hits] == [hit.record.address for hit in whole.hits]
    assert [hit.score for hit in by_graph.hits] == pytest.approx([hit.score for hit in whole.hits], abs=1e-3)


def test_similarities_of_the_cluster_serve_a_servers_own_index(meant: BothIndexes) -> None:
    near = meant.shared.similar("restore database", Filter(), 20)
    assert near is not None
    with_theirs = meant.index.search(SearchQuery(text="restore database", similarity=near))
    _, own = meant.found("restore database")
    # The cluster's similarities are rounded: hits of nearly the same score may change places.
    assert {hit.record.address for hit in with_theirs.hits} == {hit.record.address for hit in own.hits}
    scores = {hit.record.address: hit.score for hit in own.hits}
    assert [scores[hit.record.address] for hit in with_theirs.hits] == pytest.approx(
        [hit.score for hit in own.hits], abs=0.02
    )


def test_chunks_are_found_with_their_places(meant: BothIndexes) -> None:
    own = meant.local.nearest_chunks("restore the database", 6, 2)
    theirs = meant.shared.nearest_chunks("restore the database", 6, 2)
    assert [hit.similarity for hit in theirs] == pytest.approx([hit.similarity for hit in own], abs=0.02)
    for hit in theirs:
        assert (hit.path, hit.ordinal, hit.number, hit.of) in {
            (two.path, two.ordinal, two.number, two.of) for two in meant.local.nearest_chunks("restore", 500, 500)
        }


def test_the_status_counts_what_is_embedded(meant: BothIndexes) -> None:
    status = meant.shared.status()
    assert (status.status, status.documents, status.pending) == ("ready", len(TEXTS), 0)
    assert status.chunks == meant.local.status().chunks
    with pytest.raises(UnavailableError, match="in the search cluster"):
        meant.shared.embed()


def test_several_bases_are_searched_in_one_go_each_for_itself(meant: BothIndexes) -> None:
    other = _filled(meant.cluster, {"x.md": "# Restore\n\nrestore database secretword\n"}, meaning=False)
    near = meant.shared.similar("restore database", Filter(), 10)
    assert near is not None
    query = SearchQuery(text="restore database")
    both = meant.cluster.reader.search([other, meant.base], query, question=near.question).results
    alone, _ = meant.found("restore database")
    assert [hit.score for hit in both[meant.base].hits] == [hit.score for hit in alone.hits]
    assert [hit.record.address.path for hit in both[other].hits] == ["x.md"]
    meant.cluster.writer.drop(other)


def test_a_chunk_that_stays_keeps_its_vector(
    cluster: SearchCluster, embedding: EmbeddingService, server: EmbeddingServer
) -> None:
    parts = "".join(f"# Part {n}\n\n{f'word{n} ' * 150}\n\n" for n in range(5))
    long = {"long.md": parts, "gone.md": "# Gone\n\ntea\n"}
    base = _filled(cluster, long)
    _embed(cluster, embedding, base)
    assert _counts(cluster, embedding, base) == (2, 6, 0)
    count = len(server.texts)
    changed = {"long.md": f"---\ntags: [new]\n---\n{parts.replace('word3', 'other3')}"}
    Engine(cluster.reader, cluster.writer).put(base, changed, 2)
    Engine(cluster.reader, cluster.writer).remove(base, ["gone.md"], 3)
    _embed(cluster, embedding, base)
    (new,) = set(server.texts[count:]) - {DIMENSION_PROBE}
    assert "other3" in new
    assert _counts(cluster, embedding, base) == (1, 5, 0)
    shared = embedding.shared(cluster.vectors, base)
    near = shared.nearest("other3", Filter(tags=("new",)), 5)
    assert [document.path for document in near.best] == ["long.md"]
    assert near.best[0].ordinal == 4
    cluster.writer.drop(base)


@pytest.mark.soak
def test_verify_finds_chunks_that_the_cluster_lost_and_pages_without_any(
    cluster: SearchCluster, opensearch_url: str
) -> None:
    base = _filled(cluster, TEXTS)
    expected = {page.record.address: page.record.revision for page in pages(TEXTS)}
    assert not cluster.writer.verify(base, expected)
    with OpenSearch([opensearch_url]) as client:
        index = vectors_of(alias_of(PREFIX, base))
        (hit, *_) = client.search(index=index, body={"query": {"term": {"number": 0}}})["hits"]["hits"]
        client.delete(index=index, id=hit["_id"], routing=hit["_routing"], refresh=True)
        path = hit["_source"]["path"]
    assert {address.path for address in cluster.writer.verify(base, expected).missing} == {path}
    # A base whose vectors are wanted later on: its pages are there, and their chunks are not.
    late = _filled(cluster, TEXTS, meaning=False)
    assert not cluster.writer.verify(late, expected)
    shared_base = replace(late, meaning=True)
    assert cluster.writer.verify(shared_base, expected).missing == expected.keys()
    Engine(cluster.reader, cluster.writer).put(shared_base, TEXTS, 2)
    assert not cluster.writer.verify(shared_base, expected)
    cluster.writer.drop(base)
    cluster.writer.drop(shared_base)
    with pytest.raises(NotFoundError):
        cluster.vectors.counts(shared_base, "0" * 12)


def test_vectors_of_another_model_or_dimension_are_never_compared(
    meant: BothIndexes, server: EmbeddingServer, tmp_path: Path
) -> None:
    other = _service(server, tmp_path, "other")
    assert other.shared(meant.cluster.vectors, meant.base).similar("tea", Filter(), 5) is None
    with pytest.raises(UnavailableError, match="embedded"):
        other.shared(meant.cluster.vectors, meant.base).nearest("tea", Filter(), 5)
    with pytest.raises(StorageError, match="dimensions"):
        meant.cluster.work.prepare(meant.base, meant.question("tea").model, 3)
    other.close()


def test_vectors_of_another_base_of_this_name_are_left_alone(meant: BothIndexes) -> None:
    other = SharedBase(meant.base.name, "another source", meaning=True)
    with pytest.raises(UnavailableError) as refused:
        meant.cluster.vectors.has(other, "0" * 12)
    assert refused.value.kind == "engine"
    assert meant.base.source not in refused.value.advice


def test_a_claim_is_one_workers_until_it_is_released_or_not_renewed(
    cluster: SearchCluster, opensearch_url: str
) -> None:
    base, model = _filled(cluster, TEXTS), "abcdef012345"
    now = [0.0]
    with closing(Connection(ClusterAddress((opensearch_url,)))) as connection:
        work, two = (
            ClusterWork(connection, BaseIndexes(connection, PREFIX), PREFIX, clock=lambda: now[0]) for _ in range(2)
        )
        work.prepare(base, model, 64)
        part = work.lacking(base, model)[0]
        first = work.claim(base, model, part, "one")
        assert first is not None
        assert two.claim(base, model, part, "two") is None
        now[0] += EXPIRY_SECONDS + 1
        first = work.renew(first)
        assert first is not None
        assert two.claim(base, model, part, "two") is None, "it was renewed after the other looked"
        now[0] += EXPIRY_SECONDS + 1
        second = two.claim(base, model, part, "two")
        assert second is not None
        assert work.renew(first) is None
        work.release(first)
        second = two.renew(second)
        assert second is not None, "who lost a claim does not release another's"
        two.release(second)
        assert work.claim(base, model, part, "one") is not None
    cluster.writer.drop(base)


@pytest.mark.soak
def test_a_worker_that_is_killed_is_succeeded_by_another_which_embeds_the_rest(
    cluster: SearchCluster, opensearch_url: str, tmp_path: Path
) -> None:
    texts = {f"w{n}.md": f"# W {n}\n\nword{n} tea\n" for n in range(60)}
    base = _filled(cluster, texts)
    with embedding_server() as server:
        environment = {
            **os.environ, **server.environment, "COMMONPLACE_ENGINE_URL": opensearch_url,
            "COMMONPLACE_ENGINE_PREFIX": PREFIX, "XDG_CACHE_HOME": str(tmp_path),
        }  # fmt: skip
        command = [*COMMAND, "embed-worker", base.name]
        started = len(server.texts)
        doomed = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _wait(lambda: len(server.texts) > started + 8)
        server.blocked = True
        count = len(server.texts)
        _wait(lambda: len(server.texts) > count)
        doomed.send_signal(signal.SIGKILL)
        doomed.wait()
        server.blocked = False
        server.release.set()
        embedded = set(server.texts)
        done = subprocess.run(
            [*command, "--once", "--json"], env=environment, check=True, capture_output=True, timeout=WAIT_SECONDS
        )
        again = _service(server, tmp_path)
        counts = cluster.vectors.counts(base, model_digest(again.model))
    assert (counts.documents, counts.chunks, counts.pending) == (60, 60, 0)
    assert b'"chunks"' in done.stdout
    assert 0 < int(done.stdout.split(b":")[1].strip(b" }\n")) < 60, "what the killed one had written stays"
    assert len(embedded) < 61
    again.close()
    cluster.writer.drop(base)


@pytest.mark.soak
def test_two_workers_share_the_work(cluster: SearchCluster, embedding: EmbeddingService) -> None:
    base = _filled(cluster, TEXTS)
    stop = threading.Event()
    appends: list[str] = []
    workers = [EmbeddingWorker(embedding.model, cluster.work, stop, [base.name]) for _ in range(2)]
    threads = [threading.Thread(target=worker.run, args=(appends.append,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    workers[0].run(appends.append)
    assert _counts(cluster, embedding, base) == (len(TEXTS), len(TEXTS), 0)
    assert sum(int(line.split()[2]) for line in appends) == len(TEXTS)
    cluster.writer.drop(base)


def _service(server: EmbeddingServer, models: Path, model: str = "words") -> EmbeddingService:
    return EmbeddingService(ModelChoice(models=models, url=server.url, model=model))


def _filled(cluster: SearchCluster, texts: Mapping[str, str], *, meaning: bool = True) -> SharedBase:
    return Engine(cluster.reader, cluster.writer).filled(replace(new_base(), meaning=meaning), texts)


def _embed(cluster: SearchCluster, embedding: EmbeddingService, base: SharedBase) -> None:
    EmbeddingWorker(embedding.model, cluster.work, threading.Event(), [base.name]).run(lambda _: None)


def _counts(cluster: SearchCluster, embedding: EmbeddingService, base: SharedBase) -> tuple[int, int, int]:
    counts = cluster.vectors.counts(base, model_digest(embedding.model))
    return counts.documents, counts.chunks, counts.pending


def _wait(condition: Any) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    waiting = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        waiting.wait(0.02)
