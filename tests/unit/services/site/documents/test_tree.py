"""Folders with the documents in them and below them."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.services.site.documents import FOLDERS, records
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "z.md": "# Z\n",
    "a/b/c/deep.md": "# Deep\n",
    "a/x.md": "# X\n",
    "Über/文.md": "# 文\n",
    "B/y.md": "# Y\n",
    "only/p.png": b"\x89PNG",
}


def test_every_folder_with_documents_below_it_is_there_with_its_totals(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        folders = FOLDERS.of(base.collection)
    assert {path: folder.total for path, folder in folders.items()} == {
        "": 5,
        "a": 2,
        "a/b": 1,
        "a/b/c": 1,
        "Über": 1,
        "B": 1,
    }
    assert folders[""].folders == ["a", "B", "Über"], "whatever the case of their names"
    assert (folders["a"].folders, [address.path for address in folders["a"].documents]) == (["a/b"], ["a/x.md"])
    assert (folders["a/b/c"].name, folders[""].name) == ("c", "")


def test_an_empty_collection_is_an_empty_root(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        folders = FOLDERS.of(base.collection)
    assert list(folders) == [""]
    assert (folders[""].total, folders[""].folders, folders[""].documents) == (0, [], [])


def test_records_come_by_path_without_those_that_are_gone(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        addresses = [Address("z.md"), Address("never.md"), Address("Über/文.md")]
        assert [record.title for record in records(base.collection, addresses)] == ["Z", "文"]
        assert records(base.collection, []) == []
