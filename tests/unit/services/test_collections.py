"""The document to which a reference resolves, with an index that does not watch the folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unicodedata import normalize

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.cluster import ReplicaStatus
from commonplace.domain.errors import NotFoundError, StorageError, UnavailableError
from commonplace.domain.ports import Store
from commonplace.index import open_index
from commonplace.services.collections import (
    Collection,
    Collections,
    as_stored,
    is_served_page,
    pages_in,
    record_of,
)
from commonplace.toolsets.wiki.service import note_lookup
from indexed import PERMISSIONS, Indexed, permissions_hold
from remotes.fixed import FixedReplica


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
    document = Collections(lambda: [collection]).locate(reference)
    assert (document.record.address.path, document.record.title) == ("in/new.md", "Came just now")


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


def test_a_replica_is_not_waited_for_as_a_watched_folder_is(
    collection: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    Collections(lambda: [replace(collection, replica=FixedReplica())]).wait_watched(0)
    assert caplog.text == ""
    Collections(lambda: [collection]).wait_watched(0)
    assert "changes are not noticed yet" in caplog.text


def test_a_remote_that_was_never_read_says_why_there_is_nothing(tmp_path: Path) -> None:
    with Indexed(tmp_path) as made:
        index = open_index(made.store, tmp_path / "unread")
        status = ReplicaStatus("", ready=False, age=None, problem="The remote of team cannot be read: it is away.")
        unread = Collection("team", made.store, index, replica=FixedReplica(now=status))
        with pytest.raises(UnavailableError, match="team has nothing to show yet: The remote of team cannot be read"):
            Collections(lambda: [unread]).wait_ready(0, lambda _done, _total: None)
        index.close()


def test_a_page_whose_name_is_decomposed_is_found_by_its_composed_name(tmp_path: Path) -> None:
    decomposed = normalize("NFD", "Größe/Café.md")
    with Indexed(tmp_path, {decomposed: "# Coffee\n", "Tür.md": "", normalize("NFD", "Tür.md"): ""}) as base:
        for reference in ("Größe/Café", "Größe/Café.md", decomposed):
            record = record_of(base.index, reference)
            assert record is not None
            assert record.address.path == decomposed
        assert record_of(base.index, "größe/café") is None, "the case counts"
        assert as_stored(base.index, Address("Tür.md")) == Address("Tür.md"), "each of two pages has its own name"
        assert as_stored(base.index, Address("Größe/neu.md")) == Address("Größe/neu.md")


class CountedStore:
    """A store that notes which files are looked at one by one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.looked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def stat(self, address: Address) -> FileStat | None:
        self.looked.append(address.path)
        return self._store.stat(address)


def test_a_page_of_a_large_folder_is_found_without_looking_at_the_others(base: Indexed) -> None:
    for name in ("c", "b", "d"):
        base.write(f"many/{name}.md", "# Many\n")
    store = CountedStore(base.store)
    counted = cast("Store", store)
    assert is_served_page(counted, Address("many/c.md"))
    assert not is_served_page(counted, Address("many/absent.md"))
    assert store.looked == ["many/c.md"]
    assert next(iter(pages_in(counted, "many"))).path == "many/b.md"
    assert store.looked == ["many/c.md", "many/b.md"]
