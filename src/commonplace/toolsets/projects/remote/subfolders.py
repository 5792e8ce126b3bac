"""Lists the folders of a store: `toolsets.projects.rules.ports.ProjectFolders`."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import StorageError
from commonplace.store.disk.folder import opened_folder
from commonplace.store.disk.inotify import reports_changes
from commonplace.toolsets.projects.remote.stat_cache import StatCache

_ABSENT = (FileNotFoundError, NotADirectoryError)


class Subfolders:
    """The folders below one root. Links are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept = StatCache()

    def subfolders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, sorted, except hidden ones; empty if the folder is missing."""
        folders, _ = self._listed(path)
        return sorted(name for name in folders if not name.startswith("."))

    def exists(self, path: str) -> bool:
        """Whether the folder exists."""
        try:
            with opened_folder(self._root, path.split("/")):
                return True
        except OSError:
            return False

    def documents(self, path: str) -> Mapping[str, FileStat]:
        """Metadata by name of the Markdown files directly in a folder, except hidden ones, in no particular order."""
        with _readable(), opened_folder(self._root, path.split("/")) as folder:
            return self._kept.documents(folder, lambda: reports_changes(self._root / path))
        return {}

    def files(self, path: str) -> list[str]:
        """Paths of all regular files below a folder, including hidden ones."""
        folders, files = self._listed(path)
        found = [f"{path}/{name}" for name in files]
        for name in folders:
            found += self.files(f"{path}/{name}")
        return found

    def _listed(self, path: str) -> tuple[list[str], list[str]]:
        """Names of the folders and of the regular files in a folder."""
        folders: list[str] = []
        files: list[str] = []
        with _readable(), opened_folder(self._root, path.split("/")) as folder:
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(listed) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.name)
                        elif entry.is_file(follow_symlinks=False):
                            files.append(entry.name)
            finally:
                os.close(listed)
        return folders, files


@contextmanager
def _readable() -> Generator[None]:
    """Treat a missing folder as empty.

    Raises:
        StorageError: the folder exists and cannot be read.
    """
    try:
        yield
    except _ABSENT:
        return
    except OSError as error:
        raise StorageError(f"A folder cannot be read: {error.strerror}.", kind="collection") from error
