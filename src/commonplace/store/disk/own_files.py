"""Files of this program that are for their user alone unless a repository is shared: locks and journals."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from commonplace.domain.errors import StorageError

PRIVATE = 0o600
"""The mode of a file for its user alone."""


class UnsharedFileError(StorageError):
    """The lock or the journal is another user's, who does not share it. Nothing was begun."""


def open_own(path: Path, flags: int, mode: int) -> int:
    """Open a file, or create it. A file of this user gets the mode, whatever an earlier version gave it.

    In a folder that its group may write, as where people share a repository by their umask alone, a private file is
    for the group, too.

    Args:
        path: The file.
        flags: Flags of `os.open`.
        mode: The mode, from which the umask withdraws nothing.

    Raises:
        OSError: the file cannot be opened.
    """
    if mode == PRIVATE and path.parent.stat().st_mode & stat.S_IWGRP:
        mode = PRIVATE | stat.S_IRGRP | stat.S_IWGRP
    descriptor = os.open(path, flags | os.O_CREAT, PRIVATE)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        with suppress(OSError):  # a file system without modes
            change_mode(descriptor, status, mode)
    return descriptor


def change_mode(descriptor: int, status: os.stat_result, mode: int) -> None:
    """Change the mode of an open file or folder if it differs and is this user's.

    Raises:
        OSError: the mode cannot be changed.
    """
    if stat.S_IMODE(status.st_mode) != stat.S_IMODE(mode) and status.st_uid == os.geteuid():
        os.fchmod(descriptor, stat.S_IMODE(mode))


def unshared(path: Path) -> UnsharedFileError:
    """The error for a lock or a journal that this user may not open."""
    if os.path.exists(path.parent / "HEAD"):
        return UnsharedFileError(
            f"{path.name} in the repository's .git folder is another user's, and the repository is not shared with this"
            " one. Nothing was changed.",
            kind="collection",
            hint="Its owner shares it with git config core.sharedRepository group, and once with chmod -R g=u .git;"
            " commonplace doctor shows the commands.",
        )
    return UnsharedFileError(
        "The writer lock or the journal cannot be opened: Permission denied. Nothing was changed.",
        kind="collection",
        hint="Check the permissions of the state folder (state_dir).",
    )
