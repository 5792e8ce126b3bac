"""Embedding while a server runs: one thread that looks for work now and then and is in nobody's way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Sequence

from commonplace.domain.addresses import Address
from commonplace.domain.errors import IndexingError, KnowledgeError
from commonplace.embed.local import LocalSemanticIndex

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Seconds between two looks at whether something changed."""
FULL_COMPARISON_SECONDS = 60.0
"""Full-comparison interval while an index changes; catches changes that were not reported, such as what
another process took in where nothing can be watched."""
MAX_PENDING_CHANGES = 200
"""Changed documents that are looked up one by one."""
RETRY_SECONDS = 30.0
"""Seconds until a failed model is asked again."""
JOIN_SECONDS = 2.0
"""How long an end waits for the texts that are in the model."""


class BackgroundEmbedder:
    """Keeps vectors up to date until it is closed.

    Args:
        meanings: Of the collections; the list may grow, as folders come.
    """

    def __init__(self, meanings: Sequence[LocalSemanticIndex]) -> None:
        self._meanings = meanings
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End after the texts that are in the model."""
        self._stop.set()
        if self._thread.ident:
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
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
    """One collection, and what of it may have other vectors than it needs.

    To compare all documents with all vectors takes time and memory in proportion to them. So it is done at the
    beginning, after a failure, while another process is at it, and now and then. Between, only those documents are
    compared that the index told of.
    """

    def __init__(self, meaning: LocalSemanticIndex) -> None:
        self._semantic_index = meaning
        self._lock = threading.Lock()
        self._told: set[Address] = set()
        self._compared: float | None = None
        """When all were compared for the last time; None: they are to be compared now."""
        self._generation = -1
        """Of the index then."""
        meaning.index.listen(self._tell)

    def refresh(self, stop: threading.Event) -> None:
        """Embed what has changed.

        Raises:
            KnowledgeError: as `LocalSemanticIndex.embed`; all is compared when it is tried again.
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
            if self._semantic_index.pending:  # another process is at it: whether it does these too is seen next time
                self._tell(told)
        elif not self._semantic_index.pending:
            self._compared, self._generation = time.monotonic(), generation

    def _is_due(self, generation: int) -> bool:
        """Whether it is time to compare all."""
        if self._compared is None:
            return True
        return generation != self._generation and time.monotonic() - self._compared >= FULL_COMPARISON_SECONDS

    def _tell(self, documents: Collection[Address], _: bool = False) -> None:
        with self._lock:
            self._told.update(documents)

    def _taken(self) -> Collection[Address]:
        """What was told of since the last time."""
        with self._lock:
            told, self._told = self._told, set()
        return told
