"""Renaming while a part of the folder cannot be looked at: no link is left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError
from commonplace.index import open_index
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.store import open_store
from indexed import PERMISSIONS, permissions_hold
from support import MakeRepo

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


def test_a_link_of_a_write_that_waits_in_the_same_group_follows_the_moved_page(
    git_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = git_repo(files={f"{name}{number}.md": "# P\n" for name in ("from", "page") for number in range(20)})
    store = open_store(repo.path, commit="auto", state_dir=tmp_path / "state")
    with closing(open_index(store, tmp_path / "cache")) as index:
        index.sync()
        collection = Collection("base", store, index)

        def link(number: int) -> None:
            writes.append(collection, Address(f"from{number}.md"), f"[p](page{number}.md)")

        def move(number: int) -> None:
            writes.rename(collection, Address(f"page{number}.md"), Address(f"moved{number}.md"))

        with ThreadPoolExecutor(40) as pool, store.transaction("Others wait"):
            acts = [pool.submit(act, number) for number in range(20) for act in (link, move)]
        for act in acts:
            act.result()
    subjects = repo.git("log", "--format=%s", "--reverse").splitlines()
    for number in range(20):
        linked = subjects.index(f"Update: from{number}") if f"Update: from{number}" in subjects else -1
        moved = subjects.index(f"Rename: page{number} -> moved{number}")
        assert linked >= 0
        text = (repo.path / f"from{number}.md").read_text()
        assert (f"moved{number}.md" in text) == (linked < moved), (number, linked, moved)
