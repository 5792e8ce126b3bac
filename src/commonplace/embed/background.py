"""Embedding while a server runs: one thread that looks for work now and then and is in nobody's way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Sequence

from commonplace.domain.addresses import Address
from commonplace.domain.errors import IndexingError, KnowledgeError
from commonplace.embed.local import LocalMeaning

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between two looks at whether something changed."""
WHOLE_SECONDS = 60.0
"""Between two comparisons of all documents while an index changes: they find what it did not tell of, such as what
another process took in where nothing can be watched."""
MOST_TOLD = 200
"""Changed documents that are looked up one by one."""
REST = 30.0
"""Seconds until a failed model is asked again."""
END_SECONDS = 2.0
"""How long an end waits for the texts that are in the model."""


class Background:
    """Keeps vectors up to date until it is closed.

    Args:
        meanings: Of the collections; the list may grow, as folders come.
    """

    def __init__(self, meanings: Sequence[LocalMeaning]) -> None:
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
            self._thread.join(END_SECONDS)

    def _run(self) -> None:
        from commonplace.embed.refreshing import lower_priority

        lower_priority()
        followed: dict[LocalMeaning, _Followed] = {}
        while True:
            pause = PAUSE
            for meaning in tuple(self._meanings):
                if meaning not in followed:
                    followed[meaning] = _Followed(meaning)
                try:
                    followed[meaning].look(self._stop)
                except IndexingError:
                    continue
                except KnowledgeError as error:
                    log.debug("embedding waits: %s", error)
                    pause = REST
            if self._stop.wait(pause):
                return


class _Followed:
    """One collection, and what of it may have other vectors than it needs.

    To compare all documents with all vectors takes time and memory in proportion to them. So it is done at the
    beginning, after a failure, while another process is at it, and now and then. Between, only those documents are
    compared that the index told of.
    """

    def __init__(self, meaning: LocalMeaning) -> None:
        self._meaning = meaning
        self._lock = threading.Lock()
        self._told: set[Address] = set()
        self._compared: float | None = None
        """When all were compared for the last time; None: they are to be compared now."""
        self._generation = -1
        """Of the index then."""
        meaning.index.listen(self._tell)

    def look(self, stop: threading.Event) -> None:
        """Embed what has changed.

        Raises:
            KnowledgeError: as `LocalMeaning.embed`; all is compared when it is tried again.
        """
        index = self._meaning.index
        index.wait_ready(0)
        generation = index.generation
        told = self._taken()
        whole = self._is_due(generation) or len(told) > MOST_TOLD
        if not whole and not told:
            return
        compared, self._compared = self._compared, None
        self._meaning.embed(stop=stop, among=None if whole else told)
        if stop.is_set():
            return
        self._meaning.warm()
        if not whole:
            self._compared = compared
            if self._meaning.pending:  # another process is at it: whether it does these too is seen next time
                self._tell(told)
        elif not self._meaning.pending:
            self._compared, self._generation = time.monotonic(), generation

    def _is_due(self, generation: int) -> bool:
        """Whether it is time to compare all."""
        if self._compared is None:
            return True
        return generation != self._generation and time.monotonic() - self._compared >= WHOLE_SECONDS

    def _tell(self, documents: Collection[Address], _: bool = False) -> None:
        with self._lock:
            self._told.update(documents)

    def _taken(self) -> Collection[Address]:
        """What was told of since the last time."""
        with self._lock:
            told, self._told = self._told, set()
        return told
