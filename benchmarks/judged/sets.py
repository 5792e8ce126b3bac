"""Judged sets: documents, questions and grades, and the folders of Markdown made from them."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

DEPTH = 10
"""Number of documents of an answer that are scored."""

Half = Literal["all", "even", "odd"]
"""All questions of a set, or every second one. Rules are chosen on even questions and reported on odd ones."""
HALVES: tuple[Half, ...] = ("all", "even", "odd")

Grades = Mapping[str, int]
"""Grades by document id; a grade above 0 is right."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its judgements."""

    id: str
    text: str
    scope: str
    """Folder of the documents to search; "" for all documents."""
    grades: Grades


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A judged set."""

    name: str
    documents: Sequence[Mapping[str, str]]
    """`_id`, `title` and `text`; also `scope` in a set whose questions each search one folder."""
    questions: Sequence[Question]

    @property
    def is_scoped(self) -> bool:
        """Whether each question searches one folder."""
        return any(question.scope for question in self.questions)


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one set."""

    name: str
    questions: int
    ndcg: float
    recall: float
    empty: int
    """Number of questions without any hit."""
    milliseconds: float
    """Mean time per question in milliseconds."""


def read_set(folder: Path, half: Half = "all") -> JudgedSet:
    """A set with the questions that have a right document."""
    grades = _grades(folder / "qrels.tsv")
    questions = [
        Question(row["_id"], row["text"], row.get("scope", ""), grades[row["_id"]])
        for row in lines_of(folder / "queries.jsonl")
        if row["_id"] in grades
    ]
    return JudgedSet(folder.name, list(lines_of(next(folder.glob("corpus.jsonl*")))), half_of(questions, half))


def half_of(questions: Sequence[Question], half: Half) -> Sequence[Question]:
    """All of the questions, or every second one."""
    return {"all": questions, "even": questions[::2], "odd": questions[1::2]}[half]


def write_vault(documents: Sequence[Mapping[str, str]], vault: Path) -> dict[str, str]:
    """Write documents as Markdown files, in the folder of their scope if they have one; return the ids by path."""
    ids: dict[str, str] = {}
    for number, document in enumerate(documents):
        scope = document.get("scope", "")
        path = f"{scope}/{number:06}.md" if scope else f"{number:06}.md"
        heading = f"# {document['title']}\n\n" if document["title"] else ""
        write(vault / path, f"---\nid: {json.dumps(document['_id'])}\n---\n\n{heading}{document['text']}\n")
        ids[path] = document["_id"]
    return ids


def write(file: Path, text: str) -> None:
    """Write a file unless it already has this text, so that it is not indexed again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def scored(name: str, questions: Sequence[Question], answers: Sequence[Sequence[str]], seconds: float) -> Score:
    """The mean score of the answers, which are document ids, best first."""
    count = len(questions) or 1
    pairs = list(zip(questions, answers, strict=True))
    return Score(
        name,
        len(questions),
        sum(_ndcg(answer[:DEPTH], question.grades) for question, answer in pairs) / count,
        sum(_recall(answer[:DEPTH], question.grades) for question, answer in pairs) / count,
        sum(not answer for answer in answers),
        1000 * seconds / count,
    )


def lines_of(path: Path) -> Iterator[dict[str, str]]:
    """The objects of a file of JSON lines, which may be compressed."""
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode()
    for line in text.splitlines():
        yield cast("dict[str, str]", json.loads(line))


def _grades(path: Path) -> Mapping[str, Grades]:
    grades: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        grades.setdefault(question, {})[document] = int(grade)
    return {question: of for question, of in grades.items() if any(grade > 0 for grade in of.values())}


def _recall(ranked: Sequence[str], grades: Grades) -> float:
    return sum(grades.get(document, 0) > 0 for document in ranked) / sum(grade > 0 for grade in grades.values())


def _ndcg(ranked: Sequence[str], grades: Grades) -> float:
    gained = _gain([grades.get(document, 0) for document in ranked])
    ideal = _gain(sorted(grades.values(), reverse=True)[:DEPTH])
    return gained / ideal


def _gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades[:DEPTH]))
