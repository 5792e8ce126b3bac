"""Stores: a folder on disk and its history, with or without Git."""

from commonplace.store.discovery import open_store

__all__ = ["open_store"]
