"""Which document a reference means, with an index that is not told of changes outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.services.collections import Collection, Collections
from commonplace.toolsets.wiki.service import note_lookup
from indexed import PERMISSIONS, Indexed, permissions_hold


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as made:
        yield made


@pytest.fixture
def collection(base: Indexed) -> Collection:
    return Collection(name="base", store=base.store, index=base.index)


@pytest.mark.parametrize("reference", ["in/new", "in/new.md"])
def test_a_file_that_the_index_was_not_told_of_is_found_by_its_path(
    base: Indexed, collection: Collection, reference: str
) -> None:
    base.write("in/new.md", "# Came just now\n")
    found = Collections(lambda: [collection]).locate(reference)
    assert (found.record.address.path, found.record.title) == ("in/new.md", "Came just now")


def test_a_wiki_page_that_the_index_was_not_told_of_is_found_by_its_path(base: Indexed, collection: Collection) -> None:
    base.write("in/new.md", "# Came just now\n")
    assert note_lookup.require_note(collection, "in/new").path == "in/new.md"


@pytest.mark.parametrize("reference", ["in/new", ".hidden/new", "../new", "a.md\0"])
def test_a_reference_that_no_served_file_has_is_refused(base: Indexed, collection: Collection, reference: str) -> None:
    base.write(".hidden/new.md", "# Not served\n")
    with pytest.raises(NotFoundError):
        Collections(lambda: [collection]).locate(reference)


@PERMISSIONS
def test_a_new_file_that_cannot_be_read_says_so(base: Indexed, collection: Collection) -> None:
    (base.folder / "new.md").write_text("# New\n")
    (base.folder / "new.md").chmod(0)
    with permissions_hold(), pytest.raises(StorageError):
        Collections(lambda: [collection]).locate("new")
