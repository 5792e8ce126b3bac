"""The lease that names the one server that writes to a remote, and the writes that others forward to that server."""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import math
import secrets
import socket
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from commonplace.domain.changes import Author, written_by
from commonplace.domain.cluster import STATE_PATH, WRITES_PATH, WRITES_SIGNATURE, sign
from commonplace.domain.errors import (
    ConflictError,
    GitError,
    InvalidInputError,
    KnowledgeError,
    ReadOnlyError,
    UnavailableError,
)
from commonplace.store.disk.durable import Unsynced
from commonplace.store.git.commits import CommitMessage, Signature, commit_message
from commonplace.store.git.objects import EMPTY_TREE, NewObjects
from commonplace.store.git.repository import GitRepository
from commonplace.store.names import is_object_id
from commonplace.store.replica.clone_repository import SHOWN_ID, host_of

# The writer lease of a remote: a ref in the remote that names the server that writes to it.
#
# The server renews the lease with its pushes. The lease only avoids competing pushes; correctness does not depend on
# it, because the remote accepts a push only if its branch has not moved. Clocks of servers are therefore not compared:
# each server measures by its own clock how long it has seen the same lease, and takes over a lease that was not
# renewed in time.


log = logging.getLogger(__name__)

LEASE_REF = "refs/commonplace/writer"
LEASE_SECONDS = 10.0
"""Seconds after which a lease that was not renewed may be taken over."""
RENEW_SECONDS = 3.0
"""Age in seconds at which the next push renews the lease."""
RETRY_SECONDS = 10.0
"""Seconds until a server that could not accept writes is tried again."""
_SUBJECT = "The server that writes"


