"""Files of a repository's own folder (gitrepository-layout(5)), validated before use.

A `.git` folder can come from an untrusted source, so every name, path and number in it is validated.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.errors import GitError, StorageError


class UntrustedRepositoryError(GitError):
    """The repository must not be opened: it leads elsewhere, or belongs to another user."""

    command = ""
    """Command by which the user trusts or repairs the repository, with full paths; shown on the local terminal only."""


def untrusted(message: str, hint: str, command: str = "") -> UntrustedRepositoryError:
    """The error for a repository that is not opened.

    Args:
        message: The problem, as a sentence.
        hint: What the user can do.
        command: The command that does so; "" for none.
    """
    error = UntrustedRepositoryError(f"{message} The repository is not used.", kind="repository", hint=hint)
    error.command = command
    return error


# Finds the repository of a folder, and follows `.git` elsewhere only if the target names the folder in return.
#
# Git has three kinds of work trees with a repository elsewhere: linked ones (`git worktree add`), submodules, and
# those of `--separate-git-dir`. For the first, the repository names the work tree in `worktrees/NAME/gitdir`; for the
# others in `core.worktree`, which the user sets for `--separate-git-dir`. A `.git` that leads to a repository which
# does not name this folder could be an attack, and is rejected.


_PREFIX = "gitdir:"


@dataclass(frozen=True, slots=True)
class DiscoveredRepository:
    """The repository of a folder."""

    gitdir: Path
    work_tree: Path | None
    """None if the folder is the repository itself, or is inside it."""


def find_repository(folder: Path) -> DiscoveredRepository | None:
    """The repository of a folder, found as in Git: upwards, within one file system.

    `GIT_CEILING_DIRECTORIES` applies. libgit2's own search is not used: pygit2 1.21 has a reference counting bug if
    nothing is found, which eventually ends the process.

    Raises:
        StorageError: kind "folder": the folder may not be entered.
        UntrustedRepositoryError: `.git` is a link to something that is not a repository of this folder.
    """
    try:
        return _found_from(folder)
    except OSError as error:
        raise StorageError(
            f"The folder {folder.name!r} cannot be looked at: {error.strerror}.",
            kind="folder",
            hint="Let this user enter and read it, or name another folder.",
        ) from error


def common_folder(gitdir: Path, work_tree: Path | None) -> Path:
    """The folder of a repository's branches and objects: `gitdir` itself except for a linked work tree.

    Args:
        gitdir: Real and absolute.
        work_tree: The work tree; None for a bare repository.

    Raises:
        UntrustedRepositoryError: the repository does not name the work tree, or the other way round.
    """
    direct = work_tree is None or gitdir == work_tree / ".git"
    named = read_small(gitdir, "commondir")
    if named is None:
        if not direct and not _names_work_tree(gitdir, work_tree):
            raise _one_ended(work_tree)
        return gitdir
    common = Path(os.path.realpath(gitdir / _path(named)))
    linked = not direct and gitdir.parent == common / "worktrees" and _is_named_back(gitdir, work_tree)
    if not linked or not _is_gitdir(common):
        raise _one_ended(work_tree)
    return common


def is_submodule(gitdir: Path) -> bool:
    """Whether a repository is a submodule of another one."""
    return any(above.name == "modules" and _is_gitdir(above.parent) for above in gitdir.parents)


def _found_from(folder: Path) -> DiscoveredRepository | None:
    ceilings = {Path(text) for text in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if text}
    device = folder.stat().st_dev
    for place in (folder, *folder.parents):
        if place != folder and (place in ceilings or place.stat().st_dev != device):
            return None
        gitdir = _gitdir_of(place)
        if gitdir is not None:
            return DiscoveredRepository(gitdir, place)
        if _is_gitdir(place):
            return DiscoveredRepository(place, None)
    return None


def _gitdir_of(work_tree: Path) -> Path | None:
    """The repository at `.git` or at the target of `.git`; None if there is none."""
    dot_git = work_tree / ".git"
    try:
        mode = dot_git.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        return dot_git if _is_gitdir(dot_git) else None
    if stat.S_ISLNK(mode):
        target = Path(os.path.realpath(dot_git))
        if target.is_dir():
            return target if _is_gitdir(target) else None
        if not target.exists():
            return None
        raise _one_ended(work_tree)
    return _named_in_file(work_tree) if stat.S_ISREG(mode) else None


def _named_in_file(work_tree: Path) -> Path | None:
    """The repository that a file `.git` names; None if it names no folder."""
    text = read_small(work_tree, ".git") or ""
    named = work_tree / _path(text.removeprefix(_PREFIX))
    return Path(os.path.realpath(named)) if text.startswith(_PREFIX) and named.is_dir() else None


def _is_gitdir(folder: Path) -> bool:
    return os.path.lexists(folder / "HEAD") and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _names_work_tree(gitdir: Path, work_tree: Path | None) -> bool:
    """Whether `core.worktree` of a repository is this folder."""
    values = [value for name, value in repository_settings(gitdir, gitdir) if name == "core.worktree"]
    if work_tree is None or not values:
        return False
    return Path(os.path.realpath(named_path(values[-1], gitdir))) == work_tree


def _is_named_back(gitdir: Path, work_tree: Path | None) -> bool:
    """Whether the entry of a linked work tree names the `.git` of this folder."""
    named = gitdir / _path(read_small(gitdir, "gitdir") or "")
    return work_tree is not None and named.name == ".git" and Path(os.path.realpath(named.parent)) == work_tree


def _path(text: str) -> str:
    """The path in a one-line file; "" if it contains a NUL byte."""
    return "" if "\0" in text else text.strip()


def _one_ended(work_tree: Path | None) -> UntrustedRepositoryError:
    if work_tree is None:
        return untrusted(
            "It has a commondir that leads to another repository.", "Give the folder of that repository itself."
        )
    place = shlex.quote(str(work_tree))
    return untrusted(
        f"The .git of {work_tree.name} leads to a repository that does not name this folder as its work tree.",
        "If you made it so, run in the folder: git config core.worktree PATH with its full path, for a separate git "
        "dir or a link; git worktree repair for a linked work tree that was moved.",
        f"git -C {place} config core.worktree {place}",
    )


# Inspects a repository's own files before libgit2 opens them.
#
# libgit2 opens any file with a name that it looks for. A link could lead it elsewhere, a FIFO or a device could block
# it, and an endless file could fill the memory. Each of them is rejected at paths at which Git itself never creates
# one.


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
    try:
        shared = list(settings_in(common / "config", _regular_bytes, conditional=True))
        own = list(settings_in(gitdir / "config.worktree", _regular_bytes, conditional=True))
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
    """Reject a folder with anything but folders and regular files of at most `most` bytes (None: any size).

    Git may remove locks, loose objects and their folders meanwhile.
    """
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
        with suppress(FileNotFoundError):
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


def _regular_bytes(file: Path) -> bytes:
    raw = _content(file, MAX_TEXT_BYTES, follow=True)
    if raw is None:
        raise FileNotFoundError
    return raw


def _refused(name: str, what: str) -> UntrustedRepositoryError:
    return untrusted(
        f"In its .git folder {name!a} {what}.",
        "Git makes no such thing: find out where it came from. A fresh git clone has none.",
    )


# Checks the owner of a repository, which must be the user unless `safe.directory` names the repository.


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


# Parses Git's configuration files without libgit2, so that the named files can be checked before libgit2 opens them.
#
# Everything that Git would reject is skipped. The result contains at least the settings that Git and libgit2 find.


_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)")
_ESCAPED, _BARE = re.compile(r"\\(.)"), r"\1"
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_SYSTEM = "/etc/gitconfig"

Setting = tuple[str, str]
"""Name in lower case except for its middle part (`remote.Origin.url`), and value; "" for a name without a value."""
Read = Callable[[Path], bytes]
"""Returns the bytes of a file; raises FileNotFoundError if there is none."""
MAX_INCLUDES = 10
"""Maximum depth of includes; the same as Git's."""


