"""A failed call is told in the contract's words, with what helps."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.errors import (
    ALREADY_EDITED,
    ALREADY_WRITTEN,
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.toolsets.wiki.mcp.text_output import AUTHENTICATION, CONFLICT, NO_ANSWER, NO_MEANING, show_error


@each_case(
    ("error", "told"),
    [
        (
            NotFoundError("x", kind="page", reference="Actors/Iram"),
            "Page not found: Actors/Iram. Use write_note to create it, or list_notes to see available pages.",
        ),
        (
            NotFoundError("There is no document.", kind="document", reference="a", hint="Create it."),
            "Page not found: a. Use write_note to create it, or list_notes to see available pages.",
        ),
        (NotFoundError("No such file.", kind="attachment", hint="List them."), "No such file. List them."),
        (UnauthenticatedError("no key"), AUTHENTICATION),
        (UnavailableError("x", kind="api"), NO_ANSWER),
        (UnavailableError("x", kind="semantic"), NO_MEANING),
        (UnavailableError("The index is busy.", hint="Wait."), "The index is busy. Wait."),
        (InvalidInputError("the path is empty.", hint="Give one."), "Invalid request: the path is empty."),
        (ConflictError("x", kind="page"), CONFLICT),
        (ForbiddenError("Not for you.", hint="Ask."), "Not for you. Ask."),
        (TooLargeError("Too large.", hint="Split it."), "Too large. Split it."),
    ],
)
def test_each_failure_is_told_in_one_line(error: KnowledgeError, told: str) -> None:
    assert show_error(error) == told


def test_what_helps_stands_in_lines_of_its_own() -> None:
    missing = NotFoundError("x", kind="page", reference="Iram", nearest=["Actors/Iran", "Iraq"])
    assert show_error(missing).splitlines()[1:] == ["Did you mean: Actors/Iran, Iraq"]
    outdated = ConflictError("x", kind="page", hint=f"{ALREADY_EDITED} Read it.", current_revision="a" * 40)
    assert show_error(outdated).splitlines() == [CONFLICT, f"Current revision: {'a' * 40}", ALREADY_EDITED]
    gone = ConflictError("x", kind="page", current_revision="")
    assert show_error(gone) == CONFLICT


def test_nothing_is_said_twice() -> None:
    written = AlreadyExistsError("There is one.", kind="attachment", hint=ALREADY_WRITTEN)
    assert show_error(written).count(ALREADY_WRITTEN) == 1
