"""Modes of new files and folders below a repository's own folder, by `core.sharedRepository` (git-config(1)).

Git gives them the modes of the user's umask, and changes these if the repository is shared with the group or with
everybody. A repository in a folder that only its owner can enter (0700) is not shared, whatever the setting.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from commonplace.domain.errors import GitError
from commonplace.domain.private_files import is_private
from commonplace.store.disk.own_files import PRIVATE, change_mode
from commonplace.store.git.layout import configured_values, protected_files, read_small

SHARED_REPOSITORY = "core.sharedrepository"
"""The setting: a boolean, `group`, `all` and their synonyms, or the permissions of files as octal digits."""
_GROUP, _ALL = 0o660, 0o664
_NAMED = {
    **dict.fromkeys(("umask", "false", "no", "off", "0"), 0),
    **dict.fromkeys(("", "group", "true", "yes", "on", "1"), _GROUP),  # "": the name without a value
    **dict.fromkeys(("all", "world", "everybody", "2"), _ALL),
}
_OCTAL = re.compile(r"0?[0-7]{3}")
_OWNER = 0o600
_SET_GROUP = 0 if sys.platform == "darwin" else stat.S_ISGID
"""The bit by which new files in a folder get its group; macOS does so without it."""

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Sharing:
    """The permissions that a repository's setting gives."""

    permissions: int = 0
    """Permissions of a file; 0 if the repository is not shared."""
    is_exact: bool = False
    """Whether they replace the umask's, as an octal value does. Otherwise they are added."""

    def mode_of(self, mode: int) -> int:
        """The mode of a new file or folder that was created with `mode`, as Git's `calc_shared_perm` has it."""
        if not self.permissions:
            return mode
        permissions = self.permissions
        if not mode & stat.S_IWUSR:
            permissions &= ~0o222
        if mode & stat.S_IXUSR:
            permissions |= (permissions & 0o444) >> 2
        mode = (mode & ~0o777 | permissions) if self.is_exact else mode | permissions
        if stat.S_ISDIR(mode):
            mode |= (mode & 0o444) >> 2
            mode |= _SET_GROUP if mode & 0o060 else 0
        return mode

    def give(self, descriptor: int) -> None:
        """Give an open new file or folder its mode. Another user's file is not changed.

        Raises:
            OSError: the mode cannot be changed.
        """
        if self.permissions:
            status = os.fstat(descriptor)
            change_mode(descriptor, status, self.mode_of(status.st_mode))


_UNSHARED = Sharing()


def sharing_of(base: Path) -> Sharing:
    """The sharing of a repository.

    Args:
        base: The repository's own folder, or that of a linked work tree. Another folder is not shared.
    """
    with suppress(OSError, GitError):
        if not is_private(base.stat()):
            common = base
            if not os.path.exists(base / "config"):
                common = base / (read_small(base, "commondir") or "").strip()
            files = (*protected_files(os.environ), common / "config")
            if os.path.exists(files[-1]):
                return _sharing(files, tuple(map(_stamp, files)), _variables())
    return _UNSHARED


def share(base: Path, descriptor: int) -> None:
    """Give a new file or folder the mode that the repository's setting wants (`Sharing.give`).

    Args:
        base: As for `sharing_of`.
        descriptor: Descriptor of the file or folder.

    Raises:
        OSError: the mode cannot be changed.
    """
    sharing_of(base).give(descriptor)


def private_mode(base: Path) -> int:
    """The mode of the lock and the journal in a folder: for their user alone unless the repository is shared.

    Args:
        base: As for `sharing_of`.
    """
    return stat.S_IMODE(sharing_of(base).mode_of(stat.S_IFREG | PRIVATE))


def unwritable(gitdir: Path, common: Path, reference: str) -> list[str]:
    """Paths below `.git` that Git or this program writes and that this user may not write.

    Args:
        gitdir: Folder of HEAD and the index.
        common: Folder of branches and objects.
        reference: The current branch; "" for none.
    """
    places = [(gitdir, "commonplace.lock"), (gitdir, "commonplace.journal"), (common, "commonplace-proposals.lock")]
    places += [(gitdir, "logs/HEAD"), (common, "objects")]
    with suppress(OSError):
        places += [(common, f"objects/{name}") for name in sorted(os.listdir(common / "objects"))]  # noqa: PTH208 - names
    for name in (reference, f"logs/{reference}") if reference else ():
        parts = name.split("/")
        places += [(common, "/".join(parts[:depth])) for depth in range(1, len(parts))]
    places += [(common, f"logs/{reference}")] if reference else []
    denied = [name for base, name in places if not _is_writable(base / name)]
    return list(dict.fromkeys(denied))


def sharing_command(work_tree: Path, common: Path) -> str:
    """The command by which the owner of a repository shares it with the group, also what is there already."""
    shown = shlex.quote(str(common))
    config = (
        ""
        if sharing_of(common).permissions
        else f"git -C {shlex.quote(str(work_tree))} config core.sharedRepository group && "
    )
    return f"{config}chmod -R g=u {shown} && find {shown} -type d -exec chmod g+s {{}} +"


def _is_writable(path: Path) -> bool:
    """Whether this user may write a file or change names in a folder; true if there is none."""
    if not os.path.lexists(path):
        return True
    return os.access(path, os.W_OK | os.X_OK if os.path.isdir(path) else os.W_OK)


def _variables() -> tuple[tuple[str, str], ...]:
    """The settings in the environment."""
    if "GIT_CONFIG_COUNT" not in os.environ:
        return ()
    return tuple((name, value) for name, value in os.environ.items() if name.startswith("GIT_CONFIG_"))


def _stamp(file: Path) -> _Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=64)
def _sharing(
    files: tuple[Path, ...], stamps: tuple[_Stamp | None, ...], variables: tuple[tuple[str, str], ...]
) -> Sharing:
    """The sharing that configuration files give, the last of which is the repository's own."""
    del stamps, variables  # they only tell the states of the files and of the environment apart
    value = next(reversed(configured_values(SHARED_REPOSITORY, files[-1])), "umask").strip().lower()
    if value in _NAMED:
        return Sharing(_NAMED[value])
    if _OCTAL.fullmatch(value) and int(value, 8) & _OWNER == _OWNER:
        return Sharing(int(value, 8) & 0o666, is_exact=True)
    return _UNSHARED  # Git itself refuses to work with such a value
