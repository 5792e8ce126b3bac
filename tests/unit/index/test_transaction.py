"""One transaction: what is read and written of each file, and what is left alone."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.index.catalogue.database import Catalogue, create_catalogue
from commonplace.index.catalogue.document_rows import record_at, revisions_in
from commonplace.index.catalogue.links import LinkWriter
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.parse_worker import prepare
from commonplace.index.transaction import Files, IngestTransaction, Outcome, RecentTextWriter
from commonplace.store import open_store
from indexed import PERMISSIONS, permissions_hold


class Folder:
    """A folder, a catalogue, and transactions between them."""

    def __init__(self, place: Path) -> None:
        self.path = place / "base"
        self.path.mkdir()
        create_catalogue(place / "catalogue.sqlite3")
        self.catalogue = Catalogue(place / "catalogue.sqlite3")
        self.store = open_store(self.path, commit="manual", state_dir=place / "state")
        self.outcome = Outcome()

    @contextmanager
    def transaction(self) -> Generator[IngestTransaction]:
        """A transaction with a new outcome."""
        self.outcome, others = Outcome(), OtherFiles(self.store)
        with self.catalogue.writing() as connection:
            linker = LinkWriter(connection, self.store, others)
            files = Files(self.store.stat, self.store.read, lambda: "2026-01-02T03:04:05Z")
            made = IngestTransaction(files, connection, RecentTextWriter(connection), linker, self.outcome, ())
            yield made
            made.finish()

    def take(self, *names: str) -> Outcome:
        """Index these files in one transaction."""
        with self.transaction() as made:
            for name in names:
                made.take(Address(name), None)
        return self.outcome


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return outcome.added, outcome.updated, outcome.removed


def test_files_are_added_updated_and_removed(folder: Folder) -> None:
    (folder.path / "a.md").write_text("# A")
    (folder.path / "b.md").write_text("# B")
    assert counts(folder.take("a.md", "b.md", "none.md", "a.txt")) == (2, 0, 0)
    (folder.path / "a.md").write_text("# A changed")
    (folder.path / "b.md").unlink()
    assert counts(folder.take("a.md", "b.md")) == (0, 1, 1)
    assert folder.outcome.changed == [Address("a.md"), Address("b.md")]
    with folder.catalogue.reading() as connection:
        record = record_at(connection, "a.md")
        assert record is not None
        assert record.title == "A changed"
        assert list(revisions_in(connection)) == [Address("a.md")]
    assert counts(folder.take("a.md")) == (0, 0, 0), "an unchanged file is left alone"


def test_a_file_is_loaded_before_it_is_put(folder: Folder) -> None:
    (folder.path / "a.md").write_text("# A")
    with folder.transaction() as made:
        loaded = made.load(Address("a.md"), None, new=True)
        assert loaded is not None
        assert (loaded.file.path, loaded.file.raw, made.size) == ("a.md", b"# A", 3)
        assert folder.outcome.added == 0
        made.put(loaded, prepare(loaded.file))
        assert made.load(Address("none.md"), None, new=True) is None
    assert counts(folder.outcome) == (1, 0, 0)


@PERMISSIONS
def test_an_unreadable_file_is_told_and_stays_as_it_was(folder: Folder) -> None:
    (folder.path / "a.md").write_text("# A")
    folder.take("a.md")
    (folder.path / "a.md").write_text("# A changed")
    (folder.path / "a.md").chmod(0)
    with permissions_hold():
        folder.take("a.md")
    assert list(folder.outcome.unreadable) == ["a.md"]
    (folder.path / "a.md").chmod(0o600)
    folder.take("a.md")
    with folder.catalogue.reading() as connection:
        assert not connection.execute("SELECT 1 FROM unreadable").fetchone()
