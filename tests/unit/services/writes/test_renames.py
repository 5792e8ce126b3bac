"""Renaming while a part of the folder cannot be looked at: no link is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError
from commonplace.index import open_index
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.store import open_store
from indexed import PERMISSIONS, permissions_hold

PAGES = {"a.md": "# A\n", "shut/b.md": "# B\n\nSee [[a]].\n", "open/c.md": "# C\n\nSee [[a]].\n"}


@PERMISSIONS
@pytest.mark.parametrize("named", ["shut", "shut/b.md"])
def test_a_rename_is_refused_where_pages_with_links_cannot_be_seen(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "base"
    for path, content in PAGES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    store = open_store(folder, commit="manual", state_dir=tmp_path / "state")
    collection = Collection("base", store, open_index(store, tmp_path / "cache"))
    collection.index.sync()
    (folder / "shut/b.md").write_text(PAGES["shut/b.md"] + "\nMore.\n")  # so that the index must look at it again
    mode = (folder / named).stat().st_mode
    (folder / named).chmod(0)
    try:
        with permissions_hold(), pytest.raises(StorageError, match=r"shut/b\.md .*so nothing was changed"):
            writes.rename(collection, Address("a.md"), Address("new.md"))
    finally:
        (folder / named).chmod(mode)
    assert (folder / "a.md").is_file()
    assert not (folder / "new.md").exists()
    done = writes.rename(collection, Address("a.md"), Address("new.md"))
    assert done.links.updated == (Address("open/c.md"), Address("shut/b.md"))
    assert "[[new]]" in (folder / "shut/b.md").read_text()
    collection.index.close()
