"""The version of the index, and the folder of its files.

Each version has its own folder, so that programs of two versions do not replace each other's index.
"""

from __future__ import annotations

SCHEMA_VERSION = 46
"""Version of the index; incremented with every change of the tables, the full text's fields or the derived data."""
FOLDER_PREFIX = "v"
INDEX_FOLDER = f"{FOLDER_PREFIX}{SCHEMA_VERSION}"
"""Name of the index's folder in the collection's folder. The vectors beside it are shared by all versions."""
