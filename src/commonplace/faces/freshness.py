"""Read-your-writes for replicas over HTTP: a request names commits that its answer must contain.

Every answer names the commits that it contains.
"""

from __future__ import annotations

import math
import re
from urllib.parse import unquote_plus

import anyio
import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.domain.cluster import recording_notices, recording_written
from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.faces.access.callers import caller_of
from commonplace.faces.responses import send_error
from commonplace.services.cluster import WAIT_SECONDS, commits_before, contained_commits, wait_for_commits
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import Services

AT_LEAST_HEADER = "commonplace-at-least"
"""Request header: the commits that the answer must contain."""
AT_LEAST_META = "commonplace/at_least"
"""Counterpart of `AT_LEAST_HEADER` in the `_meta` of an MCP request."""
NOTICE_HEADER = "commonplace-notice"
"""Response header: notices about missing parts or an unusual source of the answer."""
COMMIT_HEADER = "commonplace-commit"
"""Response header: the commits that the answer contains."""
MAX_WAITING = 64
"""Maximum number of requests that wait for commits. Further requests are refused."""
_PREFERENCE = re.compile(r"(?:^|[,;\s])wait=(\d{1,6})(?:[,;\s]|$)", re.IGNORECASE)
"""The client's preferred timeout in seconds (RFC 7240, section 4.3)."""
_PARAMETER = b"at_least="
"""Counterpart of `AT_LEAST_HEADER` in a query string."""


class CommitWaits:
    """Waits for commits in separate threads, so that waiting calls do not block others."""

    def __init__(self) -> None:
        self._waiting = 0
        self._threads: anyio.CapacityLimiter | None = None

    async def wait(self, collections: Collections, text: str, seconds: float = WAIT_SECONDS) -> None:
        """Wait for the commits that a caller names.

        Args:
            collections: The collections that the caller may use.
            text: Same as in `services.cluster.wait_for_commits`.
            seconds: Timeout in seconds.

        Raises:
            UnavailableError: too many callers are waiting already.
            KnowledgeError: same as `services.cluster.wait_for_commits`.
        """
        if self._waiting >= MAX_WAITING:
            raise UnavailableError("Too many requests wait for commits.", kind="commit", hint="Try again in a moment.")
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(math.inf)
        self._waiting += 1
        try:
            await anyio.to_thread.run_sync(
                wait_for_commits, collections, text, seconds, abandon_on_cancel=True, limiter=self._threads
            )
        finally:
            self._waiting -= 1


class FreshnessGate:
    """ASGI middleware that waits for the requested commits and adds headers for the answer's commits and notices.

    Args:
        app: The application.
        services: Services with replicas.
        waits: The waits of the server.
    """

    def __init__(self, app: ASGIApp, services: Services, waits: CommitWaits) -> None:
        self._app = app
        self._services = services
        self._waits = waits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        names = caller_of(scope).collections
        text, scope = _needed(scope)

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                if commits := contained_commits(self._visible(names), before, written):
                    MutableHeaders(scope=message)[COMMIT_HEADER] = commits
                if said:
                    MutableHeaders(scope=message)[NOTICE_HEADER] = " ".join(said).encode("ascii", "replace").decode()
            await send(message)

        with recording_notices() as said, recording_written() as written:
            before = commits_before(self._visible(names))
            try:
                if text:
                    seen = self._services.only(names).collections
                    await self._waits.wait(seen, text, patience(scope, WAIT_SECONDS))
                    before = commits_before(self._visible(names))
            except KnowledgeError as error:
                await send_error(named, error)
            else:
                await self._app(scope, receive, named)

    def _visible(self, names: frozenset[str] | None) -> list[Collection]:
        """The open collections that a caller may see."""
        return [
            collection for collection in self._services.collections.opened if names is None or collection.name in names
        ]


def _needed(scope: Scope) -> tuple[str, Scope]:
    """The commits that a request names, and the request without the query parameter `at_least`."""
    texts = Headers(scope=scope).getlist(AT_LEAST_HEADER)
    query: bytes = scope.get("query_string", b"")
    parts = query.split(b"&")
    rest = [part for part in parts if not part.startswith(_PARAMETER)]
    if len(rest) < len(parts):
        texts += [unquote_plus(part[len(_PARAMETER) :].decode("latin-1")) for part in parts if part not in rest]
        scope = {**scope, "query_string": b"&".join(rest)}
    return ",".join(texts), scope


def patience(scope: Scope, otherwise: float) -> float:
    """Timeout of a request in seconds: the value of `Prefer: wait`, at most `WAIT_SECONDS`; another one without it."""
    match = _PREFERENCE.search(Headers(scope=scope).get("prefer", ""))
    return min(float(match[1]), WAIT_SECONDS) if match else otherwise
