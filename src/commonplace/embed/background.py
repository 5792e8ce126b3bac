"""Background embedding in a server: one low-priority thread that polls for changes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from commonplace.domain.addresses import Address
from commonplace.domain.errors import IndexingError, KnowledgeError
from commonplace.embed.local import LocalSemanticIndex

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Polling interval in seconds."""
FULL_COMPARISON_SECONDS = 60.0
"""Interval in seconds between two full comparisons while an index changes.

A full comparison finds unreported changes, such as those that another process indexed in an unwatched folder.
"""
MAX_PENDING_CHANGES = 200
"""Maximum number of changed documents that are checked one by one."""
RETRY_SECONDS = 30.0
"""Seconds before a failed model is retried."""
JOIN_SECONDS = 2.0
"""Timeout in seconds for the running call of the model at the end of the process."""


class BackgroundEmbedder:
    """Updates vectors until closed.

    Args:
        meanings: Semantic indexes of the collections. The list may grow.
        wait: Called by the thread before it loads anything.
    """

    def __init__(self, meanings: Sequence[LocalSemanticIndex], wait: Callable[[], None] = lambda: None) -> None:
        self._meanings = meanings
        self._wait = wait
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        with self._lock:
            if not self._stop.is_set():
                self._thread.start()

    def close(self) -> None:
        """Stop after the running call of the model."""
        with self._lock:
            self._stop.set()
            started = self._thread.is_alive()
        if started:
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        self._wait()
        if self._stop.is_set():
            return
        from commonplace.embed.embedding_run import lower_priority

        lower_priority()
        followed: dict[LocalSemanticIndex, _EmbeddedCollection] = {}
        while True:
            pause = POLL_SECONDS
            for meaning in tuple(self._meanings):
                if meaning not in followed:
                    followed[meaning] = _EmbeddedCollection(meaning)
                try:
                    followed[meaning].refresh(self._stop)
                except IndexingError:
                    continue
                except KnowledgeError as error:
                    log.debug("embedding waits: %s", error)
                    pause = RETRY_SECONDS
            if self._stop.wait(pause):
                return


class _EmbeddedCollection:
    """One collection, with the documents whose vectors may be outdated.

    Comparing all documents with all vectors takes time and memory in proportion to their number. All are compared at
    the start, after a failure, while another process is embedding, and at intervals. Otherwise only documents that the
    index reported are compared.
    """

    def __init__(self, meaning: LocalSemanticIndex) -> None:
        self._semantic_index = meaning
        self._lock = threading.Lock()
        self._told: set[Address] = set()
        self._compared: float | None = None
        """Time of the last full comparison; None if one is due."""
        self._generation = -1
        """Generation of the index at the last full comparison."""
        meaning.index.listen(self._tell)

    def refresh(self, stop: threading.Event) -> None:
        """Embed changed documents.

        Raises:
            KnowledgeError: `LocalSemanticIndex.embed` failed; the next attempt compares everything.
        """
        index = self._semantic_index.index
        index.wait_ready(0)
        generation = index.generation
        told = self._taken()
        whole = self._is_due(generation) or len(told) > MAX_PENDING_CHANGES
        if not whole and not told:
            return
        compared, self._compared = self._compared, None
        self._semantic_index.embed(stop=stop, among=None if whole else told)
        if stop.is_set():
            return
        self._semantic_index.warm()
        if not whole:
            self._compared = compared
            if self._semantic_index.pending:  # another process is embedding; the next call checks these documents again
                self._tell(told)
        elif not self._semantic_index.pending:
            self._compared, self._generation = time.monotonic(), generation

    def _is_due(self, generation: int) -> bool:
        """Whether a full comparison is due."""
        if self._compared is None:
            return True
        return generation != self._generation and time.monotonic() - self._compared >= FULL_COMPARISON_SECONDS

    def _tell(self, documents: Collection[Address], _: bool = False) -> None:
        with self._lock:
            self._told.update(documents)

    def _taken(self) -> Collection[Address]:
        """Return and clear the reported documents."""
        with self._lock:
            told, self._told = self._told, set()
        return told
