"""The history of documents: old versions come back as ordinary writes, and nothing unseen is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, ConflictError, GitError, InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.index import open_past
from commonplace.services import history, writes
from commonplace.services.writes import WriteRequest
from indexed import Indexed
from support import GitRepo, new_repo

A, B = Address("a.md"), Address("in/b.md")


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    repo = new_repo(tmp_path / "base", {"a.md": "# One\n"})
    repo.commit("Second", **{"a.md": "# Two\r\n文\r\n", "in/b.md": "# B\n"})
    with Indexed(tmp_path) as indexed:
        yield indexed


def commits(base: Indexed) -> list[str]:
    return GitRepo(base.folder).git("log", "--format=%H").splitlines()


def test_a_version_comes_back_byte_for_byte_and_a_repetition_changes_nothing(base: Indexed) -> None:
    second, first = commits(base)
    assert history.restore(base.collection, A, first).action == "updated"
    assert (base.folder / "a.md").read_bytes() == b"# One\n"
    assert history.restore(base.collection, A, first).action == "unchanged"
    assert history.restore(base.collection, A, second[:7], force=True).written.revision == revision_of(
        "# Two\r\n文\r\n".encode()
    )
    assert base.found("文") == ["a.md"]


def test_a_deleted_document_comes_back_as_a_new_one(base: Indexed) -> None:
    writes.delete(base.collection, B)
    report = history.restore(base.collection, B, commits(base)[0])
    assert (report.action, report.written.created) == ("created", True)
    assert base.index.record(B) is not None


def test_what_was_moved_is_there_and_comes_back_twice_only_if_a_moment_is_named(base: Indexed) -> None:
    repo = GitRepo(base.folder)
    repo.git("mv", "in/b.md", "in/c.md")
    repo.commit("Moved")
    base.index.sync()
    with pytest.raises(AlreadyExistsError, match=r"in/b\.md was moved to in/c\.md"):
        history.restore_last(base.collection, (B.path, ""), lambda: B)
    report, _ = history.restore_last(base.collection, (B.path, commits(base)[1]), lambda: B)
    assert report.action == "created"


def test_text_that_was_never_committed_is_not_overwritten_unless_that_is_allowed(base: Indexed) -> None:
    base.update("a.md", "Mine.\n")
    with pytest.raises(ConflictError, match="never committed"):
        history.restore(base.collection, A, commits(base)[1])
    assert (base.folder / "a.md").read_text() == "Mine.\n"
    with pytest.raises(ConflictError):
        history.restore(base.collection, A, commits(base)[1], WriteRequest(expected="0" * 40), force=True)
    history.restore(base.collection, A, commits(base)[1], force=True)
    kept_item = history.trashed(base.collection, "a.md")
    assert kept_item is not None
    assert kept_item.revision == revision_of(b"Mine.\n")


def test_text_that_was_never_committed_goes_to_the_trash_where_the_writer_has_seen_it(base: Indexed) -> None:
    base.update("a.md", "Mine.\n")
    seen = revision_of(b"Mine.\n")
    history.restore(base.collection, A, commits(base)[1], WriteRequest(expected=seen))
    assert (base.folder / "a.md").read_bytes() == b"# One\n"
    kept_item = history.trashed(base.collection, "a.md")
    assert kept_item is not None
    assert kept_item.revision == seen


@pytest.mark.parametrize("at", ["--all", "HEAD", "main", "", "xyz", "../..", "a\0b"])
def test_what_is_no_revision_is_refused(base: Indexed, at: str) -> None:
    with pytest.raises(InvalidInputError):
        history.restore(base.collection, A, at)


def test_a_version_that_never_was_is_not_found(base: Indexed) -> None:
    with pytest.raises(NotFoundError):
        history.restore(base.collection, B, commits(base)[1])
    with pytest.raises(NotFoundError):
        history.restore(base.collection, A, "0" * 40)


def test_the_trash_is_searched_by_path_then_id_then_revision_then_name(base: Indexed) -> None:
    for path, text in (("new.md", "# New\n"), ("in/new.md", "# Inner\n"), ("other.md", "# Other\n")):
        base.update(path, text)
        writes.delete(base.collection, Address(path))
    requested_values = {
        "new.md": "new.md",
        "new": "new.md",
        "in/new": "in/new.md",
        revision_of(b"# Inner\n")[:7].upper(): "in/new.md",
        "other": "other.md",
        "none": None,
        "": None,
    }
    for reference, path in requested_values.items():
        found_item = history.trashed(base.collection, reference)
        assert (found_item.address.path if found_item else None) == path, reference
    assert history.trashed(base.collection, "new", revision_of(b"# Other\n")) is None


def test_several_files_of_one_name_are_not_guessed_between(base: Indexed) -> None:
    for path in ("x/same.md", "y/same.md"):
        base.update(path, f"# {path}\n")
        writes.delete(base.collection, Address(path))
    with pytest.raises(InvalidInputError, match=r"x/same\.md, y/same\.md"):
        history.trashed(base.collection, "same")


def test_what_is_brought_back_replaces_nothing_unless_that_is_allowed(base: Indexed) -> None:
    base.update("new.md", "# New\n")
    writes.delete(base.collection, Address("new.md"))
    item = history.trashed(base.collection, "new")
    assert item is not None
    with pytest.raises(AlreadyExistsError):
        history.bring_back(base.collection, item, A)
    assert history.bring_back(base.collection, item, Address("new.md")).action == "created"
    assert history.trashed(base.collection, "new") is None
    with pytest.raises(NotFoundError):
        history.bring_back(base.collection, item, Address("again.md"))
    assert not (base.folder / "again.md").exists()


def test_the_last_commits_of_a_file_are_the_one_that_has_it_and_the_one_that_touched_it(base: Indexed) -> None:
    repo = GitRepo(base.folder)
    held = commits(base)[0]
    repo.git("rm", "--quiet", "in/b.md")
    repo.git("commit", "--quiet", "--message", "Gone")
    last_commits = history.last_commits(base.collection, B)
    assert last_commits is not None
    assert (last_commits.containing, last_commits.touched.id) == (held, repo.git("rev-parse", "HEAD"))
    assert history.last_commits(base.collection, Address("never.md")) is None


def test_a_moment_becomes_the_revision_that_was_current_then(base: Indexed) -> None:
    assert history.revision_at(base.collection, "  ") == ""
    assert history.revision_at(base.collection, " abcdef1 ") == "abcdef1"
    past = open_past(base.store, base.cache)
    assert past is not None
    with closing(past):
        dated = replace(base.collection, past=past)
        assert history.revision_at(dated, "today") == commits(base)[0]
        with pytest.raises(InvalidInputError, match="'someday' is no moment"):
            history.revision_at(dated, "someday")


def test_a_folder_without_git_says_so_and_its_state_is_its_generation(tmp_path: Path) -> None:
    with Indexed(tmp_path / "plain", {"a.md": "# A\n"}) as plain:
        for call in (lambda: history.log(plain.collection, A, limit=1), lambda: history.diff(plain.collection, A, "")):
            with pytest.raises(GitError, match="no history"):
                call()
        before = history.collection_state(plain.collection)
        assert before.commit == ""
        plain.update("b.md", "# B\n")
        assert history.collection_state(plain.collection).generation > before.generation


def test_the_last_change_of_a_file_is_looked_up_once_for_each_commit(base: Indexed) -> None:
    changed = history.last_change(base.collection, A)
    assert changed is not None
    assert changed.id == commits(base)[0]
    assert history.last_change(base.collection, A) is changed
    GitRepo(base.folder).commit("Third", **{"a.md": "# Three\n"})
    changed = history.last_change(base.collection, A)
    assert changed is not None
    assert changed.message.strip() == "Third"
    assert history.last_change(base.collection, Address("absent.md")) is None
