"""Requests to a server of the REST API, and the errors for its responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import cast
from urllib.parse import quote, urlsplit

import httpx2

from commonplace.domain.addresses import parse_address
from commonplace.domain.changes import record_retained
from commonplace.domain.errors import (
    AlreadyExistsError,
    ConfigError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    PreconditionError,
    RateLimitedError,
    ReadOnlyError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.domain.json import Json, JsonObject, finite_json
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.services.writes.recorded import record_new_findings
from commonplace.toolsets.wiki.remote import json_values

TIMEOUT = 30.0
"""Timeout in seconds for connecting, and for each read."""
OPERATION_NAMES = frozenset({"history", "rename", "attachments", "diff", "restore"})
"""Last path segments that the API could read as an operation on the page before them."""


@dataclass(frozen=True)
class RestClient:
    """A server and its key."""

    url: str
    """URL of the server, with or without the API's prefix."""
    key: str = ""
    timeout: float = TIMEOUT

    def get(self, path: str, field: str, **query: str | int | None) -> JsonObject:
        """The JSON object that a GET request returns. Parameters that are None or "" are omitted.

        Args:
            path: The path of the call below the API's prefix.
            field: A field that every successful answer of the call has.
            query: Parameters.

        Raises:
            KnowledgeError: the server's error; UnavailableError of kind "api" if the server does not respond, of kind
                "answer" if the response is not the API's.
        """
        query = {key: value for key, value in query.items() if value not in {None, ""}}
        return self.send("GET", path, field, query=query)

    def send(
        self,
        method: str,
        path: str,
        field: str,
        body: JsonObject | None = None,
        query: Mapping[str, str | int | None] | None = None,
        conditions: Conditions = UNCONDITIONAL,
    ) -> JsonObject:
        """The JSON object that a request returns. Raises the same errors as `get`."""
        try:
            response = self._http.request(
                method, f"{self._base}{path}", json=body, params=dict(query or {}), headers=_headers(conditions)
            )
            answer = _object(response)
        except httpx2.InvalidURL as error:
            raise ConfigError("The wiki's URL is not an http or https URL.", kind="url") from error
        except httpx2.HTTPError as error:
            raise _no_answer() from error
        if response.is_success and answer is not None and field in answer:
            record_retained(json_values.kept(answer))
            record_new_findings(json_values.findings(answer), json_values.number(answer, "more_findings"))
            return answer
        if _is_foreign(response, answer):
            raise _foreign(f"{method} {urlsplit(self._base).path}{path}", response)
        raise _refusal(response.status_code, answer or {})

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    @property
    def _base(self) -> str:
        url = self.url.rstrip("/")
        return url if url.endswith("/api/v1") else f"{url}/api/v1"

    @cached_property
    def _http(self) -> httpx2.Client:
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        return httpx2.Client(headers=headers, timeout=self.timeout)


def quoted(path: str) -> str:
    """A page's path for a URL. Slashes are encoded if a part has the name of an operation.

    Raises:
        InvalidInputError: a part is `.` or `..`, which would change the URL.
    """
    if not {".", ".."}.isdisjoint(path.split("/")):
        parse_address(path)
    ambiguous = not OPERATION_NAMES.isdisjoint(path.split("/"))
    return quote(path, safe="" if ambiguous else "/")


def _headers(conditions: Conditions) -> dict[str, str]:
    given = {"If-Match": conditions.match, "If-None-Match": conditions.none_match}
    return {
        name: ", ".join(tag if tag == "*" else f'"{tag}"' for tag in tags)
        for name, tags in given.items()
        if tags is not None
    }


def _object(response: httpx2.Response) -> JsonObject | None:
    try:
        value = cast("Json", finite_json(response.content))
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def _is_foreign(response: httpx2.Response, answer: JsonObject | None) -> bool:
    """Whether a response is not the API's: a success without its fields, or a rejection that is no error of the API.

    A server that is down is not foreign: a proxy responds in its place.
    """
    return not response.is_server_error and (response.is_success or "error" not in (answer or {}))


def _foreign(call: str, response: httpx2.Response) -> UnavailableError:
    hint = "Check OTTERWIKI_API_URL: it must name a server of the wiki API, without /api/v1 or with it."
    if (
        b"CSRF" in response.content
    ):  # Otterwiki (2.26.1 at least) checks every form, and the calls of its API plugin, too
        hint = "This Otterwiki refuses every write of its API until it is started with WTF_CSRF_ENABLED=False."
    return UnavailableError(
        f"{call} was answered with status {response.status_code} and not as the wiki API answers.",
        kind="answer",
        hint=hint,
        status=response.status_code,
    )


def _refusal(status: int, answer: JsonObject) -> KnowledgeError:
    """The error for a status. Further fields of the server's answer are copied into its context."""
    kind = str(answer.get("kind") or "")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and kind != "semantic":
        error = _no_answer()
        if "code" not in answer:
            error.context["status"] = status
        return error
    if status == HTTPStatus.CONFLICT and answer.get("code") == "already_exists":
        category: type[KnowledgeError] = AlreadyExistsError
    elif status == HTTPStatus.FORBIDDEN and answer.get("code") == "read_only":
        category = ReadOnlyError
    else:
        category = _BY_STATUS.get(status, InvalidInputError)
    context: dict[str, str | int | list[str]] = {}
    nearest = answer.get("nearest")
    if isinstance(nearest, list | tuple):
        context["nearest"] = [str(one) for one in nearest]
    for name in ("current_revision", "reference"):
        value = answer.get(name)
        if isinstance(value, str):
            context[name] = value
    message = str(answer.get("error") or f"The wiki answered with status {status}.")
    kind = kind or ("attachment" if message.startswith("Attachment not found") else _KINDS.get(status, ""))
    made = category(message, kind=kind, hint=str(answer.get("hint") or ""), **context)
    changes = answer.get("changes")
    if isinstance(made, ConflictError) and isinstance(changes, list | tuple):
        made.changes = tuple(map(str, changes))
    return made


def _no_answer() -> UnavailableError:
    return UnavailableError("The wiki API is not responding.", kind="api", hint="Try again in a few seconds.")


_BY_STATUS: dict[int, type[KnowledgeError]] = {
    400: InvalidInputError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionError,
    413: TooLargeError,
    422: InvalidInputError,
    429: RateLimitedError,
    503: UnavailableError,
}
_KINDS = {404: "page", 409: "page"}
"""The error kind by status, if the server's answer has none."""
