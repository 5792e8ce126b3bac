"""Ignore files: rules that exclude documents of a folder, in Git's syntax.

`.gitignore` (and `.git/info/exclude`) apply inside a Git work tree, from its top downwards; `.commonplaceignore`
applies everywhere and takes precedence. Patterns are those of gitignore(5): the last match decides, `!` includes again,
and an excluded folder excludes everything in it. Files that Git tracks are served even if `.gitignore` excludes them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from commonplace.domain.addresses import IGNORE_FILES, Address
from commonplace.domain.errors import InvalidInputError, StorageError

OWN_FILE, GIT_FILE = IGNORE_FILES
MAX_IGNORE_BYTES = 1_000_000
"""Maximum size of an ignore file in bytes; a larger one is not a list of patterns."""

Tracked = Callable[[], frozenset[str] | None]
"""Returns the paths of the documents that Git tracks and of their folders; None if unknown."""

_AS_NONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM})
"""Errors after which an unreadable ignore file counts as empty, as in Git. After other errors the read is retried."""

_ANY_PAGE = "a page of any name.md"
"""A name for which hardly any pattern is written, so that a folder ignores it only if it ignores all pages."""
_ESCAPED = re.compile(r"\\(.)")
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file."""

    hides: bool
    """False for a pattern with `!`."""
    folders_only: bool
    anchored: bool
    """Whether the pattern matches a path from the file's own folder; if false, a name at any depth."""
    parts: tuple[re.Pattern[str] | None, ...]
    """Regular expressions of the path's parts; None for `**`."""

    def fits(self, path: Sequence[str], *, is_folder: bool) -> bool:
        """Whether the pattern matches this path, relative to the ignore file's folder."""
        if self.folders_only and not is_folder:
            return False
        if not self.anchored:
            (name,) = self.parts
            return name is None or name.fullmatch(path[-1]) is not None
        return _fits(self.parts, path)


def parse_patterns(text: str) -> tuple[Pattern, ...]:
    """The patterns of an ignore file, in order; other lines are skipped."""
    return tuple(filter(None, map(parse_pattern, text.splitlines())))


OwnRules = tuple[tuple[int, tuple[Pattern, ...]], ...]
"""Non-empty ignore files, nearest first: the depth of each in the path, and its patterns."""


@dataclass(frozen=True, slots=True)
class FolderRules:
    """The ignore rules for the entries of one folder."""

    own: OwnRules
    gits: OwnRules
    tracked: Tracked
    inside: bool = False
    """Whether Git ignores the folder itself, so that only tracked files in it are served."""

    @property
    def nothing(self) -> bool:
        """Whether there are no rules at all."""
        return not self.own and not self.gits

    def hide(self, path: Sequence[str], *, is_folder: bool) -> bool:
        """Whether an entry of the folder is ignored.

        Args:
            path: Parts of the entry's path, from the root.
            is_folder: Whether the entry is a folder.
        """
        own = verdict(self.own, path, is_folder=is_folder)
        if own is not None:
            return own
        if not self.inside and not verdict(self.gits, path, is_folder=is_folder):
            return False
        tracked = self.tracked()
        return tracked is not None and "/".join(path) not in tracked


def ignored_write(address: Address, hides: Callable[[Address], bool]) -> InvalidInputError:
    """The error for a write of an ignored document.

    Args:
        address: The document.
        hides: Whether a document is ignored.
    """
    pattern = "" if address.skipped_folder else including_pattern(address, hides)
    return InvalidInputError(
        f"{address} {address.ignored_by}, so it would not be found. Nothing was changed.",
        kind="document",
        hint=f"Choose another path, or include it with {pattern} in .commonplaceignore."
        if pattern
        else "Choose another path.",
    )


def including_pattern(address: Address, hides: Callable[[Address], bool]) -> str:
    """The pattern in `.commonplaceignore` that includes an ignored document.

    No pattern includes a document of an ignored folder, so it is that of the topmost ignored folder, if there is one.

    Args:
        address: The document.
        hides: Whether a document is ignored.
    """
    folders = ["", *accumulate(address.folder.split("/"), "{}/{}".format)] if address.folder else [""]
    ignored = [folder for folder in folders if hides(Address(f"{folder}/{_ANY_PAGE}" if folder else _ANY_PAGE))]
    return f"!/{ignored[0]}/" if ignored and ignored[0] else f"!/{address}"


