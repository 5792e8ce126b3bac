"""Which server writes to a remote: a ref in the remote itself names it, and is renewed with its pushes.

The lease saves servers from pushing against each other; it protects nothing, because the remote takes a push only if
its branch has not moved. So no clock is compared: a server measures how long it has seen the same lease, with its own
clock, and takes one over that was not renewed in time.
"""

from __future__ import annotations

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

LEASE_REF = "refs/commonplace/writer"
LEASE_SECONDS = 10.0
"""Seconds after which a lease that was not renewed may be taken over."""
RENEW_SECONDS = 3.0
"""Seconds after which the next push renews the lease."""
_SUBJECT = "The server that writes"


class WriterLease:
    """The lease of one remote, as this server knows it. Thread-safe.

    Args:
        repository: The clone.
        url: This server's URL, as the others reach it.
        peers: URLs of the other servers; a lease that names none of them is not followed.
        clock: Returns seconds from any beginning.
    """

    def __init__(
        self,
        repository: GitRepository,
        url: str,
        peers: Collection[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._repository = repository
        self._url = url
        self._peers = frozenset(peers)
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
                self._commit, self._owner, self._since = commit, self._named(commit), self._clock()

    @property
    def owner(self) -> str:
        """URL of the other server that writes now; "" if this one may."""
        with self._lock:
            current = self._clock() - self._since < LEASE_SECONDS
            return self._owner if current and self._owner in self._peers else ""

    def renewal(self) -> tuple[str, str] | None:
        """A new lease of this server and the one that it replaces ("" for none); None if there is time.

        Raises:
            OSError: the clone cannot be written.
        """
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
