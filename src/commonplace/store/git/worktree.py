"""Git's rules for files in a work tree: ignore files, attributes, filters, and differences from the last commit."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import cast

import pygit2
from pygit2.enums import FileStatus

from commonplace.domain.addresses import IGNORE_FILES
from commonplace.domain.errors import GitError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.ignore_rules import Pattern, parse_pattern, parse_patterns, verdict
from commonplace.store.git import gitdir_files
from commonplace.store.git.index_file import DamagedIndexError, StagedFile, UnsupportedIndexError, parse_index
from commonplace.store.git.layout import named_path
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, MODE_GITLINK, MODE_LINK, TreeEntry
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git_command import redacted
from commonplace.store.names import checked_tree_path

# Finds the files that differ between work tree, index and last commit, like `git status`, but by own matching.
#
# Every regular file of the index is compared by its metadata, and by its content only if the metadata differs.
# Submodules, untracked links and other repositories inside the work tree are skipped.


PathFilter = Callable[[str], bool]
AttributeValue = bool | str | None
"""True for set, False for unset, None for unspecified, else the value."""
_MASK = 0xFFFFFFFF
_NO_FACTS = (-1, -1, -1)
_OWN = ".git"


def changed_files(
    repository: GitRepository, prefix: str = "", includes: PathFilter = lambda _: True
) -> dict[str, FileStatus]:
    """The status of the files that differ between work tree, index and last commit, by path.

    Includes untracked files unless they are ignored. Excludes files that a sparse checkout omits.

    Args:
        repository: A repository with a work tree.
        prefix: Prefix of the files' paths: "" or a folder with a trailing slash.
        includes: Returns whether to include a file.

    Raises:
        GitError: the repository, its index or an ignore file cannot be read.
    """
    if not repository.is_at_root:
        raise GitError(
            "Its work tree is another folder (core.worktree).",
            kind="repository",
            hint="If that is wrong, run git config --unset core.worktree.",
        )
    staged: dict[str, StagedFile] = {}
    for path, entry in _staged(repository):
        if path.startswith(prefix) and includes(path) and entry.mode != MODE_GITLINK:
            staged[checked_tree_path(path)] = entry
    status: dict[str, FileStatus] = {}
    for path, flags in (
        *_staged_changes(repository, staged, prefix, includes),
        *_work_changes(repository, staged),
        *((path, FileStatus.WT_NEW) for path in _untracked(repository, staged.keys(), prefix, includes)),
    ):
        status[path] = status.get(path, FileStatus.CURRENT) | flags
    return status


def _staged(repository: GitRepository) -> Iterator[tuple[str, StagedFile]]:
    """The entries of the index; without metadata if only libgit2 can read the index."""
    try:
        yield from parse_index(gitdir_files.read(repository.gitdir, "index")).entries()
    except FileNotFoundError:
        return
    except (UnsupportedIndexError, DamagedIndexError):
        yield from guarded(lambda: _read_by_libgit2(repository))
    except OSError as error:
        raise GitError(f"The repository's index cannot be read: {error.strerror}.", kind="repository") from error


def _read_by_libgit2(repository: GitRepository) -> list[tuple[str, StagedFile]]:
    index = repository.handle.index
    index.read(force=False)
    entries = [(entry, 0) for entry in cast("list[pygit2.IndexEntry]", list(index))]
    entries += [(side, 1) for sides in index.conflicts or () for side in sides if side is not None]
    return [(str(entry.path), StagedFile(str(entry.id), int(entry.mode), stage, _NO_FACTS)) for entry, stage in entries]


def _staged_changes(
    repository: GitRepository, staged: Mapping[str, StagedFile], prefix: str, includes: PathFilter
) -> Iterator[tuple[str, FileStatus]]:
    """The differences between the index and the last commit."""
    committed = _committed(repository, prefix)
    for path, entry in staged.items():
        before = committed.pop(path, None)
        if entry.stage:
            yield path, FileStatus.CONFLICTED
        elif before is None:
            yield path, FileStatus.INDEX_NEW
        elif before != TreeEntry(entry.mode, entry.id):
            yield path, FileStatus.INDEX_MODIFIED
    yield from ((path, FileStatus.INDEX_DELETED) for path in committed if includes(path))


def _committed(repository: GitRepository, prefix: str) -> dict[str, TreeEntry]:
    """The files of the last commit below a prefix."""
    trees = TreeDiff(repository)
    above = os.fsencode(prefix)
    tree = trees.at(repository.tree_of(repository.head), above.rstrip(b"/"))
    return {
        os.fsdecode(above + path): entry
        for path, entry in (trees.files(tree) if tree else ())
        if entry.mode != MODE_GITLINK
    }


def _work_changes(repository: GitRepository, staged: Mapping[str, StagedFile]) -> Iterator[tuple[str, FileStatus]]:
    """The differences of tracked files between the work tree and the index."""
    try:
        written = (repository.gitdir / "index").lstat().st_mtime_ns
    except OSError:
        written = 0
    gone: list[str] = []
    for path, entry in staged.items():
        try:
            status = (repository.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            gone.append(path)
            continue
        except OSError as error:
            raise _unreadable(path, error) from error
        if _has_changed(repository, path, entry, status, written):
            yield path, FileStatus.WT_MODIFIED
    left_out = repository.sparse_paths(gone)
    yield from ((path, FileStatus.WT_DELETED) for path in gone if path not in left_out)


def _has_changed(repository: GitRepository, path: str, entry: StagedFile, status: os.stat_result, written: int) -> bool:
    mode = _mode_of(repository, status, entry.mode)
    if mode != entry.mode:
        return True
    facts = status.st_mtime_ns, status.st_size & _MASK, status.st_ino & _MASK
    # A file that is not older than the index may have changed after the index was written, so its content is compared.
    if facts == entry.facts and status.st_mtime_ns < written:
        return False
    file = repository.root / path
    try:
        if mode == MODE_LINK:
            return revision_of(os.fsencode(file.readlink())) != entry.id
        content = gitdir_files.read(repository.root, path)
    except OSError:
        return True
    try:
        return revision_of(stored_form(repository, path, content)) != entry.id
    except GitError:  # a filter or an encoding that is not applied here
        return revision_of(content) != entry.id


def _mode_of(repository: GitRepository, status: os.stat_result, staged: int) -> int:
    """The mode that Git records for a file; 0 for an entry that is neither a regular file nor a link."""
    if stat.S_ISLNK(status.st_mode):
        return MODE_LINK
    if not stat.S_ISREG(status.st_mode):
        return 0
    if not repository.is_set("core.filemode", otherwise=True) and staged in {MODE_FILE, MODE_EXECUTABLE}:
        return staged
    return MODE_EXECUTABLE if status.st_mode & stat.S_IXUSR else MODE_FILE


def _untracked(
    repository: GitRepository, tracked: AbstractSet[str], prefix: str, includes: PathFilter
) -> Iterator[str]:
    """Regular files that Git neither tracks nor ignores."""
    rules = GitIgnoreRules(repository)
    top = prefix.rstrip("/")
    waiting = [top] if not top or not rules.ignores(top, is_folder=True) else []
    while waiting:
        folder = waiting.pop()
        for name, is_folder in _entries(repository, folder):
            path = f"{folder}/{name}" if folder else name
            if path in tracked or rules.ignores_entry(path.split("/"), is_folder=is_folder):
                continue
            if is_folder:
                waiting.append(path)
            elif includes(path):
                yield checked_tree_path(path)


def _entries(repository: GitRepository, folder: str) -> list[tuple[str, bool]]:
    """Names of the entries of a folder, each with whether it is a folder; empty for another repository."""
    names: dict[str, bool] = {}
    try:
        with os.scandir(repository.root / folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder or entry.is_file(follow_symlinks=False) or entry.name == _OWN:
                    names[entry.name] = is_folder
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    except OSError as error:
        raise _unreadable(folder or repository.root.name, error) from error
    is_repository = names.pop(_OWN, None) is not None
    return [] if folder and is_repository else list(names.items())


def _unreadable(path: str, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be read: {error.strerror}.",
        kind="document",
        hint="Check the folder's permissions and its disk.",
        errno=error.errno or 0,
    )


# Converts a file's bytes to those that `git add` stores: line ends and `$Id$` by attributes and settings.


_ID = re.compile(rb"\$Id:[^$\n]*\$")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_UNPRINTABLE = bytes(byte for byte in (*range(32), 127) if byte not in b"\b\t\n\r\x1b\x0c")
_TEXT: Mapping[AttributeValue, AttributeValue] = {True: True, "input": True, False: False, "auto": "auto"}
"""Whether the value of the attribute `text` makes Git convert line ends; None (also for other values): eol says it."""
_MOST_UNPRINTABLE = 128
"""Minimum number of printable characters of a text for each unprintable one; Git's rule."""


