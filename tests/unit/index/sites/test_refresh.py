"""The catalogue's data on docs trees and translations follows the folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.index.catalogue.database import (
    Catalogue,
    read_number,
    stored_language_folders,
    stored_sites,
    write_meta,
)
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.index_files import CATALOGUE_FILE
from commonplace.index.sites import SiteFinder, refresh_sites
from indexed import Indexed

FILES = {
    "docs/guide/a.md": "# A\n\n[b](/guide/b/)\n",
    "docs/guide/b.md": "# B\n",
    "docs/de/a.md": "# A\n",
    "docs/en/a.md": "# A\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


@pytest.fixture
def catalogue(base: Indexed) -> Iterator[Catalogue]:
    (path,) = base.cache.rglob(CATALOGUE_FILE)
    made = Catalogue(path)
    yield made
    made.close()


def refreshed(base: Indexed, catalogue: Catalogue, *paths: str) -> int:
    """Growth of the generation."""
    before = generation(catalogue)
    refresh_sites(catalogue, base.store, OtherFiles(base.store), SiteFinder(base.store), paths)
    return generation(catalogue) - before


def generation(catalogue: Catalogue) -> int:
    with catalogue.reading() as connection:
        return read_number(connection, "generation")


def broken(catalogue: Catalogue) -> list[str]:
    with catalogue.reading() as connection:
        rows = connection.execute("SELECT key FROM links WHERE target IS NULL").fetchall()
    return [key for (key,) in rows]


def test_a_tree_that_appears_is_stored_and_links_lead_through_it(base: Indexed, catalogue: Catalogue) -> None:
    assert refreshed(base, catalogue) == 0
    assert broken(catalogue)
    base.write("mkdocs.yml", "site_name: x\ndocs_dir: docs\n")
    assert refreshed(base, catalogue) == 1
    with catalogue.reading() as connection:
        assert len(stored_sites(connection)) == 1
    assert broken(catalogue) == []
    assert refreshed(base, catalogue) == 0, "nothing has changed since"


def test_folders_of_languages_are_known_from_documents_that_are_indexed_or_come(
    base: Indexed, catalogue: Catalogue
) -> None:
    refreshed(base, catalogue)
    with catalogue.reading() as connection:
        before = stored_language_folders(connection)
    refreshed(base, catalogue, "docs/fr/a.md")
    with catalogue.reading() as connection:
        after = stored_language_folders(connection)
    assert before == {"docs/de", "docs/en"}
    assert after == {"docs/de", "docs/en", "docs/fr"}


def test_the_index_of_a_past_state_keeps_the_trees_of_the_present(base: Indexed, catalogue: Catalogue) -> None:
    base.write("mkdocs.yml", "site_name: x\ndocs_dir: docs\n")
    refreshed(base, catalogue)

    class Bare:
        """A store without a folder."""

        name = "past"

    refresh_sites(catalogue, base.store, OtherFiles(base.store), SiteFinder(Bare()), ())  # type: ignore[arg-type]
    with catalogue.reading() as connection:
        assert len(stored_sites(connection)) == 1


def test_the_first_refresh_of_a_new_catalogue_resolves_no_link_twice(base: Indexed, catalogue: Catalogue) -> None:
    with catalogue.writing() as connection:
        connection.execute("DELETE FROM meta WHERE key = 'sites'")
        write_meta(connection, "languages", "[]")
    base.write("mkdocs.yml", "site_name: x\ndocs_dir: docs\n")
    assert refreshed(base, catalogue) == 0
    with closing(sqlite3.connect(next(base.cache.rglob(CATALOGUE_FILE)))) as connection:
        assert connection.execute("SELECT count(*) FROM meta WHERE key = 'sites'").fetchone() == (1,)
