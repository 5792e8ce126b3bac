"""The sessions with their outcomes, and the players."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from benchmarks.sessions.base import KEPT, LAST_WEEK, LIMIT, LIMIT_PAGES, ON_CALL, PORT, RULE
from commonplace.domain.tokens import tokens_of

DECISION = "Mail goes through a queue"
REASON = "A burst of mail must not delay the report. A queue holds it back."
OLD, NEW = "Billing", "Invoicing"
KEPT_QUESTION = "how long are nightly backups kept"
PORT_QUESTION = "which port does the gateway listen on"
TASK = "how many messages the mail queue holds"
ANSWER = "Backups and the gateway"
DONE = "- Mail queue measured."
NEW_LIMIT = LIMIT.replace("500", "800")
ON_CALL_QUESTION = "who is on call for the gateway"


class Meter:
    """Counts the tokens of requests and answers."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens = 0

    def count(self, tool: str, arguments: Mapping[str, object], answer: str) -> None:
        """Add a call: its name and arguments as compact JSON, and everything that the client receives."""
        request = json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))
        self.calls += 1
        self.tokens += tokens_of(request) + tokens_of(answer)


class Player(Protocol):
    """A way of working with the base. A session ends as soon as the player reaches the outcome."""

    meter: Meter

    def __init__(self, folder: Path) -> None:
        """Start in this folder."""
        ...

    def __enter__(self) -> Self:
        """Return the player."""
        ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Terminate everything that was started."""
        ...

    def cite(self, question: str) -> tuple[str, str, str]:
        """Path, heading and text of the section that answers a question."""
        ...

    def facts(self, questions: tuple[str, str]) -> str:
        """Text that answers both questions, from two pages."""
        ...

    def decide(self, topic: str, title: str, text: str) -> None:
        """Write the page of a decision that links to its topic, and list it in the topic's section of decisions."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename a topic: its page, its heading, and every link that names it."""
        ...

    def changed(self) -> dict[str, str]:
        """The pages that changed in the last seven days, each with its author."""
        ...

    def begin(self, task: str) -> str:
        """Text with the rules of the base, the section that matters for a task, and what changed last week."""
        ...

    def finish(self, topic: str, line: str) -> None:
        """Add a line to a topic's section of decisions."""
        ...

    def correct(self, old: str, new: str) -> None:
        """Replace a sentence wherever it stands."""
        ...

    def answer(self, title: str, questions: tuple[str, str]) -> None:
        """Write a page that answers two questions in the words of their sections, each with a link to its section."""
        ...


def _find_and_cite(player: Player, folder: Path) -> None:
    path, heading, text = player.cite(KEPT_QUESTION)
    sections = re.split(r"(?m)^#+ ", (folder / path).read_text(encoding="utf-8"))
    cited = [section for section in sections if section.lower().startswith(heading.lower())]
    _require(KEPT in text and any(KEPT in element for element in cited), f"{path}#{heading} is cited")


def _answer_from_two(player: Player, folder: Path) -> None:
    del folder
    text = player.facts((PORT_QUESTION, ON_CALL_QUESTION))
    _require(PORT in text and ON_CALL in text, "both facts are there")


def _add_decision(player: Player, folder: Path) -> None:
    player.decide("Mail", DECISION, REASON)
    made = [path for path in folder.rglob("*.md") if DECISION in path.read_text(encoding="utf-8")]
    decisions = [path for path in made if REASON in path.read_text(encoding="utf-8")]
    topic = (folder / "topics/mail.md").read_text(encoding="utf-8")
    listed = topic.partition("## Decisions")[2].partition("\n## ")[0]
    _require(len(decisions) == 1 and "[[Mail]]" in decisions[0].read_text(encoding="utf-8"), "the decision links back")
    _require(f"[[{DECISION}]]" in listed, "the topic lists the decision")


def _rename_topic(player: Player, folder: Path) -> None:
    linking = _linking(folder, OLD)
    player.rename(OLD, NEW)
    topics = [path for path in folder.rglob("*.md") if path.read_text(encoding="utf-8").startswith(f"# {NEW}\n")]
    _require(len(topics) == 1, "one page has the new heading")
    _require(not _linking(folder, OLD) and _linking(folder, NEW) == linking, "all links name the new topic")


def _report(player: Player, folder: Path) -> None:
    del folder
    _require(player.changed() == LAST_WEEK, "the report is complete")


def _brief_and_continue(player: Player, folder: Path) -> None:
    text = player.begin(TASK)
    _require(RULE in text and LIMIT in text and all(path in text for path in LAST_WEEK), "the start is known")
    player.finish("Mail", DONE)
    topic = (folder / "topics/mail.md").read_text(encoding="utf-8")
    _require(DONE in topic.partition("## Decisions")[2].partition("\n## ")[0], "the topic lists the task")


def _correct_everywhere(player: Player, folder: Path) -> None:
    player.correct(LIMIT, NEW_LIMIT)
    texts = {path: (folder / path).read_text(encoding="utf-8") for path in LIMIT_PAGES}
    _require(all(NEW_LIMIT in text and LIMIT not in text for text in texts.values()), "all four pages are corrected")


def _answer_with_citations(player: Player, folder: Path) -> None:
    player.answer(ANSWER, (KEPT_QUESTION, PORT_QUESTION))
    (page,) = [path for path in folder.rglob("*.md") if ANSWER in path.read_text(encoding="utf-8")]
    text = page.read_text(encoding="utf-8")
    _require(KEPT in text and PORT in text, "both facts are there")
    cited = [name in text for name in ("restore-archive.md#", "gateway.md#")]
    _require(all(cited), "both facts are cited")


def _linking(folder: Path, name: str) -> set[str]:
    """The pages with a link that names a topic."""
    link = re.compile(rf"\[{name}\]\(|\[\[(topics/)?{name}(\||\]\])", re.IGNORECASE)
    return {path.name for path in folder.rglob("*.md") if link.search(path.read_text(encoding="utf-8"))}


def _require(reached: bool, what: str) -> None:
    """Raise if a session did not reach its outcome.

    Raises:
        RuntimeError: the outcome was not reached.
    """
    if not reached:
        raise RuntimeError(f"the session did not reach its outcome: {what}")


SESSIONS: Mapping[str, Callable[[Player, Path], None]] = {
    "find and cite": _find_and_cite,
    "answer from two pages": _answer_from_two,
    "add a decision and link it": _add_decision,
    "rename a topic": _rename_topic,
    "report what changed last week": _report,
    "brief and continue": _brief_and_continue,
    "correct a fact in four places": _correct_everywhere,
    "answer with citations": _answer_with_citations,
}


def shown(result: Mapping[str, Any]) -> str:
    """Everything that a client receives in a tool's result: structured content as compact JSON, and text blocks."""
    structured = result.get("structuredContent")
    texts = [str(block["text"]) for block in result["content"] if "text" in block]
    if structured is not None:
        texts.append(json.dumps(structured, ensure_ascii=False, separators=(",", ":")))
    return "".join(texts)
