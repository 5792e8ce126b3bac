"""The HTTP client of Meilisearch, and the documents that it holds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from urllib.parse import quote, urlunsplit

import httpx2

from commonplace.domain.addresses import Address
from commonplace.domain.errors import (
    ConfigError,
    KnowledgeError,
    NotFoundError,
    StorageError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.sources import url_parts
from commonplace.toolsets.pages.rules.matched_words import QueryWords, page_excerpt
from commonplace.toolsets.pages.rules.page import Page, PageText, as_one_line, without_title
from commonplace.toolsets.pages.rules.queries import PageFilter, Sort, TimeRange

# Requests to a Meilisearch server, and the errors for its responses.


CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 10.0
"""Timeouts in seconds for connecting, and for each read."""
SEND_SECONDS = 120.0
LARGE_BYTES = 100_000
"""Timeout in seconds for requests over `LARGE_BYTES`, such as a batch of documents."""
TASK_SECONDS = 900.0
"""Timeout in seconds of one task on the server: a large batch on a busy machine takes minutes."""
MIN_POLL_PAUSE, MAX_POLL_PAUSE = 0.005, 0.25
"""Minimum and maximum polling interval of a task in seconds."""

_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class RejectedError(StorageError):
    """The server rejected a request.

    Args:
        rejection: The server's code for the reason.
        reason: The server's message.
    """

    def __init__(self, rejection: str, reason: str) -> None:
        super().__init__(f"The search index failed: {reason}", kind="search_index")
        self.rejection = rejection
        self.reason = reason


class MeilisearchClient:
    """A server and its key. Thread-safe.

    Args:
        url: URL of the server. User and password in it are sent but never shown.
        key: API key; "" for none.

    Raises:
        ConfigError: the URL is invalid.
    """

    def __init__(self, url: str, key: str) -> None:
        parts = url_parts(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(
                "The search server's URL is not an http or https URL; expected one such as http://localhost:7700.",
                kind="engine",
            )
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        self.url = urlunsplit(bare).rstrip("/")
        """The URL as shown in messages."""
        # The server sends compressed responses in pieces, the last of which waits 40 ms for an acknowledgement.
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
        timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._base = url.rstrip("/")
        # The key is sent to this server only: no proxy of the environment, no redirects.
        self._http = httpx2.Client(headers=headers, timeout=timeout, follow_redirects=False, trust_env=False)

    def call(self, method: str, path: str, body: Json = None) -> JsonObject:
        """The JSON object with which the server answers a request.

        Raises:
            UnavailableError: kind "engine": the server does not respond, fails, or is not a Meilisearch server.
            UnauthenticatedError: the key is wrong.
            NotFoundError: kind "search_index": there is no such index.
            RejectedError: kind "search_index": the server rejected the request; the message has the server's reason.
        """
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json"} if content else {}
        timeout = SEND_SECONDS if content and len(content) > LARGE_BYTES else ANSWER_SECONDS
        try:
            response = self._http.request(
                method,
                f"{self._base}{path}",
                content=content,
                headers=headers,
                timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS),
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._absent() from error
        except RuntimeError as error:
            if not self._http.is_closed:
                raise
            raise self._absent() from error  # the call was still queued when the process ended
        return self._understood(response)

    def wait(self, task: JsonObject) -> JsonObject:
        """Wait for a task; returns its details.

        Args:
            task: Response of the request that started the task.

        Raises:
            StorageError: kind "search_index": the task failed, was cancelled, or timed out.
        """
        number = task.get("taskUid")
        deadline = time.monotonic() + TASK_SECONDS
        pause = MIN_POLL_PAUSE
        while True:
            answer = self.call("GET", f"/tasks/{number}")
            status = answer.get("status")
            if status == "succeeded":
                return answer
            if status in {"failed", "canceled"}:
                raise _failed(f"task {number} {status}: {_message(answer.get('error'))}")
            if time.monotonic() > deadline:
                raise _failed(f"task {number} was not finished after {TASK_SECONDS:.0f} s")
            time.sleep(pause)
            pause = min(2 * pause, MAX_POLL_PAUSE)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def foreign(self, reason: str) -> UnavailableError:
        """The error for a server that is not a Meilisearch server.

        Args:
            reason: A clause that states the evidence.
        """
        return UnavailableError(
            f"The server at {self.url} is no Meilisearch: {reason}. Check the URL, also its path.",
            kind="engine",
        )

    def _understood(self, response: httpx2.Response) -> JsonObject:
        try:
            answer: Json = json.loads(response.content) if response.content else None
        except ValueError:
            answer = None
        if response.is_success:
            if isinstance(answer, Mapping):
                return answer
            raise self.foreign("its answer is not JSON")
        if response.status_code in _REFUSED:
            raise UnauthenticatedError(
                f"Meilisearch at {self.url} refused the API key. Set MEILI_API_KEY, or search.apiKey.", kind="engine"
            )
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise self._absent()
        code = answer.get("code") if isinstance(answer, Mapping) else None
        if not isinstance(code, str):
            raise self.foreign(f"it answered with status {response.status_code}")
        if code == "index_not_found":
            raise NotFoundError("There is no such index.", kind="search_index")
        raise RejectedError(code, _message(answer))

    def _absent(self) -> UnavailableError:
        return UnavailableError(
            f"Meilisearch not available at {self.url}. "
            "Start it with: docker run -d -p 7700:7700 getmeili/meilisearch:latest",
            kind="engine",
        )


def index_path(name: str, *below: str) -> str:
    """The path of an index on the server, or of a resource in it."""
    return "/".join(["", "indexes", quote(name, safe=""), *below])


def items(value: Json) -> Sequence[Json]:
    """The items of a list; () for any other value."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def whole_number(value: Json) -> int | None:
    """A whole number; None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _message(error: Json) -> str:
    message = error.get("message") if isinstance(error, Mapping) else None
    return " ".join(message.split()) if isinstance(message, str) else "no reason was given"


def _failed(reason: str) -> KnowledgeError:
    return StorageError(f"The search index failed: {reason}", kind="search_index")


# Conversion of pages, filters, sorts and hits to and from the server's format.


FILTERABLE_ATTRIBUTES = (
    "space_key", "labels", "author_email", "author_name", "last_modifier_email", "created_at", "updated_at",
)  # fmt: skip
SORTABLE_ATTRIBUTES = ("created_at", "updated_at")
INDEX_SETTINGS: JsonObject = {
    "searchableAttributes": ["title", "content"],
    "filterableAttributes": list(FILTERABLE_ATTRIBUTES),
    "sortableAttributes": list(SORTABLE_ATTRIBUTES),
    "rankingRules": ["words", "typo", "proximity", "attribute", "sort", "exactness"],
    "typoTolerance": {"enabled": True, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9}},
    # keeps totals exact
    "pagination": {"maxTotalHits": 10_000_000},
}  # fmt: skip
"""Settings of every index."""
RETRIEVED_ATTRIBUTES = (
    "id", "title", "content", "labels", "author_email", "author_name", "last_modifier_email", "created_at",
    "updated_at", "local_path", "url", "parent_title",
)  # fmt: skip
"""Attributes of a hit that a search requests."""
MAX_BATCH_BYTES = 8_000_000


def page_document(whole: PageText, space_key: str) -> JsonObject:
    """A page as a document of the index."""
    page = whole.page
    return {
        "id": page.id,
        "title": page.title,
        "content": whole.content,
        "space_key": space_key,
        "labels": list(page.labels),
        "author_email": page.author_email or None,
        "author_name": page.author_name or None,
        "last_modifier_email": page.last_modifier_email or None,
        "created_at": page.created,
        "updated_at": page.updated,
        "local_path": page.address.path,
        "url": page.url or None,
        "parent_title": page.parent_title or None,
    }


def batches(documents: Iterable[JsonObject]) -> Iterator[list[JsonObject]]:
    """The documents in batches of about `MAX_BATCH_BYTES` at most."""
    batch: list[JsonObject] = []
    size = 0
    for json_object in documents:
        batch.append(json_object)
        size += len(json.dumps(json_object))
        if size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def filter_of(filter_: PageFilter, space_key: str) -> list[str]:
    """A filter as expressions, all of which must match."""
    parts = [space_filter(space_key)]
    if filter_.labels:
        parts.append(f"labels IN [{', '.join(map(_quoted, filter_.labels))}]")
    if filter_.author:
        author = _quoted(filter_.author)
        parts.append(f"author_email = {author} OR author_name = {author}")
    parts += _within("created_at", filter_.created)
    parts += _within("updated_at", filter_.updated)
    return parts


def space_filter(space_key: str) -> str:
    """The filter expression that matches the pages of a space."""
    return f"space_key = {_quoted(space_key)}"


def sort_of(sort: Sort | None) -> list[str]:
    """A sort in the server's format."""
    return [] if sort is None else [f"{sort.removeprefix('-')}:{'desc' if sort.startswith('-') else 'asc'}"]


