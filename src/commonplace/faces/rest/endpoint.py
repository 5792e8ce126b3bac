"""Endpoints: one row each, from which the dispatcher and the OpenAPI document are derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import BaseModel

from commonplace.domain.revisions import Conditions
from commonplace.faces.access.callers import Caller
from commonplace.faces.rest.base_models import NoQueryParameters, QueryParameters, RequestBody
from commonplace.services.services import Services
from commonplace.settings import Tier

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Default maximum size of a request's body in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRequest:
    """A validated request."""

    services: Services
    caller: Caller
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
