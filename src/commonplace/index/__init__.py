"""Everything derived from the files of a collection: a catalogue in SQLite and a full text in Tantivy.

Both may be deleted at any moment and are built again from the files.
"""

from __future__ import annotations

from commonplace.index.opening import open_index

__all__ = ["open_index"]
