"""Data derived from the files of a collection: a catalogue in SQLite and a full text in Tantivy.

Both may be deleted at any time and are rebuilt from the files.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.domain.ports import Store
    from commonplace.index.local import LocalIndex


def open_index(store: Store, cache_dir: Path) -> LocalIndex:
    """Open the index of a store's folder; create it if there is none."""
    from commonplace.index.local import LocalIndex  # noqa: PLC0415 - a shell that asks for names needs none of it

    return LocalIndex(store, cache_dir / store.identity)
