"""Looking at a repository's own files before libgit2 opens them.

libgit2 opens whatever has a name that it looks for. A link leads it elsewhere, a pipe or a device makes it wait without
an end, and a file without an end takes all memory. So each of them is refused where Git itself never makes one.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from commonplace.store.git.layout import UntrustedRepositoryError, untrusted
from commonplace.store.git.layout.configuration import Setting, named_path, settings_in
from commonplace.store.git.layout.ownership import is_named_safe

MAX_LINE_BYTES = 65_536
"""Bytes of a file that holds one line, or a few: HEAD, a ref, `commondir`, the list of alternates."""
MAX_TEXT_BYTES = 4_000_000
"""Bytes of a configuration file, or of a list of patterns."""
MAX_LIST_BYTES = 1_000_000_000
"""Bytes of the index and of `packed-refs`."""
MAX_DEPTH = 64
"""Folders in folders below `refs`."""
MAX_ALTERNATES = 5
"""Alternates of alternates; Git's own limit."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OWN = {"HEAD": MAX_LINE_BYTES, "commondir": MAX_LINE_BYTES, "gitdir": MAX_LINE_BYTES, "index": MAX_LIST_BYTES}
"""Files of one work tree that are regular ones, with their largest sizes."""
_SHARED = {"packed-refs": MAX_LIST_BYTES, "shallow": MAX_TEXT_BYTES, "info/grafts": MAX_TEXT_BYTES}
"""The same of the repository."""
_LINKABLE = ("config", "config.worktree", "info/exclude", "info/attributes")
"""Text that people link to a file of their own; Git only reads it."""
_PATTERN_FILES = {"core.excludesfile", "core.attributesfile"}


def inspect_repository(gitdir: Path, common: Path) -> None:
    """Refuse a repository that has something else where Git has regular files and folders.

    Args:
        gitdir: Where HEAD and the index are.
        common: Where branches and objects are.

    Raises:
        UntrustedRepositoryError: with the name of what is wrong.
        OSError: it cannot be looked at.
    """
    for base, sizes in ((gitdir, _OWN), (common, _SHARED)):
        for name, most in sizes.items():
            _require_regular(base, name, most, follow=False)
    for base in {gitdir, common}:
        for name in _LINKABLE:
            _require_regular(base, name, MAX_TEXT_BYTES, follow=True)
        if os.path.lexists(base / "refs"):
            _inspect_folder(base, "refs", MAX_LINE_BYTES, 0)
    _inspect_objects(common / "objects", 0)
    for name, value in repository_settings(gitdir, common):
        if name in _PATTERN_FILES and value:
            _require_regular(gitdir, str(named_path(value, gitdir)), MAX_TEXT_BYTES, follow=True, shown=name)


def repository_settings(gitdir: Path, common: Path) -> list[Setting]:
    """What the repository's own configuration says, files that it includes among it, whatever their condition.

    Raises:
        UntrustedRepositoryError: a file is none that can be read, or files include each other without an end.
    """

    def read(file: Path) -> bytes:
        raw = _content(file, MAX_TEXT_BYTES, follow=True)
        if raw is None:
            raise FileNotFoundError
        return raw

    try:
        shared = list(settings_in(common / "config", read, conditional=True))
        own = list(settings_in(gitdir / "config.worktree", read, conditional=True))
    except RecursionError:
        raise _refused("config", "includes itself") from None
    except OSError as error:
        raise _refused("config", error.strerror or "cannot be read") from error
    return shared + own


def read_small(base: Path, name: str) -> str | None:
    """The text of a regular file of one line; None where there is none.

    Raises:
        UntrustedRepositoryError: it is no regular file, or too large.
    """
    raw = _content(base / name, MAX_LINE_BYTES, follow=False)
    return None if raw is None else os.fsdecode(raw)


def require_plain_objects(objects: Path) -> None:
    """Refuse to write below `objects` where a folder of it is a link.

    Raises:
        UntrustedRepositoryError: one is.
        OSError: it cannot be looked at.
    """
    if not stat.S_ISDIR(objects.lstat().st_mode):
        raise _refused("objects", "is a link")
    with os.scandir(objects) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise _refused(f"objects/{entry.name}", "is a link")


def _inspect_objects(objects: Path, depth: int) -> None:
    if depth > MAX_ALTERNATES:
        raise _refused("objects/info/alternates", "leads through too many repositories")
    _inspect_folder(objects.parent, objects.name, None, 0)
    raw = _content(objects / "info" / "alternates", MAX_LINE_BYTES, follow=False) or b""
    for line in os.fsdecode(raw).splitlines():
        if not line or line.startswith("#"):
            continue
        other = Path(os.path.realpath(objects / line)) if "\0" not in line else objects
        repository = other.parent.parent if other.parent.name == ".git" else other.parent
        if not (is_named_safe(repository) or is_named_safe(other.parent)):
            raise untrusted(
                f"It takes objects from another repository, {repository.name} (objects/info/alternates).",
                "Make it whole with git repack -a -d and delete that file, or say that you trust the other one: "
                "git config --global --add safe.directory PATH",
                f"git config --global --add safe.directory {shlex.quote(str(repository))}",
            )
        if other.is_dir():
            _inspect_objects(other, depth + 1)


def _inspect_folder(base: Path, name: str, most: int | None, depth: int) -> None:
    """Refuse a folder in which there is anything but folders and regular files, up to a size if one is given."""
    if not stat.S_ISDIR((base / name).lstat().st_mode):
        raise _refused(name, "is no folder")
    if depth > MAX_DEPTH:
        raise _refused(name, "has too many folders in each other")
    try:
        entries = list(_entries(base / name))
    except PermissionError:  # nobody reads it, then
        return
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            _inspect_folder(base, inner, most, depth + 1)
        elif not entry.is_file(follow_symlinks=False):
            raise _refused(inner, "is a link" if entry.is_symlink() else "is no regular file")
        elif most is not None and entry.stat(follow_symlinks=False).st_size > most:
            raise _refused(inner, "is too large")


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


def _require_regular(base: Path, name: str, most: int, *, follow: bool, shown: str = "") -> None:
    try:
        status = (base / name).stat(follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _refused(shown or name, error.strerror or "cannot be looked at") from error
    if not stat.S_ISREG(status.st_mode):
        raise _refused(shown or name, "is a link" if stat.S_ISLNK(status.st_mode) else "is no regular file")
    if status.st_size > most:
        raise _refused(shown or name, "is too large")


def _content(file: Path, most: int, *, follow: bool) -> bytes | None:
    """The bytes of a regular file; None where there is none."""
    _require_regular(file.parent, file.name, most, follow=follow)  # to open a device may do something
    try:
        descriptor = os.open(file, _READ | (0 if follow else os.O_NOFOLLOW))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _refused(file.name, error.strerror or "cannot be read") from error
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(most)


def _refused(name: str, what: str) -> UntrustedRepositoryError:
    return untrusted(
        f"In its .git folder {name!a} {what}.",
        "Git makes no such thing: find out where it came from. A fresh git clone has none.",
    )
