"""Client of another wiki's REST API, and the values read from its JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from typing import cast
from urllib.parse import quote, urlsplit

import httpx2

from commonplace.domain.addresses import parse_address
from commonplace.domain.changes import RetainedCopy, record_retained
from commonplace.domain.documents import Severity
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
from commonplace.domain.findings import NewFinding
from commonplace.domain.json import Json, JsonObject, finite_json, list_of
from commonplace.domain.revisions import UNCONDITIONAL, Conditions, is_revision
from commonplace.domain.sources import is_loopback
from commonplace.services.writes.recorded import record_new_findings
from commonplace.toolsets.wiki.rules import (
    AttachmentContent,
    Note,
    NoteAttachment,
    NoteChunk,
    NoteCommit,
    NoteHit,
    NoteNode,
    NoteSummary,
    as_text,
    as_texts,
    name_of,
)

# Converts a server's JSON to values of the wiki. Missing fields and fields of another type become empty.


def text(answer: JsonObject, key: str) -> str:
    """A string; "" for any other value."""
    value = answer.get(key)
    return value if isinstance(value, str) else ""


def name(row: JsonObject) -> str:
    """A note's name; the last part of its path if the server gives no name."""
    return text(row, "name") or name_of(text(row, "path"))


def number(answer: JsonObject, key: str) -> int:
    """A whole number; 0 for any other value."""
    value = answer.get(key)
    return value if isinstance(value, int) else 0


def decimal(answer: JsonObject, key: str) -> float:
    """A number; 0 for any other value, and for a whole number beyond the range of a float."""
    value = answer.get(key)
    try:
        return float(value) if isinstance(value, int | float) else 0.0
    except OverflowError:
        return 0.0


def texts(answer: JsonObject, key: str) -> tuple[str, ...]:
    """The strings of a list; other items are omitted."""
    return tuple(item for item in _items(answer.get(key)) if isinstance(item, str))


def items(answer: JsonObject, key: str) -> tuple[Json, ...]:
    """The items of a list, of any type."""
    return _items(answer.get(key))


def objects(answer: JsonObject, key: str) -> Iterator[JsonObject]:
    """The objects of a list; other items are omitted."""
    return (item for item in _items(answer.get(key)) if isinstance(item, Mapping))


def summary(row: JsonObject) -> NoteSummary:
    """A note in a list."""
    return NoteSummary(
        path=text(row, "path"),
        name=name(row),
        category=as_text(row.get("category")),
        tags=as_texts(row.get("tags")),
        last_updated=as_text(row.get("last_updated")),
        words=number(row, "content_length"),
    )


def note(answer: JsonObject) -> Note:
    """A note."""
    values = answer.get("frontmatter")
    last = answer.get("last_commit")
    return Note(
        path=text(answer, "path"),
        content=text(answer, "content"),
        frontmatter=values if isinstance(values, Mapping) else {},
        links_to=texts(answer, "links_to"),
        linked_from=texts(answer, "linked_from"),
        revision=text(answer, "revision"),
        last_commit=change(last) if isinstance(last, Mapping) else None,
        more_links=answer.get("links_truncated") is True,
    )


def change(row: JsonObject) -> NoteCommit:
    """A commit."""
    return NoteCommit(
        text(row, "revision"),
        text(row, "author"),
        text(row, "date"),
        text(row, "message"),
        texts(row, "pages_affected"),
    )


def hit(row: JsonObject) -> NoteHit:
    """A note that matches a search."""
    return NoteHit(text(row, "path"), name(row), text(row, "snippet"), decimal(row, "score"))


def node(item: Json) -> NoteNode | None:
    """A note in the graph: an object, or from older servers only the path; None for any other value."""
    if isinstance(item, str):
        return NoteNode(item)
    return NoteNode(text(item, "path"), item.get("exists") is not False) if isinstance(item, Mapping) else None


def chunk(row: JsonObject) -> NoteChunk:
    """A chunk of a note that matches a semantic search."""
    return NoteChunk(
        path=text(row, "path"),
        name=name(row),
        snippet=text(row, "snippet"),
        text=text(row, "text"),
        distance=decimal(row, "distance"),
        section=text(row, "section"),
        section_path=text(row, "section_path"),
        chunk_index=number(row, "chunk_index"),
        total_chunks=number(row, "total_chunks"),
        page_word_count=number(row, "page_word_count"),
    )