def stored_form(repository: GitRepository, path: str, content: bytes, attributes: GitAttributes | None = None) -> bytes:
    """The bytes of the blob for a file's bytes.

    Args:
        repository: The repository, with its attributes and settings.
        path: Path of the file in the repository.
        content: Bytes of the file in the work tree.
        attributes: The attributes, shared by the calls for several files; None to read them now.

    Raises:
        GitError: the file's attributes name a filter program or an encoding, which are not supported.
    """
    with repository.rules() as handle:
        values = (attributes or GitAttributes(repository)).of(_index(handle), path)
        _refuse_programs(repository, values, path)
        if b"\r\n" in content:
            content = _with_line_feeds(repository, handle, values, (path, content))
    return _ID.sub(b"$Id$", content) if values.get("ident") is True else content


def is_ignored(repository: GitRepository, path: str) -> bool:
    """Whether Git's ignore files exclude this file. Whether Git tracks it is not considered."""
    return GitIgnoreRules(repository).ignores(path)


def _with_line_feeds(
    repository: GitRepository,
    handle: pygit2.Repository,
    attributes: Mapping[str, AttributeValue],
    file: tuple[str, bytes],
) -> bytes:
    """The content with LF for CRLF if Git converts it; see `text` and `eol` in gitattributes(5)."""
    path, content = file
    text = _TEXT.get(attributes.get("text", attributes.get("crlf")))
    if text is None and attributes.get("eol") in {"lf", "crlf"}:
        text = True
    if text is None:
        text = "auto" if repository.setting("core.autocrlf").lower() in {"true", "yes", "on", "1", "input"} else False
    if text is False:
        return content
    if text == "auto" and (_is_binary(content) or _has_returns(handle, path)):
        return content
    return content.replace(b"\r\n", b"\n")


