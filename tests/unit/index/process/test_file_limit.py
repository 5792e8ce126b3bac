"""Errors that come of the limit of open files alone are told apart from damage."""

from __future__ import annotations

import errno
import sqlite3

import pytest

from cases import each_case
from commonplace.domain.errors import UnavailableError
from commonplace.index.process import MIN_FREE_FILES, file_limit_error, is_file_limit, raise_if_file_limit
from support import no_more_files


def caused(error: Exception, cause: BaseException | None) -> Exception:
    error.__cause__ = cause
    return error


@each_case(
    ("error", "is_limit"),
    [
        (OSError(errno.EMFILE, "Too many open files"), True),
        (OSError(errno.ENFILE, ""), True),
        (ValueError("Failed to open: IoError(Os { code: 24, message: 'Too many open files' })"), True),
        (ValueError("TooManyOpenFiles"), True),
        (caused(sqlite3.OperationalError("unable to open"), OSError(errno.EMFILE, "")), True),
        (caused(ValueError(), caused(ValueError(), OSError(errno.ENFILE, ""))), True),
        (OSError(errno.ENOSPC, "Too many open files"), False),
        (sqlite3.OperationalError("unable to open database file"), False),
        (ValueError(""), False),
    ],
)
def test_the_limit_is_found_in_an_error_and_in_its_causes(error: BaseException, is_limit: bool) -> None:
    assert is_file_limit(error) is is_limit


def test_an_error_of_another_cause_passes_while_files_are_left() -> None:
    raise_if_file_limit(sqlite3.DatabaseError("malformed"))


def test_an_error_without_a_reason_is_the_limit_when_few_files_are_left() -> None:
    error = sqlite3.OperationalError("unable to open database file")
    with no_more_files(MIN_FREE_FILES - 1), pytest.raises(UnavailableError, match="no more files") as refused:
        raise_if_file_limit(error)
    assert refused.value.__cause__ is error
    with no_more_files(MIN_FREE_FILES):
        raise_if_file_limit(error)


def test_the_error_says_what_to_do() -> None:
    assert "ulimit" in file_limit_error().hint
    assert file_limit_error().kind == "index"
