"""Opening the index of a folder, wherever it may lie."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.ports import Store
from commonplace.index.local import LocalIndex


def open_index(store: Store, cache_dir: Path) -> LocalIndex:
    """The index of a store's folder, made when there is none."""
    return LocalIndex(store, cache_dir / store.identity)