def _is_binary(content: bytes) -> bool:
    """Whether Git takes the content for binary (convert.c): a lone CR, a NUL, or many unprintable characters."""
    if b"\0" in content or _LONE_RETURN.search(content):
        return True
    unprintable = len(content) - len(content.translate(None, _UNPRINTABLE)) - content.endswith(b"\x1a")
    breaks = content.count(b"\r") + content.count(b"\n")
    printable = len(content) - breaks - unprintable
    return printable // _MOST_UNPRINTABLE < unprintable


def _has_returns(handle: pygit2.Repository, path: str) -> bool:
    """Whether the staged version of the file contains CRLF; Git preserves CRLF then."""
    index = _index(handle)
    try:
        index.read(force=False)
    except (pygit2.GitError, OSError) as error:
        raise _unreadable_index(error) from error
    try:
        staged = index[path].id
    except KeyError:
        return False
    blob = guarded(lambda: handle[staged]).read_raw()
    return b"\r\n" in blob and not _is_binary(blob)


def _refuse_programs(repository: GitRepository, attributes: Mapping[str, AttributeValue], path: str) -> None:
    driver = attributes.get("filter")
    if isinstance(driver, str) and any(repository.setting(f"filter.{driver}.{way}") for way in ("clean", "process")):
        raise _unsupported(path, f"goes through the program of the filter {driver!r} (gitattributes)", "command")
    encoding = attributes.get("working-tree-encoding")
    if isinstance(encoding, str) and encoding.lower() not in {"utf-8", "utf8"}:
        raise _unsupported(path, f"is kept in the encoding {encoding!r} (gitattributes)", "repository")


def _index(handle: pygit2.Repository) -> pygit2.Index:
    """The index. It must be readable, because it contains the attributes files that the work tree lacks."""
    try:
        return handle.index
    except (pygit2.GitError, OSError) as error:
        raise _unreadable_index(error) from error


