"""The docs trees of a collection, by the configuration files in its folder, and what they say in the catalogue."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import cast

from commonplace.domain.addresses import SKIPPED_FOLDERS, is_document_path
from commonplace.domain.markdown.wikitext import META_SUFFIX
from commonplace.domain.ports import Store
from commonplace.domain.schema import SCHEMA_FILE, declared_schema
from commonplace.domain.site_file import SITE_FILE, read_site
from commonplace.domain.site_recognition import MAX_CONFIG_BYTES, ConfigFile, config_names, declared_tree, recognise
from commonplace.domain.sites import Mount, SiteTree, as_json, from_json, language_folders, translations_behind
from commonplace.index.catalogue.database import (
    DECLARED_NAME,
    LANGUAGE_FOLDERS,
    SITES,
    Catalogue,
    grow,
    read_meta,
    write_meta,
)
from commonplace.index.catalogue.links import NAMED, resolve_links
from commonplace.index.catalogue.other_files import DiskStore, OtherFiles

# Finds the docs trees of a collection by the configuration files in its folder.


MAX_DEPTH = 3
"""Maximum depth of a configuration file: number of folders above it."""
MAX_FOLDERS = 200
"""Maximum number of folders that are searched for configuration files."""

_NAMES = {name.partition("/")[0] for name in config_names()}


def is_configuration(path: str) -> bool:
    """Whether a file may declare docs trees, or to what names and addresses of the base links lead."""
    is_of_fields = path.endswith(META_SUFFIX) and is_document_path(path.removesuffix(META_SUFFIX))
    named = is_of_fields or path in {SITE_FILE, SCHEMA_FILE}
    return named or any(f"/{path}".endswith(f"/{name}") for name in config_names())


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
        return None if self._root is None else self._search(document_folders)

    def _search(self, document_folders: Iterable[str]) -> list[SiteTree]:
        folders = {"", *self._folders("")}
        for folder in document_folders:
            parts = folder.split("/")[:MAX_DEPTH]
            folders.update("/".join(parts[: length + 1]) for length in range(len(parts)))
        ordered = sorted(folders, key=lambda folder: (folder.count("/"), folder))
        trees = [site for folder in islice(ordered, MAX_FOLDERS) for site in self._sites_in(folder)]
        elsewhere = self._elsewhere()
        if elsewhere and not any(site.folder == "" for site in trees):
            trees.insert(0, SiteTree("declared", SITE_FILE, "", (Mount("", ""),)))
        return [replace(site, elsewhere=elsewhere) for site in trees] if elsewhere else trees

    def _elsewhere(self) -> tuple[tuple[str, str], ...]:
        """The absolute paths that are another site's, as the base declares them."""
        text = self._text(SITE_FILE)
        return read_site(text.encode("utf-8", "replace")).absolute_urls if "absolute_urls" in text else ()

    def _sites_in(self, folder: str) -> Iterable[SiteTree]:
        names = _NAMES.intersection(self._names(folder))
        for name in sorted(config_names()) if names else ():
            path = f"{folder}/{name}" if folder else name
            text = self._text(path) if name.partition("/")[0] in names else ""
            site = (
                recognise(ConfigFile(path, folder, text, self._folders, self._text, self._names), name)
                if text
                else None
            )
            if site:
                yield site

    def _path(self, path: str) -> Path:
        return Path(cast("Path", self._root), path)

    def _folders(self, folder: str) -> list[str]:
        """Names of the folders in a folder, except links and hidden folders."""
        names = (entry.name for entry in self._entries(folder) if entry.is_dir(follow_symlinks=False))
        return sorted(name for name in names if name[0] != "." and name not in SKIPPED_FOLDERS)

    def _names(self, folder: str) -> list[str]:
        return [entry.name for entry in self._entries(folder)]

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


# Refreshes what the configuration of a collection says in the catalogue: name, docs trees, translations.


def refresh_sites(
    catalogue: Catalogue, store: Store, others: OtherFiles, finder: SiteFinder, paths: Iterable[str]
) -> None:
    """Store the declared name, the docs trees and the folders of translations.

    If the name or the trees have changed, all links are resolved again.

    Args:
        catalogue: The catalogue.
        store: The files.
        others: The files that are not documents.
        finder: Finds the docs trees.
        paths: Documents that the catalogue does not contain yet.
    """
    with catalogue.reading() as connection:
        folders = {path.rpartition("/")[0] for (path,) in connection.execute("SELECT path FROM files")}
        stored = tuple(read_meta(connection, key) for key in (SITES, LANGUAGE_FOLDERS, DECLARED_NAME))
    folders.update(path.rpartition("/")[0] for path in paths)
    trees = finder.find(folders)
    # The index of a past state is a copy, and retains the docs trees of the copied index.
    sites = str(stored[0] or "[]") if trees is None else json.dumps([as_json(site) for site in trees])
    languages = json.dumps(language_folders(folders))
    name = declared_schema(store).name
    if (sites, languages, name) == stored:
        return
    with catalogue.writing() as connection:
        write_meta(connection, SITES, sites)
        write_meta(connection, LANGUAGE_FOLDERS, languages)
        write_meta(connection, DECLARED_NAME, name)
        moved = _with_fields_beside(str(stored[0] or "[]")) ^ _with_fields_beside(sites)  # their links change
        connection.executemany("INSERT OR IGNORE INTO pending VALUES (?, 0)", [(path,) for path in sorted(moved)])
        if stored[0] not in {None, sites} or (stored[2] or "") != name:
            resolve_links(connection, store, others, anew=True)
            grow(connection, NAMED)
            grow(connection, "generation")


# The order of translations in a ranking: the copy of a text in the reader's language comes first.


TRANSLATION_WINDOW = 100
"""Number of the best documents that are searched for translations; the same for every page of results."""


def readers_language_first(
    scores: Mapping[int, float], paths: Mapping[int, str], language: str, folders: Collection[str]
) -> dict[int, float]:
    """A ranking in which one copy of each text keeps its place, and the others are behind the window.

    Each document keeps its score, so that a filter by folder does not change the order; those behind have at most the
    score of the last one before them.

    Args:
        scores: Scores by document, best first.
        paths: Paths of the first `TRANSLATION_WINDOW` documents.
        language: The reader's language.
        folders: The folders that hold translations.
    """
    by_path = {paths[key]: score for key, score in scores.items() if key in paths}
    behind = translations_behind(by_path, language, folders)
    front = {key: score for key, score in scores.items() if key in paths and paths[key] not in behind}
    least = min(front.values(), default=0.0)
    moved = {key: min(score, least) for key, score in scores.items() if key in paths and key not in front}
    return {**front, **moved, **{key: score for key, score in scores.items() if key not in paths}}


def _with_fields_beside(sites: str) -> set[str]:
    """The paths with a file of fields in stored docs trees."""
    graphs = (site.graph for site in map(from_json, json.loads(sites)))
    return {path for graph in graphs if graph for path in graph.titles if is_document_path(path)}
