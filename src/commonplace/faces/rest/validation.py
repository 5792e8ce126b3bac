"""Validation of a request's parameters, body and conditions."""

from __future__ import annotations

import re
from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import NotFiniteError, require_finite
from commonplace.domain.revisions import Conditions
from commonplace.faces.rest.base_models import QueryParameters
from commonplace.faces.rest.endpoint import Endpoint

MAX_SHOWN_INPUT = 60
MAX_PARAMETERS = 100
MAX_PROBLEMS = 10
"""Maximum number of parameters or keys that one error describes."""
_TAG = re.compile(r'(?P<weak>W/)?"(?P<tag>[^"]*)"')
_TAG_LIST = re.compile(r'[\s,]*(?:(?:W/)?"[^"]*"[\s]*(?:,[\s,]*|\Z))+')

M = TypeVar("M", bound=BaseModel)


class MalformedError(InvalidInputError):
    """The body is not a JSON object: status 400 rather than 422."""


def request_query(endpoint: Endpoint, query_string: bytes) -> QueryParameters:
    """Parse and validate the query parameters. The last of repeated parameters counts; unknown ones are ignored.

    Raises:
        InvalidInputError: a parameter is missing or not valid.
    """
    if query_string.count(b"&") >= MAX_PARAMETERS:
        raise InvalidInputError(
            f"Invalid query: it has more than {MAX_PARAMETERS} parameters.", kind="query", hint="Send fewer."
        )
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict")
        return endpoint.query.model_validate(dict(pairs))
    except ValidationError as error:
        raise _invalid(error, "parameter") from error
    except ValueError as error:
        raise InvalidInputError(
            "Invalid query: it is no percent-encoded UTF-8.", kind="query", hint="Percent-encode it as UTF-8."
        ) from error


def request_body(endpoint: Endpoint, body: bytes) -> BaseModel | None:
    """Parse and validate the body.

    Raises:
        MalformedError: the body is not a JSON object.
        InvalidInputError: a key is missing or not valid.
    """
    model = endpoint.body
    if model is None or (not body and not endpoint.body_needed):
        return None
    try:
        require_finite(body)
        return model.model_validate_json(body)
    except NotFiniteError as error:
        raise MalformedError(f"Invalid body: {error}.", kind="body", hint="Send finite numbers, or null.") from error
    except ValidationError as error:
        if any(not problem["loc"] for problem in error.errors(include_url=False, include_input=False)):
            raise MalformedError(
                "The body is not a JSON object.", kind="body", hint="Send an object as application/json."
            ) from error
        raise _invalid(error, "key") from error


def conditions_of(headers: Headers) -> Conditions:
    """The conditions of `If-Match` and `If-None-Match`.

    A weak tag in `If-Match` never matches, as it does not identify the bytes (RFC 9110, section 8.8.3.2).

    Raises:
        MalformedError: a header is not a list of entity tags.
    """
    return Conditions(
        match=_tags(headers, "if-match", weak=False), none_match=_tags(headers, "if-none-match", weak=True)
    )


def accepts_bytes(headers: Headers) -> bool:
    """Whether the client's `Accept` names `application/octet-stream` but not JSON."""
    types = [one.partition(";")[0].strip().lower() for given in headers.getlist("accept") for one in given.split(",")]
    return "application/octet-stream" in types and "application/json" not in types


def _tags(headers: Headers, name: str, *, weak: bool) -> tuple[str, ...] | None:
    given = [value.strip() for value in headers.getlist(name)]
    if not given:
        return None
    text = ", ".join(given)
    if text == "*":
        return ("*",)
    if not _TAG_LIST.fullmatch(text):
        raise MalformedError(
            f"Invalid header {name}: expected entity tags or *.", kind="header", hint='Send ETags as they came: "...".'
        )
    found = [match for match in _TAG.finditer(text) if weak or not match["weak"]]
    tags = (match["tag"] for match in found)
    return tuple(tag if tag != "*" else '"*"' for tag in tags)  # distinguishes the tag "*" from the asterisk


def _invalid(error: ValidationError, what: str) -> InvalidInputError:
    sentences: list[str] = []
    problems = error.errors(include_url=False, include_input=False)
    for problem in problems[:MAX_PROBLEMS]:
        name = ".".join(str(part) for part in problem["loc"])[:MAX_SHOWN_INPUT]
        if problem["type"] == "missing":
            sentences.append(f"Missing {what} {name}.")
        else:
            sentences.append(f"Invalid {what} {name}: {problem['msg'][:1].lower()}{problem['msg'][1:]}.")
    if len(problems) > MAX_PROBLEMS:
        sentences.append(f"And {len(problems) - MAX_PROBLEMS:,} more.")
    return InvalidInputError(
        " ".join(sentences), kind=what, hint="The API's document, /api/v1/openapi.json, says more."
    )
