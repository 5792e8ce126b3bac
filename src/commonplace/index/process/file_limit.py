"""Detects errors caused by the process's limit of open files, so that no index or file counts as damaged or missing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress

from commonplace.domain.errors import UnavailableError

MIN_FREE_FILES = 24
"""Number of files that must be available; opening and writing an index needs about this number at once."""
_ERRORS = {errno.EMFILE, errno.ENFILE}
_SAID = ("TooManyOpenFiles", "Too many open files")
"""Texts of this error in Tantivy's messages."""


def raise_if_file_limit(error: BaseException) -> None:
    """Raise the error of the limit if the limit is the cause of an error; otherwise return.

    Raises:
        UnavailableError: the limit is the cause.
    """
    if is_file_limit(error) or _are_few_left():
        raise file_limit_error() from error


def file_limit_error() -> UnavailableError:
    """The error for the limit."""
    return UnavailableError(
        "This process may open no more files now.",
        kind="index",
        hint="Try again when fewer connections are open; the limit is that of `ulimit -n`.",
    )


def is_file_limit(error: BaseException) -> bool:
    """Whether an error, or one of its causes, is that of the limit."""
    return any(_is_shortage(one) for one in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _ERRORS
    return any(said in str(error) for said in _SAID)


def _are_few_left() -> bool:
    """Whether fewer than `MIN_FREE_FILES` files can be opened now. SQLite does not say why it cannot open a file."""
    held: list[int] = []
    try:
        for _ in range(MIN_FREE_FILES):
            held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))  # noqa: PERF401 - `held` has all at an error
    except OSError as error:
        return error.errno in _ERRORS
    finally:
        for descriptor in held:
            with suppress(OSError):
                os.close(descriptor)
    return False
