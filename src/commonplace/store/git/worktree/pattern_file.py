"""Reads files of patterns: `.gitignore`, `.gitattributes` and those that the configuration names."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from commonplace.domain.errors import GitError
from commonplace.store.git.layout.configuration import named_path
from commonplace.store.git.repository import GitRepository

MAX_BYTES = 1_000_000
"""Maximum size of a pattern file in bytes."""
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def read_pattern_file(file: Path, *, follow: bool) -> bytes | None:
    """The bytes of a pattern file; None if it does not exist or is not a regular file.

    Args:
        file: Path of the file.
        follow: Whether a symbolic link is followed. Git follows none in the work tree.

    Raises:
        GitError: the file is larger than `MAX_BYTES`, or cannot be read.
    """
    try:
        if not stat.S_ISREG(file.stat(follow_symlinks=follow).st_mode):  # opening a device may have effects
            return None
        descriptor = os.open(file, _READ | (0 if follow else os.O_NOFOLLOW))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except OSError as error:
        raise _unusable(file, error.strerror or "cannot be read") from error
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        raw = opened.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise _unusable(file, f"is larger than {MAX_BYTES:,} bytes")
    return raw


def configured_file(repository: GitRepository, setting: str, default: str) -> Path:
    """The file that a setting names; if not set, the default file in the user's configuration folder for Git."""
    if named := repository.setting(setting):
        return named_path(named, repository.root)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - raises nothing
    return Path(home) / "git" / default


def _unusable(file: Path, reason: str) -> GitError:
    return GitError(
        f"The pattern file {file.name} {reason}, so what Git makes of the files beside it is unknown.",
        kind="repository",
        hint="Remove or repair that file.",
    )
