"""Hybrid search while embedding is under way: nDCG@10 with a part of the pages embedded; part of `make eval`.

The vectors of a set are copied, and pages are removed from the copy until the wanted share is left, at random with a
fixed seed. The rest of the vector file is as an embedding that was interrupted leaves it.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.judged.sets import DEPTH, Question, scored
from commonplace.domain.query import Filter, SearchQuery
from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.embed.embedding_run import VectorStore
from commonplace.services.collections import Collection
from commonplace.services.searches import search
from commonplace.settings import Settings

SHARES = (100, 75, 50, 25, 10, 5, 2, 0)
"""Shares of embedded pages in percent. They fall, because pages are only removed."""
SEED = 7
MAX_QUESTIONS = 300
"""Maximum number of questions of a set, spread over the set, because each is asked at every share."""


def curve(
    collection: Collection, settings: Settings, root: Path, questions: Sequence[Question], ids: dict[str, str]
) -> Iterator[tuple[int, float]]:
    """The nDCG@10 of hybrid search at each share of embedded pages.

    Args:
        collection: The set, indexed and embedded.
        settings: Settings with the folder of the model.
        root: Folder of the set's cache; the copy is beside it.
        questions: The questions.
        ids: Ids of the documents by path.
    """
    chosen = questions[:: max(1, len(questions) // MAX_QUESTIONS)]
    copied = root / "partial"
    shutil.rmtree(copied, ignore_errors=True)
    copied.mkdir(parents=True)
    for file in (root / "cache").rglob("vectors-*.sqlite3"):
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copied / file.name)) as target:
            source.backup(target)
    removed = sorted(ids)
    random.Random(SEED).shuffle(removed)
    for share in SHARES:
        embedding = EmbeddingService(ModelChoice(models=settings.model_dir, folder=settings.model))
        gone = [(path, "", ()) for path in removed[: round(len(removed) * (100 - share) / 100)]]
        store = VectorStore(embedding.model, copied)
        store.with_file(lambda file, gone=gone: file.put(None, {}, gone))
        store.close()
        partial = replace(collection, semantic_index=embedding.of(collection.index, copied))
        answers: list[list[str]] = []
        for question in chosen:
            within = Filter(prefix=f"{question.scope}/" if question.scope else "")
            hits = search([partial], SearchQuery(text=question.text, filter=within, limit=DEPTH), "hybrid")
            answers.append([ids[hit.hit.record.address.path] for hit in hits.hits])
        embedding.close()
        yield share, scored("", chosen, answers, 0.0).ndcg
