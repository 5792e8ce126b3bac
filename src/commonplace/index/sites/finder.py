"""Finds the docs trees of a collection by the configuration files in its folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

from commonplace.domain.addresses import SKIPPED_FOLDERS
from commonplace.domain.ports import Store
from commonplace.domain.sites.recognition import MAX_CONFIG_BYTES, ConfigFile, config_names, declared_tree, recognise
from commonplace.domain.sites.tree import SiteTree
from commonplace.index.catalogue.path_existence import DiskStore

MAX_DEPTH = 3
"""Maximum depth of a configuration file: number of folders above it."""
MAX_FOLDERS = 200
"""Maximum number of folders that are searched for configuration files."""

_NAMES = {name.partition("/")[0] for name in config_names()}


class SiteFinder:
    """Finds the docs trees of a store.

    Args:
        store: The files.
        declared: The setting `link_roots`: `URL=FOLDER` each, which replaces detection; `none` disables detection.

    Raises:
        ValueError: an entry is not of the form `URL=FOLDER`.
    """

    def __init__(self, store: Store, declared: Sequence[str] = ()) -> None:
        self._root = store.root if isinstance(store, DiskStore) else None
        self._off = list(declared) == ["none"]
        self._declared = None if self._off else declared_tree(declared)

    def find(self, document_folders: Iterable[str]) -> list[SiteTree] | None:
        """The docs trees of a collection, outermost first; None if the store has no folder on disk.

        Args:
            document_folders: The folders with documents; they and the folders above are searched.
        """
        if self._declared:
            return [self._declared]
        if self._off:
            return []
        if self._root is None:
            return None
        folders = {"", *self._folders("")}
        for folder in document_folders:
            parts = folder.split("/")[:MAX_DEPTH]
            folders.update("/".join(parts[: length + 1]) for length in range(len(parts)))
        ordered = sorted(folders, key=lambda folder: (folder.count("/"), folder))
        return [site for folder in islice(ordered, MAX_FOLDERS) for site in self._sites_in(folder)]

    def _sites_in(self, folder: str) -> Iterable[SiteTree]:
        names = _NAMES.intersection(self._names(folder))
        for name in sorted(config_names()) if names else ():
            path = f"{folder}/{name}" if folder else name
            text = self._text(path) if name.partition("/")[0] in names else ""
            site = recognise(ConfigFile(path, folder, text, self._folders, self._text), name) if text else None
            if site:
                yield site

    def _path(self, path: str) -> Path:
        return Path(cast("Path", self._root), path)

    def _folders(self, folder: str) -> list[str]:
        """Names of the folders in a folder, except links and hidden folders."""
        found = (one.name for one in self._entries(folder) if one.is_dir(follow_symlinks=False))
        return sorted(name for name in found if name[0] != "." and name not in SKIPPED_FOLDERS)

    def _names(self, folder: str) -> list[str]:
        return [one.name for one in self._entries(folder)]

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries of a folder; none if it cannot be listed."""
        try:
            with os.scandir(self._path(folder)) as listing:
                return list(listing)
        except OSError:
            return []

    def _text(self, path: str) -> str:
        """The text of a regular file; "" if there is none, it cannot be read, is a link or is too large."""
        try:
            descriptor = os.open(self._path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_CONFIG_BYTES:
                return ""
            with os.fdopen(descriptor, "rb", closefd=False) as file:  # would raise for a folder
                return file.read(MAX_CONFIG_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""
        finally:
            os.close(descriptor)
