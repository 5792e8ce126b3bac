"""The version of the index, and the folder of its files.

Each version has a folder of its own, so that programs of two versions do not replace each other's index.
"""

from __future__ import annotations

SCHEMA_VERSION = 18
"""Incremented with every change of the tables, of the full text's fields or of the data derived from a document."""
FOLDER_PREFIX = "v"
INDEX_FOLDER = f"{FOLDER_PREFIX}{SCHEMA_VERSION}"
"""Name of the folder of the index in the collection's folder, which also has the vectors of all versions."""
