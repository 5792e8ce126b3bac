"""Refreshes the docs trees and translations in the catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterable

from commonplace.domain.ports import Store
from commonplace.domain.sites.translations import language_folders
from commonplace.domain.sites.tree import as_json
from commonplace.index.catalogue.database import LANGUAGE_FOLDERS, SITES, Catalogue, grow, read_meta, write_meta
from commonplace.index.catalogue.links import NAMED, resolve_links
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.sites.finder import SiteFinder


def refresh_sites(
    catalogue: Catalogue, store: Store, others: OtherFiles, finder: SiteFinder, paths: Iterable[str]
) -> None:
    """Store the docs trees and the folders of translations. If the trees have changed, resolve all links again.

    Args:
        catalogue: The catalogue.
        store: The files.
        others: The files that are not documents.
        finder: Finds the docs trees.
        paths: Documents that the catalogue does not contain yet.
    """
    with catalogue.reading() as connection:
        folders = {path.rpartition("/")[0] for (path,) in connection.execute("SELECT path FROM files")}
        stored = read_meta(connection, SITES), read_meta(connection, LANGUAGE_FOLDERS)
    folders.update(path.rpartition("/")[0] for path in paths)
    found = finder.find(folders)
    # The index of a past state is a copy, and retains the docs trees of the copied index.
    sites = (stored[0] or "[]") if found is None else json.dumps([as_json(site) for site in found])
    languages = json.dumps(language_folders(folders))
    if (sites, languages) == stored:
        return
    with catalogue.writing() as connection:
        write_meta(connection, SITES, sites)
        write_meta(connection, LANGUAGE_FOLDERS, languages)
        if stored[0] not in {None, sites}:
            resolve_links(connection, store, others, anew=True)
            grow(connection, NAMED)
            grow(connection, "generation")
