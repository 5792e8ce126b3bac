"""The texts that searches show: kept for as long as the index asks for the revision that was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.domain.snippets import MAX_SOURCE_CHARS
from commonplace.index.fulltext import searcher as module
from commonplace.index.fulltext.searcher import DocumentSource, DocumentSources, SectionTexts
from commonplace.store import open_store

NOTE = Address("note.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one note."""
    made = tmp_path / "base"
    made.mkdir()
    (made / "note.md").write_text("first", encoding="utf-8")
    return made


@pytest.fixture
def sources(folder: Path, tmp_path: Path) -> DocumentSources:
    """The document sources of the folder."""
    return DocumentSources(open_store(folder, commit="manual", state_dir=tmp_path / "state"))


def read(sources: DocumentSources, address: Address, wanted_content: bytes) -> DocumentSource:
    """A document whose index entry is that of certain bytes."""
    with sources.reading() as reader:
        return reader(address, revision_of(wanted_content))


def test_a_document_is_read_once_for_as_long_as_the_index_knows_it_so(sources: DocumentSources) -> None:
    first = read(sources, NOTE, b"first")
    assert first.raw == b"first"
    assert read(sources, NOTE, b"first") is first


def test_a_document_that_the_index_knows_in_another_revision_is_read_as_it_is_now(
    sources: DocumentSources, folder: Path
) -> None:
    read(sources, NOTE, b"first")
    (folder / "note.md").write_text("second", encoding="utf-8")
    assert read(sources, NOTE, b"first").raw == b"first"
    second = read(sources, NOTE, b"second")
    assert (second.raw, second.revision) == (b"second", revision_of(b"second"))
    (folder / "note.md").unlink()
    with pytest.raises(NotFoundError):
        read(sources, NOTE, b"third")


def test_what_was_read_after_a_change_is_not_taken_for_what_the_index_knows(
    sources: DocumentSources, folder: Path
) -> None:
    (folder / "note.md").write_text("second", encoding="utf-8")
    assert read(sources, NOTE, b"first").raw == b"second"
    (folder / "note.md").write_text("first", encoding="utf-8")
    assert read(sources, NOTE, b"first").raw == b"first"


def test_a_file_put_in_place_by_a_link_out_of_the_folder_is_not_read(
    sources: DocumentSources, folder: Path, tmp_path: Path
) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "a.md").write_text("inside", encoding="utf-8")
    assert read(sources, Address("deep/a.md"), b"inside").raw == b"inside"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret", encoding="utf-8")
    (folder / "deep" / "a.md").unlink()
    (folder / "deep").rmdir()
    (folder / "deep").symlink_to(outside)
    with pytest.raises(NotFoundError):
        read(sources, Address("deep/a.md"), b"secret")


def test_what_is_kept_is_limited(sources: DocumentSources, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_BYTES", 8)
    source = read(sources, NOTE, b"first")
    (folder / "second.md").write_text("other", encoding="utf-8")
    other = read(sources, Address("second.md"), b"other")
    assert read(sources, Address("second.md"), b"other") is other
    assert read(sources, NOTE, b"first") is not source
    large = b"x" * (module.MAX_CACHED_SOURCE_BYTES + 1)
    (folder / "large.md").write_bytes(large)
    assert read(sources, Address("large.md"), large) is not read(sources, Address("large.md"), large)


def test_a_text_is_that_of_one_section_in_one_revision() -> None:
    texts = SectionTexts()
    source = texts.keep(NOTE, "1", 2, "text")
    assert source.marked == "text"
    assert texts.get(NOTE, "1", 2) is source
    assert texts.get(NOTE, "2", 2) is None
    assert texts.get(NOTE, "1", 1) is None
    assert texts.get(Address("other.md"), "1", 2) is None


def test_an_empty_section_is_known_to_be_empty() -> None:
    texts = SectionTexts()
    source = texts.keep(NOTE, "1", 0, "")
    assert source.marked == ""
    assert texts.get(NOTE, "1", 0) is source


def test_no_more_of_a_section_is_cached_than_snippets_look_at() -> None:
    texts = SectionTexts()
    assert texts.keep(NOTE, "1", 0, "x" * (MAX_SOURCE_CHARS + 1)).marked == "x" * MAX_SOURCE_CHARS


def test_the_oldest_texts_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_CHARS", 10)
    texts = SectionTexts()
    for _ in range(3):  # one that is cached already takes no more room
        texts.keep(NOTE, "1", 0, "12345")
    texts.keep(NOTE, "1", 1, "12345")
    assert texts.get(NOTE, "1", 0) is not None
    texts.keep(NOTE, "1", 2, "1")
    sources = [texts.get(NOTE, "1", at) for at in range(3)]
    assert [source and source.marked for source in sources] == [None, "12345", "1"]
