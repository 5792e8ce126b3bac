"""The cache of notes: the second read of a note is cheap, and no answer is older than the files, commits and links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.index import open_index
from commonplace.services.collections import Collection
from commonplace.store import open_store
from commonplace.toolsets.wiki.service import note_lookup
from commonplace.toolsets.wiki.service.note_lookup import CachedNote, NoteCache, NoteState, state_of
from commonplace.toolsets.wiki.service.notes import LocalNotes, WikiOptions
from support import GitRepo, MakeRepo

START: dict[str, str | bytes] = {"a.md": "# A\n\nSee [[b]] and [[plan.png]].\n", "b.md": "# B\n", "c.md": "# C\n"}


@dataclass(frozen=True)
class Site:
    repo: GitRepo
    collection: Collection
    notes: LocalNotes


@pytest.fixture
def site(git_repo: MakeRepo, tmp_path: Path) -> Iterator[Site]:
    repo = git_repo(files=START)
    store = open_store(repo.path, commit="manual", state_dir=tmp_path / "state")
    collection = Collection("base", store, open_index(store, tmp_path / "cache"))
    collection.index.sync()
    yield Site(repo, collection, LocalNotes(collection, WikiOptions()))
    collection.index.close()


def test_an_unchanged_note_is_not_parsed_again(site: Site) -> None:
    assert site.notes.read("a").content is site.notes.read("a").content


def test_an_edit_that_no_event_announced_is_in_the_next_answer(site: Site) -> None:
    before = site.notes.read("a")
    (site.repo.path / "a.md").write_text("# A\n\nSea [[b]] and [[plan.png]].\n")  # as many bytes as before
    after = site.notes.read("a")
    assert "Sea" in after.content
    assert after.revision not in {before.revision, before.last_commit and before.last_commit.revision}


def test_a_commit_is_in_the_next_answer(site: Site) -> None:
    (site.repo.path / "a.md").write_text("# A\n\nOther.\n")
    edited = site.notes.read("a")
    site.repo.git("commit", "-qam", "Edit")
    committed = site.notes.read("a")
    assert edited.content == committed.content
    assert committed.revision == site.repo.git("rev-parse", "HEAD") != edited.revision
    assert site.notes.read("a").content is committed.content


def test_a_commit_of_another_note_leaves_a_note_cached(site: Site) -> None:
    before = site.notes.read("a")
    site.repo.commit(**{"b.md": "# B\n\nOther.\n"})
    assert site.notes.read("a").content is before.content
    assert site.notes.read("b").revision == site.repo.git("rev-parse", "HEAD")


def test_a_note_that_a_later_commit_brought_back_has_the_later_revision(site: Site) -> None:
    raw = (site.repo.path / "a.md").read_text()
    before = site.notes.read("a")
    site.repo.commit(**{"a.md": "# A\n\nOther.\n"})
    site.repo.commit(**{"a.md": raw})
    after = site.notes.read("a")
    assert after.content == before.content
    assert after.revision == site.repo.git("rev-parse", "HEAD") != before.revision


def test_a_new_link_to_a_note_is_in_the_next_answer(site: Site) -> None:
    assert site.notes.read("b").linked_from == ("a",)
    (site.repo.path / "c.md").write_text("[[b]]\n")
    site.collection.index.update([Address("c.md")], 30)
    assert site.notes.read("b").linked_from == ("a", "c")


def test_a_file_that_takes_the_place_of_a_missing_note_is_in_the_next_answer(site: Site) -> None:
    assert site.notes.read("a").links_to == ("b", "plan.png")
    (site.repo.path / "plan.png").write_bytes(b"x")
    assert site.notes.read("a").links_to == ("b",)


def test_a_revision_that_depends_on_the_settings_of_git_is_not_cached(site: Site) -> None:
    (site.repo.path / "b.md").write_bytes(b"# B\r\n")
    assert site.notes.read("b").revision != site.repo.git("rev-parse", "HEAD")
    (site.repo.path / ".gitattributes").write_text("*.md text\n")  # the same bytes are now those of the commit
    assert site.notes.read("b").revision == site.repo.git("rev-parse", "HEAD")


def test_a_deleted_note_is_not_found_though_it_is_cached(site: Site) -> None:
    site.notes.read("c")
    (site.repo.path / "c.md").unlink()
    site.collection.index.update([Address("c.md")], 30)
    with pytest.raises(Exception, match="Page not found: c"):
        site.notes.read("c")


def test_the_cache_holds_no_more_than_its_limits(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(note_lookup, "MAX_BYTES", 100)
    state = state_of(site.collection, Address("b.md"))
    document = site.collection.index.document(Address("b.md"))
    note = site.notes.read("b")
    cache = NoteCache()

    def cached(size: int) -> CachedNote:
        return CachedNote("", NoteState(b"x" * size, "", state.commit, is_reproducible=True), document, note)

    def found(name: str, size: int) -> CachedNote | None:
        return cache.get(Address(name), "", b"x" * size, lambda: None)

    for number in range(3):
        cache.put(Address(f"{number}.md"), cached(40))
    assert found("0.md", 40) is None
    assert found("1.md", 40) is not None
    cache.put(Address("1.md"), cached(101))
    assert found("1.md", 101) is None
    assert found("2.md", 40) is not None
    cache.put(Address("3.md"), cached(60))
    assert found("2.md", 40) is not None
