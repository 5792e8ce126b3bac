"""A worker embeds what it can claim, and stops when it loses a claim."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from commonplace.domain.cluster import Claim, SharedBase
from commonplace.embed import EmbeddingService, ModelChoice
from embeddings import EmbeddingServer

BASES = (SharedBase("notes", "s", meaning=True), SharedBase("other", "s", meaning=True))


@dataclass(slots=True)
class Work:
    """The work of two bases in memory."""

    texts_left: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"00": {f"a{n}": f"text {n}" for n in range(70)}, "01": {"b": "tea", "empty": ""}}
    )
    vectors: dict[str, Sequence[int] | None] = field(default_factory=dict[str, "Sequence[int] | None"])
    taken: set[str] = field(default_factory=set[str])
    """Ranges of other workers."""
    beats: int = 1_000
    """Number of times that a claim can be renewed before it is lost."""
    released: list[str] = field(default_factory=list[str])
    dimension: int = 0

    def bases(self) -> Sequence[SharedBase]:
        return BASES

    def prepare(self, base: SharedBase, model: str, dimension: int) -> None:
        del base, model
        self.dimension = dimension

    def lacking(self, base: SharedBase, model: str) -> Sequence[str]:
        del model
        return [part for part, texts in self.texts_left.items() if texts] if base == BASES[0] else []

    def claim(self, base: SharedBase, model: str, part: str, owner: str) -> Claim | None:
        return None if part in self.taken else Claim(base, model, part, owner, 0, (0, 0))

    def renew(self, claim: Claim) -> Claim | None:
        self.beats -= 1
        return replace(claim, beat=claim.beat + 1) if self.beats > 0 else None

    def release(self, claim: Claim) -> None:
        self.released.append(claim.part)

    def texts(self, claim: Claim) -> Iterator[Sequence[tuple[str, str]]]:
        yield list(self.texts_left[claim.part].items())

    def store(self, claim: Claim, vectors: Mapping[str, Sequence[int] | None]) -> None:
        self.vectors |= vectors
        for key in vectors:
            del self.texts_left[claim.part][key]


@pytest.fixture
def embedding(server: EmbeddingServer, tmp_path: Path) -> Iterator[EmbeddingService]:
    made = EmbeddingService(ModelChoice(models=tmp_path, url=server.url, model="words"))
    yield made
    made.close()


def test_everything_is_embedded_once_and_given_back(embedding: EmbeddingService, server: EmbeddingServer) -> None:
    work, reported_texts = Work(), list[str]()
    done = embedding.worker(work, threading.Event(), ()).run(reported_texts.append)
    assert (done.chunks, done.parts, done.waiting) == (72, 2, 0)
    assert sorted(work.released) == ["00", "01"]
    assert work.dimension == server.dimension
    assert all(vector and max(map(abs, vector)) == 127 for key, vector in work.vectors.items() if key != "empty")
    assert len(reported_texts) == 2


def test_a_range_of_another_worker_is_left_to_it(embedding: EmbeddingService) -> None:
    work = Work(taken={"00"})
    done = embedding.worker(work, threading.Event(), ["notes"]).run(lambda _: None)
    assert (done.chunks, done.parts, done.waiting) == (2, 1, 1)


def test_who_loses_a_claim_stops_and_does_not_give_it_back(embedding: EmbeddingService) -> None:
    work = Work(taken={"01"}, beats=2)
    done = embedding.worker(work, threading.Event(), ()).run(lambda _: None)
    assert (done.chunks, done.parts) == (64, 0)
    assert work.released == []


def test_other_bases_and_a_worker_that_is_to_end_are_left_alone(embedding: EmbeddingService) -> None:
    work, stop = Work(), threading.Event()
    assert embedding.worker(work, stop, ["other"]).run(lambda _: None).chunks == 0
    stop.set()
    assert embedding.worker(work, stop, ()).run(lambda _: None).chunks == 0
    assert work.vectors == {}


def test_a_text_without_a_vector_is_not_tried_again(embedding: EmbeddingService, server: EmbeddingServer) -> None:
    work = Work(taken={"00"})
    server.nan = True
    embedding.worker(work, threading.Event(), ()).run(lambda _: None)
    assert work.vectors == {"b": None, "empty": None}
