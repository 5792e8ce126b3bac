"""Notes of a folder: who writes over what, and what a repeated or outdated write is answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import (
    ALREADY_EDITED,
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PreconditionError,
    TooLargeError,
)
from commonplace.domain.query import ListQuery
from commonplace.domain.revisions import Conditions
from commonplace.toolsets.wiki.rules import MAX_NOTE_BYTES, NoteFilter, Wiki
from commonplace.toolsets.wiki.service.local import local_wiki
from commonplace.toolsets.wiki.service.notes import WikiOptions
from indexed import Indexed
from support import GitRepo, new_repo

FILES = {
    "Actors/Iran.md": "---\ncategory: actor\ntags: [War, p2]\nlast_updated: 2026-03-07\n---\n"
    "See [[Oman]] and [[Lost]].\n",
    "Actors/Oman.md": "---\ntitle: Sultanate\ncategory: Actor\nlast_updated: 2026-03-08\n---\none two three\n",
    "hub.md": "---\ncategory: index\nlast_updated: 2026-03-08\n---\n[[Actors/Iran]] [[hub]]\n",
    "loose.md": "---\nlast_updated: 2026-01-01\n---\nstray\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "base", FILES)


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


@pytest.fixture
def wiki(base: Indexed) -> Wiki:
    return local_wiki(base.collection, WikiOptions())


def paths(wiki: Wiki, **wanted_values: str | int | None) -> list[str]:
    return [note.path for note in wiki.notes.list(NoteFilter(**wanted_values)).notes]


def test_notes_are_listed_newest_first_then_by_path(wiki: Wiki) -> None:
    assert paths(wiki) == ["Actors/Oman", "hub", "Actors/Iran", "loose"]
    oman = wiki.notes.list(NoteFilter()).notes[0]
    assert (oman.name, oman.category, oman.last_updated, oman.words) == ("Sultanate", "Actor", "2026-03-08", 3)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"prefix": "actors/"}, ["Actors/Oman", "Actors/Iran"]),
        ({"category": "ACTOR"}, ["Actors/Oman", "Actors/Iran"]),
        ({"tag": "war"}, ["Actors/Iran"]),
        ({"tag": "p"}, []),
        ({"updated_since": "2026-03-08"}, ["Actors/Oman", "hub"]),
        ({"updated_since": "2026-03-08T23:00:00-05:00"}, []),
        ({"offset": 1}, ["hub", "Actors/Iran", "loose"]),
        ({"offset": 1, "limit": 2}, ["hub", "Actors/Iran"]),
        ({"offset": 9}, []),
    ],
)
def test_a_list_is_what_was_asked_for(wiki: Wiki, wanted: dict[str, str], found: list[str]) -> None:
    assert paths(wiki, **wanted) == found


def test_the_total_of_a_list_does_not_depend_on_its_page(wiki: Wiki) -> None:
    assert {wiki.notes.list(NoteFilter(offset=at, limit=limit)).total for at in (0, 3) for limit in (None, 1)} == {4}


def test_a_date_that_is_none_is_refused(wiki: Wiki) -> None:
    with pytest.raises(InvalidInputError, match="updated_since"):
        paths(wiki, updated_since="yesterday")


def test_a_note_is_read_whole_with_its_links_and_its_last_commit(wiki: Wiki, repo: GitRepo) -> None:
    note = wiki.notes.read("actors/iran")
    assert (note.path, note.content) == ("Actors/Iran", FILES["Actors/Iran.md"])
    assert (note.links_to, note.linked_from) == (("Actors/Oman", "Lost"), ("hub",))
    assert note.revision == repo.git("rev-parse", "HEAD")
    assert note.last_commit is not None
    assert note.last_commit.author == "Test Writer"


def test_a_note_that_is_not_there_is_told_with_its_neighbours(wiki: Wiki) -> None:
    with pytest.raises(NotFoundError) as refused:
        wiki.notes.read("Actors/Iram")
    assert "Actors/Iran" in refused.value.context["nearest"]


def test_an_old_revision_is_read_by_any_unique_part_of_its_id(wiki: Wiki, repo: GitRepo) -> None:
    old = repo.git("rev-parse", "HEAD")
    wiki.notes.write("loose", "new\n", revision=wiki.notes.read("loose").revision, message="Change")
    note = wiki.notes.read("loose", old[:8])
    assert (note.content, note.revision) == (FILES["loose.md"], old)
    with pytest.raises(NotFoundError) as refused:
        wiki.notes.read("loose", "1234567")
    assert refused.value.kind == "revision"


def test_a_note_at_a_commit_that_did_not_change_it_has_its_last_commit_before(wiki: Wiki, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "HEAD")
    between = repo.commit(**{"other.md": "# Other\n"})
    repo.commit(**{"loose.md": "Later.\n"})
    note = wiki.notes.read("loose", between)
    assert (note.content, note.revision) == (FILES["loose.md"], first)
    assert note.last_commit is not None
    assert note.last_commit.revision == first
    blob = repo.git("rev-parse", f"{first}:loose.md")
    assert wiki.notes.read("loose", blob).revision == blob


def test_a_note_that_exists_is_replaced_only_at_the_revision_that_its_writer_saw(wiki: Wiki) -> None:
    seen = wiki.notes.read("loose").revision
    with pytest.raises(ConflictError) as refused:
        wiki.notes.write("loose", "blind\n", message="x")
    assert refused.value.context["current_revision"] == seen
    saved = wiki.notes.write("loose", "one\n", revision=seen[:10], message="x")
    assert not saved.created
    with pytest.raises(ConflictError) as outdated:
        wiki.notes.write("loose", "two\n", revision=seen, message="x")
    assert outdated.value.context["current_revision"] == saved.revision
    assert wiki.notes.read("loose").content == "one\n"


def test_a_write_that_is_sent_again_is_answered_as_done(wiki: Wiki, repo: GitRepo) -> None:
    seen = wiki.notes.read("loose").revision
    first = wiki.notes.write("loose", "one\n", revision=seen, message="x")
    again = wiki.notes.write("loose", "one\n", revision=seen, message="x")
    assert (again.revision, again.unchanged) == (first.revision, True)
    assert wiki.notes.write("loose", "one\n", message="x").unchanged
    assert repo.git("rev-list", "--count", "HEAD") == "2"


def test_a_note_that_was_deleted_meanwhile_is_not_written_by_its_old_revision(wiki: Wiki) -> None:
    seen = wiki.notes.read("loose").revision
    wiki.notes.delete("loose", message="x")
    with pytest.raises(ConflictError, match="no longer exists"):
        wiki.notes.write("loose", "one\n", revision=seen, message="x")
    assert wiki.notes.write("loose", "one\n", message="x").created


def test_conditions_are_held_by_writes_edits_and_deletions(wiki: Wiki) -> None:
    seen = wiki.notes.read("loose").revision
    wrong = Conditions(match=frozenset({"1" * 40}))
    for write in (
        lambda: wiki.notes.write("loose", "x\n", message="x", conditions=wrong),
        lambda: wiki.notes.edit("loose", ("stray", "x"), revision=seen, message="x", conditions=wrong),
        lambda: wiki.notes.delete("loose", message="x", conditions=wrong),
        lambda: wiki.notes.rename("loose", "y", message="x", conditions=wrong),
        lambda: wiki.notes.write("new", "x\n", message="x", conditions=Conditions(match=frozenset({"*"}))),
    ):
        with pytest.raises(PreconditionError):
            write()
    assert wiki.notes.read("loose").content == FILES["loose.md"]
    right = Conditions(match=frozenset({seen}))
    assert not wiki.notes.write("loose", "x\n", message="x", conditions=right).unchanged


def test_an_edit_replaces_the_only_occurrence_or_the_one_that_is_named(wiki: Wiki) -> None:
    seen = wiki.notes.read("Actors/Oman").revision
    saved = wiki.notes.edit("actors/oman", ("two", "zwei"), revision=seen, message="x")
    assert wiki.notes.read("Actors/Oman").content.endswith("one zwei three\n")
    with pytest.raises(InvalidInputError):
        wiki.notes.edit("Actors/Oman", ("e", "f"), revision=saved.revision, message="x")
    saved = wiki.notes.edit("Actors/Oman", ("three", "3"), revision=saved.revision, message="x", occurrence=1)
    with pytest.raises(ConflictError) as refused:
        wiki.notes.edit("Actors/Oman", ("three", "3"), revision=seen, message="x")
    assert refused.value.hint.startswith(ALREADY_EDITED)


def test_a_rename_takes_attachments_and_links_along(wiki: Wiki, repo: GitRepo) -> None:
    wiki.attachments.upload("Actors/Oman", "map.png", b"png", message="x")
    renamed = wiki.notes.rename("Actors/Oman", "Gulf/Muscat", message="x")
    assert (renamed.old_path, renamed.new_path, renamed.updated_pages) == (
        "Actors/Oman",
        "Gulf/Muscat",
        ("Actors/Iran",),
    )
    assert renamed.revision == repo.git("rev-parse", "HEAD")
    assert [attachment.filename for attachment in wiki.attachments.list("Gulf/Muscat")[1]] == ["map.png"]
    assert wiki.notes.read("Actors/Iran").links_to == ("Gulf/Muscat", "Lost")
    with pytest.raises(AlreadyExistsError):
        wiki.notes.rename("loose", "hub", message="x")


def test_the_history_of_a_note_outlives_it(wiki: Wiki) -> None:
    wiki.notes.delete("loose", message="Gone")
    path, commits = wiki.notes.history("loose", 5)
    assert (path, [commit.message for commit in commits]) == ("loose", ["Gone", "Begin"])
    with pytest.raises(NotFoundError):
        wiki.notes.history("never", 5)


def test_a_text_that_cannot_be_stored_is_refused_before_anything_is_written(wiki: Wiki, repo: GitRepo) -> None:
    with pytest.raises(TooLargeError):
        wiki.notes.write("big", "x" * (MAX_NOTE_BYTES + 1), message="x")
    with pytest.raises(InvalidInputError, match="surrogate"):
        wiki.notes.write("bad", "\ud800", message="x")
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_new_names_are_written_in_lower_case_if_the_wiki_does_not_keep_case(base: Indexed) -> None:
    wiki = local_wiki(base.collection, WikiOptions(retain_case=False))
    assert wiki.notes.write("new/PAGE", "x\n", message="x").path == "New/Page"
    assert wiki.notes.read("NEW/PAGE").path == "New/Page"
    assert wiki.notes.rename("loose", "Found", message="x").new_path == "Found"
    assert {"new/page.md", "found.md"} < {record.address.path for record in base.index.list(ListQuery()).records}
