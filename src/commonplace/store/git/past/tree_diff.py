"""Compares trees: the entry at a path, and the paths that differ between two trees."""

from __future__ import annotations

import os
from collections.abc import Iterator

from commonplace.store.git.objects import FOLDER_MODE
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.tree_cache import TreeCache

_KEPT = 100_000
"""Number of cached tree entries; neighbouring commits share almost all trees."""


class TreeDiff:
    """The trees of one repository. Not thread-safe."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._cache = TreeCache(repository.content, _KEPT)
        self._found: dict[tuple[str, bytes], str] = {}

    def at(self, tree: str, path: bytes) -> str:
        """Id of the entry at a path of a tree; "" for none; the tree itself for b""."""
        if not path:
            return tree
        name, _, rest = path.partition(b"/")
        key = tree, name
        if key not in self._found:
            self._found[key] = self._repository.child(tree, os.fsdecode(name))
        found = self._found[key]
        return self.at(found, rest) if found and rest else found

    def differing(self, old: str, new: str, above: bytes = b"") -> Iterator[bytes]:
        """Paths of files that are in only one of two trees, or differ; "" is an empty tree."""
        if old == new:
            return
        before, after = self._cache.tree(old), self._cache.tree(new)
        for name in {name for name, _ in before.items() ^ after.items()}:
            one, two = before.get(name), after.get(name)
            path = above + name
            if (one and one[0] != FOLDER_MODE) or (two and two[0] != FOLDER_MODE):
                yield path
            if (one and one[0] == FOLDER_MODE) or (two and two[0] == FOLDER_MODE):
                yield from self.differing(_folder(one), _folder(two), path + b"/")


def _folder(entry: tuple[bytes, bytes] | None) -> str:
    return entry[1].hex() if entry and entry[0] == FOLDER_MODE else ""
