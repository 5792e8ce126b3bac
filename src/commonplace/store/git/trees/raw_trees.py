"""Finds the differences between two tree objects without parsing their common beginning and end.

Successive versions of a folder of thousands of files differ in a few bytes. Comparing bytes and skipping entries with
one regular expression costs a tenth of parsing both.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from commonplace.store.git.objects import RawTree, parse_tree

_ENTRIES = re.compile(rb"(?:\d+ [^\0]+\0.{20})*+", re.DOTALL)
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
        found = self._trees.get(identifier)
        if found is None:
            found = self._content(identifier)
            if self._size + len(found) > self._limit:
                self._trees.clear()
                self._size = 0
            self._trees[identifier] = found
            self._size += len(found)
        return found


def differing_entries(old: bytes, new: bytes) -> tuple[RawTree, RawTree]:
    """The entries of two tree objects without their common beginning and end.

    The result may contain a few equal entries. Contents that are not a sequence of entries are parsed completely.
    """
    start = _common_prefix(old, new)
    begun = _end_of_entries(old, start)
    most = min(_common_suffix(old, new), len(old) - begun, len(new) - begun)
    sides: tuple[RawTree, RawTree] = {}, {}
    contents = old, new
    at = [begun, begun]
    while True:
        left = [len(content) - position for content, position in zip(contents, at, strict=True)]
        if left[0] == left[1] and left[0] <= most:
            return sides
        side = 0 if left[0] >= left[1] else 1
        entry = _ENTRY.match(contents[side], at[side])
        if entry is None:
            return parse_tree(old), parse_tree(new)
        mode, name, identifier = entry.groups()
        sides[side][name] = mode, identifier
        at[side] = entry.end()


def _end_of_entries(content: bytes, end: int) -> int:
    """End of the last entry that is completely within the first `end` bytes."""
    found = _ENTRIES.match(content, 0, end)
    return found.end() if found else 0


def _common_prefix(one: bytes, two: bytes) -> int:
    """Length of the common prefix in bytes."""
    low, high = 0, min(len(one), len(two))
    while low < high:  # invariant: the first `low` bytes are equal
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(one: bytes, two: bytes) -> int:
    """Length of the common suffix in bytes."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == two[len(two) - middle : len(two) - low]:
            low = middle
        else:
            high = middle - 1
    return low
