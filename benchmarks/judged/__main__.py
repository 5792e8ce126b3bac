"""Quality of search on judged question sets: `python -m benchmarks.judged [set…]`.

Each set is written to a folder of Markdown files (the title as H1, the id in the frontmatter), indexed as any folder,
and asked through the service that every face uses, by words, by meaning and by both. nDCG@10 and recall@10 are counted
over files.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import os
import sys
import tarfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import cast

from benchmarks.judged.evidence import BUDGETS, recalls, write_pages
from commonplace.bootstrap import Application
from commonplace.domain.query import SearchQuery
from commonplace.domain.similarity import SEARCH_MODES, SearchMode
from commonplace.services.collections import Collection
from commonplace.services.searches import search
from commonplace.settings import load_settings

SETS = Path(os.environ.get("SHARED_MATERIAL", Path(__file__).resolve().parents[3] / "shared")) / "eval"
KEPT = Path(__file__).resolve().parents[2] / ".cache" / "eval"
DEPTH = 10
QUESTIONS = Path(__file__).parent / "typed.jsonl"
"""Questions as people type them, and for each the pages that answer it."""
MOST_QUESTIONS = 300
"""Of a set, where evidence is looked at: each reads a dozen pages."""
FEW_CHUNKS = 100
"""So few say nothing about a rate."""

Judgements = Mapping[str, Mapping[str, int]]
"""Grades by question and document id."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well one set was answered."""

    name: str
    questions: int
    ndcg: float
    recall: float
    empty: int
    """Questions without any hit."""
    milliseconds: float
    """Mean time of a question."""


def evaluate(folder: Path, modes: Sequence[SearchMode]) -> Iterator[Score]:
    """Index one set, embed it, ask its questions in each mode, and score the answers.

    The folder, with its index and vectors, is kept in `.cache/eval` for the next time.
    """
    judgements = read_judgements(folder)
    questions = {q["_id"]: q["text"] for q in _lines(folder / "queries.jsonl") if q["_id"] in judgements}
    root = KEPT / folder.name
    ids = write_vault(folder, root / "vault")
    with opened(root, [root / "vault"]) as collections:
        if modes != ("keyword",):
            embed(collections)
        for mode in modes:
            yield score_run(f"{folder.name} {mode}", collections, mode, (questions, judgements, ids))


def evaluate_evidence(folder: Path, modes: Sequence[SearchMode]) -> Iterator[tuple[str, list[float]]]:
    """For each mode, the recall of the right section within each of the budgets."""
    judgements = read_judgements(folder)
    every = {q["_id"]: q["text"] for q in _lines(folder / "queries.jsonl") if q["_id"] in judgements}
    questions = dict(islice(every.items(), MOST_QUESTIONS))
    root = KEPT / f"{folder.name}-pages"
    places = write_pages(list(_lines(next(folder.glob("corpus.jsonl*")))), root / "vault")
    with opened(root, [root / "vault"]) as collections:
        if modes != ("keyword",):
            embed(collections)
        for mode in modes:
            yield f"{folder.name} {mode}", recalls(collections, mode, questions, judgements, places)


def evaluate_typed(pages: Path, mode: SearchMode) -> str:
    """How many of the questions as typed have a right page among ten, on real documentation."""
    asked = list(_lines(QUESTIONS))
    with opened(KEPT / "typed", [pages]) as collections:
        if mode != "keyword":
            embed(collections)
        hit = empty = 0
        for one in asked:
            found = search(collections, SearchQuery(text=one["question"], limit=DEPTH), mode).hits
            hit += any(row.hit.record.address.path in one["pages"] for row in found)
            empty += not found
    return f"{mode}: hit@{DEPTH} {hit / len(asked):.3f}, {empty} of {len(asked)} empty"


@contextmanager
def opened(root: Path, folders: Sequence[Path]) -> Generator[Sequence[Collection]]:
    """Folders as a server opens them, with cache and state below `root`, indexed."""
    usual = load_settings()
    settings = replace(usual, cache_dir=root / "cache", state_dir=root / "state", model_dir=usual.model_dir)
    application = Application(folders, settings)
    try:
        application.sync()
        yield application.services.collections.members
    finally:
        application.close()


def embed(collections: Sequence[Collection]) -> None:
    """Embed what is not embedded yet, and say what it cost."""
    began, cpu = time.perf_counter(), time.process_time()
    before = sum(one.semantic_index.status().chunks for one in collections if one.semantic_index)
    for collection in collections:
        if collection.semantic_index:
            collection.semantic_index.embed()
    made = sum(one.semantic_index.status().chunks for one in collections if one.semantic_index) - before
    if made > FEW_CHUNKS:
        spent, used = time.perf_counter() - began, time.process_time() - cpu
        print(f"embedded {made:,} chunks in {spent:.0f} s, {made / used:.0f} a CPU second", file=sys.stderr)


