"""A journal is read by the next writer as a whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.journal import EMPTY_RECORD, Journal, JournalIntent, JournalRecord, JournalStep

RECORD = JournalRecord(
    JournalIntent(
        "token",
        (JournalStep("a.md", "1" * 40, ""), JournalStep('odd "名\\前.md', "", "2" * 40)),
        ("x", "x/y"),
        "refs/heads/main",
        "3" * 40,
        ("kb/a.md",),
    ),
    {"kb/b.md": "", "kb/c.md": "4" * 40},
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """One that was never written."""
    return Journal(tmp_path / "journal")


def test_a_record_is_read_as_it_was_written(journal: Journal) -> None:
    assert journal.is_empty
    assert journal.read() is EMPTY_RECORD
    with Unsynced() as unsynced:
        journal.write(RECORD, unsynced)
        unsynced.sync()
    assert not journal.is_empty
    assert journal.read() == RECORD


def test_a_shorter_record_takes_the_place_of_a_longer_one(journal: Journal) -> None:
    journal.write(RECORD)
    journal.write(JournalRecord(None, {"a": ""}))
    assert journal.read() == JournalRecord(None, {"a": ""})
    journal.write(EMPTY_RECORD)
    assert journal.is_empty
    assert journal.read() == EMPTY_RECORD


def test_a_record_cut_off_anywhere_counts_as_none(journal: Journal, tmp_path: Path) -> None:
    journal.write(RECORD)
    whole = (tmp_path / "journal").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "journal").write_bytes(whole[:length])
        assert journal.read() == EMPTY_RECORD


def test_a_record_with_a_wrong_byte_anywhere_counts_as_none(journal: Journal, tmp_path: Path) -> None:
    journal.write(RECORD)
    whole = (tmp_path / "journal").read_bytes()
    for at in range(0, len(whole), 3):
        (tmp_path / "journal").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert journal.read() == EMPTY_RECORD


def test_a_journal_is_never_written_through_a_link(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "journal").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        journal.write(RECORD)
    assert (tmp_path / "elsewhere").read_text() == "kept"
