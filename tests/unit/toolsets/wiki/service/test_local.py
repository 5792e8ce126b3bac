"""A folder as a wiki: reading, writing and searching notes, each write one commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.changes import Author
from commonplace.domain.query import SearchQuery
from commonplace.toolsets.wiki.rules import NoteFilter, Wiki
from commonplace.toolsets.wiki.service.local import local_wiki
from commonplace.toolsets.wiki.service.notes import WikiOptions
from indexed import Indexed
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "base", {"Iran.md": "# Iran\n\n[[label|Oman]]\n", "Oman.md": "# Oman\n"})


@pytest.fixture
def wiki(repo: GitRepo, tmp_path: Path) -> Iterator[Wiki]:
    del repo
    with Indexed(tmp_path) as base:
        yield local_wiki(base.collection, WikiOptions(author=Author("Ann", "ann@example.org")))


def test_every_write_is_a_commit_by_the_wiki_s_author(wiki: Wiki, repo: GitRepo) -> None:
    saved = wiki.notes.write("New note", "# New\n", message="Add it")
    wiki.attachments.upload("New note", "map.png", b"png", message="Attach")
    wiki.notes.delete("Oman", message="Remove")
    wiki.versions.restore("Oman", repo.git("rev-parse", "HEAD~3"), message="Back")
    shown = repo.git("log", "--format=%s %an", "-4").splitlines()
    assert shown == ["Back Ann", "Remove Ann", "Attach Ann", "Add it Ann"]
    assert saved.created
    assert repo.git("status", "--porcelain") == ""


def test_the_label_of_a_link_with_two_names_comes_first_where_both_could_be_the_page(wiki: Wiki) -> None:
    assert wiki.queries.links("Oman").linked_from == ("Iran",)
    assert wiki.notes.read("Iran").links_to == ("Oman",)


def test_a_note_that_was_written_is_listed_and_found_at_once(wiki: Wiki) -> None:
    wiki.notes.write("Yemen", "---\ncategory: actor\n---\nRed sea ports.\n", message="Add")
    assert [note.path for note in wiki.notes.list(NoteFilter(category="Actor")).notes] == ["Yemen"]
    assert [hit.path for hit in wiki.queries.search("ports", 5).hits] == ["Yemen"]


def test_a_folder_without_git_is_a_wiki_without_history(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        wiki = local_wiki(base.collection, WikiOptions())
        assert wiki.notes.write("b", "# B\n", message="Add").created
        assert wiki.notes.history("b", 5) == ("b", [])
        assert wiki.notes.read("b").last_commit is None
        assert base.index.search(SearchQuery(text="b")).total == 1
