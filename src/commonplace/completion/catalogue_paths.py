"""The catalogues of the folders that a command line names, found without importing the settings.

The settings for folders and the cache are parsed here a second time, in a form that costs a few milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256

from commonplace.index.stored.index_version import INDEX_FOLDER

CATALOGUE_FILE = "catalogue.sqlite3"


def catalogue_paths(folders: list[str]) -> Iterator[str]:
    """The existing catalogues, in the order of their folders.

    Args:
        folders: Folders named on the command line; if none, those of the settings, else the current one.
    """
    given = _configured()
    environment = os.environ.get("COMMONPLACE_KB", "")
    chosen = folders or [part for part in environment.split(os.pathsep) if part] or _paths(given.get("kb")) or ["."]
    cache = os.environ.get("COMMONPLACE_CACHE_DIR") or _text(given.get("cache_dir")) or _default_cache()
    for folder in chosen:
        real = os.path.realpath(os.path.expanduser(folder))
        database = os.path.join(os.path.expanduser(cache), folder_key(real), INDEX_FOLDER, CATALOGUE_FILE)
        if os.path.isfile(database):
            yield database


def folder_key(real: str) -> str:
    """The key of a folder's real path, equal to the store's."""
    return sha256(os.fsencode(real)).hexdigest()[:32]


def _default_cache() -> str:
    return os.path.join(_base_folder("XDG_CACHE_HOME", ".cache"), "commonplace")


def _base_folder(name: str, default: str) -> str:
    """A base directory; a relative one is ignored, as the settings do."""
    given = os.environ.get(name, "")
    return given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), default)


def _configured() -> dict[str, object]:
    """The raw settings file; empty if it is missing or invalid."""
    base = _base_folder("XDG_CONFIG_HOME", ".config")
    path = os.environ.get("COMMONPLACE_CONFIG") or os.path.join(base, "commonplace", "config.toml")
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError:
        return {}
    if b"kb" not in raw and b"cache_dir" not in raw:
        return {}
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except ValueError:
        return {}


def _paths(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split(os.pathsep)
    return [str(item) for item in value] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - `cast` would load typing


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
