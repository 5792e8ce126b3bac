"""Changes a copy of an index by libgit2, for the versions that `index_file` does not support (3 and 4)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from commonplace.store.git.staging.index_file import DamagedIndexError, IndexEntry


def changed_copy(index: Path, beside: Path, changes: Mapping[str, IndexEntry | None]) -> None:
    """Write a copy of an index with new entries for these paths (None: no entry).

    Raises:
        DamagedIndexError: libgit2 cannot read the index either.
        OSError: the index cannot be copied.
    """
    shutil.copyfile(index, beside)
    try:
        copy = pygit2.Index(str(beside))
        copy.read()
        for path, entry in changes.items():
            if path in copy:
                copy.remove(path)
            if entry is not None:
                copy.add(pygit2.IndexEntry(path, pygit2.Oid(hex=entry.id), FileMode(entry.mode)))
        copy.write()
    except pygit2.GitError as error:
        raise DamagedIndexError(str(error)) from error
