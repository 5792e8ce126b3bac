"""Refreshes what the configuration of a collection says in the catalogue: name, docs trees, translations."""

from __future__ import annotations

import json
from collections.abc import Iterable

from commonplace.domain.ports import Store
from commonplace.domain.schema import declared_schema
from commonplace.domain.sites.translations import language_folders
from commonplace.domain.sites.tree import as_json
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
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.sites.finder import SiteFinder


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
    found = finder.find(folders)
    # The index of a past state is a copy, and retains the docs trees of the copied index.
    sites = str(stored[0] or "[]") if found is None else json.dumps([as_json(site) for site in found])
    languages = json.dumps(language_folders(folders))
    name = declared_schema(store).name
    if (sites, languages, name) == stored:
        return
    with catalogue.writing() as connection:
        write_meta(connection, SITES, sites)
        write_meta(connection, LANGUAGE_FOLDERS, languages)
        write_meta(connection, DECLARED_NAME, name)
        if stored[0] not in {None, sites} or (stored[2] or "") != name:
            resolve_links(connection, store, others, anew=True)
            grow(connection, NAMED)
            grow(connection, "generation")
