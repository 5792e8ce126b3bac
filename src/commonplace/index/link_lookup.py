"""Looks up names and files of an index, for rules that resolve links outside the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.links import NamedDocument
from commonplace.domain.ports import Store
from commonplace.domain.sites.tree import SiteTree
from commonplace.index.index_files import IndexView

Result = TypeVar("Result")


class Ask(Protocol):
    """Runs a query on a view of an index."""

    def __call__(self, question: Callable[[IndexView], Result], /) -> Result:
        """The result of the query."""
        ...


class IndexLookup:
    """`LinkLookup` on the current state of an index; docs trees and own names are those of the first call.

    Args:
        ask: Runs a query on the index.
        store: The files.
    """

    def __init__(self, ask: Ask, store: Store) -> None:
        self._ask = ask
        self._store = store
        self._sites: Sequence[SiteTree] | None = None
        self._own_names: Collection[str] | None = None

    def at(self, path: str) -> Address | None:
        """The document or other file at exactly this path."""
        return self._ask(lambda view: view.lookup(self._store).at(path))

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every document with this key."""
        return self._ask(lambda view: view.lookup(self._store).named(key))

    def files(self, key: str) -> Sequence[Address]:
        """Every file that is not a document and has this key."""
        return self._ask(lambda view: view.lookup(self._store).files(key))

    @property
    def sites(self) -> Sequence[SiteTree]:
        """The docs trees of the collection."""
        if self._sites is None:
            self._sites = self._ask(lambda view: view.lookup(self._store).sites)
        return self._sites

    @property
    def own_names(self) -> Collection[str]:
        """The collection's names."""
        if self._own_names is None:
            self._own_names = self._ask(lambda view: view.lookup(self._store).own_names)
        return self._own_names
