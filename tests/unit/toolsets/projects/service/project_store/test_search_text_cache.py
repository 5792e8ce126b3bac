"""Files that a search reads again: changed files, and files written too recently for their stat data to be trusted."""

from __future__ import annotations

import time

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import NotFoundError
from commonplace.toolsets.projects.rules.search import SearchableDocuments
from commonplace.toolsets.projects.service.project_store import SearchTextCache

LONG_AGO = 1_000_000_000


class Disk:
    """Files in memory, whose facts a test chooses."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self.reads: list[str] = []
        self.cached = SearchTextCache()

    def read(self, address: Address) -> bytes:
        self.reads.append(address.name)
        if address.name not in self.contents:
            raise NotFoundError("gone")
        return self.contents[address.name].encode()

    def titles(self, **written: int) -> list[str]:
        """Titles of the documents, for files of these times."""
        self.reads.clear()
        files = {f"{name}.md": FileStat(5, when, when, 1) for name, when in written.items()}
        texts: SearchableDocuments = self.cached.texts("projects/p/knowledge", files, self.read)
        return sorted(text.metadata.title for text in texts.all)


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_only_what_differs_is_read_again(disk: Disk) -> None:
    disk.contents = {"a.md": "# one", "b.md": "# two"}
    assert disk.titles(a=LONG_AGO, b=LONG_AGO) == ["one", "two"]
    disk.contents["b.md"] = "# new"
    assert disk.titles(a=LONG_AGO, b=LONG_AGO + 1) == ["new", "one"]
    assert disk.reads == ["b.md"]
    assert disk.titles(a=LONG_AGO, b=LONG_AGO + 1) == ["new", "one"]
    assert disk.reads == []
    assert disk.titles(b=LONG_AGO + 1) == ["new"]


def test_a_document_that_is_deleted_just_after_it_was_written_is_gone_beside_older_ones(disk: Disk) -> None:
    disk.contents = {"a.md": "# one", "b.md": "# two"}
    assert disk.titles(a=time.time_ns(), b=LONG_AGO) == ["one", "two"]
    assert disk.titles(b=LONG_AGO) == ["two"]


def test_a_second_change_within_one_tick_of_the_clock_is_seen(disk: Disk) -> None:
    now = time.time_ns()
    disk.contents = {"a.md": "# one"}
    assert disk.titles(a=now) == ["one"]
    disk.contents["a.md"] = "# two"
    assert disk.titles(a=now) == ["two"]


def test_a_file_that_is_gone_when_it_is_read_is_left_out_and_tried_again(disk: Disk) -> None:
    disk.contents = {"a.md": "# one"}
    assert disk.titles(a=LONG_AGO, b=LONG_AGO) == ["one"]
    disk.contents["b.md"] = "# two"
    assert disk.titles(a=LONG_AGO, b=LONG_AGO) == ["one", "two"]
    assert disk.reads == ["b.md"]
