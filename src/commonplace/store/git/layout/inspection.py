"""Inspects a repository's own files before libgit2 opens them.

libgit2 opens any file with a name that it looks for. A link could lead it elsewhere, a FIFO or a device could block it,
and an endless file could fill the memory. Each of them is rejected at paths at which Git itself never creates one.
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
"""Maximum size in bytes of a file with one line, or a few: HEAD, a ref, `commondir`, the list of alternates."""
MAX_TEXT_BYTES = 4_000_000
"""Maximum size in bytes of a configuration file, or of a list of patterns."""
MAX_LIST_BYTES = 1_000_000_000
"""Maximum size in bytes of the index and of `packed-refs`."""
MAX_DEPTH = 64
"""Maximum depth of folders below `refs`."""
MAX_ALTERNATES = 5
"""Maximum depth of alternates; the same as Git's."""

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OWN = {"HEAD": MAX_LINE_BYTES, "commondir": MAX_LINE_BYTES, "gitdir": MAX_LINE_BYTES, "index": MAX_LIST_BYTES}
"""Regular files of one work tree, with their maximum sizes."""
_SHARED = {"packed-refs": MAX_LIST_BYTES, "shallow": MAX_TEXT_BYTES, "info/grafts": MAX_TEXT_BYTES}
"""Regular files of the repository, with their maximum sizes."""
_LINKABLE = ("config", "config.worktree", "info/exclude", "info/attributes")
"""Text files that people link to their own files; Git only reads them."""
_PATTERN_FILES = {"core.excludesfile", "core.attributesfile"}


def inspect_repository(gitdir: Path, common: Path) -> None:
    """Reject a repository in which a link or special file is in the place of Git's regular files and folders.

    Args:
        gitdir: Folder of HEAD and the index.
        common: Folder of branches and objects.

    Raises:
        UntrustedRepositoryError: the message names the file.
        OSError: the repository cannot be read.
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
    """The settings of the repository's own configuration, including all conditional includes.

    Raises:
        UntrustedRepositoryError: a file is unreadable, or the files include each other.
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
    """The text of a regular one-line file; None if there is none.

    Raises:
        UntrustedRepositoryError: the file is not regular, or too large.
    """
    raw = _content(base / name, MAX_LINE_BYTES, follow=False)
    return None if raw is None else os.fsdecode(raw)


def require_plain_objects(objects: Path) -> None:
    """Check before a write that no folder in `objects` is a link.

    Raises:
        UntrustedRepositoryError: a folder is a link.
        OSError: the folder cannot be read.
    """
    if not stat.S_ISDIR(objects.lstat().st_mode):
        raise _refused("objects", "is a link")
    with os.scandir(objects) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise _refused(f"objects/{entry.name}", "is a link")


def object_folders(objects: Path) -> list[Path]:
    """The folders that a repository takes its objects from: its own one first, then those of its alternates.

    Raises:
        UntrustedRepositoryError: a list of alternates is not a regular file, or too large.
    """
    folders = [objects]
    for folder in folders:
        folders.extend(other for other in _alternates(folder) if other not in folders)
    return folders


def _alternates(objects: Path) -> Iterator[Path]:
    raw = _content(objects / "info" / "alternates", MAX_LINE_BYTES, follow=False) or b""
    for line in os.fsdecode(raw).splitlines():
        if line and not line.startswith("#"):
            yield Path(os.path.realpath(objects / line)) if "\0" not in line else objects


def _inspect_objects(objects: Path, depth: int) -> None:
    if depth > MAX_ALTERNATES:
        raise _refused("objects/info/alternates", "leads through too many repositories")
    _inspect_folder(objects.parent, objects.name, None, 0)
    for other in _alternates(objects):
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
    """Reject a folder with anything but folders and regular files of at most `most` bytes (None: any size)."""
    if not stat.S_ISDIR((base / name).lstat().st_mode):
        raise _refused(name, "is not a folder")
    if depth > MAX_DEPTH:
        raise _refused(name, "has too many folders in each other")
    try:
        entries = list(_entries(base / name))
    except PermissionError:  # an unreadable folder cannot be read by libgit2 either
        return
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            _inspect_folder(base, inner, most, depth + 1)
        elif not entry.is_file(follow_symlinks=False):
            raise _refused(inner, "is a link" if entry.is_symlink() else "is not a regular file")
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
        raise _refused(shown or name, error.strerror or "cannot be read") from error
    if not stat.S_ISREG(status.st_mode):
        raise _refused(shown or name, "is a link" if stat.S_ISLNK(status.st_mode) else "is not a regular file")
    if status.st_size > most:
        raise _refused(shown or name, "is too large")


def _content(file: Path, most: int, *, follow: bool) -> bytes | None:
    """The bytes of a regular file; None if there is none."""
    _require_regular(file.parent, file.name, most, follow=follow)  # opening a device may have side effects
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
