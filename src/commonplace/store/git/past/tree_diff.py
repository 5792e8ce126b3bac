"""Comparing trees: what is at a path, and which paths differ between two of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from commonplace.store.git.objects import FOLDER_MODE
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.tree_cache import TreeCache

_KEPT = 100_000
"""Entries of trees that are kept parsed while walking: of neighbouring commits almost all trees are the same."""


class TreeDiff:
    """The trees of one repository; for one thread at a time."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._cache = TreeCache(repository.content, _KEPT)
        self._found: dict[tuple[str, bytes], str] = {}

    def at(self, tree: str, path: bytes) -> str:
        """The id of what a tree has at a path, "" for nothing; the tree itself at b""."""
        if not path:
            return tree
        name, _, rest = path.partition(b"/")
        key = tree, name
        if key not in self._found:
            self._found[key] = self._repository.child(tree, os.fsdecode(name))
        found = self._found[key]
        return self.at(found, rest) if found and rest else found

    def differing(self, old: str, new: str, above: bytes = b"") -> Iterator[bytes]:
        """Paths of files that are in one of two trees only, or differ; "" stands for an empty tree."""
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