def _unreadable_index(error: Exception) -> GitError:
    return GitError(
        f"The repository's index cannot be read: {redacted(str(error))}. Nothing was changed.",
        kind="repository",
        hint="A split or sparse index: run git update-index --no-split-index, or git sparse-checkout set "
        "--no-sparse-index. A damaged one: delete .git/index and run git reset.",
    )


def _unsupported(path: str, what: str, kind: str) -> GitError:
    return GitError(
        f"{path} {what}, so it cannot be committed here. Nothing was changed.",
        kind=kind,
        hint="Write it without a commit (--no-commit on the command line, --commit manual of a server) and commit it "
        "with git.",
        path=path,
    )


# Git's attributes of a path: gitattributes(5), matched in linear time.
#
# The files by precedence: `info/attributes`, `.gitattributes` from the path's folder up to the root (from the index if
# the work tree has none), the file of `core.attributesFile`, the system's. In each file the last matching line counts.


FILE = ".gitattributes"
Assignments = tuple[tuple[str, AttributeValue], ...]

_SYSTEM = Path("/etc/gitattributes")
_MAX_LINE = 2_048
"""Maximum length of a line in characters; Git ignores longer ones."""
_MACRO = "[attr]"
_BINARY: Assignments = (("diff", False), ("merge", False), ("text", False))
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CACHED_FILES = 256


@dataclass(frozen=True, slots=True)
class AttributeLine:
    """One line of an attributes file: a pattern with its assignments, or the definition of a macro."""

    pattern: Pattern | None
    """The pattern; None for the definition of a macro."""
    macro: str
    assignments: Assignments

    def fits(self, parts: Sequence[str]) -> bool:
        """Whether the line is about a file, by the parts of its path from the folder of the attributes file."""
        return self.pattern is not None and self.pattern.fits(parts, is_folder=False)


class GitAttributes:
    """The current attributes of one work tree. Each file is read only once, so an object serves one call.

    Args:
        repository: The repository, with its work tree and configuration.
    """

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._folders: dict[str, tuple[AttributeLine, ...]] = {}

    def of(self, index: pygit2.Index, path: str) -> Mapping[str, AttributeValue]:
        """The specified attributes of a file.

        Args:
            index: Source of the attributes files that are missing in the work tree.
            path: Path of the file from the root.

        Raises:
            GitError: an attributes file is too large, or cannot be read.
        """
        files = list(self._files(index, path))
        macros = {"binary": _BINARY}
        for depth, lines in reversed(files):
            if depth == 0:
                macros.update({line.macro: line.assignments for line in lines if line.pattern is None})
        parts = path.split("/")
        attributes: dict[str, AttributeValue] = {}
        for depth, lines in files:
            for line in reversed(lines):
                if line.fits(parts[depth:]):
                    _assign(attributes, line.assignments, macros)
        return {name: value for name, value in attributes.items() if value is not None}

    @cached_property
    def _own(self) -> tuple[AttributeLine, ...]:
        return _parsed(read_pattern_file(self._repository.common / "info" / "attributes", follow=True) or b"")

    @cached_property
    def _shared(self) -> Sequence[tuple[AttributeLine, ...]]:
        configured = configured_file(self._repository, "core.attributesfile", "attributes")
        return [_parsed(read_pattern_file(file, follow=True) or b"") for file in (configured, _SYSTEM)]

    def _files(self, index: pygit2.Index, path: str) -> Iterator[tuple[int, tuple[AttributeLine, ...]]]:
        """The attributes files, highest precedence first: number of path parts above the file, and its lines."""
        folders = path.split("/")[:-1]
        yield 0, self._own
        for depth in range(len(folders), -1, -1):
            name = "/".join([*folders[:depth], FILE])
            if name not in self._folders:
                self._folders[name] = _parsed(_of_folder(self._repository, index, name))
            yield depth, self._folders[name]
        for lines in self._shared:
            yield 0, lines