QuestionResult = tuple[Mapping[str, str], Judgements, Mapping[str, str]]
"""Questions by id, their judgements, and the documents' ids by path."""


def score_run(name: str, collections: Sequence[Collection], mode: SearchMode, asked: QuestionResult) -> Score:
    """Ask every question and score the ten best files of each answer."""
    questions, judgements, ids = asked
    ndcg = recall = 0.0
    empty = 0
    began = time.perf_counter()
    for question, text in questions.items():
        hits = search(collections, SearchQuery(text=text, limit=DEPTH), mode).hits
        ranked = [ids[found.hit.record.address.path] for found in hits]
        grades = judgements[question]
        ndcg += _ndcg(ranked, grades)
        recall += sum(grades.get(document, 0) > 0 for document in ranked) / sum(g > 0 for g in grades.values())
        empty += not hits
    spent = time.perf_counter() - began
    count = len(questions)
    return Score(name, count, ndcg / count, recall / count, empty, 1000 * spent / count)


def read_judgements(folder: Path) -> Judgements:
    """The grades of a set's `qrels.tsv`."""
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        grades.setdefault(question, {})[document] = int(grade)
    return {question: of for question, of in grades.items() if any(grade > 0 for grade in of.values())}


def write_vault(folder: Path, vault: Path) -> dict[str, str]:
    """Write a set's documents as Markdown files; the document ids by path."""
    vault.mkdir(parents=True, exist_ok=True)
    ids: dict[str, str] = {}
    source = next(folder.glob("corpus.jsonl*"))
    for number, document in enumerate(_lines(source)):
        path = f"{number:06}.md"
        heading = f"# {document['title']}\n\n" if document["title"] else ""
        text = f"---\nid: {json.dumps(document['_id'])}\n---\n\n{heading}{document['text']}\n"
        if not (vault / path).exists() or (vault / path).read_text(encoding="utf-8") != text:
            (vault / path).write_text(text, encoding="utf-8")
        ids[path] = document["_id"]
    return ids


def _lines(path: Path) -> Iterator[dict[str, str]]:
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode()
    for line in text.splitlines():
        yield cast("dict[str, str]", json.loads(line))


def _ndcg(ranked: list[str], grades: Mapping[str, int]) -> float:
    gained = _gain([grades.get(document, 0) for document in ranked])
    ideal = _gain(sorted(grades.values(), reverse=True)[:DEPTH])
    return gained / ideal


def _gain(grades: list[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades[:DEPTH]))


def main() -> int:
    """Print a table of the sets, all of them unless some are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="*", help="names of folders; all of them without")
    parser.add_argument("--mode", action="append", choices=SEARCH_MODES, help="may be repeated; all of them without")
    parser.add_argument(
        "--typed",
        action="append",
        choices=SEARCH_MODES,
        help="mode of the questions as typed; others than keyword embed long",
    )
    parser.add_argument("--folder", type=Path, default=SETS, help="where the sets lie")
    given = parser.parse_args()
    folders = [given.folder / name for name in given.sets] or sorted(given.folder.glob("*/"))
    if not folders:
        print(f"No sets in {given.folder}; nothing to measure.", file=sys.stderr)
        return 0
    print("| set | questions | nDCG@10 | recall@10 | empty | ms |\n|---|---|---|---|---|---|")
    modes = tuple(given.mode or SEARCH_MODES)
    for score in (score for folder in folders for score in evaluate(folder, modes)):
        print(
            f"| {score.name} | {score.questions} | {score.ndcg:.4f} | {score.recall:.4f} | {score.empty}"
            f" | {score.milliseconds:.1f} |",
            flush=True,
        )
    budgets = " | ".join(f"{budget:,} tokens" for budget in BUDGETS)
    print(f"\n| right section in the evidence | {budgets} |\n|---|{'---|' * len(BUDGETS)}")
    for name, found in (row for folder in folders for row in evaluate_evidence(folder, modes)):
        print(f"| {name} | {' | '.join(f'{recall:.3f}' for recall in found)} |", flush=True)
    _print_typed(given.typed, given.folder)
    return 0


def _print_typed(modes: Sequence[SearchMode] | None, folder: Path) -> None:
    """Unless sets were named, the questions as typed, where the corpus lies beside the sets."""
    archive = folder.parent / "corpora" / "cpp-docs.tar.xz"
    if not archive.is_file():
        return
    target = KEPT / "cpp-docs"
    if not target.is_dir():
        with tarfile.open(archive) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)  # the oldest Pythons of 3.11 have none
            tar.extractall(target)  # noqa: S202 - our own archives
    print("\nQuestions as typed, on documentation of 9,750 pages:")
    for mode in modes or ("keyword",):
        print(evaluate_typed(target / "cpp-docs", mode), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
