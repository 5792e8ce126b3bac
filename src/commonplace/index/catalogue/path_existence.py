"""Cached checks of whether paths are files; repeated only in changed folders.

A folder's modification time changes whenever a name in it is added or removed. A cached answer is valid while the
nearest existing ancestor folder is unchanged.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

UNSETTLED_NS = 3_000_000_000
"""Nanoseconds after a change within which another change may leave the folder's modification time the same."""


@runtime_checkable
class DiskStore(Protocol):
    """A store whose files are in a folder on disk, which can be watched."""

    @property
    def root(self) -> Path:
        """The folder."""
        ...


_State = tuple[int, int, int, int]


class PathExistenceCache:
    """Cached results for paths below one folder.

    Args:
        root: The folder; None if the files are not on disk, so that paths are checked every time.
        is_file: Whether a path is a servable file.
    """

    def __init__(self, root: Path | None, is_file: Callable[[str], bool]) -> None:
        self._root = root
        self._is_file = is_file
        self._lock = threading.Lock()
        self._states: dict[str, _State | None] = {}
        self._nearest: dict[str, str] = {}
        self._files: dict[str, bool] = {}

    def existing(self, paths: frozenset[str]) -> frozenset[str]:
        """Return the paths that are existing files. Results are cached per folder."""
        root = self._root
        if root is None:
            return frozenset(path for path in paths if self._is_file(path))
        with self._lock:
            self._forget_changed(root)
            if self._files.keys() != paths:
                self._files = {path: self._files[path] for path in paths if path in self._files}
            for path in [path for path in paths if path not in self._files]:
                self._files[path] = self._look(root, path)
            return frozenset(path for path, there in self._files.items() if there)

    def _forget_changed(self, root: Path) -> None:
        """Drop the results below folders that have or may have changed."""
        changed = {folder for folder, state in self._states.items() if state is None or state != _state(root, folder)}
        if not changed:
            return
        for folder in changed:
            del self._states[folder]
        self._nearest = {folder: there for folder, there in self._nearest.items() if there not in changed}
        self._files = {path: there for path, there in self._files.items() if _folder(path) in self._nearest}

    def _look(self, root: Path, path: str) -> bool:
        folder = _folder(path)
        if folder not in self._nearest:
            self._nearest[folder] = self._find(root, folder)
        if self._nearest[folder] != folder:
            return False
        if os.path.islink(root / path):
            # The file is a link, whose target can change in another folder.
            self._states[folder] = None
        return self._is_file(path)

    def _find(self, root: Path, folder: str) -> str:
        """The folder or its nearest existing parent. Its state is recorded before its entries are checked."""
        below = ""
        while folder and (folder not in self._states) and _state(root, folder) is None:
            below, folder = folder, _folder(folder)
        if folder not in self._states:
            state = _state(root, folder)
            self._states[folder] = state if state and _settled(state) else None
        if below and os.path.islink(root / below):
            self._states[folder] = None
        return folder


def _state(root: Path, folder: str) -> _State | None:
    """Metadata that changes with a folder's entries; None if the folder is missing."""
    try:
        status = (root / folder).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _settled(state: _State) -> bool:
    return time.time_ns() - max(state[2:]) > UNSETTLED_NS


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
