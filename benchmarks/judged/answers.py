"""What the searching tools show of the right section within a budget, and in how many tokens: part of `make eval`.

`notes.search` and `kb_search` with `max_tokens` are asked the same questions over stdio, on the pages of `evidence`. A
question counts as answered when the answer holds a piece of the text of a document that is judged right. Each folder of
a set whose questions are asked of one folder is a base of its own: `kb_search` takes no folder.
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
from commonplace.domain.similarity import SearchMode

TOOLS = (("notes", "search"), ("kb", "kb_search"))
"""Toolset and tool of each search that takes `query` and `max_tokens`."""
MAX_QUESTIONS = 150
"""Maximum number of questions of a set, spread over it."""
WARMING_CALLS = 80
"""Calls before the measured ones: until a server has loaded its model, each waits 0.25 s for it and goes by words."""
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


@dataclass(slots=True)
class _Tally:
    """What one tool answered within a budget so far."""

    questions: int = 0
    right: int = 0
    characters: int = 0


def answered(judged: JudgedSet, root: Path, mode: SearchMode, prepare: Callable[[Path], None]) -> Iterator[Answered]:
    """Ask each tool with each budget.

    Args:
        judged: The set.
        root: Folder of the pages, the indexes and the vectors.
        mode: `keyword`, or `hybrid`.
        prepare: Embeds a folder of pages, with cache and state where the environment says; called for `hybrid`.
    """
    os.environ["XDG_CACHE_HOME"], os.environ["XDG_STATE_HOME"] = str(root / "cache"), str(root / "state")
    write_pages(judged, root / "vault")
    texts = {document["_id"]: _plain(document["text"]) for document in judged.documents}
    chosen = judged.questions[:: max(1, len(judged.questions) // MAX_QUESTIONS)]
    tallies = {(toolset, budget): _Tally() for toolset, _ in TOOLS for budget in BUDGETS}
    for scope in sorted({question.scope for question in chosen}):
        base = root / "vault" / scope
        asked = [question for question in chosen if question.scope == scope]
        if mode != "keyword":
            prepare(base)
        for toolset, tool in TOOLS:
            by_words = ("--no-embed",) if mode == "keyword" else ()
            with StdioServer("--toolset", toolset, base, *by_words) as server:
                for _ in range(WARMING_CALLS if mode != "keyword" else 0):
                    server.call(tool, query=asked[0].text)
                for budget in BUDGETS:
                    _ask(server, tool, budget, asked, texts, tallies[toolset, budget])
    for (toolset, budget), tally in tallies.items():
        recall, size = tally.right / tally.questions, tally.characters / 4 / tally.questions
        yield Answered(f"{judged.name} {mode} {toolset}", budget, recall, size)


def _ask(
    server: StdioServer, tool: str, budget: int, asked: Sequence[Question], texts: dict[str, str], tally: _Tally
) -> None:
    for question in asked:
        answer = shown(server.call(tool, query=question.text, max_tokens=budget))
        tally.right += _is_shown(question, texts, _plain(answer.replace("\\n", "\n").replace('\\"', '"')))
        tally.characters += len(answer)
    tally.questions += len(asked)


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
