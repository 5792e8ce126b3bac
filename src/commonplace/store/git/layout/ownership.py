"""Checks the owner of a repository, which must be the user unless `safe.directory` names the repository."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from commonplace.store.git.layout import untrusted
from commonplace.store.git.layout.configuration import named_path, protected_settings


def require_owned(named: Path, places: Iterable[Path]) -> None:
    """Reject a repository of another user, as Git does.

    Args:
        named: The path by which Git names the repository: its work tree, or itself if it is bare.
        places: Paths that must belong to this user: the work tree, `.git`, and its target.

    Raises:
        UntrustedRepositoryError: a path belongs to somebody else, and the repository is not in `safe.directory`.
    """
    if all(map(_is_owned, places)) or is_named_safe(named):
        return
    raise untrusted(
        f"The repository of {named.name} belongs to another user.",
        "If you trust it, say so as for Git itself: git config --global --add safe.directory PATH",
        f"git config --global --add safe.directory {shlex.quote(str(named))}",
    )


def is_named_safe(folder: Path) -> bool:
    """Whether the user's own configuration, or the system's, names a folder in `safe.directory`."""
    names = {os.path.normpath(folder), os.path.realpath(folder)}
    safe = False
    for value in protected_settings("safe.directory"):
        if not value:
            safe = False
        elif value == "*":
            safe = True
        elif value.endswith("/*"):
            above = os.path.realpath(named_path(value[:-2], Path()))
            safe = safe or any(name.startswith(f"{above}/") for name in names)
        else:
            path = named_path(value, Path())
            safe = safe or bool({os.path.normpath(path), os.path.realpath(path)} & names)
    return safe


def _is_owned(place: Path) -> bool:
    """Whether a file belongs to this user; for root, as in Git, also to the user who ran sudo."""
    try:
        owner = place.lstat().st_uid
    except OSError:
        return False
    user = os.geteuid()
    if user == 0 and owner != 0:
        sudo = os.environ.get("SUDO_UID", "")
        return sudo.isdecimal() and owner == int(sudo)
    return owner == user