def _assign(attributes: dict[str, AttributeValue], assignments: Assignments, macros: Mapping[str, Assignments]) -> None:
    """Add assignments, the last first, to attributes that have no value of a higher precedence."""
    waiting = list(assignments)
    while waiting:
        name, value = waiting.pop()
        if name not in attributes:
            attributes[name] = value
            if value is True:
                waiting += macros.get(name, ())


def _of_folder(repository: GitRepository, index: pygit2.Index, name: str) -> bytes:
    file = repository.root / name
    raw = read_pattern_file(file, follow=False)
    if raw is not None:
        return raw
    try:
        entry = index[name]
    except KeyError:
        return b""
    identifier = str(entry.id)
    return repository.content(identifier) if repository.size(identifier) <= MAX_BYTES else b""


@lru_cache(maxsize=_CACHED_FILES)
def _parsed(raw: bytes) -> tuple[AttributeLine, ...]:
    """The lines of an attributes file in order; invalid lines are omitted."""
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    return tuple(filter(None, map(_line, text.splitlines())))


def _line(text: str) -> AttributeLine | None:
    text = text.strip(" \t\r\n")
    if text[:1] in {"", "#"} or len(text) > _MAX_LINE:
        return None
    if quoted := _QUOTED.match(text):
        name, rest = _ESCAPE.sub(_unescaped, quoted[1]), text[quoted.end() :]
    else:
        name, _, rest = text.replace("\t", " ").partition(" ")
    assignments = tuple(filter(None, map(_assignment, rest.split())))
    if name.startswith(_MACRO):
        macro = name.removeprefix(_MACRO)
        if not macro:  # "[attr] name", with a blank, is valid, too
            macro, _, rest = rest.strip().partition(" ")
            assignments = tuple(filter(None, map(_assignment, rest.split())))
        return AttributeLine(None, macro, assignments) if _NAME.fullmatch(macro) else None
    pattern = None if name.startswith("!") else parse_pattern(name)
    return AttributeLine(pattern, "", assignments) if pattern is not None and not pattern.folders_only else None


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if len(code) > 1 else _ESCAPES.get(code, code)


def _assignment(word: str) -> tuple[str, AttributeValue] | None:
    value: AttributeValue = True
    if word[0] in "-!":
        word, value = word[1:], False if word[0] == "-" else None
    elif "=" in word:
        word, _, value = word.partition("=")
    return (word, value) if _NAME.fullmatch(word) else None


# Git's ignore files, gitignore(5), matched in linear time.


_GIT_FILE = IGNORE_FILES[1]


class GitIgnoreRules:
    """The current ignore rules of one work tree. Each file is read only once, so an object serves one call."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._folders: dict[str, tuple[Pattern, ...]] = {}
        exclude = repository.common / "info" / "exclude"
        configured = configured_file(repository, "core.excludesfile", "ignore")
        self._shared = [(0, patterns) for file in (exclude, configured) if (patterns := _read(file, follow=True))]

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a path, or a folder above it, is ignored.

        Raises:
            GitError: an ignore file is too large, or cannot be read.
        """
        parts = path.split("/")
        return any(
            self.ignores_entry(parts[:count], is_folder=is_folder or count < len(parts))
            for count in range(1, len(parts) + 1)
        )

    def ignores_entry(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Whether an entry of a folder is ignored, by the parts of its path. The folder itself must not be ignored."""
        return bool(verdict([*self._files(parts[:-1]), *self._shared], parts, is_folder=is_folder))

    def _files(self, folder: Sequence[str]) -> Iterator[tuple[int, tuple[Pattern, ...]]]:
        for depth in range(len(folder), -1, -1):
            name = "/".join(folder[:depth])
            if name not in self._folders:
                self._folders[name] = _read(self._repository.root / name / _GIT_FILE, follow=False)
            if self._folders[name]:
                yield depth, self._folders[name]


def _read(file: Path, *, follow: bool) -> tuple[Pattern, ...]:
    raw = read_pattern_file(file, follow=follow)
    return _parsed_rules(raw) if raw else ()


@lru_cache(maxsize=_CACHED_FILES)
def _parsed_rules(raw: bytes) -> tuple[Pattern, ...]:
    return parse_patterns(raw.decode("utf-8", "surrogateescape"))


# Reads files of patterns: `.gitignore`, `.gitattributes` and those that the configuration names.


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
