"""The wiki of another server, asked over its REST API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from commonplace.domain.errors import AlreadyExistsError, ConflictError, KnowledgeError, NotFoundError
from commonplace.toolsets.wiki.remote.wiki import remote_wiki
from commonplace.toolsets.wiki.rules import NoteFilter, Wiki
from serving import served
from support import GitRepo, new_repo


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    files = {"a b/Tea & co.md": "# Tea\n\nGreen. [[Cake]]\n", "Cake.md": "# Cake\n"}
    return new_repo(tmp_path_factory.mktemp("wiki") / "base", files)


@pytest.fixture(scope="module")
def wiki(repo: GitRepo) -> Iterator[Wiki]:
    with served(repo.path, "--toolset", "wiki", "--tier", "write") as server, ExitStack() as closing:
        yield remote_wiki(f"http://127.0.0.1:{server.port}", "", closing)


def test_names_may_hold_what_a_url_quotes(wiki: Wiki) -> None:
    listed = wiki.notes.list(NoteFilter(prefix="a b/"))
    assert ([summary.path for summary in listed.notes], listed.total) == (["a b/Tea & co"], 1)
    note = wiki.notes.read("a b/Tea & co")
    assert note.content == "# Tea\n\nGreen. [[Cake]]\n"
    path, commits = wiki.notes.history("a b/Tea & co", 5)
    assert (path, [commit.message.strip() for commit in commits]) == ("a b/Tea & co", ["Begin"])
    links = wiki.queries.links("a b/Tea & co")
    assert (links.links_to, links.linked_from) == (("Cake",), ())


def test_a_note_is_written_edited_moved_and_deleted(wiki: Wiki, repo: GitRepo) -> None:
    saved = wiki.notes.write("New", "# New\n\nOne two.\n", message="Add")
    assert (repo.path / "New.md").read_text() == "# New\n\nOne two.\n"
    with pytest.raises((AlreadyExistsError, ConflictError)):
        wiki.notes.write("New", "# Other\n", message="Again")
    edited = wiki.notes.edit("New", ("two", "three"), revision=saved.revision, message="Edit")
    with pytest.raises(ConflictError):
        wiki.notes.edit("New", ("three", "four"), revision=saved.revision, message="Edit")
    assert "+One three." in wiki.versions.diff("New", saved.revision, edited.revision).diff
    moved = wiki.notes.rename("New", "Newer", message="Move")
    assert (moved.old_path, moved.new_path) == ("New", "Newer")
    wiki.notes.delete("Newer", revision=moved.revision, message="Delete")
    assert not (repo.path / "Newer.md").exists()
    assert wiki.queries.changes(1)[0].message.strip() == "Delete"


def test_what_is_not_there_names_the_note(wiki: Wiki) -> None:
    with pytest.raises(NotFoundError, match="Nothing here"):
        wiki.notes.read("Nothing here")
    with pytest.raises(NotFoundError):
        wiki.queries.links("Nothing here")


def test_words_find_notes_and_all_links_are_told(wiki: Wiki) -> None:
    hits = wiki.queries.search("green", 5)
    assert ([hit.path for hit in hits.hits], hits.total) == (["a b/Tea & co"], 1)
    assert ("a b/Tea & co", "Cake") in wiki.queries.graph().edges
    assert wiki.queries.linked_from_any({"a b/Tea & co"}) == {"Cake"}


def test_a_server_that_is_away_is_told_as_such() -> None:
    with ExitStack() as closing, pytest.raises(KnowledgeError) as away:
        remote_wiki("http://127.0.0.1:9", "", closing).notes.read("Cake")
    assert away.value.hint or str(away.value)
