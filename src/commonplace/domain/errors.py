"""Everything that can go wrong, named once: the codes of the product and the exceptions that carry them."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

ALREADY_WRITTEN = "It holds exactly these bytes, so nothing is left to do: an earlier call wrote it."
ALREADY_EDITED = "It holds the new text and no more the old one: an earlier call may have made this edit."
"""How the hint of an error begins when a writer meets its own text, as after a write that was sent twice."""


class Code(StrEnum):
    """Stable public names of failures; `faces.errors.ERROR_MAPPINGS` has exactly one row for each."""

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
        message: One sentence for a person: what was wrong, naming the argument and what is valid. Never content,
            a credential or an absolute path.
        kind: What the error is about ("document", "section", "collection", ...), or "".
        hint: The next useful action, or "".
        **context: Small, loggable facts; never content or secrets. `nearest` (a list of ids) becomes a suggestion.
    """

    code: ClassVar[Code] = Code.INTERNAL

    def __init__(self, message: str, *, kind: str = "", hint: str = "", **context: str | int | list[str]) -> None:
        super().__init__(message)
        self.kind = kind
        self.hint = hint
        self.context = context

    @property
    def advice(self) -> str:
        """What was wrong and what to do next, on one line."""
        return f"{self} {self.hint}".strip()


class Stopped(BaseException):
    """Ends work for which nobody waits any longer; no error, so nothing that handles those sees it."""


class NotFoundError(KnowledgeError):
    """No such thing, in any collection that the caller may read."""

    code = Code.NOT_FOUND


class AlreadyExistsError(KnowledgeError):
    """Creating would overwrite something."""

    code = Code.ALREADY_EXISTS


class ConflictError(KnowledgeError):
    """The document is no longer at the revision that the writer saw; context holds `current_revision`."""

    code = Code.CONFLICT
    changes: tuple[str, ...] = ()
    """What differs from what the writer saw, a line each, as far as it is known. Content, so it is never logged."""


class PreconditionError(KnowledgeError):
    """A condition of the request, such as HTTP's `If-Match`, is false; context holds `current_revision`."""

    code = Code.PRECONDITION


class InvalidInputError(KnowledgeError):
    """The caller's input breaks a stated rule."""

    code = Code.INVALID


class TooLargeError(KnowledgeError):
    """The input is over a stated limit."""

    code = Code.TOO_LARGE


class UnauthenticatedError(KnowledgeError):
    """No key, or a wrong one."""

    code = Code.UNAUTHENTICATED


class ForbiddenError(KnowledgeError):
    """The caller's tier does not allow it."""

    code = Code.FORBIDDEN


class ReadOnlyError(KnowledgeError):
    """The collection cannot be written: no permission, a bare repository, a detached HEAD, a submodule."""

    code = Code.READ_ONLY


class RateLimitedError(KnowledgeError):
    """Too many calls; context holds `retry_after` in whole seconds."""

    code = Code.RATE_LIMITED


class UnavailableError(KnowledgeError):
    """Something that is needed does not answer now; the same call can succeed later."""

    code = Code.UNAVAILABLE


class IndexingError(KnowledgeError):
    """The first index is still being built; the same call can succeed later."""

    code = Code.INDEXING


class GitError(KnowledgeError):
    """Git refused; the message says why and the hint what to do."""

    code = Code.GIT


class StorageError(KnowledgeError):
    """The file system refused (full, unwritable, unreadable); nothing was changed."""

    code = Code.STORAGE


class ConfigError(KnowledgeError):
    """A setting, flag or manifest is wrong; the process does not start."""

    code = Code.CONFIG
