"""Every error of `cn` has the exit code that its contract names."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.errors import (
    Code,
    ConfigError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from commonplace.toolsets.pages.cli.failures import EXIT_CODES, exit_code


@each_case(
    ("error", "code"),
    [
        (KnowledgeError("x"), 1),
        (NotFoundError("x", kind="space"), 1),
        (NotFoundError("x", kind="page"), 7),
        (NotFoundError("x", kind="folder"), 11),
        (NotFoundError("x", kind="search_index"), 10),
        (NotFoundError("x", kind="document"), 1),
        (StorageError("x", kind="search_index"), 10),
        (StorageError("x", kind="disk"), 1),
        (UnavailableError("x", kind="engine"), 9),
        (UnavailableError("x", kind="other"), 4),
        (InvalidInputError("x"), 6),
        (ConfigError("x"), 2),
        (ConflictError("x"), 8),
    ],
)
def test_an_error_ends_with_its_own_code(error: KnowledgeError, code: int) -> None:
    assert exit_code(error) == code


def test_every_code_that_an_error_can_end_with_is_in_the_help() -> None:
    listed = dict(EXIT_CODES)
    assert len(listed) == len(EXIT_CODES)
    for code in Code:
        error = KnowledgeError("x")
        error.code = code
        assert exit_code(error) in listed
