"""Embedding while a server runs: one thread that looks for work now and then and is in nobody's way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from commonplace.domain.errors import IndexingError, KnowledgeError
from commonplace.embed.local import LocalMeaning

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between two looks at whether something changed: one number out of each index."""
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
        seen: dict[LocalMeaning, int] = {}
        while True:
            pause = PAUSE
            for meaning in tuple(self._meanings):
                try:
                    seen[meaning] = self._look(meaning, seen.get(meaning, -1))
                except IndexingError:
                    continue
                except KnowledgeError as error:
                    log.debug("embedding waits: %s", error)
                    pause = REST
            if self._stop.wait(pause):
                return

    def _look(self, meaning: LocalMeaning, seen: int) -> int:
        """Embed what has changed since a generation of the index; the generation now."""
        meaning.index.wait_ready(0)
        generation = meaning.index.generation
        if generation != seen or meaning.pending:
            meaning.embed(stop=self._stop)
            if not self._stop.is_set():
                meaning.warm()
        return generation
