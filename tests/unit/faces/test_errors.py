"""The one table from error codes to protocols."""

from __future__ import annotations

from commonplace.domain.errors import Code, GitError, IndexingError, NotFoundError
from commonplace.faces.errors import ERROR_MAPPINGS, error_mapping


def test_every_code_has_exactly_one_form() -> None:
    assert set(ERROR_MAPPINGS) == set(Code)


def test_exit_codes_are_never_success() -> None:
    assert all(0 < form.exit < 128 for form in ERROR_MAPPINGS.values())


def test_what_can_succeed_later_is_retryable() -> None:
    assert error_mapping(IndexingError("Indexing goes on.")).retryable
    assert not error_mapping(NotFoundError("No such document.")).retryable


def test_an_error_that_knows_better_says_whether_to_retry() -> None:
    assert error_mapping(GitError("The network is away.", retryable=1)).retryable
