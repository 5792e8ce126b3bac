"""Problems in a folder of pages by file and line, for a person at a terminal, and its golden questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Severity
from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.json import Json
from commonplace.domain.query import SearchQuery
from commonplace.domain.tokens import QUARTERS, size_of
from commonplace.domain.yaml_loader import load
from commonplace.services import findings
from commonplace.services.collections import Collection, Collections, record_of
from commonplace.services.deletions import cut_off
from commonplace.services.evidence import EvidenceSection, fit, gather
from commonplace.services.findings import Issue

HISTORY_SECONDS = 600.0
"""Timeout in seconds for the dates of the history, where a person waits at a terminal. Some findings depend on them."""
MAX_NAMED = 5
"""Maximum number of found pages that the finding of a question names."""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """A part of a folder that does not conform to the format."""

    files: int
    """Number of checked files."""
    problems: tuple[Issue, ...]
    """Problems by path and line."""


def check_pages(collections: Collections, collection: Collection) -> list[Issue]:
    """All problems in a collection, as listed by `findings.collection_issues`, by path and line."""
    issues = findings.collection_issues(collections, collection)
    return sorted(issues, key=lambda issue: (issue.path, issue.line, issue.rule))


def history_gaps(collections: Iterable[Collection], timeout: float = 0) -> list[str]:
    """Sentences on what checks cannot tell: of a history that is not read in time, and of a shallow clone.

    Args:
        collections: The collections that are checked. Each is waited for until its pages have their dates.
        timeout: Timeout in seconds for each.
    """
    checked = list(collections)
    late = [collection.name for collection in checked if not collection.index.wait_dated(timeout)]
    unread = [
        f"{name}: The history is still being read, so changed sources are not told. Check again." for name in late
    ]
    return [*unread, *filter(None, [cut_off([collection.store for collection in checked])])]


def check_questions(collection: Collection) -> tuple[int, list[Issue]]:
    """Number of a collection's golden questions, and an issue for each unanswered one; (0, []) without the file.

    Raises:
        ConfigError: kind "questions": the file is invalid.
    """
    questions = golden_questions(collection) or []
    results = [ask(collection, question) for question in questions]
    return len(questions), [_unanswered(collection, result) for result in results if not result.is_answered]


def _unanswered(collection: Collection, result: QuestionResult) -> Issue:
    question = result.question
    reasons = [f"there is no page {page!r}" for page in result.unknown]
    if result.missing:
        reasons.append(f"{', '.join(result.missing)} not found within {question.budget:,} tokens")
    instead = f" Found: {', '.join(result.found[:MAX_NAMED])}." if result.found else " Nothing was found."
    return Issue(
        collection=collection,
        path=QUESTIONS_FILE,
        entry_id=QUESTIONS_FILE,
        rule="unanswered_question",
        severity=Severity.ERROR,
        message=f"{question.question[:120]!r}: {'; '.join(reasons)}.{instead}",
    )


# Golden questions: questions that a base must answer, each with the pages that the answer must contain.


QUESTIONS_FILE = "questions.yaml"
DEFAULT_BUDGET = 1_000
"""Default budget of an answer in tokens."""
MIN_BUDGET, MAX_BUDGET = 50, 100_000
MAX_QUESTIONS = 2_000
_KEYS = frozenset({"question", "pages", "budget"})
_FORM = "Give a list of entries such as {question: How hot for green tea?, pages: [drinks/green.md], budget: 1000}."


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question, and the requirements for its answer."""

    question: str
    pages: tuple[str, ...]
    """Required pages, by path with or without suffix, or by id."""
    budget: int
    """Maximum size of the answer in tokens."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a question."""

    question: GoldenQuestion
    missing: tuple[str, ...]
    """Required pages that the answer lacks."""
    unknown: tuple[str, ...]
    """Required pages that do not exist."""
    found: tuple[str, ...]
    """Paths of the pages in the answer, best first."""

    @property
    def is_answered(self) -> bool:
        """Whether every required page was found."""
        return not self.missing and not self.unknown


def golden_questions(collection: Collection) -> list[GoldenQuestion] | None:
    """The questions of a collection's `questions.yaml`; None without such a file.

    Raises:
        ConfigError: kind "questions": the file is not a list of questions; the message names the entry.
        StorageError: the file cannot be read.
    """
    try:
        raw = collection.store.read(Address(QUESTIONS_FILE))
    except NotFoundError:
        return None
    return read_questions(raw)


def read_questions(raw: bytes) -> list[GoldenQuestion]:
    """Parse a `questions.yaml`.

    Raises:
        ConfigError: kind "questions": the text is not a list of questions.
    """
    loaded = load(raw.decode("utf-8-sig", "replace"))
    if loaded.problems:
        problem = loaded.problems[0]
        raise _broken(f"line {problem.line + 1}: {problem.message}")
    if not isinstance(loaded.value, list) or not loaded.value:
        raise _broken("it is not a list of questions")
    if len(loaded.value) > MAX_QUESTIONS:
        raise _broken(f"it has {len(loaded.value):,} questions; the limit is {MAX_QUESTIONS:,}")
    return [_question(number, value) for number, value in enumerate(loaded.value, 1)]


def ask(collection: Collection, question: GoldenQuestion) -> QuestionResult:
    """Search for a question, and compare the pages within its budget with the required ones.

    Raises:
        UnavailableError: from the search.
    """
    records = {page: record_of(collection.index, page) for page in question.pages}
    sections = gather([collection], SearchQuery(text=question.question), "hybrid")
    room = question.budget * QUARTERS

    def shown(section: EvidenceSection, text: str) -> tuple[Address, int]:
        head = f"{section.record.address.path}#{section.anchor} ({' > '.join(section.path)})"
        return section.record.address, size_of(head) + size_of(text) + 2

    found_fit = dict.fromkeys(fit(sections, room, shown))
    return QuestionResult(
        question,
        missing=tuple(record.address.path for record in records.values() if record and record.address not in found_fit),
        unknown=tuple(page for page, record in records.items() if record is None),
        found=tuple(address.path for address in found_fit),
    )


def _question(number: int, value: Json) -> GoldenQuestion:
    where = f"question {number}"
    if not isinstance(value, Mapping):
        raise _broken(f"{where} is not a mapping")
    unknown = sorted(value.keys() - _KEYS)
    if unknown:
        raise _broken(f"{where} has the unknown key {unknown[0][:40]!r}")
    question, budget = value.get("question"), value.get("budget", DEFAULT_BUDGET)
    if not isinstance(question, str) or not question.strip():
        raise _broken(f"{where} has no question")
    pages = _pages(where, value.get("pages"))
    if not isinstance(budget, int) or isinstance(budget, bool) or not MIN_BUDGET <= budget <= MAX_BUDGET:
        raise _broken(f"{where} has a budget that is not a number from {MIN_BUDGET} to {MAX_BUDGET:,}")
    return GoldenQuestion(question.strip(), pages, budget)


def _pages(where: str, value: Json) -> tuple[str, ...]:
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, Sequence) or not named or not all(isinstance(page, str) and page for page in named):
        raise _broken(f"{where} names no pages")
    return tuple(map(str, named))


def _broken(reason: str) -> ConfigError:
    return ConfigError(f"Invalid {QUESTIONS_FILE}: {reason}.", kind="questions", hint=_FORM)