def parse_configuration(raw: bytes) -> list[Setting]:
    """The settings of one file, in order."""
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")
    settings: list[Setting] = []
    section, at = "", 0
    while at < len(text):
        if text[at] in " \t\n":
            at += 1
        elif header := _SECTION.match(text, at):
            name, middle = header[1].lower(), header[2]
            section = name if middle is None else f"{name}.{_ESCAPED.sub(_BARE, middle)}"
            at = header.end()
        elif key := _KEY.match(text, at):
            value, at = _value(text, key.end()) if key[2] else ("", key.end())
            settings.append((f"{section}.{key[1].lower()}", value))
        else:
            at = _line_end(text, at)
    return settings


def settings_in(file: Path, read: Read, *, conditional: bool) -> Iterator[Setting]:
    """The settings of a file and of those that it includes.

    Args:
        file: The file, which may be missing.
        read: Reads this file and the included ones.
        conditional: Whether conditional includes count, regardless of their condition.

    Raises:
        OSError: as `read` does, except for missing files.
        RecursionError: the files include each other.
    """
    yield from _included(file, read, conditional, 0)


def protected_settings(name: str) -> list[str]:
    """All values of a setting in the system's and the user's own configuration and in the environment, in order.

    Git reads some settings from these sources only. An unreadable file counts as empty.
    """
    return configured_values(name)


