"""Lists the problems in a folder of pages by file and line, for a person at a terminal."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.documents import Severity
from commonplace.services import findings
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import Issue
from commonplace.services.health.questions import QUESTIONS_FILE, QuestionResult, ask, golden_questions

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