class IgnoreRules:
    """The ignore files of one folder and of those above it in the same Git work tree; reloaded when they change.

    Args:
        root: The folder, real and absolute.
        tracked: See `Tracked`.

    Raises:
        StorageError: whether the folder is in a Git work tree cannot be determined.
    """

    def __init__(self, root: Path, tracked: Tracked = frozenset) -> None:
        self._root = root
        self._tracked = tracked
        self._cache: dict[str, tuple[_Stamp, tuple[Pattern, ...]]] = {}
        top = _top(root)
        self._in_git = top is not None
        self._above: list[tuple[Path, str]] = []
        if top is not None:
            # The folders from the parent up to the top of the work tree, then the clone's own exclude file.
            parents = [above for above in root.parents if above == top or top in above.parents]
            self._above = [(above / GIT_FILE, _below(above, root)) for above in parents]
            self._above.append((top / ".git" / "info" / "exclude", _below(top, root)))

    def hides(self, address: Address) -> bool:
        """Whether a document, or a folder above it, is ignored or skipped.

        Raises:
            StorageError: an existing ignore file cannot be read for now.
        """
        parts = address.path.split("/")
        return bool(address.skipped_folder) or any(
            self.at(parts[: count - 1]).hide(parts[:count], is_folder=count < len(parts))
            for count in range(1, len(parts) + 1)
        )

    def excludes(self, address: Address) -> bool:
        """Whether a file is skipped, or a `.commonplaceignore` excludes it, whatever Git ignores or tracks."""
        parts = address.path.split("/")
        counts = range(1, len(parts) + 1)
        return bool(address.skipped_folder) or any(
            verdict(self.own_rules(parts[: count - 1]), parts[:count], is_folder=count < len(parts)) is True
            for count in counts
        )

    def own_rules(self, folder: Sequence[str]) -> OwnRules:
        """The `.commonplaceignore` files for the entries of a folder, given by its parts from the root.

        Raises:
            StorageError: an existing ignore file cannot be read for now.
        """
        return tuple(self._files(folder, OWN_FILE))

    def digest(self) -> str:
        """12 hex digits that change with the `.commonplaceignore` files met so far; "" if none has a pattern."""
        names = sorted(path for path in list(self._cache) if path.rpartition("/")[2] == OWN_FILE)
        lines = [f"{name} {self._cache[name][0]}" for name in names if self._read(name)]
        return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:12] if lines else ""

    def at(self, folder: Sequence[str]) -> FolderRules:
        """The rules for the entries of a folder, given by its parts from the root.

        Raises:
            StorageError: an existing ignore file cannot be read for now.
        """
        gits = (*self._files(folder, GIT_FILE), *self._from_above()) if self._in_git else ()
        own = tuple(self._files(folder, OWN_FILE))
        return FolderRules(own, gits, self._tracked, inside=_is_inside(own, gits, folder))

    def _files(self, folder: Sequence[str], name: str) -> Iterator[tuple[int, tuple[Pattern, ...]]]:
        for depth in range(len(folder), -1, -1):
            patterns = self._read("/".join([*folder[:depth], name]))
            if patterns:
                yield depth, patterns

    def _from_above(self) -> Iterator[tuple[int, tuple[Pattern, ...]]]:
        """Patterns of the folders above, unless they exclude the served folder itself."""
        for file, below in self._above:
            patterns = self._read(str(file))
            way = below.split("/") if below else []
            if any(verdict([(0, patterns)], way[:n], is_folder=True) for n in range(1, len(way) + 1)):
                return
            if patterns:
                yield 0, tuple(_moved(patterns, way)) if way else patterns

    def _read(self, path: str) -> tuple[Pattern, ...]:
        file = os.path.join(self._root, path)  # noqa: PTH118 - called for every file of a scan
        try:
            status = os.stat(file)  # noqa: PTH116
            if not stat.S_ISREG(status.st_mode):  # opening a FIFO would wait for a writer
                return ()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            known_pair = self._cache.get(path)
            if known_pair is None or known_pair[0] != stamp:
                known_pair = self._cache[path] = (stamp, _load(file))
        except OSError as error:
            if error.errno in _AS_NONE:
                return ()
            name = os.path.basename(path) if os.path.isabs(path) else path  # noqa: PTH117, PTH119
            raise StorageError(
                f"{name} cannot be read ({error.strerror}), so it is unknown which files are ignored.",
                kind="folder",
                hint="Try again; if it persists, check the disk, or remove the file.",
            ) from error
        return known_pair[1]


