"""Trees kept parsed: a tree never changes, and one write's trees are mostly those of the write before."""

from __future__ import annotations

import os
from collections.abc import Callable

from commonplace.store.git.objects import FOLDER_MODE, RawTree, TreeEntry, parse_tree


class TreeCache:
    """Parsed trees by id, up to so many entries in all; for one thread at a time."""

    def __init__(self, content: Callable[[str], bytes], limit: int) -> None:
        """Begin with none.

        Args:
            content: Gives a tree object's content by id.
            limit: Entries to keep, of some 200 bytes each; at the limit all are dropped.
        """
        self._content = content
        self._limit = limit
        self._trees: dict[str, RawTree] = {}
        self._size = 0

    def tree(self, identifier: str) -> RawTree:
        """A tree's entries, not to be changed; none for ""."""
        if not identifier:
            return {}
        found = self._trees.get(identifier)
        if found is None:
            found = parse_tree(self._content(identifier))
            self.keep(identifier, found)
        return found

    def keep(self, identifier: str, tree: RawTree) -> None:
        """Remember a tree whose content the caller has."""
        if self._size + len(tree) > self._limit:
            self._trees.clear()
            self._size = 0
        if identifier not in self._trees:
            self._trees[identifier] = tree
            self._size += len(tree)

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        """What a tree has at a path."""
        *folders, name = os.fsencode(path).split(b"/")
        for folder in folders:
            found = self.tree(tree).get(folder)
            if found is None or found[0] != FOLDER_MODE:
                return None
            tree = found[1].hex()
        found = self.tree(tree).get(name)
        return TreeEntry(int(found[0], 8), found[1].hex()) if found else None
