"""Requests to a Meilisearch server, and the errors for its responses."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import quote, urlsplit, urlunsplit

import httpx2

from commonplace.domain.errors import (
    ConfigError,
    KnowledgeError,
    NotFoundError,
    StorageError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.domain.json import Json, JsonObject

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
        parts = urlsplit(url)
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
