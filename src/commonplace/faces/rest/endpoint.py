"""The parts of every REST contract: models of requests and errors, endpoints, and the OpenAPI 3.1 document of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from commonplace import __version__
from commonplace.domain.json import Json
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


# The OpenAPI 3.1 document of an API, derived from its endpoints.


SchemaNode: TypeAlias = "dict[str, Json]"

REF = "#/components/schemas/{model}"
COMMON_STATUSES = (401, 403, 408, 421, 422, 429, 500, 503)
"""Error statuses of every endpoint."""
BODY_STATUSES = (400, 413)
_BYTES: SchemaNode = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def document(endpoints: Sequence[Endpoint], description: str) -> SchemaNode:
    """The OpenAPI document of these endpoints."""
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        operations = cast("SchemaNode", paths.setdefault(endpoint.template, _path_item(endpoint)))
        operations[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "commonplace",
            "version": __version__,
            "description": description,
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": _schemas(endpoints),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _path_item(endpoint: Endpoint) -> SchemaNode:
    names = re.findall(r"\{(\w+)\}", endpoint.template)
    parameters: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(name)} for name in names
    ]
    return {"parameters": parameters} if parameters else {}


def _path_schema(name: str) -> SchemaNode:
    """The schema of a variable in a path: a path with slashes, or one part of it."""
    return {"type": "string", **(PATH_FACTS if name == "path" else NAME_FACTS)}


def _operation(endpoint: Endpoint) -> SchemaNode:
    named = re.sub(r"\W+", "_", endpoint.template).strip("_")
    operation: SchemaNode = {
        "operationId": f"{endpoint.method.lower()}_{named}",
        "summary": endpoint.summary,
        "parameters": [*_query_parameters(endpoint), *_header_parameters(endpoint)],
        "responses": {**_answers(endpoint), **_refusals(endpoint)},
    }
    if endpoint.tier is None:
        operation["security"] = [{}]
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": endpoint.body_needed,
            "content": {"application/json": {"schema": _ref(endpoint.body)}},
        }
    elif endpoint.takes_bytes:
        operation["requestBody"] = {"required": True, "content": dict(_BYTES)}
    return operation


def _query_parameters(endpoint: Endpoint) -> list[Json]:
    schema = endpoint.query.model_json_schema()
    required = cast("list[str]", schema.get("required", []))
    properties = cast("dict[str, SchemaNode]", schema.get("properties", {}))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _one_type(of)}
        for name, of in properties.items()
    ]


def _one_type(schema: SchemaNode) -> SchemaNode:
    """The schema without `null`, which a URL cannot express."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    node = cast("SchemaNode", next(option for option in options if option != {"type": "null"}))
    return {**node, **{key: value for key, value in schema.items() if key not in {"anyOf", "default"}}}


def _header_parameters(endpoint: Endpoint) -> list[Json]:
    if not endpoint.conditional:
        return []
    reported_values = {
        "If-Match": 'Tags of which one must be the current `ETag`, such as `"…"`, or `*`; 412 otherwise.',
        "If-None-Match": "Tags of which none may be the current `ETag`, or `*`; "
        + ("304 otherwise." if endpoint.method == "GET" else "412 otherwise."),
    }
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": text,
            "schema": {"type": "string", "pattern": TAGS_PATTERN},
        }
        for name, text in reported_values.items()
    ]


def _answers(endpoint: Endpoint) -> SchemaNode:
    answers: SchemaNode = {str(status): _response(status, model) for status, model in endpoint.answers.items()}
    if endpoint.conditional and endpoint.method == "GET":
        answers["304"] = {"description": HTTPStatus.NOT_MODIFIED.phrase}
    if endpoint.gives_bytes:
        content = cast("SchemaNode", cast("SchemaNode", answers["200"])["content"])
        content.update(_BYTES)
    return answers


def _refusals(endpoint: Endpoint) -> SchemaNode:
    statuses = {
        *COMMON_STATUSES,
        *endpoint.error_statuses,
        *(BODY_STATUSES if endpoint.body or endpoint.takes_bytes else ()),
    }
    statuses |= {400, 412} if endpoint.conditional else set()
    return {str(status): _response(status, Problem) for status in sorted(statuses)}


def _response(status: int, model: type[BaseModel]) -> SchemaNode:
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": _ref(model)}}}


def _ref(model: type[BaseModel]) -> SchemaNode:
    return {"$ref": REF.format(model=model.__name__)}


def _schemas(endpoints: Iterable[Endpoint]) -> SchemaNode:
    models: dict[type[BaseModel], JsonSchemaMode] = {Problem: "serialization"}
    for endpoint in endpoints:
        models |= dict.fromkeys(endpoint.answers.values(), "serialization")
        if endpoint.body is not None:
            models[endpoint.body] = "validation"
    _, definitions = models_json_schema(list(models.items()), ref_template=REF)
    return cast("SchemaNode", definitions["$defs"])
