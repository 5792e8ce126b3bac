"""Files and their history: a folder on disk, with or without Git."""

from commonplace.store.discovery import open_store

__all__ = ["open_store"]
