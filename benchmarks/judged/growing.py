"""Hybrid search while pages are being embedded: after a change of model, and at a replica; part of `make eval`.

Pages are embedded as the product embeds them, in an order that is random with a fixed seed, and the questions are asked
at each share of embedded pages.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from benchmarks.judged.noise import DIMENSION, model_url
from benchmarks.judged.sets import DEPTH, JudgedSet, Question, scored, write_vault
from commonplace.bootstrap import Application, open_application
from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, SearchMode, SearchQuery
from commonplace.embed.local import LocalSemanticIndex
from commonplace.services.collections import Collection
from commonplace.services.searches import search
from commonplace.settings import Settings

SHARES = (0, 2, 5, 10, 25, 50, 75, 100)
"""Shares of embedded pages in percent. They rise, because pages are only added."""
SEED = 7
MAX_QUESTIONS = 120
"""Number of questions of a set from which on only some are asked, because each is asked at every share."""
_AUTHOR = ("-c", "user.name=Judge", "-c", "user.email=judge@example.org")


@dataclass(frozen=True, slots=True)
class Growth:
    """The results of one set in one situation."""

    situation: str
    by_words: float
    """nDCG@10 by words."""
    hybrid: Mapping[int, float]
    """nDCG@10 of hybrid search by share of embedded pages."""


def growths(judged: JudgedSet, root: Path, settings: Settings) -> Iterator[Growth]:
    """The results after a change of model, and at a replica.

    Args:
        judged: The set.
        root: Folder of the set's cache.
        settings: Settings with the folder of the model.
    """
    questions = judged.questions[:: max(1, len(judged.questions) // MAX_QUESTIONS)]
    for situation, opened in (("after a change of model", _changed), ("at a replica", _replica)):
        place = root / "growing"
        shutil.rmtree(place, ignore_errors=True)
        ids = write_vault(judged.documents, place / "vault")
        kept_settings = replace(settings, cache_dir=place / "cache", state_dir=place / "state")
        with opened(place, kept_settings) as application:
            (collection,) = application.services.collections.members
            by_words = _ndcg(collection, questions, ids, "keyword")
            yield Growth(situation, by_words, dict(_curve(collection, questions, ids)))


def _curve(
    collection: Collection, questions: Sequence[Question], ids: Mapping[str, str]
) -> Iterator[tuple[int, float]]:
    index = collection.semantic_index
    assert isinstance(index, LocalSemanticIndex)  # noqa: S101 - no cluster is set
    paths = sorted(ids)
    random.Random(SEED).shuffle(paths)
    for share in SHARES:
        if share:
            index.embed(among=[Address(path) for path in paths[: round(len(paths) * share / 100)]])
        yield share, _ndcg(collection, questions, ids, "hybrid")


def _ndcg(collection: Collection, questions: Sequence[Question], ids: Mapping[str, str], mode: SearchMode) -> float:
    answers: list[list[str]] = []
    for question in questions:
        within = Filter(prefix=f"{question.scope}/" if question.scope else "")
        hits = search([collection], SearchQuery(text=question.text, filter=within, limit=DEPTH), mode)
        answers.append([ids[hit.hit.record.address.path] for hit in hits.hits])
    return scored("", questions, answers, 0.0).ndcg


@contextmanager
def _changed(place: Path, settings: Settings) -> Generator[Application]:
    """A folder whose pages all have vectors of another model."""
    with model_url(letters) as url:
        before = Application([place / "vault"], replace(settings, embedding_url=url, embedding_model="letters"))
        before.sync()
        for collection in before.services.collections.members:
            if collection.semantic_index:
                collection.semantic_index.embed()
        before.close()
    application = Application([place / "vault"], settings)
    try:
        application.sync()
        yield application
    finally:
        application.close()


@contextmanager
def _replica(place: Path, settings: Settings) -> Generator[Application]:
    """A replica of a repository with the pages."""
    vault, remote = place / "vault", place / "remote.git"
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*_AUTHOR, "commit", "-qm", "Pages")):
        subprocess.run(["git", "-C", vault, *arguments], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", vault, remote], check=True)
    application = open_application((), replace(settings, replica_of=(f"file://{remote}",)))
    try:
        application.fetch()
        application.sync()
        yield application
    finally:
        application.close()


def letters(text: str) -> list[float]:
    """A vector of the counts of a text's runs of three characters."""
    counts = [0.0] * DIMENSION
    folded = text.casefold()
    for at in range(max(len(folded) - 2, 1)):
        counts[crc32(folded[at : at + 3].encode()) % DIMENSION] += 1.0
    return counts
