"""Lexical baselines, run on the same questions: SQLite FTS5, FTS5 over trigrams, and BM25 of `bm25s`.

FTS5 and BM25 are tuned: of several analysers and weights of the title, the best one on a set's even questions counts.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Protocol, cast

import bm25s  # pyright: ignore[reportMissingTypeStubs]
import Stemmer

from benchmarks.judged.sets import DEPTH, JudgedSet, Question, Score, scored

TOKENIZERS = ("porter unicode61 remove_diacritics 2", "unicode61 remove_diacritics 2", "unicode61 remove_diacritics 0")
TITLE_WEIGHTS = (1.0, 3.0)
LANGUAGES: Mapping[str, tuple[str, str]] = {"xquad_de": ("de", "german")}
"""Stop words and stemmer of each set that is not English."""
UNSTEMMED = ("xquad_th", "xquad_vi", "xquad_zh")
"""Sets in languages without a Snowball stemmer."""
MAX_TUNED = 200
"""Maximum number of even questions used for tuning."""
_WORD = re.compile(r"\w+")

Documents = Sequence[Mapping[str, str]]
Rank = Callable[[str], Sequence[str]]
"""Document ids for a question, best first."""


class _Retriever(Protocol):
    """The used part of `bm25s`, which has no type annotations."""

    def index(self, corpus: object, *, show_progress: bool) -> None: ...
    def get_scores(self, query_tokens_single: Sequence[str]) -> Sequence[float]: ...


def baselines(judged: JudgedSet, tuning: Sequence[Question]) -> Iterator[Score]:
    """The score of each baseline on one set.

    Args:
        judged: The set.
        tuning: The even questions.
    """
    fts5 = [
        partial(_fts5, tokenizer=tokenizer, title_weight=weight)
        for tokenizer, weight in product(TOKENIZERS, TITLE_WEIGHTS)
    ]
    stop_words, stemmer = LANGUAGES.get(judged.name, ("en", "english"))
    bm25 = [partial(_bm25, stop_words="", stemmer="")]
    if judged.name not in UNSTEMMED:
        bm25 += [partial(_bm25, stop_words=stop_words, stemmer=other_stemmer) for other_stemmer in ("", stemmer)]
    for name, variants in (("FTS5, tuned", fts5), ("FTS5, trigrams", [partial(_trigrams)]), ("BM25", bm25)):
        yield _score(f"{judged.name} {name}", judged, _best(judged, variants, tuning))


def _best(judged: JudgedSet, variants: Sequence[partial[Rank]], tuning: Sequence[Question]) -> Rank:
    """The ranking of the best variant."""
    made = [variant(judged.documents) for variant in variants]
    if len(made) == 1:
        return made[0]
    few = tuning[:: max(1, len(tuning) // MAX_TUNED)]
    return max(made, key=lambda rank: scored("", few, _answers(judged, few, rank), 0.0).ndcg)


def _score(name: str, judged: JudgedSet, rank: Rank) -> Score:
    began = time.perf_counter()
    answers = _answers(judged, judged.questions, rank)
    return scored(name, judged.questions, answers, time.perf_counter() - began)


def _answers(judged: JudgedSet, questions: Sequence[Question], rank: Rank) -> list[list[str]]:
    """The ten best documents for each question, within its scope."""
    scopes = {document["_id"]: document.get("scope", "") for document in judged.documents}
    return [
        [element for element in rank(question.text) if not question.scope or scopes[element] == question.scope][:DEPTH]
        for question in questions
    ]


def _fts5(documents: Documents, tokenizer: str, title_weight: float) -> Rank:
    """Words combined with OR, ranked by `bm25()`."""
    return _table(documents, tokenizer, title_weight, _WORD.findall)


def _trigrams(documents: Documents) -> Rank:
    """Trigrams without blanks combined with OR."""
    return _table(
        documents,
        "trigram",
        1.0,
        lambda text: [run[at : at + 3] for run in text.split() for at in range(len(run) - 2)],
    )


def _table(documents: Documents, tokenizer: str, title_weight: float, terms: Callable[[str], list[str]]) -> Rank:
    table = sqlite3.connect(":memory:")
    table.execute(f"CREATE VIRTUAL TABLE texts USING fts5(title, body, tokenize = '{tokenizer}')")
    rows = ((number, document["title"], document["text"]) for number, document in enumerate(documents))
    table.executemany("INSERT INTO texts (rowid, title, body) VALUES (?, ?, ?)", rows)

    def rank(text: str) -> Sequence[str]:
        wanted_text = " OR ".join('"' + term.replace('"', '""') + '"' for term in dict.fromkeys(terms(text)))
        if not wanted_text:
            return ()
        ranked = table.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, ?, 1.0)", (wanted_text, title_weight)
        )
        return [documents[number]["_id"] for (number,) in cast("Iterable[tuple[int]]", ranked)]

    return rank


def _bm25(documents: Documents, stop_words: str, stemmer: str) -> Rank:
    """BM25 with the defaults of `bm25s`; without stemming if `stemmer` is ""."""
    stem = cast("object", Stemmer.Stemmer(stemmer)) if stemmer else None  # pyright: ignore[reportUnknownMemberType]
    analyse = cast("Callable[..., list[list[str]]]", bm25s.tokenize)  # pyright: ignore[reportUnknownMemberType]
    given_values: dict[str, object] = {
        "stopwords": stop_words or None,
        "stemmer": stem,
        "return_ids": False,
        "show_progress": False,
    }
    retriever = cast("_Retriever", bm25s.BM25())
    retriever.index(
        analyse([f"{item['title']} {item['text']}" for item in documents], **given_values), show_progress=False
    )

    def rank(text: str) -> Sequence[str]:
        words = analyse([text], **given_values)[0]
        scores = retriever.get_scores(words) if words else [0.0] * len(documents)
        order = sorted(range(len(documents)), key=lambda at: -scores[at])
        return [documents[at]["_id"] for at in order if scores[at] > 0]

    return rank