def attachment(row: JsonObject) -> NoteAttachment:
    """A file of a note."""
    return NoteAttachment(
        text(row, "filename"), number(row, "size"), text(row, "mime_type"), text(row, "last_modified")
    )


def download(answer: JsonObject) -> AttachmentContent:
    """A file with its bytes.

    Raises:
        UnavailableError: the content is not base64.
    """
    try:
        content = base64.b64decode(text(answer, "content"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnavailableError("The wiki's answer cannot be parsed.", kind="api") from error
    return AttachmentContent(attachment(answer), content)


def kept(answer: JsonObject) -> list[RetainedCopy]:
    """The copies that the server retained for a request; unreadable rows are skipped."""
    return [copy for row in objects(answer, "kept") if (copy := _kept(row))]


def _kept(row: JsonObject) -> RetainedCopy | None:
    place, revision = text(row, "place"), text(row, "revision")
    if place not in ("trash", "object") or not is_revision(revision):
        return None
    try:
        day = datetime.fromisoformat(text(row, "until")).replace(tzinfo=UTC) if place == "trash" else None
        until = int(day.timestamp()) if day else 0
        return RetainedCopy(
            parse_address(text(row, "path")), revision, place, until=until, staged=row.get("staged") is True
        )
    except (ValueError, OverflowError, InvalidInputError):
        return None


def findings(answer: JsonObject) -> list[NewFinding]:
    """The findings that a request newly caused; unreadable rows are skipped."""
    severities = {severity.value: severity for severity in Severity}
    return [
        NewFinding(
            path=text(row, "path"), line=number(row, "line"), severity=severities[text(row, "severity")],
            rule=text(row, "rule"), message=text(row, "message"),
        )
        for row in objects(answer, "findings")
        if text(row, "severity") in severities
    ]  # fmt: skip


def _items(value: Json) -> tuple[Json, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


# Requests to a server of the REST API, and the errors for its responses.


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
            record_retained(kept(answer))
            record_new_findings(findings(answer), number(answer, "more_findings"))
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
        is_here = is_loopback(urlsplit(self.url).hostname or "")
        return httpx2.Client(headers=headers, timeout=self.timeout, trust_env=not is_here)


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
    given_values = {"If-Match": conditions.match, "If-None-Match": conditions.none_match}
    return {
        name: ", ".join(tag if tag == "*" else f'"{tag}"' for tag in tags)
        for name, tags in given_values.items()
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
    defaults = {"kind": "", "error": f"The wiki answered with status {status}.", "hint": ""}
    kind, message, hint = (str(answer.get(name) or default) for name, default in defaults.items())
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and kind != "semantic":
        error = _no_answer()
        if "code" not in answer:
            error.context["status"] = status
        return error
    category = _BY_CODE.get((status, str(answer.get("code")))) or _BY_STATUS.get(status, InvalidInputError)
    kind = kind or ("attachment" if message.startswith("Attachment not found") else _KINDS.get(status, ""))
    made = category(message, kind=kind, hint=hint, **_context(answer))
    if isinstance(made, ConflictError):
        made.changes = tuple(map(str, list_of(answer.get("changes"))))
    return made


def _context(answer: JsonObject) -> dict[str, str | int | list[str]]:
    """The fields of an answer that an error has, too."""
    context: dict[str, str | int | list[str]] = {}
    nearest = answer.get("nearest")
    if isinstance(nearest, list | tuple):
        context["nearest"] = [str(element) for element in nearest]
    for name in ("current_revision", "reference"):
        value = answer.get(name)
        if isinstance(value, str):
            context[name] = value
    return context


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
_BY_CODE: dict[tuple[int, str], type[KnowledgeError]] = {
    (403, "read_only"): ReadOnlyError,
    (409, "already_exists"): AlreadyExistsError,
}
"""More specific errors, by status and the code in the answer."""
_KINDS = {404: "page", 409: "page"}
"""The error kind by status, if the server's answer has none."""
