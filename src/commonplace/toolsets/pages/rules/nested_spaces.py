"""Spaces inside the folder of another space. A nested space is separate and not part of the outer space."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.ports import Store
from commonplace.toolsets.pages.rules.page import is_page_path
from commonplace.toolsets.pages.rules.space import SPACE_FILE


class NestedSpaces:
    """The nested spaces of a folder; each subfolder is examined once.

    Args:
        store: The folder of the outer space.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, bool] = {"": False}

    def hold(self, address: Address) -> bool:
        """Whether a document belongs to a nested space."""
        return self._nested(address.path.rpartition("/")[0])

    def _nested(self, folder: str) -> bool:
        space_file = self._known.get(folder)
        if space_file is None:
            space_file = self._nested(folder.rpartition("/")[0]) or self._has_space_file(folder)
            self._known[folder] = space_file
        return space_file

    def _has_space_file(self, folder: str) -> bool:
        try:
            return self._store.stat(Address(f"{folder}/{SPACE_FILE.path}")) is not None
        except KnowledgeError:  # the file exists but cannot be examined
            return True


def page_addresses(store: Store) -> Iterator[Address]:
    """The addresses of a folder that may be pages of its space."""
    nested = NestedSpaces(store)
    return (address for address, _ in store.scan() if is_page_path(address) and not nested.hold(address))