class WriterLease:
    """The lease of one remote, as last seen by this server. Thread-safe.

    Args:
        repository: The clone.
        url: This server's URL, as the others reach it; "" if they do not, so that it never has the lease.
        peers: URLs of the other servers; a lease that names none of them is not followed. This one's own may be among
            them, so that all servers can have the same settings.
        base: Key of the remote, the same on all servers. It spreads many remotes over the servers.
        clock: Returns seconds from any beginning.
        name: Name of the remote in the log.
    """

    def __init__(
        self,
        repository: GitRepository,
        url: str,
        peers: Collection[str],
        base: str = "",
        clock: Callable[[], float] = time.monotonic,
        *,
        name: str = "",
    ) -> None:
        self._name = name
        self._clock = clock
        self._repository = repository
        self.url = url
        self._peers = frozenset(peers) - {url}
        ranked = sorted({*peers, url} - {""}, key=lambda other_url: _weight(base, other_url), reverse=True)
        self._before = [element for element in (ranked[: ranked.index(url)] if url else ranked) if element != url]
        """The servers that precede this one as writers, in order of precedence (rendezvous hashing)."""
        self._failed: dict[str, float] = {}
        """Time of the clock at which a server last failed to accept writes, by URL."""
        self._lock = threading.Lock()
        self._commit = ""
        """The commit of the last lease seen; "" for none."""
        self._owner = ""
        self._owned = 0.0
        """Time of the clock at which the owner was first seen."""
        self._since = 0.0
        """Time of the clock at which this lease was first seen."""

    def observe(self, commit: str) -> None:
        """Record the commit of the lease that a fetch found, "" for none."""
        with self._lock:
            if commit != self._commit:
                before = self._owner
                self._commit, self._owner, self._since = commit, self._named(commit), self._clock()
                if self._owner != before:
                    self._owned = self._since
                self._log_change(before)
                self._failed.pop(self._owner, None)  # it lives

    def _log_change(self, before: str) -> None:
        """Log that this server has taken the lease over, or has lost it. Renewals are not logged."""
        if not self.url or before == self._owner:
            return
        lease = self._commit[:SHOWN_ID] or "none"
        if self._owner == self.url:
            log.info("%s: this server has taken over the lease of writing (lease %s)", self._name, lease)
        elif before == self.url:
            other = f"to {host_of(self._owner)}" if self._owner else "because the remote has none any more"
            log.info("%s: this server has lost the lease of writing %s (lease %s)", self._name, other, lease)

    def holder(self) -> tuple[str, float | None]:
        """Host and port of the server that had the lease last, "" for none; and seconds since it took it over."""
        with self._lock:
            owner = self._owner
            return host_of(owner) if owner else "", self._clock() - self._owned if owner else None

    @property
    def owner(self) -> str:
        """URL of the other server that has the lease; "" if none has."""
        with self._lock:
            return self._owner if self._is_current() else ""

    def writers(self) -> list[str]:
        """URLs of the servers that precede this one as writers, in the order in which to try them.

        The server with the lease is the first, unless this server precedes it by rendezvous hashing.
        """
        with self._lock:
            now = self._clock()
            usable = [text for text in self._before if now - self._failed.get(text, -math.inf) >= RETRY_SECONDS]
            if self._is_current() and self._owner in usable:
                usable.remove(self._owner)
                usable.insert(0, self._owner)
            return usable

    def failed(self, url: str) -> None:
        """Record that a server could not accept writes. It is skipped for `RETRY_SECONDS`, or until a renewal."""
        with self._lock:
            self._failed[url] = self._clock()

    def has_failed(self, url: str) -> bool:
        """Whether a server last failed to accept writes and has not renewed the lease since."""
        with self._lock:
            return url in self._failed

    def took(self, url: str) -> None:
        """Record that a server has accepted writes."""
        with self._lock:
            self._failed.pop(url, None)

    def _is_current(self) -> bool:
        return self._owner in self._peers and self._clock() - self._since < LEASE_SECONDS

    @property
    def is_own(self) -> bool:
        """Whether this server has the lease, as of the last fetch or push."""
        with self._lock:
            return self._owner == self.url and self._clock() - self._since < LEASE_SECONDS

    def renewal(self) -> tuple[str, str] | None:
        """A new lease of this server, and the lease that it replaces ("" for none); None if renewal is not due.

        Raises:
            OSError: the clone cannot be written.
        """
        if not self.url:
            return None
        with self._lock:
            if self._owner == self.url and self._clock() - self._since < RENEW_SECONDS:
                return None
            before = self._commit
        objects = NewObjects(self._repository.objects, secrets.token_hex(6), self._repository.has_object)
        objects.add("tree", b"")
        with written_by(None):  # the server's, whoever has it write
            words = commit_message(self._repository, f"{_SUBJECT}\n\n{self.url}\n{secrets.token_hex(8)}", None)
        commit = objects.add("commit", words.content(EMPTY_TREE, ""))
        with Unsynced() as unsynced:
            objects.write(unsynced)
        objects.place()
        return commit, before

    def _named(self, commit: str) -> str:
        """The URL in a lease; "" if the commit is not a lease."""
        if not commit:
            return ""
        with suppress(KnowledgeError, UnicodeDecodeError):
            lines = self._repository.commit(commit).message.splitlines()
            if len(lines) >= 3 and lines[0] == _SUBJECT:  # noqa: PLR2004 - subject, blank line, URL
                return lines[2]
        return ""


def _weight(base: str, url: str) -> bytes:
    """The weight of a server for a remote (rendezvous hashing). The server with the highest weight writes."""
    return hashlib.sha256(f"{base} {url}".encode("utf-8", "surrogateescape")).digest()


# Forwards writes from one server to another, as JSON over HTTP, signed with a shared secret.
#
# A request contains the writes in order, each with the old blob ids and the new bytes of its files. An answer contains
# one result for each write: the commit that the remote has, or the error.


CONNECT_SECONDS = 2.0
"""Timeout in seconds of a connection to another server."""
ANSWER_SECONDS = 15.0
"""Maximum time in seconds for the answer, which includes a push, while the server answers probes."""
PROBE_SECONDS = 1.0
"""Interval in seconds between probes of a server that has not answered, and timeout of a probe."""
PROBES = 3
"""Number of consecutive unanswered probes after which a server counts as hanging."""
MAX_ANSWER = 1_000_000
"""Maximum length of an answer in bytes."""
MAX_TIME = 253_402_300_799
"""Maximum time of a commit in seconds since 1970: the end of the year 9999."""
MAX_WRITES = 100
"""Maximum number of writes in a request."""


_ERRORS = {str(kind.code): kind for kind in (ConflictError, UnavailableError, InvalidInputError, ReadOnlyError)}


