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
_GLOB = frozenset("*?[\\")
"""Characters that make a part of a pattern more than a name."""
_MAX_FOLDERS = 10_000
"""Maximum number of folders whose rules are cached; the cache is cleared when it is exceeded."""
_Stamp = tuple[int, int, int]
Part = re.Pattern[str] | str | None
"""A part of a pattern: a regular expression, a name without wildcards, or None for `**`."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file."""

    hides: bool
    """False for a pattern with `!`."""
    folders_only: bool
    anchored: bool
    """Whether the pattern matches a path from the file's own folder; if false, a name at any depth."""
    parts: tuple[Part, ...]

    def fits(self, path: Sequence[str], *, is_folder: bool) -> bool:
        """Whether the pattern matches this path, relative to the ignore file's folder."""
        if self.folders_only and not is_folder:
            return False
        if not self.anchored:
            return _is_named(self.parts[0], path[-1])
        return _fits(self.parts, path)

    def name_below(self, folder: Sequence[str]) -> list[Part]:
        """The part that names of a folder's entries must match, in a list; [] if the pattern matches none of them.

        Args:
            folder: Parts of the folder's path, relative to the ignore file's folder.
        """
        last = len(self.parts) - 1
        if not self.anchored:
            return [self.parts[0]]
        return [self.parts[last]] if last in _begun(self.parts, folder) else []


def parse_patterns(text: str) -> Patterns:
    """The patterns of an ignore file, in order; other lines are skipped."""
    return tuple(filter(None, map(parse_pattern, text.splitlines())))


Patterns = tuple[Pattern, ...]
"""The patterns of one ignore file, in order."""
OwnRules = tuple[tuple[int, Patterns], ...]
"""Non-empty ignore files, nearest first: the depth of each in the path, and its patterns."""


class _EntryPatterns:
    """The patterns that can match entries of one folder, prepared for many names.

    Args:
        files: Ignore files, nearest first.
        folder: Parts of the folder's path, from the root.
    """

    def __init__(self, files: OwnRules, folder: Sequence[str]) -> None:
        self._names: tuple[dict[str, tuple[int, bool]], ...] = {}, {}
        self._globs: tuple[list[tuple[int, Part, bool]], ...] = [], []
        patterns = (
            (pattern, part)
            for depth, file in files
            for pattern in reversed(file)
            for part in pattern.name_below(folder[depth:])
        )
        for number, (pattern, part) in enumerate(patterns):
            for is_folder in (True,) if pattern.folders_only else (False, True):
                if isinstance(part, str):
                    self._names[is_folder].setdefault(part, (number, pattern.hides))
                else:
                    self._globs[is_folder].append((number, part, pattern.hides))

    def verdict(self, name: str, *, is_folder: bool) -> bool | None:
        """The result of the last matching pattern for a name in the folder; None if none matches."""
        named = self._names[is_folder].get(name)
        for number, part, hides in self._globs[is_folder]:
            if named is not None and number > named[0]:
                break
            if _is_named(part, name):
                return hides
        return None if named is None else named[1]


