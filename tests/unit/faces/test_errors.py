"""The one table from error codes to protocols."""

from __future__ import annotations

from commonplace.domain.errors import Code, GitError, IndexingError, NotFoundError
from commonplace.faces.errors import FORMS, form_of


def test_every_code_has_exactly_one_form() -> None:
    assert set(FORMS) == set(Code)


def test_exit_codes_are_never_success() -> None:
    assert all(0 < form.exit < 128 for form in FORMS.values())


def test_what_can_succeed_later_is_retryable() -> None:
    assert form_of(IndexingError("Indexing goes on.")).retryable
    assert not form_of(NotFoundError("No such document.")).retryable


def test_an_error_that_knows_better_says_whether_to_retry() -> None:
    assert form_of(GitError("The network is away.", retryable=1)).retryable
