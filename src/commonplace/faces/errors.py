"""The mapping of error codes to each protocol's codes."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.errors import Code, KnowledgeError


@dataclass(frozen=True, slots=True)
class ErrorMapping:
    """The representation of an error code in each protocol."""

    http: int
    """HTTP status."""
    exit: int
    """Exit code of the command line."""
    jsonrpc: int
    """JSON-RPC error code."""
    retryable: bool
    """Whether the same call can succeed later."""


ERROR_MAPPINGS: dict[Code, ErrorMapping] = {
    Code.NOT_FOUND: ErrorMapping(404, 3, -32602, retryable=False),
    Code.ALREADY_EXISTS: ErrorMapping(409, 5, -32602, retryable=False),
    Code.CONFLICT: ErrorMapping(409, 5, -32603, retryable=False),
    Code.PRECONDITION: ErrorMapping(412, 5, -32603, retryable=False),
    Code.INVALID: ErrorMapping(422, 4, -32602, retryable=False),
    Code.TOO_LARGE: ErrorMapping(413, 4, -32602, retryable=False),
    Code.UNAUTHENTICATED: ErrorMapping(401, 7, -32600, retryable=False),
    Code.FORBIDDEN: ErrorMapping(403, 6, -32600, retryable=False),
    Code.READ_ONLY: ErrorMapping(403, 6, -32603, retryable=False),
    Code.RATE_LIMITED: ErrorMapping(429, 8, -32603, retryable=True),
    Code.UNAVAILABLE: ErrorMapping(503, 9, -32603, retryable=True),
    Code.INDEXING: ErrorMapping(503, 9, -32603, retryable=True),
    Code.GIT: ErrorMapping(500, 10, -32603, retryable=False),
    Code.STORAGE: ErrorMapping(500, 11, -32603, retryable=False),
    Code.CONFIG: ErrorMapping(500, 2, -32603, retryable=False),
    Code.INTERNAL: ErrorMapping(500, 70, -32603, retryable=False),
}


def error_mapping(error: KnowledgeError) -> ErrorMapping:
    """The row of an error's code. `retryable` in the error's context overrides the row's value."""
    form = ERROR_MAPPINGS[error.code]
    retryable = error.context.get("retryable")
    return form if retryable is None else ErrorMapping(form.http, form.exit, form.jsonrpc, retryable=bool(retryable))