class FolderRules:
    """The ignore rules for the entries of one folder.

    Args:
        path: Parts of the folder's path, from the root.
        above: The rules of the folder above; None for the root.
        own: The patterns of the folder's `.commonplaceignore`.
        gits: Those of its `.gitignore`; at the root also of the files above it.
        tracked: See `Tracked`.
    """

    def __init__(
        self, path: Sequence[str], above: FolderRules | None, own: Patterns, gits: OwnRules, tracked: Tracked
    ) -> None:
        self.above = above
        self.here = own, gits
        self.own: OwnRules = (*(((len(path), own),) if own else ()), *(above.own if above else ()))
        """The non-empty `.commonplaceignore` files that apply, nearest first."""
        gits = (*gits, *(above.gits if above else ()))
        self.gits = gits
        self._path = path
        self._tracked = tracked
        self._own_patterns = _EntryPatterns(self.own, path) if self.own else None
        self._git_patterns = _EntryPatterns(gits, path) if gits else None
        self._inside = above is not None and above.ignores_in_git(path[-1])
        """Whether Git ignores the folder itself, so that only tracked files in it are served."""

    @property
    def nothing(self) -> bool:
        """Whether there are no rules at all."""
        return not self.own and not self.gits

    def ignores_in_git(self, name: str) -> bool:
        """Whether Git ignores a folder in this one, or this one, and no own rule includes the folder again."""
        return self._inside or (
            self.excludes(name, is_folder=True) is None and self._is_in_git_patterns(name, is_folder=True)
        )

    def excludes(self, name: str, *, is_folder: bool) -> bool | None:
        """The result of the `.commonplaceignore` files for an entry of the folder; None if no pattern matches."""
        return self._own_patterns.verdict(name, is_folder=is_folder) if self._own_patterns else None

    def hide(self, name: str, *, is_folder: bool) -> bool:
        """Whether an entry of the folder is ignored, by its name."""
        own = self.excludes(name, is_folder=is_folder)
        if own is not None:
            return own
        if not self._inside and not self._is_in_git_patterns(name, is_folder=is_folder):
            return False
        tracked = self._tracked()
        return tracked is not None and "/".join([*self._path, name]) not in tracked

    def _is_in_git_patterns(self, name: str, *, is_folder: bool) -> bool:
        return self._git_patterns is not None and bool(self._git_patterns.verdict(name, is_folder=is_folder))


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
        self._cache: dict[str, tuple[_Stamp, Patterns]] = {}
        self._folders: dict[str, FolderRules] = {}
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
        return self.now().hides(address)

    def excludes(self, address: Address) -> bool:
        """Whether a file is skipped, or a `.commonplaceignore` excludes it, whatever Git ignores or tracks."""
        folders = accumulate(address.path.split("/")[:-1], "{}{}/".format, initial="")
        has_rules = any(self._read(folder + OWN_FILE) for folder in folders)
        return bool(address.skipped_folder) or (has_rules and self.now().excludes(address))

    def now(self) -> RulesNow:
        """The rules at this moment, for one listing: each ignore file is looked at once."""
        return RulesNow(self)

    def digest(self) -> str:
        """12 hex digits that change with the `.commonplaceignore` files met so far; "" if none has a pattern."""
        names = sorted(path for path in list(self._cache) if path.rpartition("/")[2] == OWN_FILE)
        lines = [f"{name} {self._cache[name][0]}" for name in names if self._read(name)]
        return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:12] if lines else ""

    def below(self, above: FolderRules | None, folder: str) -> FolderRules:
        """The rules for the entries of a folder, given by its path and the rules of the folder above it.

        Raises:
            StorageError: an existing ignore file cannot be read for now.
        """
        own = self._read(f"{folder}/{OWN_FILE}" if folder else OWN_FILE)
        path = folder.split("/") if folder else []
        gits = tuple(self._gits_of(folder, len(path))) if self._in_git else ()
        rules = self._folders.get(folder)
        if rules is None or rules.above is not above or rules.here != (own, gits):
            if len(self._folders) >= _MAX_FOLDERS:
                self._folders.clear()
            rules = self._folders[folder] = FolderRules(path, above, own, gits, self._tracked)
        return rules

    def _gits_of(self, folder: str, depth: int) -> Iterator[tuple[int, Patterns]]:
        """The patterns of a folder's `.gitignore` if it has some; for the root, also those of the files above it."""
        if patterns := self._read(f"{folder}/{GIT_FILE}" if folder else GIT_FILE):
            yield depth, patterns
        if not folder:
            yield from self._from_above()

    def _from_above(self) -> Iterator[tuple[int, Patterns]]:
        """Patterns of the folders above, unless they exclude the served folder itself."""
        for file, below in self._above:
            patterns = self._read(str(file))
            way = below.split("/") if below else []
            if any(verdict([(0, patterns)], way[:n], is_folder=True) for n in range(1, len(way) + 1)):
                return
            if patterns:
                yield 0, tuple(_moved(patterns, way)) if way else patterns

    def _read(self, path: str) -> Patterns:
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


