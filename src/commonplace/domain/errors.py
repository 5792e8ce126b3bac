"""Error codes of the program, and the exceptions with these codes."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

ALREADY_WRITTEN = "It holds exactly these bytes, so nothing is left to do: an earlier call wrote it."
ALREADY_EDITED = "It holds the new text and no more the old one: an earlier call may have made this edit."
"""Beginning of an error's hint if a repeated request finds its edit made; `ALREADY_WRITTEN` is for whole documents."""


class Code(StrEnum):
    """Stable public names of failures. `faces.errors.ERROR_MAPPINGS` has exactly one row for each."""

    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    CONFLICT = "conflict"
    PRECONDITION = "precondition_failed"
    INVALID = "invalid"
    TOO_LARGE = "too_large"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    READ_ONLY = "read_only"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    INDEXING = "indexing"
    GIT = "git"
    STORAGE = "storage"
    CONFIG = "config"
    INTERNAL = "internal"


class KnowledgeError(Exception):
    """Base of every error that a caller may see.

    Args:
        message: One sentence for a person: the problem, the argument with the problem, and the valid values. Never
            content, a credential or an absolute path.
        kind: The subject of the error ("document", "section", "collection", ...); "" for none.
        hint: The next useful action; "" for none.
        **context: Small facts for the log; never content or secrets. `nearest` (a list of ids) becomes a suggestion.
    """

    code: ClassVar[Code] = Code.INTERNAL
    is_latest: bool = False
    """Whether a write was refused on the state that its remote had during the call."""

    def __init__(self, message: str, *, kind: str = "", hint: str = "", **context: str | int | list[str]) -> None:
        super().__init__(message)
        self.kind = kind
        self.hint = hint
        self.context = context

    @property
    def advice(self) -> str:
        """Message and hint on one line."""
        return f"{self} {self.hint}".strip()


class Stopped(BaseException):
    """Cancels work whose caller has disconnected. Not an `Exception`, so that error handlers do not catch it."""


class NotFoundError(KnowledgeError):
    """The thing does not exist in any collection that the caller may read."""

    code = Code.NOT_FOUND


class AlreadyExistsError(KnowledgeError):
    """Creating the thing would overwrite an existing one."""

    code = Code.ALREADY_EXISTS


class ConflictError(KnowledgeError):
    """The document is no longer at the revision that the writer saw; context holds `current_revision`."""

    code = Code.CONFLICT
    changes: tuple[str, ...] = ()
    """Differences from the revision that the writer saw, one line each; empty if unknown. They are never logged."""


class PreconditionError(KnowledgeError):
    """A condition of the request, such as HTTP's `If-Match`, is false; context holds `current_revision`."""

    code = Code.PRECONDITION


class InvalidInputError(KnowledgeError):
    """The input breaks a stated rule."""

    code = Code.INVALID


class TooLargeError(KnowledgeError):
    """The input exceeds a stated limit."""

    code = Code.TOO_LARGE


class UnauthenticatedError(KnowledgeError):
    """The key is missing or wrong."""

    code = Code.UNAUTHENTICATED


class ForbiddenError(KnowledgeError):
    """The caller's tier does not permit the call."""

    code = Code.FORBIDDEN


class ReadOnlyError(KnowledgeError):
    """The collection cannot be written: no permission, a bare repository, a detached HEAD, a submodule."""

    code = Code.READ_ONLY


class RateLimitedError(KnowledgeError):
    """Too many calls; context holds `retry_after` in whole seconds."""

    code = Code.RATE_LIMITED


class UnavailableError(KnowledgeError):
    """A required resource does not respond. The same call can succeed later."""

    code = Code.UNAVAILABLE


class IndexingError(KnowledgeError):
    """The first index is still being built; the same call can succeed later."""

    code = Code.INDEXING


class GitError(KnowledgeError):
    """A Git operation failed. The message gives the reason, the hint what to do."""

    code = Code.GIT


class StorageError(KnowledgeError):
    """A file system operation failed (full, unwritable, unreadable). Nothing was changed."""

    code = Code.STORAGE


class ConfigError(KnowledgeError):
    """A setting, flag or manifest is invalid. The process does not start."""

    code = Code.CONFIG
