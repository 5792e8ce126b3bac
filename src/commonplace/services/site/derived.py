"""Facts about a whole collection, computed once for each state of its index."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from commonplace.services.collections import Collection

T = TypeVar("T")


class PerState(Generic[T]):
    """Caches a function of a collection until the collection's index or current commit changes.

    Args:
        compute: Called by one thread at a time for each collection.
    """

    def __init__(self, compute: Callable[[Collection], T]) -> None:
        self._compute = compute
        self._lock = Lock()
        self._values: dict[str, tuple[object, T]] = {}

    def of(self, collection: Collection) -> T:
        """The value for the collection as it is now."""
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
