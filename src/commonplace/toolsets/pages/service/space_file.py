"""The space file of a folder, reloaded after changes."""

from __future__ import annotations

import logging
import threading

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError
from commonplace.domain.ports import Store
from commonplace.toolsets.pages.rules.space import SPACE_FILE, Space, no_space, parse_space

log = logging.getLogger(__name__)


class SpaceFile:
    """The current space file. Each call checks the file's stat data and reloads the file if it has changed.

    Args:
        store: The folder.

    Raises:
        NotFoundError: kind "space": there is no space file.
        ConfigError, StorageError: the file cannot be read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._stat: FileStat | None = store.stat(SPACE_FILE)
        self._space = _read(store)

    def __call__(self) -> Space:
        """The space; its last valid state if the file is missing or unreadable, for example during a write."""
        with self._lock:
            try:
                stat = self._store.stat(SPACE_FILE)
                if stat != self._stat:
                    self._space, self._stat = _read(self._store), stat
            except KnowledgeError as error:
                log.info("%s: the space file was not taken over: %s", self._store.name, error)
            return self._space


def _read(store: Store) -> Space:
    try:
        raw = store.read(SPACE_FILE)
    except NotFoundError:
        raise no_space() from None
    try:
        return parse_space(raw.decode())
    except UnicodeDecodeError:
        raise ConfigError(f"{SPACE_FILE} is not a JSON object: it is not valid UTF-8.", kind="space") from None