class RulesNow:
    """The ignore rules of a folder at one moment; for one thread.

    Args:
        rules: The rules, which are read when they are needed.
    """

    def __init__(self, rules: IgnoreRules) -> None:
        self._rules = rules
        self._folders: dict[str, FolderRules] = {}

    def at(self, folder: str) -> FolderRules:
        """The rules for the entries of a folder, given by its path. Raises as `IgnoreRules.hides` does."""
        if folder not in self._folders:
            above = self._folders.get("")
            for path in ("", *accumulate(folder.split("/"), "{}/{}".format)) if folder else ("",):
                above = self._folders[path] = self._folders.get(path) or self._rules.below(above, path)
        return self._folders[folder]

    def hides(self, address: Address) -> bool:
        """Whether a document, or a folder above it, is ignored or skipped."""
        return self._is_any(address, FolderRules.hide)

    def excludes(self, address: Address) -> bool:
        """Whether a file is skipped, or a `.commonplaceignore` excludes it."""
        return self._is_any(address, FolderRules.excludes)

    def _is_any(self, address: Address, test: Callable[..., bool | None]) -> bool:
        if address.skipped_folder:
            return True
        folder = ""
        *names, last = address.path.split("/")
        for name in names:
            if test(self.at(folder), name, is_folder=True):
                return True
            folder = f"{folder}/{name}" if folder else name
        return bool(test(self.at(folder), last, is_folder=False))


def _load(file: str) -> Patterns:
    with open(file, "rb") as opened:  # noqa: PTH123
        raw = opened.read(MAX_IGNORE_BYTES + 1)
    return parse_patterns(raw.decode("utf-8", "replace")) if len(raw) <= MAX_IGNORE_BYTES else ()


def verdict(files: Iterable[tuple[int, Patterns]], path: Sequence[str], *, is_folder: bool) -> bool | None:
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
        for number in _begun(pattern.parts, way):
            if parts := pattern.parts[number:]:
                yield Pattern(pattern.hides, pattern.folders_only, anchored=True, parts=parts)


def _begun(parts: Sequence[Part], way: Sequence[str]) -> set[int]:
    """Indexes of the parts of a path pattern that may be the next to match after its beginning has matched a path."""
    begun = _without_starstars(parts, 0)
    for name in way:
        begun = {
            further
            for number in begun
            if number < len(parts) and _is_named(parts[number], name)
            for further in _without_starstars(parts, number + (parts[number] is not None))
        }
    return begun


def _fits(parts: Sequence[Part], path: Sequence[str]) -> bool:
    """Whether path parts match those of a pattern; `**` matches any number of parts."""
    reached = {0}
    for number, part in enumerate(parts):
        if part is None:
            last = number == len(parts) - 1
            reached = set(range(min(reached) + last, len(path) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(path) and _is_named(part, path[at])}
        if not reached:
            return False
    return len(path) in reached


def parse_pattern(line: str) -> Pattern | None:
    """The pattern of one line; None for a comment, a blank line or an invalid pattern."""
    text = line.rstrip("\r\n")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    if text.startswith("#"):
        return None
    hides = not text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    parts = list(filter(None, text.split("/")))
    return Pattern(hides, folders_only, "/" in text, tuple(map(_part, parts))) if parts else None


def _without_starstars(parts: Sequence[Part], number: int) -> set[int]:
    """Indexes of the parts that may be the next to match: each `**` before the last part also matches nothing."""
    numbers = {number}
    while number < len(parts) - 1 and parts[number] is None:
        number += 1
        numbers.add(number)
    return numbers


def _is_named(part: Part, name: str) -> bool:
    """Whether a part of a pattern matches a name."""
    if isinstance(part, str):
        return part == name
    return part is None or part.fullmatch(name) is not None


def _part(text: str) -> Part:
    if text == "**":
        return None
    if _GLOB.isdisjoint(text):
        return text
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
