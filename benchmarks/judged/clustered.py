"""The judged sets in a server's own index and in a search cluster, with the same questions, words and vectors."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.judged.sets import DEPTH, Question, scored
from commonplace.domain.cluster import SharedBase
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, SearchMode, SearchQuery
from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.index import open_cluster
from commonplace.services.cluster import SharedSearch, Tailer
from commonplace.services.collections import Collection
from commonplace.services.searches import search
from commonplace.settings import Settings

if TYPE_CHECKING:
    from commonplace.index.opensearch.writer import SearchCluster

HELPERS = Path(__file__).resolve().parents[2] / "tests" / "helpers"
COMMIT = "c" * 40


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of one set in one mode, in both engines."""

    name: str
    questions: int
    own: float
    """nDCG@10 of a server's own index."""
    cluster: float
    """nDCG@10 of the cluster."""
    equal: int
    """Number of questions with the same ten documents in the same order."""


@contextmanager
def opened_cluster() -> Generator[SearchCluster]:
    """A cluster of one node, started as in the tests."""
    sys.path.append(str(HELPERS))
    from opensearch_cluster.cluster import running  # noqa: PLC0415 - a part of the tests

    with running(1, ("-Xms1g", "-Xmx1g", "-XX:TieredStopAtLevel=4", "-XX:ActiveProcessorCount=2")) as nodes:
        cluster = open_cluster(nodes.urls, "judged")
        try:
            yield cluster
        finally:
            cluster.close()


def compared(
    cluster: SearchCluster,
    collection: Collection,
    settings: Settings,
    questions: Sequence[Question],
    ids: dict[str, str],
    modes: Sequence[SearchMode],
) -> Iterator[Compared]:
    """The results of both engines on one set.

    Args:
        cluster: The cluster.
        collection: The set, indexed and embedded on this machine.
        settings: Settings with the folder of the model.
        questions: The questions.
        ids: Ids of the documents by path.
        modes: The search modes.
    """
    meaning = set(modes) != {"keyword"}
    base = SharedBase(collection.name, "judged", meaning=meaning)
    tailer = Tailer(base, _OneCommit(), collection.index, cluster.reader, cluster.writer)
    if not tailer.follow(COMMIT):
        raise RuntimeError(tailer.problem)
    embedding = EmbeddingService(ModelChoice(models=settings.model_dir, folder=settings.model))
    if meaning:
        embedding.worker(cluster.work, threading.Event(), [base.name]).run(lambda line: print(line, file=sys.stderr))
    shared = replace(
        collection,
        index=cast("Index", SharedSearch(collection.index, cluster.reader, tailer)),
        semantic_index=embedding.shared(cluster.vectors, base),
    )
    for mode in modes:
        own, theirs = (_answers(other_collection, questions, mode, ids) for other_collection in (collection, shared))
        yield Compared(
            f"{collection.name} {mode}",
            len(questions),
            scored("", questions, own, 0.0).ndcg,
            scored("", questions, theirs, 0.0).ndcg,
            sum(element == other for element, other in zip(own, theirs, strict=True)),
        )
    embedding.close()


def _answers(
    collection: Collection, questions: Sequence[Question], mode: SearchMode, ids: dict[str, str]
) -> list[list[str]]:
    answers: list[list[str]] = []
    for question in questions:
        within = Filter(prefix=f"{question.scope}/" if question.scope else "")
        hits = search([collection], SearchQuery(text=question.text, filter=within, limit=DEPTH), mode)
        if "own index" in hits.notice:
            raise RuntimeError(hits.notice)
        answers.append([ids[hit.hit.record.address.path] for hit in hits.hits])
    return answers


class _OneCommit:
    """A branch with a single commit."""

    def number(self, commit: str) -> int:
        """Return 1."""
        del commit
        return 1

    def has(self, commit: str) -> bool:
        """Whether the commit is the only one."""
        return commit == COMMIT

    def holds(self, tip: str, commit: str) -> bool:
        """Whether both are the only commit."""
        return tip == commit == COMMIT
