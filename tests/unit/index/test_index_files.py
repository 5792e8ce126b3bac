"""An index file that cannot be looked at for a moment: what was written stays written, told, and dated afterwards."""

from __future__ import annotations

import gc
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.domain.query import ListQuery, SearchQuery
from commonplace.index.index_files import CATALOGUE_FILE, IndexFiles
from indexed import Indexed, MakeBase, answers, eventually
from support import no_more_files

A = Address("a.md")


class Looking:
    """Replaces the check that an index is still where it was opened; fails from a given check on."""

    def __init__(self) -> None:
        self.asked = 0
        self.failing: range = range(0)

    def __call__(self, files: IndexFiles) -> bool:
        self.asked += 1
        if self.asked in self.failing:
            raise StorageError("The index cannot be read: Input/output error.", kind="index")
        return bool(files.catalogue)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_write_is_taken_in_or_left_to_the_next_scan_and_never_refused(
    base: MakeBase, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    made = base({"a.md": "# A\n", "b.md": "# B\n"})
    addresses: list[Sequence[Address]] = []
    made.index.listen(lambda documents, _: addresses.append(documents))
    look = Looking()
    monkeypatch.setattr(IndexFiles, "current", property(look))
    (made.folder / "a.md").write_text("# A\n\nmore\n")
    look.failing = range(at, at + 1)
    made.index.update([A])
    look.failing = range(0)
    made.index.sync()
    record = made.index.record(A)
    assert record is not None
    assert record.words == 3
    assert addresses
    assert A in addresses[0]


def test_dates_are_found_out_after_a_moment_in_which_the_index_could_not_be_looked_at(
    base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = base({"a.md": "# A\n"})
    look = Looking()
    monkeypatch.setattr(IndexFiles, "current", property(look))
    look.failing = range(1, 1000)
    made.index.update([A])
    assert made.index._date_updater.wait(20)
    look.failing = range(0)
    made.index.update([A])
    assert made.index._date_updater.wait(20)
    assert made.index.list(ListQuery(sort="updated")).total == 1


def test_an_index_that_cannot_be_opened_for_want_of_files_is_not_built_anew(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nalpha\n"})
    made.index.sync()
    generation = made.index.generation
    made.index.close()
    with no_more_files(), pytest.raises(UnavailableError, match="may open no more files"):
        made.index.search(SearchQuery(text="alpha"))
    assert made.index.search(SearchQuery(text="alpha")).total == 1
    assert made.index.generation == generation


@pytest.mark.parametrize("free", [1, 3, 5, 8])
def test_nothing_is_lost_from_an_index_while_a_process_runs_short_of_files(base: MakeBase, free: int) -> None:
    made = base({f"{number}.md": f"# {number}\n\nalpha\n" for number in range(5)})
    made.index.sync()
    catalogue = next(made.cache.rglob("catalogue.sqlite3")).stat().st_ino
    for number in range(5):
        made.write(f"{number}.md", f"# {number}\n\nalpha again\n")
    made.index.close()
    with no_more_files(free), suppress(UnavailableError, StorageError):
        made.index.sync()
    assert next(made.cache.rglob("catalogue.sqlite3")).stat().st_ino == catalogue
    made.index.sync()
    assert made.index.search(SearchQuery(text="again")).total == 5


def test_an_index_that_could_not_be_filled_is_filled_when_it_is_next_asked(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nalpha\n"})
    shutil.rmtree(made.cache)
    with no_more_files(12), pytest.raises(UnavailableError):
        made.index.counts()
    assert made.index.counts().documents == 1


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's list of threads")
def test_a_closed_index_leaves_no_thread_and_no_file_behind(tmp_path: Path) -> None:
    """Tantivy watches the files of each open index in a thread, as long as anybody holds a searcher."""

    def watchers() -> int:
        return sum(name.read_text().startswith("thread-tantivy") for name in Path("/proc/self/task").glob("*/comm"))

    before = watchers()
    gc.disable()  # what only the collector of circles releases stays for minutes
    try:
        with Indexed(tmp_path, {"a.md": "# A\n\nThe tide.\n"}) as indexed:
            assert indexed.found("tides") == ["a.md"]
            indexed.update("a.md", "# A\n\nThe tides.\n")
            assert indexed.found("tides") == ["a.md"]
            assert watchers()
        assert eventually(lambda: watchers() <= before)
    finally:
        gc.enable()


def test_a_record_that_cannot_be_read_is_damage_and_the_index_is_built_again(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "---\ndescription: one\n---\n# A\n\nkangaroo\n"}) as base:
        expected = answers(base.index, ["kangaroo"])
        base.index.close()
        (catalogue,) = base.cache.glob(f"*/*/{CATALOGUE_FILE}")
        with closing(sqlite3.connect(catalogue)) as connection, connection:
            changed = connection.execute("""UPDATE details SET record = replace(record, '"description"', '"x"')""")
            assert changed.rowcount == 1
        base.index = base.another()
        base.index.sync()
        assert answers(base.index, ["kangaroo"]) == expected
