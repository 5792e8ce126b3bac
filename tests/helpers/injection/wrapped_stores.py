"""A real store whose history is watched, or fails when a test says so."""

from __future__ import annotations

from typing import cast

from commonplace.domain.ports import History, Store


class WrappedHistory:
    """A history that a subclass watches; what it does not define, the real one does."""

    def __init__(self, store: Store) -> None:
        self.real: History = store.history
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def store(self) -> Store:
        """The store with this history."""
        return cast("Store", _WrappedStore(self._store, self))


class _WrappedStore:
    def __init__(self, store: Store, history: WrappedHistory) -> None:
        self._real = store
        self.history = history

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)
