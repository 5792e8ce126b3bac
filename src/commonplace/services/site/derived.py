"""Caches for facts about a whole collection, computed once for each state of its index, and for values by key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from commonplace.services.collections import Collection

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
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found[0] if found is not None else None

    def put(self, key: Hashable, value: T, size: int) -> T:
        """Cache a value of this size, and return it."""
        with self._lock:
            if key not in self._values:
                self._values[key] = value, size
                self._size += size
            while self._size > self._limit and len(self._values) > 1:
                self._size -= self._values.popitem(last=False)[1][1]
        return value


class PerState(Generic[T]):
    """Caches a function of a collection until the collection's index or current commit changes.

    Args:
        compute: The function; called by one thread at a time for each collection.
    """

    def __init__(self, compute: Callable[[Collection], T]) -> None:
        self._compute = compute
        self._lock = Lock()
        self._values: dict[str, tuple[object, T]] = {}

    def of(self, collection: Collection) -> T:
        """The value for the current state of the collection."""
        history = collection.store.history
        state = (collection.index.generation, history.head() if history.available else "")
        found = self._values.get(collection.store.identity)
        if found is not None and found[0] == state:
            return found[1]
        with self._lock:
            found = self._values.get(collection.store.identity)
            if found is None or found[0] != state:
                found = (state, self._compute(collection))
                self._values[collection.store.identity] = found
        return found[1]
