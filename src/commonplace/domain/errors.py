"""Error codes of the program, and the exceptions with these codes."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
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


# Finds missing libraries of an extra, and the command that adds them to the environment of this process.
#
# The command names the libraries and never this package: it is in no package index, where anybody may register its
# name.


ENDPOINT_LIBRARIES = ("faiss", "numpy")
"""Modules needed by semantic search if a server computes the vectors."""
SEARCH_LIBRARIES = ("faiss", "numpy", "onnxruntime", "tokenizers")
"""Modules needed by semantic search if the model runs in this process."""
CONVERTER_LIBRARIES = ("numpy", "onnx")
"""Modules needed for the conversion of the published weights."""


def missing_libraries(modules: Sequence[str]) -> list[str]:
    """The modules of `modules` that are not installed. Imports none of them."""
    return [name for name in dict.fromkeys(modules) if find_spec(name) is None]


def require_libraries(modules: Sequence[str], user: str = "Search by meaning", extra: str = "meaning") -> None:
    """Check that all of `modules` are installed.

    Args:
        modules: Names of the modules.
        user: What needs them, as the subject of a sentence.
        extra: The extra of this package that declares them.

    Raises:
        ConfigError: a module is missing; the hint is the command that installs the extra's libraries. Its kind is
            "model" for semantic search, otherwise "extra".
    """
    if missing := missing_libraries(modules):
        raise ConfigError(
            f"{user} needs libraries that are not installed: {', '.join(missing)}.",
            kind="model" if extra == "meaning" else "extra",
            hint=f"Run: {install_command(extra)}",
        )


def install_command(extra: str) -> str:
    """The command that installs an extra's libraries into the environment of this process."""
    installer = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # uv creates environments without pip
        installer = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*installer, *_requirements(extra)])


def _requirements(extra: str) -> list[str]:
    """The requirements of an extra as declared by the installed package.

    Raises:
        ConfigError: the package has no metadata, as if its folder were only in `PYTHONPATH`.
    """
    try:
        declared = requires("commonplace") or []
    except PackageNotFoundError as error:
        message = "This program is not installed, so its libraries are not known."
        raise ConfigError(message, kind="extra", hint="Run `make setup` in its checkout.") from error
    marked = re.compile(rf"^([^;]+?)\s*;\s*extra == ['\"]{extra}['\"]$")
    return [match[1] for line in declared if (match := marked.match(line))]