def page_from_hit(hit: JsonObject) -> Page:
    """The page of a hit. Attributes that are missing or have another type count as unknown."""
    return Page(
        address=Address(as_one_line(hit.get("local_path"))),
        id=as_one_line(hit.get("id")),
        title=as_one_line(hit.get("title")),
        labels=tuple(label for label in items(hit.get("labels")) if isinstance(label, str)),
        author_email=as_one_line(hit.get("author_email")),
        author_name=as_one_line(hit.get("author_name")),
        last_modifier_email=as_one_line(hit.get("last_modifier_email")),
        created=whole_number(hit.get("created_at")),
        updated=whole_number(hit.get("updated_at")),
        url=as_one_line(hit.get("url")),
        parent_title=as_one_line(hit.get("parent_title")),
    )


def snippet_of(hit: JsonObject, words: QueryWords, limit: int) -> str:
    """The excerpt of a hit's content around the words of the query."""
    content = hit.get("content")
    if not isinstance(content, str):
        return ""
    return page_excerpt(content, words.in_text(without_title(content)), limit)


def _within(name: str, bounds: TimeRange) -> Iterator[str]:
    if bounds.first is not None:
        yield f"{name} >= {bounds.first}"
    if bounds.before is not None:
        yield f"{name} < {bounds.before}"


def _quoted(text: str) -> str:
    """A text as a quoted value of a filter expression."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
