"""Checks of named folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.errors import NotFoundError, StorageError

if TYPE_CHECKING:
    from commonplace.settings import Settings


def names_layers(settings: Settings) -> bool:
    """Whether layers are served instead of separate folders."""
    return not (settings.manifest is None and settings.personal is None and settings.shared is None)


def is_remote(text: str) -> bool:
    """Whether a text names a Git remote: it contains `://`. Other texts name folders."""
    return "://" in text


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, or a link to one.

    Raises:
        StorageError: kind "folder": this cannot be determined, usually because a parent folder is not accessible.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it contains a null byte"
        raise StorageError(
            f"The folder {path.name!r} cannot be looked at: {reason}.",
            kind="folder",
            hint="Give this user permission to enter the folders above it, or name another folder.",
        ) from error


def in_git(folder: Path) -> bool:
    """Whether a folder is in a Git work tree; False if that cannot be determined."""
    real = folder.resolve()
    return any(os.path.exists(parent / ".git") for parent in (real, *real.parents))


def require_folders(paths: Sequence[Path]) -> None:
    """Check that paths from the command line are folders. Errors name the path as it was given.

    Raises:
        NotFoundError: kind "folder": the path does not exist or is a file.
        StorageError: same as `is_folder`.
    """
    for path in paths:
        if is_folder(path.expanduser()):
            continue
        if os.path.exists(path.expanduser()):
            hint = f"Name its folder: {path.parent}"
            raise NotFoundError(f"{str(path)!r} is a file, not a folder.", kind="folder", hint=hint)
        raise NotFoundError(f"There is no folder {str(path)!r}.", kind="folder", hint="Name one that exists: -C PATH.")
