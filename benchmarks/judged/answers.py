"""The recall and token cost of the search tools within a budget; part of `make eval`.

`notes.search` and `kb_search` with `max_tokens` get the same questions over stdio, on the pages of `evidence`. A
question
counts as answered if the answer contains a piece of text of a document that is judged right. Each folder of a set with
scopes is a separate base, because `kb_search` has no folder argument.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.judged.evidence import BUDGETS, write_pages
from benchmarks.judged.sets import JudgedSet, Question
from benchmarks.sessions.outcomes import shown
from benchmarks.stdio import StdioServer
from commonplace.domain.query import SearchMode

TOOLS = (("notes", "search"), ("kb", "kb_search"))
"""Toolset and tool of each search that takes `query` and `max_tokens`."""
MAX_QUESTIONS = 150
"""Maximum number of questions of a set, spread over the set."""
WARMING_CALLS = 80
"""Number of calls before the measured ones.

Until a server has loaded its model, each call waits 0.25 s and uses words only.
"""
PIECE = 40
"""Number of consecutive characters of a document's text, without blanks, that an answer must contain."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of one tool on a set within a budget."""

    tool: str
    budget: int
    recall: float
    """Share of the questions, 0 to 1, for which a right section was shown."""
    tokens: float
    """Mean size of an answer: characters / 4, structured content and text together."""


@dataclass(slots=True)
class _Tally:
    """The sums of one tool within a budget."""

    questions: int = 0
    right: int = 0
    characters: int = 0


def answered(judged: JudgedSet, root: Path, mode: SearchMode, prepare: Callable[[Path], None]) -> Iterator[Answered]:
    """Send the questions to each tool with each budget.

    Args:
        judged: The set.
        root: Folder of the pages, the indexes and the vectors.
        mode: `keyword` or `hybrid`.
        prepare: Embeds a folder of pages, with cache and state as set in the environment; called for `hybrid`.
    """
    os.environ["XDG_CACHE_HOME"], os.environ["XDG_STATE_HOME"] = str(root / "cache"), str(root / "state")
    write_pages(judged, root / "vault")
    texts = {document["_id"]: _plain(document["text"]) for document in judged.documents}
    chosen = judged.questions[:: max(1, len(judged.questions) // MAX_QUESTIONS)]
    tallies = {(toolset, budget): _Tally() for toolset, _ in TOOLS for budget in BUDGETS}
    for scope in sorted({question.scope for question in chosen}):
        base = root / "vault" / scope
        questions = [question for question in chosen if question.scope == scope]
        if mode != "keyword":
            prepare(base)
        for toolset, tool in TOOLS:
            by_words = ("--no-embed",) if mode == "keyword" else ()
            with StdioServer("--toolset", toolset, base, *by_words) as server:
                for _ in range(WARMING_CALLS if mode != "keyword" else 0):
                    server.call(tool, query=questions[0].text)
                for budget in BUDGETS:
                    _ask(server, tool, budget, questions, texts, tallies[toolset, budget])
    for (toolset, budget), tally in tallies.items():
        recall, size = tally.right / tally.questions, tally.characters / 4 / tally.questions
        yield Answered(f"{judged.name} {mode} {toolset}", budget, recall, size)


def _ask(
    server: StdioServer, tool: str, budget: int, questions: Sequence[Question], texts: dict[str, str], tally: _Tally
) -> None:
    for question in questions:
        answer = shown(server.call(tool, query=question.text, max_tokens=budget))
        tally.right += _is_shown(question, texts, _plain(answer.replace("\\n", "\n").replace('\\"', '"')))
        tally.characters += len(answer)
    tally.questions += len(questions)


def _is_shown(question: Question, texts: dict[str, str], answer: str) -> bool:
    """Whether an answer contains a piece of a right document, or the whole text of a short one."""
    for document, grade in question.grades.items():
        text = texts.get(document, "")
        pieces = range(0, max(1, len(text) - PIECE + 1), PIECE)
        if grade > 0 and text and any(text[at : at + PIECE] in answer for at in pieces):
            return True
    return False


def _plain(text: str) -> str:
    return "".join(text.split())
