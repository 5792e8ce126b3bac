"""What happens while a scan goes on: files come, other processes write, the disk fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import StorageError
from commonplace.domain.ports import Store
from commonplace.store.folder_store import FolderStore
from indexed import Indexed, MakeBase


class Scanned:
    """In place of a store's scan: something happens before it goes on."""

    def __init__(self, store: Store, happens: Callable[[], object]) -> None:
        self._scan = store.scan
        self._happens = happens

    def __call__(self) -> Iterator[tuple[Address, FileStat]]:
        self._happens()
        yield from self._scan()


def the_store(made: Indexed) -> Store:
    return made.index._store  # type: ignore[attr-defined]


def test_a_file_that_comes_while_a_scan_goes_on_is_what_links_lead_to(
    base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = base({"a.md": "# A\n\n[x](no.md)\n"})

    def happens() -> None:
        made.index.broken()
        made.write("files/plan.png", b"plan")
        made.write("b.md", "# B\n\n![[plan.png]]\n")

    monkeypatch.setattr(FolderStore, "scan", Scanned(the_store(made), happens))
    made.index.sync()
    assert [link.target for link in made.index.links_from(Address("b.md"))] == [Address("files/plan.png")]


def test_what_another_process_takes_in_and_out_while_a_scan_goes_on_is_neither_lost_nor_kept(
    base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = base({"a.md": "# A\n", "b.md": "# B\n"})
    other = made.another()
    other.sync()

    def happens() -> None:
        other.update([made.write("c.md", "# C\n"), made.write("a.md", "# A, changed\n")])
        (made.folder / "b.md").unlink()
        other.update([Address("b.md")])

    monkeypatch.setattr(FolderStore, "scan", Scanned(the_store(made), happens))
    made.index.sync()
    assert made.listed() == ["a.md", "c.md"]
    assert made.found("changed") == ["a.md"]
    other.close()


def test_a_scan_that_fails_is_no_damage_of_the_index(base: MakeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    made = base({"a.md": "# A\n"})
    catalogue = next(made.cache.rglob("catalogue.sqlite3")).stat().st_ino

    def happens() -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "scan", Scanned(the_store(made), happens))
        with pytest.raises(StorageError, match="cannot be looked through"):
            made.index.sync()
    assert next(made.cache.rglob("catalogue.sqlite3")).stat().st_ino == catalogue
    assert made.listed() == ["a.md"]
