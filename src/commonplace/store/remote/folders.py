"""Listing folders of a store: `domain.projects.ports.Folders`."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from commonplace.domain.addresses import MARKDOWN_SUFFIXES
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import StorageError
from commonplace.store.disk.folder import file_stat, opened_folder

_ABSENT = (FileNotFoundError, NotADirectoryError)


class Subfolders:
    """The folders below one root; no link is followed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def below(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, sorted, hidden ones left out; none where there is no such one."""
        folders, _ = self._listed(path)
        return sorted(name for name in folders if not name.startswith("."))

    def exists(self, path: str) -> bool:
        """Whether there is such a folder."""
        try:
            with opened_folder(self._root, path.split("/")):
                return True
        except OSError:
            return False

    def documents(self, path: str) -> dict[str, FileStat]:
        """Facts by name of the Markdown files directly in a folder, hidden ones left out, in no particular order."""
        found: dict[str, FileStat] = {}
        with _readable(), opened_folder(self._root, path.split("/")) as folder:
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                for name in os.listdir(listed):  # noqa: PTH208 - an open folder has no path
                    if name.lower().endswith(MARKDOWN_SUFFIXES) and not name.startswith("."):
                        status = os.stat(name, dir_fd=listed, follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            found[name] = file_stat(status)
            finally:
                os.close(listed)
        return found

    def files(self, path: str) -> list[str]:
        """Paths of all regular files below a folder, hidden ones included."""
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
                for name in os.listdir(listed):  # noqa: PTH208 - an open folder has no path
                    mode = os.stat(name, dir_fd=listed, follow_symlinks=False).st_mode
                    kind = folders if stat.S_ISDIR(mode) else files if stat.S_ISREG(mode) else []
                    kind.append(name)
            finally:
                os.close(listed)
        return folders, files


@contextmanager
def _readable() -> Generator[None]:
    """Take a folder that is not there for an empty one.

    Raises:
        StorageError: it is there and cannot be read.
    """
    try:
        yield
    except _ABSENT:
        return
    except OSError as error:
        raise StorageError(f"A folder cannot be read: {error.strerror}.", kind="collection") from error
