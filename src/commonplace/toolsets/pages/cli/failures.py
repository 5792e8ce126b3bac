"""Failures of `cn`: one line on standard error, and a specific exit code."""

from __future__ import annotations

from commonplace.domain.errors import Code, KnowledgeError

GENERAL, INVALID, INTERRUPTED = 1, 6, 130

EXIT_CODES = (
    (0, "ok"),
    (GENERAL, "general error"),
    (2, "wrong configuration"),
    (3, "authentication failed"),
    (4, "network or rate limit"),
    (5, "space not found"),
    (INVALID, "invalid arguments"),
    (7, "page not found"),
    (8, "version conflict"),
    (9, "search server not reachable"),
    (10, "index problem"),
    (11, "folder not found"),
    (INTERRUPTED, "interrupted"),
)
"""Exit codes with their meaning, for the help text."""

_BY_KIND = {
    (Code.NOT_FOUND, "space"): GENERAL,
    (Code.NOT_FOUND, "search_index"): 10,
    (Code.STORAGE, "search_index"): 10,
    (Code.NOT_FOUND, "page"): 7,
    (Code.NOT_FOUND, "folder"): 11,
    (Code.UNAVAILABLE, "engine"): 9,
}
_BY_CODE = {
    Code.INVALID: INVALID,
    Code.TOO_LARGE: INVALID,
    Code.CONFIG: 2,
    Code.UNAUTHENTICATED: 3,
    Code.FORBIDDEN: 3,
    Code.RATE_LIMITED: 4,
    Code.UNAVAILABLE: 4,
    Code.CONFLICT: 8,
    Code.INDEXING: 10,
}


def exit_code(error: KnowledgeError) -> int:
    """The exit code of an error; 1 if it has no code of its own."""
    return _BY_KIND.get((error.code, error.kind)) or _BY_CODE.get(error.code, GENERAL)
