"""Trees: paths in them, the paths that differ between two of them, and a cache of parsed trees."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from commonplace.domain.errors import GitError
from commonplace.store.git.objects import (
    FOLDER_MODE,
    MODE_FOLDER,
    MODE_GITLINK,
    KnownTrees,
    RawTree,
    TreeEntry,
    id_of,
    parse_tree,
)
from commonplace.store.git.repository import GitRepository

# Looks up paths in trees, and finds the paths that differ between two trees.


_CACHED_ENTRIES = 100_000
"""Maximum number of entries of parsed trees that are cached while walking."""
CACHED_TREE_BYTES = 8_000_000
"""Maximum size in bytes of the raw trees that are cached while walking: neighbouring commits share almost all trees."""
MAX_LOOKUPS = 50
"""Maximum number of paths that are looked up one by one. For more paths, parsing their folders is quicker."""
_MAX_FOUND = 10_000
"""Maximum number of cached lookups; the cache is cleared when it is exceeded."""
MAX_ENTRIES = 1_000_000
"""Maximum number of entries in one comparison, because a few objects can expand to any number of files."""
MAX_PATH_BYTES = 4_096
"""Maximum length of a file's path in bytes; the kernel's own limit."""

_NO_BLOBS = frozenset({FOLDER_MODE, b"%o" % MODE_GITLINK})
"""Spellings of the modes of entries that are no files or links."""


class TreeDiff:
    """The trees of one repository; for one thread at a time.

    Args:
        repository: The repository.
        cached_bytes: Maximum size in bytes of the cached raw trees.
    """

    def __init__(self, repository: GitRepository, cached_bytes: int = CACHED_TREE_BYTES) -> None:
        self._repository = repository
        self._cache = TreeCache(repository.content, _CACHED_ENTRIES)
        self._raw = RawTreeCache(repository.content, cached_bytes)
        self._found: dict[tuple[str, bytes], str] = {}
        self._sizes: dict[str, int] = {"": 0}

    def at(self, tree: str, path: bytes) -> str:
        """The id of the entry at a path of a tree, "" if there is none; the tree's own id for b""."""
        found_tree = tree
        for name in path.split(b"/") if path else ():
            key = found_tree, name
            if key not in self._found:
                if len(self._found) >= _MAX_FOUND:
                    self._found.clear()
                entry = self._repository.child(found_tree, os.fsdecode(name))
                self._found[key] = id_of(entry)
            found_tree = self._found[key]
            if not found_tree:
                break
        return found_tree

    def blobs(self, tree: str, paths: Sequence[str]) -> list[str]:
        """The id of the entry at each path, "" if there is none. Parses the trees for more than `MAX_LOOKUPS` paths."""
        if len(paths) <= MAX_LOOKUPS:
            return [self.at(tree, os.fsencode(path)) for path in paths]
        return [id_of(self._cache.entry(tree, path)) for path in paths]

    def files(self, tree: str) -> Iterator[tuple[bytes, TreeEntry]]:
        """Path and entry of every file, link and submodule of a tree.

        Raises:
            GitError: more than `MAX_ENTRIES` entries.
        """
        if self._size(tree) > MAX_ENTRIES:
            raise _too_many()
        waiting = [(b"", tree)]
        while waiting:
            above, identifier = waiting.pop()
            entries = self._cache.tree(identifier) if len(above) <= MAX_PATH_BYTES else {}
            for name, (mode, raw) in entries.items():
                if mode == FOLDER_MODE:
                    waiting.append((above + name + b"/", raw.hex()))
                else:
                    yield above + name, TreeEntry(int(mode, 8), raw.hex())

    def blobs_below(self, tree: str) -> dict[bytes, str]:
        """The id of every file and link of a tree, by its path. Raises as `files` does."""
        if self._size(tree) > MAX_ENTRIES:
            raise _too_many()
        blobs: dict[bytes, str] = {}
        waiting = [(b"", tree)]
        while waiting:
            above, identifier = waiting.pop()
            entries = self._cache.tree(identifier) if len(above) <= MAX_PATH_BYTES else {}
            folders = [(name, raw) for name, (mode, raw) in entries.items() if mode == FOLDER_MODE]
            waiting += ((above + name + b"/", raw.hex()) for name, raw in folders)
            blobs |= {above + name: raw.hex() for name, (mode, raw) in entries.items() if mode not in _NO_BLOBS}
        return blobs

    def differing(self, old: str, new: str) -> Iterator[bytes]:
        """Paths of the files that are in only one of two trees, or differ. Raises as `differences` does."""
        return (path for path, _, _ in self.differences(old, new))

    def differences(self, old: str, new: str, *others: str) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The files that are in only one of two trees, or differ; "" is an empty tree.

        Yields each path with its id (20 bytes) in the old and in the new tree; b"" if a tree lacks the file. Paths
        longer than `MAX_PATH_BYTES` are omitted.

        Args:
            old: The old tree.
            new: The new tree.
            others: Further old trees: a file counts only if the new tree differs in it from each old one. A folder
                that the new tree shares with one of them is not read, so a merge costs little however far its parents
                are apart.

        Raises:
            GitError: more than `MAX_ENTRIES` entries differ.
        """
        waiting = [(b"", [old, *others], new)]
        seen = 0
        while waiting:
            above, olds, mine = waiting.pop()
            if mine in olds or len(above) > MAX_PATH_BYTES:
                continue
            changed = self._changed(olds, mine)
            seen += len(changed)
            if seen + self._alone(olds[0], mine) > MAX_ENTRIES:
                raise _too_many()
            for name, before, after in changed:
                if _is_file(after) or all(map(_is_file, before)):
                    yield above + name, _blob(before[0]), _blob(after)
                if _folder(after) or all(map(_folder, before)):
                    waiting.append((above + name + b"/", list(map(_folder, before)), _folder(after)))

    def _changed(
        self, olds: Sequence[str], new: str
    ) -> list[tuple[bytes, list[tuple[bytes, bytes] | None], tuple[bytes, bytes] | None]]:
        """The names by which a tree differs from each of its old ones, with the entries in these and in the tree."""
        sides = [differing_entries(self._raw.tree(tree), self._raw.tree(new)) for tree in olds]
        names = set[bytes].intersection(*({name for name, _ in was.items() ^ now.items()} for was, now in sides))
        return [(name, [was.get(name) for was, _ in sides], sides[0][1].get(name)) for name in names]

    def _alone(self, old: str, new: str) -> int:
        """Number of entries of a tree that has no counterpart, all of which differ."""
        return 0 if old and new else self._size(old or new)

    def _size(self, tree: str) -> int:
        """Number of entries in a tree and its subtrees. Each distinct tree is read once."""
        if len(self._sizes) >= _MAX_FOUND and tree not in self._sizes:
            self._sizes = {"": 0}
        waiting = [tree]
        while waiting:
            element = waiting[-1]
            if element in self._sizes:
                waiting.pop()
                continue
            entries = self._cache.tree(element).values()
            inner = [raw.hex() for mode, raw in entries if mode == FOLDER_MODE]
            missing = [each for each in inner if each not in self._sizes]
            waiting += missing
            if not missing:
                self._sizes[element] = len(entries) + sum(map(self._sizes.__getitem__, inner))
        return self._sizes[tree]


def _too_many() -> GitError:
    return GitError(
        f"A commit of the repository has more than {MAX_ENTRIES:,} files and folders that differ from another.",
        kind="repository",
        hint="Serve a repository of its own for these pages; git ls-tree -r HEAD shows what is in this one.",
    )


def _blob(entry: tuple[bytes, bytes] | None) -> bytes:
    return entry[1] if entry and int(entry[0], 8) not in {MODE_FOLDER, MODE_GITLINK} else b""


def _is_file(entry: tuple[bytes, bytes] | None) -> bool:
    return entry is not None and entry[0] != FOLDER_MODE


def _folder(entry: tuple[bytes, bytes] | None) -> str:
    return entry[1].hex() if entry and entry[0] == FOLDER_MODE else ""


# Finds the differences between two tree objects without parsing what they have in common.
#
# Successive versions of a folder of thousands of files differ in a few bytes. Comparing bytes and skipping entries
# with one regular expression costs a tenth of parsing both.


_ENTRIES = re.compile(rb"(?:\d+ [^\0]+\0.{20})*+", re.DOTALL)
_RUN = 64
"""Number of bytes after which a run of common entries is looked for by comparing bytes."""
_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


class RawTreeCache:
    """Contents of tree objects by id, up to a total size. Not thread-safe.

    Args:
        content: Returns a tree object's content by id.
        limit: Maximum size of all contents in bytes; the cache is cleared when it is full.
    """

    def __init__(self, content: Callable[[str], bytes], limit: int) -> None:
        self._content = content
        self._limit = limit
        self._trees: dict[str, bytes] = {}
        self._size = 0

    def tree(self, identifier: str) -> bytes:
        """The content of a tree; b"" for ""."""
        if not identifier:
            return b""
        tree = self._trees.get(identifier)
        if tree is None:
            tree = self._content(identifier)
            if self._size + len(tree) > self._limit:
                self._trees.clear()
                self._size = 0
            self._trees[identifier] = tree
            self._size += len(tree)
        return tree


def differing_entries(old: bytes, new: bytes) -> tuple[RawTree, RawTree]:
    """The entries of two tree objects without the runs of entries that they have in common.

    The result may contain a few equal entries. Contents that are not a sequence of entries are parsed completely.
    """
    most = _common_suffix(old, new)
    sides: tuple[RawTree, RawTree] = {}, {}
    contents = old, new
    at = [0, 0]
    while len(old) - at[0] != len(new) - at[1] or len(old) - at[0] > most:
        if old[at[0] : at[0] + _RUN] == new[at[1] : at[1] + _RUN]:
            length = _end_of_entries(old, at[0], at[0] + _common_prefix(old, new, *at)) - at[0]
            at = [at[0] + length, at[1] + length]
        entries = _next_entries(contents, at)
        if not entries:
            return parse_tree(old), parse_tree(new)
        for side, entry in entries:
            sides[side][entry[2]] = entry[1], entry[3]
            at[side] = entry.end()
    return sides


def _next_entries(contents: tuple[bytes, bytes], at: Sequence[int]) -> list[tuple[int, re.Match[bytes]]]:
    """The next entry of each side, without one that comes later than the other; [] if a side continues otherwise."""
    entries = [(side, _ENTRY.match(contents[side], at[side])) for side in (0, 1) if at[side] < len(contents[side])]
    matches = [(side, entry) for side, entry in entries if entry]
    first = min((_sort_key(entry) for _, entry in matches), default=b"")
    return [pair for pair in matches if _sort_key(pair[1]) == first] if len(matches) == len(entries) else []


def _sort_key(entry: re.Match[bytes]) -> bytes:
    """The name of an entry as Git sorts it: a folder as if its name ended in `/`."""
    return entry[2] + b"/" if entry[1] == FOLDER_MODE else entry[2]


def _end_of_entries(content: bytes, begun: int, end: int) -> int:
    """End of the last entry that is completely between two positions; the first position must begin an entry."""
    match = _ENTRIES.match(content, begun, end)
    return match.end() if match else begun


def _common_prefix(element: bytes, two: bytes, begun: int, other: int) -> int:
    """Number of bytes that are equal from a position in each on. The time grows with this number, not with the rest."""
    low, step, most = 0, _RUN, min(len(element) - begun, len(two) - other)
    is_equal = True
    while step and low < most:  # invariant: the first `low` bytes are equal; steps double until bytes differ
        high = min(low + step, most)
        if element[begun + low : begun + high] == two[other + low : other + high]:
            low = high
            step = step * 2 if is_equal else step // 2
        else:
            is_equal, step = False, step // 2
    return low


def _common_suffix(element: bytes, two: bytes) -> int:
    """Length of the common suffix in bytes."""
    low, high = 0, min(len(element), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if element[len(element) - middle : len(element) - low] == two[len(two) - middle : len(two) - low]:
            low = middle
        else:
            high = middle - 1
    return low


# A cache of parsed trees. Trees are immutable, and successive writes share most of them.


class TreeCache:
    """Parsed trees by id, up to a total number of entries. Not thread-safe."""

    def __init__(self, content: Callable[[str], bytes], limit: int) -> None:
        """Create an empty cache.

        Args:
            content: Returns a tree object's content by id.
            limit: Maximum number of entries, of about 200 bytes each; the cache is cleared when it is full.
        """
        self._content = content
        self._limit = limit
        self._trees: dict[str, RawTree] = {}
        self._size = 0

    def tree(self, identifier: str) -> RawTree:
        """Entries of a tree, read-only; none for ""."""
        if not identifier:
            return {}
        tree = self._trees.get(identifier)
        if tree is None:
            tree = parse_tree(self._content(identifier))
            self.keep(identifier, tree)
        return tree

    def keep(self, identifier: str, tree: RawTree) -> None:
        """Add a parsed tree."""
        if self._size + len(tree) > self._limit:
            self._trees.clear()
            self._size = 0
        if identifier not in self._trees:
            self._trees[identifier] = tree
            self._size += len(tree)

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        """The entry of a tree at a path; None if there is none."""
        return entry_at(self, tree, path)


def entry_at(trees: KnownTrees, tree: str, path: str) -> TreeEntry | None:
    """The entry of a tree at a path; None if there is none."""
    *folders, name = os.fsencode(path).split(b"/")
    for folder in folders:
        found_pair = trees.tree(tree).get(folder)
        if found_pair is None or found_pair[0] != FOLDER_MODE:
            return None
        tree = found_pair[1].hex()
    candidate = trees.tree(tree).get(name)
    return TreeEntry(int(candidate[0], 8), candidate[1].hex()) if candidate else None