def _is_inside(own: OwnRules, gits: OwnRules, folder: Sequence[str]) -> bool:
    """Whether Git ignores a folder or one above it, and no own rule includes it again."""
    for count in range(1, len(folder) + 1 if gits else 1):
        above = [[(depth, patterns) for depth, patterns in files if depth < count] for files in (own, gits)]
        mine, theirs = (verdict(files, folder[:count], is_folder=True) for files in above)
        if mine is None and theirs:
            return True
    return False


def _load(file: str) -> tuple[Pattern, ...]:
    with open(file, "rb") as opened:  # noqa: PTH123
        raw = opened.read(MAX_IGNORE_BYTES + 1)
    return parse_patterns(raw.decode("utf-8", "replace")) if len(raw) <= MAX_IGNORE_BYTES else ()


def verdict(files: Iterable[tuple[int, tuple[Pattern, ...]]], path: Sequence[str], *, is_folder: bool) -> bool | None:
    """The result of the first file with a matching pattern; None if none matches."""
    for depth, patterns in files:
        inside = path[depth:]
        for pattern in reversed(patterns):
            if pattern.fits(inside, is_folder=is_folder):
                return pattern.hides
    return None


def _moved(patterns: Sequence[Pattern], way: Sequence[str]) -> Iterator[Pattern]:
    """Patterns of a folder above, converted to paths from this folder; anchored ones for other folders are dropped."""
    for pattern in patterns:
        if not pattern.anchored:
            yield pattern
            continue
        for parts in _rests(pattern.parts, way):
            yield Pattern(pattern.hides, pattern.folders_only, anchored=True, parts=parts)


def _rests(
    parts: tuple[re.Pattern[str] | None, ...], way: Sequence[str]
) -> Iterator[tuple[re.Pattern[str] | None, ...]]:
    """The remaining parts of a path pattern after its beginning has matched a path."""
    if not way:
        if parts:
            yield parts
        return
    if not parts:
        return
    first = parts[0]
    if first is None:
        yield from _rests(parts[1:], way)
        yield from _rests(parts, way[1:])
    elif first.fullmatch(way[0]):
        yield from _rests(parts[1:], way[1:])


def _fits(parts: Sequence[re.Pattern[str] | None], path: Sequence[str]) -> bool:
    """Whether path parts match those of a pattern; `**` matches any number of parts."""
    reached = {0}
    for number, part in enumerate(parts):
        if part is None:
            last = number == len(parts) - 1
            reached = set(range(min(reached) + last, len(path) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(path) and part.fullmatch(path[at])}
        if not reached:
            return False
    return len(path) in reached


def parse_pattern(line: str) -> Pattern | None:
    """The pattern of one line; None for a comment, a blank line or an invalid pattern."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if not text or text.startswith("#"):
        return None
    hides = not text.startswith("!")
    text = text if hides else text[1:]
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    anchored = "/" in text
    parts = [part for part in text.split("/") if part]
    if not parts:
        return None
    return Pattern(hides, folders_only, anchored, tuple(_part(part) for part in parts))


def _part(text: str) -> re.Pattern[str] | None:
    if text == "**":
        return None
    escaped = _ESCAPED.sub(lambda match: f"[{match[1]}]" if match[1] != "^" else "^", text)
    return re.compile(translate(escaped.replace("[^", "[!")))


def _below(above: Path, folder: Path) -> str:
    return "" if above == folder else folder.relative_to(above).as_posix()


def _top(root: Path) -> Path | None:
    """The top of the Git work tree that a folder is in; None if there is none."""
    try:
        return next((above for above in (root, *root.parents) if (above / ".git").exists()), None)
    except OSError as error:
        raise StorageError(
            f"Whether the folder is in a Git repository cannot be determined: {error.strerror}.",
            kind="folder",
            hint="Give this user permission to read the folder and those above it.",
        ) from error
