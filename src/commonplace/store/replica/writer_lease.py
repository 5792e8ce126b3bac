"""The writer lease of a remote: a ref in the remote that names the server that writes to it.

The server renews the lease with its pushes. The lease only avoids competing pushes; correctness does not depend on it,
because the remote accepts a push only if its branch has not moved. Clocks of servers are therefore not compared: each
server measures by its own clock how long it has seen the same lease, and takes over a lease that was not renewed in
time.
"""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress

from commonplace.domain.errors import KnowledgeError
from commonplace.store.disk.durable import Unsynced
from commonplace.store.git.commits import commit_message
from commonplace.store.git.objects import EMPTY_TREE, NewObjects
from commonplace.store.git.repository import GitRepository
from commonplace.store.replica.clone_repository import SHOWN_ID
from commonplace.store.replica.source import host_of

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
        ranked = sorted({*peers, url} - {""}, key=lambda one: _weight(base, one), reverse=True)
        self._before = [one for one in (ranked[: ranked.index(url)] if url else ranked) if one != url]
        """The servers that precede this one as writers, in order of precedence (rendezvous hashing)."""
        self._failed: dict[str, float] = {}
        """Time of the clock at which a server last failed to accept writes, by URL."""
        self._lock = threading.Lock()
        self._commit = ""
        """The commit of the last lease seen; "" for none."""
        self._owner = ""
        self._since = 0.0
        """Time of the clock at which this lease was first seen."""

    def observe(self, commit: str) -> None:
        """Record the commit of the lease that a fetch found, "" for none."""
        with self._lock:
            if commit != self._commit:
                before = self._owner
                self._commit, self._owner, self._since = commit, self._named(commit), self._clock()
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
            usable = [one for one in self._before if now - self._failed.get(one, -math.inf) >= RETRY_SECONDS]
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
