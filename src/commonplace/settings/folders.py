"""What a folder is that somebody named."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from commonplace.domain.errors import StorageError


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, or a link to one.

    Raises:
        StorageError: kind "folder": it cannot be seen, mostly as a folder above it may not be entered.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds a null byte"
        raise StorageError(
            f"The folder {path.name!r} cannot be looked at: {reason}.",
            kind="folder",
            hint="Let this user enter the folders above it, or name another folder.",
        ) from error


def in_git(folder: Path) -> bool:
    """Whether a folder lies in a Git work tree, as far as can be seen."""
    real = folder.resolve()
    return any(os.path.exists(parent / ".git") for parent in (real, *real.parents))
