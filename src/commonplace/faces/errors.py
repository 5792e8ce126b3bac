"""The one table that turns an error code into each protocol's form."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.errors import Code, KnowledgeError


@dataclass(frozen=True, slots=True)
class Form:
    """How a code looks from outside."""

    http: int
    """HTTP status."""
    exit: int
    """Exit code of the command line."""
    jsonrpc: int
    """JSON-RPC error code."""
    retryable: bool
    """Whether the same call can succeed later without a change."""


FORMS: dict[Code, Form] = {
    Code.NOT_FOUND: Form(404, 3, -32602, retryable=False),
    Code.ALREADY_EXISTS: Form(409, 5, -32602, retryable=False),
    Code.CONFLICT: Form(409, 5, -32603, retryable=False),
    Code.PRECONDITION: Form(412, 5, -32603, retryable=False),
    Code.INVALID: Form(422, 4, -32602, retryable=False),
    Code.TOO_LARGE: Form(413, 4, -32602, retryable=False),
    Code.UNAUTHENTICATED: Form(401, 7, -32600, retryable=False),
    Code.FORBIDDEN: Form(403, 6, -32600, retryable=False),
    Code.READ_ONLY: Form(403, 6, -32603, retryable=False),
    Code.RATE_LIMITED: Form(429, 8, -32603, retryable=True),
    Code.UNAVAILABLE: Form(503, 9, -32603, retryable=True),
    Code.INDEXING: Form(503, 9, -32603, retryable=True),
    Code.GIT: Form(500, 10, -32603, retryable=False),
    Code.STORAGE: Form(500, 11, -32603, retryable=False),
    Code.CONFIG: Form(500, 2, -32603, retryable=False),
    Code.INTERNAL: Form(500, 70, -32603, retryable=False),
}


def form_of(error: KnowledgeError) -> Form:
    """The row of an error's code; `retryable` in its context, where the error knows better, wins."""
    form = FORMS[error.code]
    known = error.context.get("retryable")
    return form if known is None else Form(form.http, form.exit, form.jsonrpc, retryable=bool(known))