@dataclass(frozen=True, slots=True)
class ForwardedWrite:
    """One forwarded write."""

    contents: dict[str, bytes | None]
    """The new bytes by path; None for a removed file."""
    before: dict[str, str]
    """Id of the blob that the writer saw at each path; "" for none."""
    words: CommitMessage
    executable: frozenset[str] = frozenset()
    """Paths of the executable files that the write creates."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of one forwarded write: the commit, or the error."""

    commit: str = ""
    """The commit; "" if the remote does not have it."""
    parent: str = ""
    error: KnowledgeError | None = None


def send_writes(
    url: str, secret: str, body: bytes, count: int, sender: str = "", seconds: float = ANSWER_SECONDS
) -> list[WriteResult] | None:
    """Forward writes to another server and wait until it has pushed them.

    Args:
        url: The server.
        secret: The shared secret.
        body: The writes, formatted by `format_writes`.
        count: Number of the writes.
        sender: URL of this server; "" if it has none.
        seconds: Timeout in seconds for the whole answer.

    Returns:
        A result for each write; None if the server cannot be reached or refuses the writes. Nothing was written then.

    Raises:
        ConnectionError: the server gave an invalid answer, or hangs. It may have pushed the writes.
    """
    parts = urlsplit(url)
    connection = _connection(url, CONNECT_SECONDS)
    try:
        try:
            connection.connect()
        except (OSError, http.client.HTTPException):
            return None
        connection.sock.settimeout(seconds)
        try:
            headers = {"Content-Type": "application/json", WRITES_SIGNATURE: sign(body, secret, sender, url)}
            with _ended_unless_alive(url, connection.sock, seconds):
                connection.request("POST", parts.path.rstrip("/") + WRITES_PATH, body, headers)
                answer = connection.getresponse()
                content = answer.read(MAX_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionError(type(error).__name__) from error
    finally:
        connection.close()
    if answer.status in {401, 403, 404, 413, 422}:
        if answer.status in {401, 403}:
            refusal = (
                "The server at %s refuses handed over writes. On both servers cluster_secret must be the same, the"
                " clocks must agree within a minute, and that server's node_url must be its URL among the peers."
            )
            log.warning(refusal, host_of(url))
        return None
    results = _parsed_results(content) if answer.status == http.client.OK else None
    if results is None or len(results) != count:
        raise ConnectionError(f"HTTP {answer.status}")
    return results


def ask_state(url: str, secret: str, sender: str = "") -> dict[str, Any] | str:
    """The state of another server as JSON; or the reason why it is unknown, for an operator."""
    connection = _connection(url, CONNECT_SECONDS)
    body = b"{}"
    try:
        headers = {"Content-Type": "application/json", WRITES_SIGNATURE: sign(body, secret, sender, url)}
        connection.request("POST", urlsplit(url).path.rstrip("/") + STATE_PATH, body, headers)
        answer = connection.getresponse()
        content = answer.read(MAX_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        return f"It does not answer: {getattr(error, 'strerror', None) or type(error).__name__}."
    finally:
        connection.close()
    if answer.status != http.client.OK:
        return _STATELESS.get(answer.status, f"It answers with {answer.status}.")
    try:
        return cast("dict[str, Any]", _object(json.loads(content)))
    except (ValueError, TypeError, RecursionError):
        return "It gives an invalid answer."


_STATELESS = {
    401: "It refuses the call: its cluster_secret, its clock or its node_url differs.",
    404: "It does not tell its state: it is of an older version.",
}


def is_alive(url: str) -> bool:
    """Whether a server answers `/health` within `PROBE_SECONDS`."""
    connection = _connection(url, PROBE_SECONDS)
    try:
        connection.request("GET", f"{urlsplit(url).path.rstrip('/')}/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def _ended_unless_alive(url: str, sock: socket.socket, seconds: float) -> Generator[None]:
    """Shut a connection down after `seconds`, or if its server leaves `PROBES` consecutive probes unanswered."""
    answered = threading.Event()
    deadline = time.monotonic() + seconds

    def watch() -> None:
        lost = 0
        while not answered.wait(min(PROBE_SECONDS, max(deadline - time.monotonic(), 0.0))):
            lost = 0 if is_alive(url) else lost + 1
            if (lost == PROBES or time.monotonic() >= deadline) and not answered.is_set():
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                return

    threading.Thread(target=watch, name="probe", daemon=True).start()
    try:
        yield
    finally:
        answered.set()


def _connection(url: str, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return make(parts.hostname or "", parts.port, timeout=timeout)


def format_writes(base: str, writes: Sequence[ForwardedWrite]) -> bytes:
    """The body of a request."""
    shown = [
        {
            "message": write.words.message,
            "author": _shown_signature(write.words.author),
            "committer": _shown_signature(write.words.committer),
            "files": [
                [path, write.before[path], None if content is None else b64encode(content).decode()]
                + [True] * (path in write.executable)  # only then: servers of older versions refuse four
                for path, content in write.contents.items()
            ],
        }
        for write in writes
    ]
    return json.dumps({"base": base, "writes": shown}).encode()


def parse_writes(body: bytes) -> tuple[str, list[ForwardedWrite]]:
    """The key of the remote and the writes of a request.

    Raises:
        InvalidInputError: the body does not have the form of a request.
    """
    try:
        payload = _object(json.loads(body))
        writes = [_parsed_write(_object(element)) for element in _list(payload["writes"])[: MAX_WRITES + 1]]
        base = _text(payload["base"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError("The body is not a list of writes.", kind="body") from error
    if not 1 <= len(writes) <= MAX_WRITES:
        raise InvalidInputError(f"The body must have 1 to {MAX_WRITES} writes.", kind="body")
    return base, writes


def format_results(results: Sequence[WriteResult]) -> list[dict[str, str]]:
    """The results as JSON."""
    return [
        {"commit": element.commit, "parent": element.parent}
        if element.error is None
        else {
            "error": str(element.error),
            "code": str(element.error.code),
            "kind": element.error.kind,
            "hint": element.error.hint,
            "path": str(element.error.context.get("path", "")),
            "current_revision": str(element.error.context.get("current_revision", "")),
        }
        for element in results
    ]


def _parsed_write(payload: dict[str, object]) -> ForwardedWrite:
    contents: dict[str, bytes | None] = {}
    before: dict[str, str] = {}
    executable: set[str] = set()
    for file in _list(payload["files"]):
        path, old, content, *marks = _list(file)
        name = _text(path)
        if marks:
            if marks != [True]:
                raise ValueError(name)
            executable.add(name)
        before[name] = _text(old)
        contents[name] = None if content is None else b64decode(_text(content), validate=True)
        if before[name] and not is_object_id(before[name]):
            raise ValueError(name)
    if "\0" in _text(payload["message"]):  # Git cuts a message off there
        raise ValueError
    words = CommitMessage(
        _text(payload["message"]),
        _signature(payload["author"]),
        _signature(payload["committer"]),
    )
    return ForwardedWrite(contents, before, words, frozenset(executable))


def _parsed_results(content: bytes) -> list[WriteResult] | None:
    try:
        return [_parsed_result(_object(element)) for element in _list(_object(json.loads(content))["results"])]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _parsed_result(payload: dict[str, object]) -> WriteResult:
    if "error" not in payload:
        commit, parent = _text(payload["commit"]), _text(payload["parent"])
        if not is_object_id(commit):
            raise ValueError(commit)
        return WriteResult(commit, parent)
    make = _ERRORS.get(_text(payload["code"]), GitError)
    error = make(_text(payload["error"]), kind=_text(payload["kind"]), hint=_text(payload["hint"]))
    if make is ConflictError:
        error.context.update(path=_text(payload["path"]), current_revision=_text(payload["current_revision"]))
    return WriteResult(error=error)


def _shown_signature(signature: Signature) -> list[str | int]:
    return [signature.author.name, signature.author.email, signature.when, signature.offset]


def _signature(committer: object) -> Signature:
    name, email, when, offset = _list(committer)
    if not isinstance(when, int) or not isinstance(offset, int):
        raise TypeError
    author = Author(_text(name), _text(email))
    if any(char in "<>\n\0" for char in author.name + author.email) or abs(offset) > 24 * 60:
        raise ValueError(author.name)
    if isinstance(when, bool) or not 0 <= when <= MAX_TIME:
        raise ValueError(when)
    return Signature(author, when, offset)


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError
    return cast("dict[str, object]", value)


def _list(file: object) -> list[object]:
    if not isinstance(file, list):
        raise TypeError
    return cast("list[object]", file)


def _text(path: object) -> str:
    if not isinstance(path, str):
        raise TypeError
    return path
