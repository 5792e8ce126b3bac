"""Base models of requests, and the error model, shared by every REST contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from commonplace.domain.proposals import Proposer
from commonplace.domain.revisions import Conditions
from commonplace.faces.access.callers import Caller
from commonplace.services.services import Services
from commonplace.settings import Tier

_CONTROL = r"\x00-\x1f\x7f\x85\u2028\u2029"
_INVISIBLE = (
    r"\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BLANK = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_DOT = r".\u2024-\u2026\ufe19\ufe30\ufe52\uff0e"
_FIRST = rf"[^{_CONTROL}{_INVISIBLE}{_BLANK}{_DOT}\\/]"
_INNER = rf"[^{_CONTROL}\\/]"
_LAST = rf"[^{_CONTROL} .\\/]"
_PART = rf"{_FIRST}(?:[^{_CONTROL} .:\\/]|{_INNER}{{1,246}}{_LAST})?"
PATH_PATTERN = rf"^{_PART}(?:/{_PART})*$"
"""Pattern of paths that every endpoint accepts.

`parse_address` accepts slightly more. Here, no part may begin with an invisible character or any kind of dot or blank.
No part of two characters may end in a colon, because the exact rule needs a lookahead.
"""
NAME_PATTERN = rf"^{_PART}$"
"""Pattern of one part of a path."""
REVISION_PATTERN = "^[0-9a-fA-F]{7,40}$"
TAGS_PATTERN = r'^(?:\*|[ \t,]*(?:W/)?"[^"]*"(?:[ \t]*,[ \t,]*(?:W/)?"[^"]*")*[ \t,]*)$'
"""Pattern of `If-Match` and `If-None-Match`."""
MAX_PATH = 1_000
"""Maximum characters of a path. In UTF-8, a path has at most 1,024 bytes and each part at most 255."""
SchemaFacts: TypeAlias = "dict[str, JsonValue]"
PATH_FACTS: SchemaFacts = {
    "minLength": 1,
    "maxLength": MAX_PATH,
    "pattern": PATH_PATTERN,
    "description": "Parts between slashes: none hidden or like git~1; each at most 255 bytes of UTF-8 with its suffix, "
    "all together 1,024",
}
NAME_FACTS: SchemaFacts = {**PATH_FACTS, "maxLength": 255, "pattern": NAME_PATTERN, "description": "One part of a path"}


class RequestBody(BaseModel):
    """Base of request bodies: types are strict, unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


class QueryParameters(BaseModel):
    """Base of query parameters, whose values are all strings."""

    model_config = ConfigDict(frozen=True)


class NoQueryParameters(QueryParameters):
    """No query parameters."""


class Problem(BaseModel):
    """A refusal."""

    error: str
    code: str
    kind: str = ""
    hint: str = ""
    nearest: list[str] = []
    reference: str = ""
    current_revision: str | None = None
    changes: Annotated[list[str], Field(description="Lines that differ from the revision that was named")] = []


# Endpoints: one row each, from which the dispatcher and the OpenAPI document are derived.


MAX_BODY_BYTES = 4 * 1024 * 1024
"""Default maximum size of a request's body in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRequest:
    """A validated request."""

    services: Services
    served: Services
    """The services of what is served, to be read only at the tier `propose`; `services` has the caller's proposals."""
    caller: Caller
    proposer: Proposer
    """The caller as a proposer."""
    path: str
    """Path of the page; "" if the endpoint has no such variable."""
    filename: str
    """The template's other variable; "" if there is none."""
    query: QueryParameters
    body: BaseModel | None
    conditions: Conditions
    """The conditions in `If-Match` and `If-None-Match`."""
    content: bytes = b""
    """The body of an endpoint with `takes_bytes`."""
    accepts_bytes: bool = False
    """Whether the client prefers bytes to JSON. Only for endpoints with `gives_bytes`."""

    @property
    def viewer(self) -> Proposer | None:
        """The caller if it sees its own proposals only; None if it sees all."""
        return self.proposer if self.caller.tier == "propose" else None


@dataclass(frozen=True, slots=True)
class RestResponse:
    """A response."""

    value: BaseModel | None
    """The model to encode; None for a response without a body or with a body of bytes."""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    """The encoded body. For a value, the dispatcher sets it in the worker thread."""
    media_type: str = ""
    """Media type of a body of bytes; "" for JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method on one path."""

    method: str
    template: str
    """Path template, such as `/pages/{path}/history`.

    `{path}` may contain slashes; other variables match one segment.
    """
    summary: str
    run: Callable[[RestRequest], RestResponse]
    answers: dict[int, type[BaseModel]]
    """Response models by status, for successful statuses."""
    tier: Tier | None = "read"
    """The lowest tier that may call the endpoint; None if no key is needed."""
    proposes: bool = True
    """Whether an endpoint of the tier `write` may be called at `propose`, because all its writes are proposals."""
    query: type[QueryParameters] = NoQueryParameters
    body: type[RequestBody] | None = None
    body_needed: bool = True
    max_body: int = MAX_BODY_BYTES
    takes_bytes: bool = False
    """Whether the body is the content of a file, of any media type, instead of JSON."""
    gives_bytes: bool = False
    """Whether clients that accept `application/octet-stream` but not JSON get bytes."""
    conditional: bool = False
    """Whether the endpoint evaluates `If-Match` and `If-None-Match`."""
    answers_unfinished: bool = False
    """Whether a request soon gets what the first index has so far, unless it has `Prefer: wait=SECONDS`."""
    error_statuses: frozenset[int] = field(default_factory=frozenset[int])
    """Error statuses in addition to those of every endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestContract:
    """The REST API of a toolset."""

    description: str
    """Description of the API in the OpenAPI document."""
    endpoints: Callable[[], tuple[Endpoint, ...]]
    """Creates the rows of one server, in the order of the document."""
    is_document: Callable[[Services, str], bool]
    """Whether a document exists at a path; decides between a document and an operation that have the same URL."""
    proposes: bool = False
    """Whether the API can be used at the tier `propose`: its endpoints use the services of their request alone."""
