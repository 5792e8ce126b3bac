"""Removes unused indexes of other versions of the program."""

from __future__ import annotations

import logging
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from commonplace.index.index_version import FOLDER_PREFIX

log = logging.getLogger(__name__)

UNUSED_SECONDS = 30 * 86_400
"""Retention of another version's index in seconds after its last use."""
USED_FILE = "lock"
"""File whose modification time is the time of the last opening of an index."""
SHARED_FILE = "catalogue.sqlite3"
SHARED = (SHARED_FILE, f"{SHARED_FILE}-wal", f"{SHARED_FILE}-shm", USED_FILE, "fulltext", "past")
"""Names of the index files that earlier versions of the program stored in the collection's folder itself."""


def remove_unused_versions(folder: Path) -> None:
    """Record the use of an index, and delete other versions' indexes that were unused for `UNUSED_SECONDS`.

    Args:
        folder: Folder of the index, in the collection's folder.
    """
    with suppress(OSError):
        os.utime(folder / USED_FILE)
    others = [path for path in folder.parent.glob(f"{FOLDER_PREFIX}[0-9]*") if path != folder]
    for other in others:
        if _is_unused(other / USED_FILE):
            log.info("removing the index of another version that is no longer used")
            shutil.rmtree(other, ignore_errors=True)
    if _is_unused(folder.parent / SHARED_FILE):
        log.info("removing the index of an earlier version that is no longer used")
        for name in SHARED:
            _remove(folder.parent / name)


def _is_unused(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime > UNUSED_SECONDS
    except OSError:
        return False


def _remove(path: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
