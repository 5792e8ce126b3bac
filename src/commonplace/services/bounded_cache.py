"""A cache of limited size, for values that are valid as long as their key is."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """A cache of values by key that evicts the least recently used ones.

    Args:
        limit: Maximum sum of the sizes of all values; the last added value is never evicted.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable) -> T | None:
        """The value of a key; None if it is not cached."""
        with self._lock:
            cached = self._values.get(key)
            if cached is not None:
                self._values.move_to_end(key)
            return cached[0] if cached is not None else None

    def put(self, key: Hashable, value: T, size: int) -> T:
        """Cache a value of this size, and return it."""
        with self._lock:
            if key not in self._values:
                self._values[key] = value, size
                self._size += size
            while self._size > self._limit and len(self._values) > 1:
                self._size -= self._values.popitem(last=False)[1][1]
        return value