def configured_values(name: str, own: Path | None = None) -> list[str]:
    """All values of a setting in the files of `protected_settings`, in a repository's own file, and in the environment.

    Args:
        name: The setting.
        own: The repository's file, of which and of whose includes only regular files are read; None for no repository.

    Raises:
        UntrustedRepositoryError: the repository's file, or one that it includes, is not regular, or too large.
    """
    settings: list[str] = []
    files: list[tuple[Path, Read]] = [(file, Path.read_bytes) for file in protected_files(os.environ)]
    for file, read in [*files, (own, _regular_bytes)] if own else files:
        try:
            settings += [value for key, value in settings_in(file, read, conditional=False) if key == name]
        except (OSError, RecursionError):
            continue
    return [*settings, *_environment_values(name)]


def _environment_values(name: str) -> Iterator[str]:
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    for number in range(int(count) if count.isdecimal() and len(count) < len("10000") else 0):
        if os.environ.get(f"GIT_CONFIG_KEY_{number}", "").lower() == name:
            yield os.environ.get(f"GIT_CONFIG_VALUE_{number}", "")


def named_path(value: str, base: Path) -> Path:
    """The path in a setting's value: `~` is a home folder, and a relative path begins at `base`."""
    return base / os.path.expanduser(value)  # noqa: PTH111 - an unknown user's home is unchanged


def _included(file: Path, read: Read, conditional: bool, depth: int) -> Iterator[Setting]:
    if depth > MAX_INCLUDES:
        raise RecursionError
    try:
        raw = read(file)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name, value in parse_configuration(raw):
        yield name, value
        kind = name.partition(".")[0]
        if name.endswith(".path") and (kind == "include" or (conditional and kind == "includeif")) and value:
            yield from _included(named_path(value, file.parent), read, conditional, depth + 1)


def protected_files(environment: Mapping[str, str]) -> Iterator[Path]:
    """The system's and the user's own configuration files, which may be missing."""
    if environment.get("GIT_CONFIG_NOSYSTEM", "").lower() in {"", "0", "false", "no", "off"}:
        yield Path(environment.get("GIT_CONFIG_SYSTEM") or _SYSTEM)
    own = environment.get("GIT_CONFIG_GLOBAL")
    if own is not None:
        yield Path(own)
        return
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - raises nothing if there is no home
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    yield home / ".gitconfig"


def _value(text: str, at: int) -> tuple[str, int]:
    """A value after its equals sign, and the offset of the next line."""
    parts: list[str] = []
    count = 0
    quoted = False
    while at < len(text) and text[at] != "\n":
        if text[at] in "#;" and not quoted:
            at = _line_end(text, at)
            break
        quoted ^= text[at] == '"'
        part, is_blank, at = _part(text, at, quoted=quoted)
        if part and (parts or not is_blank):
            parts.append(part)
        if not is_blank:
            count = len(parts)
    return "".join(parts[:count]), at + 1


def _part(text: str, at: int, *, quoted: bool) -> tuple[str, bool, int]:
    """The text for which a character of a value stands, whether it is blank at an end, and the next offset."""
    char = text[at]
    if char == "\\" and at + 1 < len(text):
        continues = text[at + 1] == "\n"
        return "" if continues else _ESCAPES.get(text[at + 1], text[at + 1]), continues, at + 2
    if char == '"':
        return "", False, at + 1
    return char, char.isspace() and not quoted, at + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
