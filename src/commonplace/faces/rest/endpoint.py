"""What an endpoint is: one row that says everything about it, for the dispatcher and for the OpenAPI document."""

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
"""Of a request, where its endpoint does not say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRequest:
    """A request, checked."""

    services: Services
    caller: Caller
    path: str
    """Of the page; "" where the endpoint takes none."""
    filename: str
    """The template's other variable; "" where it has none."""
    query: QueryParameters
    body: BaseModel | None
    conditions: Conditions
    """What the request's `If-Match` and `If-None-Match` demand."""


@dataclass(frozen=True, slots=True)
class RestResponse:
    """An answer."""

    value: BaseModel | None
    """None for an answer without a body."""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    """The value as JSON, once the dispatcher has rendered it in the worker thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method on one path."""

    method: str
    template: str
    """Such as `/pages/{path}/history`; `{path}` may hold slashes, other variables are one part of the URL."""
    summary: str
    run: Callable[[RestRequest], RestResponse]
    answers: dict[int, type[BaseModel]]
    """By status, when all is well."""
    tier: Tier | None = "read"
    """The least tier that may call it; None for everybody, without a key."""
    query: type[QueryParameters] = NoQueryParameters
    body: type[RequestBody] | None = None
    body_needed: bool = True
    max_body: int = MAX_BODY_BYTES
    conditional: bool = False
    """Whether it heeds `If-Match` and `If-None-Match`."""
    error_statuses: frozenset[int] = field(default_factory=frozenset[int])
    """Statuses beyond those that any endpoint can answer with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestContract:
    """A REST API as the toolset that has it hands it over."""

    description: str
    """Of the API, for the OpenAPI document."""
    endpoints: Callable[[], tuple[Endpoint, ...]]
    """The rows for one server, in the order of the document."""
    is_document: Callable[[Services, str], bool]
    """Whether there is a document of a path; asked where a URL can mean a document as well as an operation on one."""
