"""The file of vectors, and what is in memory of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from commonplace.embed.vector_file import MIN_UNUSED, DocumentVectors, VectorFile, VectorFormat
from commonplace.embed.vector_space import VectorSpace, quantized

DIMENSION = 8
FORM = VectorFormat(DIMENSION, 1.0)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[VectorFile]:
    with closing(VectorFile(tmp_path / "vectors-0.sqlite3", "model")) as opened:
        yield opened


def key(text: int) -> bytes:
    return text.to_bytes(8, "big")


def put(file: VectorFile, path: str, texts: Sequence[int], revision: str = "1") -> None:
    """A document that consists of these texts; without a revision it is gone."""
    rows = np.random.default_rng(list(texts) or 0).uniform(-1, 1, (len(texts), DIMENSION)).astype(np.float32)
    page: DocumentVectors = (path, revision, [(place, key(text)) for place, text in enumerate(texts)])
    file.put(FORM, dict(zip(map(key, texts), quantized(rows, FORM.scale), strict=True)), [page])


def kept(file: VectorFile, texts: Sequence[int]) -> int:
    """Number of these texts that have a vector."""
    return len(file.known(map(key, texts)))


def test_vectors_of_texts_that_stand_nowhere_go_once_they_are_many(file: VectorFile) -> None:
    first, second = range(MIN_UNUSED), range(MIN_UNUSED, 2 * MIN_UNUSED)
    put(file, "a.md", first)
    put(file, "same.md", [0, 1])
    put(file, "a.md", second)
    assert kept(file, first) == MIN_UNUSED, "they may only have moved"
    put(file, "a.md", (), revision="")
    assert (kept(file, first), kept(file, second)) == (2, 0), "two stand in another document"
    assert file.statistics(["a.md", "same.md", "none.md"])[0] == {"same.md": "1"} == file.statistics()[0]


def test_texts_that_only_move_from_document_to_document_keep_their_vectors(file: VectorFile) -> None:
    texts = range(MIN_UNUSED // 2)
    for move in range(6):
        put(file, f"{move}.md", texts)
        put(file, f"{move - 1}.md", (), revision="")
    assert kept(file, texts) == len(texts)


@pytest.mark.parametrize("seed", range(4))
def test_what_follows_a_file_is_as_what_is_read_anew(file: VectorFile, seed: int) -> None:
    chance = random.Random(seed)
    following = VectorSpace(file)
    question = np.full(DIMENSION, DIMENSION**-0.5, np.float32)
    for step in range(60):
        path = f"{chance.randrange(6)}.md"
        texts = [chance.randrange(40) for _ in range(chance.randrange(1, 6))]
        gone = chance.random() < 0.25
        put(file, path, () if gone else texts, revision="" if gone else str(step))
        following.refresh(at_once=True)
        anew = VectorSpace(file)
        anew.refresh()
        if anew.dimension:
            seen, fresh = (space.query(question, None) for space in (following, anew))
            paths = [f"{number}.md" for number in range(6)]
            assert seen.of(paths) == fresh.of(paths), step
            assert (
                {near.path for near in seen.nearest(6)}
                == {near.path for near in fresh.nearest(6)}
                == set(file.statistics()[0])
            )
