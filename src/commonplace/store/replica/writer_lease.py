"""Which server writes to a remote: a ref in the remote itself names it, and is renewed with its pushes.

The lease saves servers from pushing against each other; it protects nothing, because the remote takes a push only if
its branch has not moved. So no clock is compared: a server measures how long it has seen the same lease, with its own
clock, and takes one over that was not renewed in time.
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
"""Seconds after which the next push renews the lease."""
RETRY_SECONDS = 10.0
"""Seconds after which a server that could not take writes is tried again."""
_SUBJECT = "The server that writes"


class WriterLease:
    """The lease of one remote, as this server knows it. Thread-safe.

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
        self._url = url
        self._peers = frozenset(peers) - {url}
        ranked = sorted({*peers, url} - {""}, key=lambda one: _weight(base, one), reverse=True)
        self._before = [one for one in (ranked[: ranked.index(url)] if url else ranked) if one != url]
        """The servers that write rather than this one, the first first (rendezvous hashing)."""
        self._failed: dict[str, float] = {}
        """Time of the clock at which a server could not take writes."""
        self._lock = threading.Lock()
        self._commit = ""
        """The commit that the lease is, as last seen; "" for none."""
        self._owner = ""
        self._since = 0.0
        """Time of the clock at which this commit was first seen."""

    def observe(self, commit: str) -> None:
        """Take in what a fetch found: the commit of the lease, "" for none."""
        with self._lock:
            if commit != self._commit:
                before = self._owner
                self._commit, self._owner, self._since = commit, self._named(commit), self._clock()
                self._log_change(before)
                self._failed.pop(self._owner, None)  # it lives

    def _log_change(self, before: str) -> None:
        """Log that this server has taken the lease over, or has lost it. Renewals are not logged."""
        if not self._url or before == self._owner:
            return
        lease = self._commit[:SHOWN_ID] or "none"
        if self._owner == self._url:
            log.info("%s: this server has taken over the lease of writing (lease %s)", self._name, lease)
        elif before == self._url:
            other = f"to {host_of(self._owner)}" if self._owner else "because the remote has none any more"
            log.info("%s: this server has lost the lease of writing %s (lease %s)", self._name, other, lease)

    @property
    def owner(self) -> str:
        """URL of the other server that has the lease; "" if none has."""
        with self._lock:
            return self._owner if self._is_current() else ""

    def writers(self) -> list[str]:
        """URLs of the servers that write rather than this one, in the order in which to try them.

        The one with the lease is the first, unless this one precedes it in the order of the servers.
        """
        with self._lock:
            now = self._clock()
            usable = [one for one in self._before if now - self._failed.get(one, -math.inf) >= RETRY_SECONDS]
            if self._is_current() and self._owner in usable:
                usable.remove(self._owner)
                usable.insert(0, self._owner)
            return usable

    def failed(self, url: str) -> None:
        """A server could not take writes. It is not tried for `RETRY_SECONDS`, unless it renews the lease."""
        with self._lock:
            self._failed[url] = self._clock()

    def has_failed(self, url: str) -> bool:
        """Whether a server could not take writes the last time, and has not renewed the lease since."""
        with self._lock:
            return url in self._failed

    def took(self, url: str) -> None:
        """A server has taken writes."""
        with self._lock:
            self._failed.pop(url, None)

    def _is_current(self) -> bool:
        return self._owner in self._peers and self._clock() - self._since < LEASE_SECONDS

    @property
    def is_own(self) -> bool:
        """Whether this server has the lease, as far as it knows."""
        with self._lock:
            return self._owner == self._url and self._clock() - self._since < LEASE_SECONDS

    def renewal(self) -> tuple[str, str] | None:
        """A new lease of this server and the one that it replaces ("" for none); None if there is time.

        Raises:
            OSError: the clone cannot be written.
        """
        if not self._url:
            return None
        with self._lock:
            if self._owner == self._url and self._clock() - self._since < RENEW_SECONDS:
                return None
            before = self._commit
        objects = NewObjects(self._repository.objects, secrets.token_hex(6), self._repository.has_object)
        objects.add("tree", b"")
        words = commit_message(self._repository, f"{_SUBJECT}\n\n{self._url}\n{secrets.token_hex(8)}", None)
        commit = objects.add("commit", words.content(EMPTY_TREE, ""))
        with Unsynced() as unsynced:
            objects.write(unsynced)
        objects.place()
        return commit, before

    def _named(self, commit: str) -> str:
        """The URL in a lease; "" for another commit."""
        if not commit:
            return ""
        with suppress(KnowledgeError, UnicodeDecodeError):
            lines = self._repository.commit(commit).message.splitlines()
            if len(lines) >= 3 and lines[0] == _SUBJECT:  # noqa: PLR2004 - subject, blank line, URL
                return lines[2]
        return ""


def _weight(base: str, url: str) -> bytes:
    """The weight of a server for a remote. The server with the highest one writes (highest random weight)."""
    return hashlib.sha256(f"{base} {url}".encode("utf-8", "surrogateescape")).digest()
