"""The documents that Git tracks; they are served even if Git's ignore files exclude them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import cast

import pygit2

from commonplace.domain.addresses import is_document_path
from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository

_Stamp = tuple[int, int, int]


class TrackedDocuments:
    """The documents of a folder that are in Git's index; reloaded when the index changes.

    Args:
        repository: The repository.
        prefix: Path from the work tree's top to the folder: "" or a path with a trailing slash.
    """

    def __init__(self, repository: GitRepository, prefix: str) -> None:
        self._repository = repository
        self._prefix = prefix
        self._known: tuple[_Stamp, frozenset[str] | None] | None = None

    def __call__(self) -> frozenset[str] | None:
        """Paths of the documents and of the folders above them; None if the index cannot be read."""
        stamp = self._stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._read())
        return self._known[1]

    def _stamp(self) -> _Stamp:
        try:
            status = os.lstat(self._repository.gitdir / "index")
        except OSError:
            return (0, 0, 0)
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> frozenset[str] | None:
        try:
            index = self._repository.handle.index
            index.read(force=False)
            paths = [str(getattr(entry, "path")) for entry in cast("Iterable[object]", index)]  # noqa: B009 - untyped
        except (pygit2.GitError, OSError, GitError):
            return None
        found: set[str] = set()
        for path in paths:
            if not path.startswith(self._prefix) or not is_document_path(path):
                continue
            below = path[len(self._prefix) :]
            while below and below not in found:
                found.add(below)
                below = below.rpartition("/")[0]
        return frozenset(found)
