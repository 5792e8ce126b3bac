"""A cache of parsed trees. Trees are immutable, and successive writes share most of them."""

from __future__ import annotations

import os
from collections.abc import Callable

from commonplace.store.git.objects import FOLDER_MODE, KnownTrees, RawTree, TreeEntry, parse_tree


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
        found = self._trees.get(identifier)
        if found is None:
            found = parse_tree(self._content(identifier))
            self.keep(identifier, found)
        return found

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
        found = trees.tree(tree).get(folder)
        if found is None or found[0] != FOLDER_MODE:
            return None
        tree = found[1].hex()
    found = trees.tree(tree).get(name)
    return TreeEntry(int(found[0], 8), found[1].hex()) if found else None
