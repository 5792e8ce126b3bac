"""The OpenAPI 3.1 document of an API, derived from its endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import TypeAlias, cast

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from commonplace import __version__
from commonplace.domain.json import Json
from commonplace.faces.rest.endpoint import NAME_FACTS, PATH_FACTS, TAGS_PATTERN, Endpoint, Problem

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
