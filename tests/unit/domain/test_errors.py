"""Errors carry a stable code, a message, and the next useful action."""

from __future__ import annotations

import pickle

import pytest

from commonplace.domain import errors
from commonplace.domain.errors import Code, ConflictError, KnowledgeError, NotFoundError, Stopped

CLASSES = [var for var in vars(errors).values() if isinstance(var, type) and issubclass(var, KnowledgeError)]


@pytest.mark.parametrize(
    ("message", "hint", "advice"),
    [
        ("There is no page.", "Search for it.", "There is no page. Search for it."),
        ("There is no page.", "", "There is no page."),
        ("", "Search for it.", "Search for it."),
        ("Keine Seite „Größe“ 漢字.", "", "Keine Seite „Größe“ 漢字."),
    ],
)
def test_advice_is_message_and_hint_on_one_line(message: str, hint: str, advice: str) -> None:
    assert NotFoundError(message, hint=hint).advice == advice


def test_every_code_has_one_class() -> None:
    assert sorted(kind.code for kind in CLASSES) == sorted(Code)


def test_facts_for_the_log_are_no_part_of_the_text() -> None:
    error = ConflictError("It was changed.", kind="document", current_revision="a" * 40, nearest=["b", "c"])
    assert error.context == {"current_revision": "a" * 40, "nearest": ["b", "c"]}
    assert (str(error), error.kind, error.hint) == ("It was changed.", "document", "")


def test_changes_of_one_conflict_are_not_those_of_another() -> None:
    first = ConflictError("It was changed.")
    first.changes = ("+ a line",)
    assert ConflictError("It was changed.").changes == ()


def test_cancelled_work_passes_the_handlers_of_errors() -> None:
    assert not issubclass(Stopped, Exception)


def test_an_error_survives_a_copy_between_processes() -> None:
    copy = pickle.loads(pickle.dumps(NotFoundError("There is no page.", kind="page", hint="Search.", nearest=["a"])))  # noqa: S301
    assert (type(copy), str(copy), copy.kind, copy.hint) == (NotFoundError, "There is no page.", "page", "Search.")
    assert copy.context == {"nearest": ["a"]}
