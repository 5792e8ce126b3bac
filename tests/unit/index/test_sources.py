"""The bytes of shown documents: kept while their files stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.index.words import sources as module
from commonplace.index.words.sources import Sources
from commonplace.store import open_store

NOTE = Address("note.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With one note."""
    made = tmp_path / "base"
    made.mkdir()
    (made / "note.md").write_text("first", encoding="utf-8")
    return made


@pytest.fixture
def sources(folder: Path, tmp_path: Path) -> Sources:
    """Of the folder."""
    return Sources(open_store(folder, commit="manual", state_dir=tmp_path / "state"))


def test_a_file_that_stays_as_it_is_is_read_once(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNSETTLED_NS", -1_000_000_000)
    assert sources.read(NOTE) is sources.read(NOTE)
    assert sources.read(NOTE).raw == b"first"


def test_a_changed_replaced_or_deleted_file_is_seen(
    sources: Sources, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNSETTLED_NS", -1_000_000_000)
    before = sources.read(NOTE)
    (folder / "note.md").write_text("second", encoding="utf-8")
    assert sources.read(NOTE).raw == b"second"
    assert sources.read(NOTE).revision != before.revision
    (folder / "other.md").write_text("fourth", encoding="utf-8")
    (folder / "other.md").replace(folder / "note.md")
    assert sources.read(NOTE).raw == b"fourth"
    (folder / "note.md").unlink()
    with pytest.raises(NotFoundError):
        sources.read(NOTE)


def test_a_file_put_in_place_by_a_link_out_of_the_folder_is_not_read(
    sources: Sources, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNSETTLED_NS", -1_000_000_000)
    (folder / "deep").mkdir()
    (folder / "deep" / "a.md").write_text("inside", encoding="utf-8")
    assert sources.read(Address("deep/a.md")).raw == b"inside"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret", encoding="utf-8")
    (folder / "deep" / "a.md").unlink()
    (folder / "deep").rmdir()
    (folder / "deep").symlink_to(outside)
    with pytest.raises(NotFoundError):
        sources.read(Address("deep/a.md"))


def test_a_file_changed_just_now_is_read_again(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNSETTLED_NS", 10**18)
    assert sources.read(NOTE) is not sources.read(NOTE)


def test_what_is_kept_is_limited(sources: Sources, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNSETTLED_NS", -1_000_000_000)
    monkeypatch.setattr(module, "KEPT_BYTES", 8)
    kept = sources.read(NOTE)
    (folder / "second.md").write_text("other", encoding="utf-8")
    other = sources.read(Address("second.md"))
    assert sources.read(Address("second.md")) is other
    assert sources.read(NOTE) is not kept
    (folder / "large.md").write_text("x" * (module.LARGEST_KEPT + 1), encoding="utf-8")
    assert sources.read(Address("large.md")) is not sources.read(Address("large.md"))
