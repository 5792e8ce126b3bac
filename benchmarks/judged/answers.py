"""What the searching tools show of the right section within a budget, and in how many tokens: part of `make eval`.

`notes.search` and `kb_search` with `max_tokens` are asked the same questions over stdio, on the pages of `evidence`. A
question counts as answered when the answer holds a piece of the text of a document that is judged right. Searches go by
words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judged.evidence import BUDGETS, write_pages
from benchmarks.judged.sets import JudgedSet, Question
from benchmarks.sessions.outcomes import shown
from benchmarks.stdio import StdioServer

TOOLS = (("notes", "search"), ("kb", "kb_search"))
"""Toolset and tool of each search that takes `query` and `max_tokens`."""
MAX_QUESTIONS = 150
"""Maximum number of questions of a set, spread over it."""
PIECE = 40
"""Characters of a document's text, blanks left aside, that an answer must hold in a row."""


@dataclass(frozen=True, slots=True)
class Answered:
    """How one tool answered the questions of a set within a budget."""

    tool: str
    budget: int
    recall: float
    """In how many of the questions, 0 to 1, a right section was shown."""
    tokens: float
    """Mean size of an answer: characters / 4, structured content and text together."""


def answered(judged: JudgedSet, root: Path) -> Iterator[Answered]:
    """Ask each tool with each budget."""
    os.environ["XDG_CACHE_HOME"], os.environ["XDG_STATE_HOME"] = str(root / "cache"), str(root / "state")
    write_pages(judged, root / "vault")
    texts = {document["_id"]: _plain(document["text"]) for document in judged.documents}
    chosen = judged.questions[:: max(1, len(judged.questions) // MAX_QUESTIONS)]
    for toolset, tool in TOOLS:
        with StdioServer("--toolset", toolset, root / "vault", "--no-embed") as server:
            for budget in BUDGETS:
                right, size = 0, 0
                for question in chosen:
                    answer = shown(server.call(tool, query=question.text, max_tokens=budget))
                    right += _is_shown(question, texts, _plain(answer.replace("\\n", "\n").replace('\\"', '"')))
                    size += len(answer)
                yield Answered(f"{judged.name} {toolset}", budget, right / len(chosen), size / 4 / len(chosen))


def _is_shown(question: Question, texts: dict[str, str], answer: str) -> bool:
    """Whether an answer holds a piece of a right document; of a short one, all of its text."""
    for document, grade in question.grades.items():
        text = texts.get(document, "")
        pieces = range(0, max(1, len(text) - PIECE + 1), PIECE)
        if grade > 0 and text and any(text[at : at + PIECE] in answer for at in pieces):
            return True
    return False


def _plain(text: str) -> str:
    return "".join(text.split())
