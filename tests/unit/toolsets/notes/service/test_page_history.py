"""Commits that changed pages, and deleted pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, ClientProgram, Commit, people_line, people_of
from commonplace.domain.errors import GitError, NotFoundError, Stopped
from commonplace.index import open_index, open_past
from commonplace.services import deletions
from commonplace.services.collections import Collection
from commonplace.services.past import since_of
from commonplace.store import open_store
from commonplace.toolsets.notes.service.page_history import (
    ChangeFilter,
    DeletedPage,
    commits,
    credited,
    deleted_pages,
    gone_pages,
)
from indexed import Indexed
from support import GitRepo, new_repo

A, B = Address("in/a.md"), Address("b.md")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """One commit a day in January 2024, of which each touches other pages."""
    repo = new_repo(tmp_path / "base")

    def day(number: int, message: str, **files: str) -> None:
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_DATE", f"2024-01-{number:02}T12:00:00Z")
        repo.commit(message, **files)

    day(1, "Begin", **{"in/a.md": "1\n", "b.md": "1\n", "gone.md": "1\n"})
    day(2, "Change b\n\nCo-authored-by: Claude Code <x@localhost>", **{"b.md": "2\n"})
    (repo.path / "gone.md").unlink()
    day(3, "Remove", **{"p.png": "x"})
    day(4, "Change a", **{"in/a.md": "2\n"})
    return repo


@pytest.fixture
def collection(repo: GitRepo, tmp_path: Path) -> Iterator[Collection]:
    del repo
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            yield replace(base.collection, past=past)


def subjects(collection: Collection, **wanted_values: object) -> list[str]:
    page_commits = commits(collection, ChangeFilter(**wanted_values), lambda: None)
    return [commit.commit.message.partition("\n")[0] for commit in page_commits]


def test_every_commit_comes_newest_first_with_its_pages(collection: Collection) -> None:
    assert subjects(collection) == ["Change a", "Remove", "Change b", "Begin"]
    first, second, *_ = commits(collection, ChangeFilter(), lambda: None)
    assert (first.pages, second.pages) == ((A,), (Address("gone.md"),))


def test_a_commit_whose_clock_was_wrong_hides_none_of_the_newer_ones_below_it(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_DATE", "2020-01-01T12:00:00Z")
    repo.commit("Wrong clock", **{"b.md": "3\n"})
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            since = since_of([replace(base.collection, past=past)], "2024-01-03")
            assert subjects(base.collection, since=since) == ["Wrong clock", "Change a", "Remove"]
            yesterday = past.commits.latest(datetime(2024, 1, 2, 23, tzinfo=UTC).timestamp())
    assert yesterday is not None
    assert yesterday.message.startswith("Change b"), "it is no older than the commits below it"


def test_commits_are_those_of_a_page_or_of_a_folder(collection: Collection) -> None:
    assert subjects(collection, address=B) == ["Change b", "Begin"]
    assert subjects(collection, prefix="in/") == ["Change a", "Begin"]
    assert subjects(collection, prefix="none/") == []


def test_commits_are_those_of_a_person_or_of_a_program_that_the_message_credits(collection: Collection) -> None:
    assert subjects(collection, by="claude CODE") == ["Change b"]
    assert len(subjects(collection, by="writer@example.org")) == 4
    assert subjects(collection, by="nobody") == []


def test_commits_are_those_made_or_rebased_since_a_moment(
    collection: Collection, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = "2024-01-03T12:00:00"
    assert subjects(collection, since=since_of([collection], noon)) == ["Change a", "Remove"]
    for role, day in (("AUTHOR", 2), ("COMMITTER", 5)):
        monkeypatch.setenv(f"GIT_{role}_DATE", f"2024-01-0{day}T13:00:00Z")
    repo.commit("Rebased", **{"b.md": "3\n"})
    assert subjects(collection, since=since_of([collection], noon)) == ["Rebased", "Change a", "Remove"]


def test_commits_of_a_branch_that_was_merged_later_are_after_a_commit_though_they_are_older(
    collection: Collection, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (main,) = repo.git("branch", "--show-current").split()
    repo.git("switch", "--quiet", "--create", "side", "HEAD~3")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_DATE", "2024-01-01T13:00:00Z")
    repo.commit("Side", **{"side.md": "1\n"})
    repo.git("switch", "--quiet", main)
    before = repo.git("rev-parse", "HEAD")
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    assert subjects(collection, since=since_of([collection], before)) == ["Merge", "Side"]
    assert subjects(collection, since=since_of([collection], before), address=Address("side.md")) == ["Side"]
    assert subjects(collection, since=since_of([collection], before), address=A) == []


def test_commits_after_a_commit_are_those_after_it_whatever_it_touched(collection: Collection, repo: GitRepo) -> None:
    second = repo.git("rev-parse", "HEAD~2")
    assert subjects(collection, since=since_of([collection], second)) == ["Change a", "Remove"]
    assert subjects(collection, since=since_of([collection], second[:8].upper()), address=A) == ["Change a"]
    assert subjects(collection, since=since_of([collection], "HEAD")) == []
    assert subjects(collection, since=since_of([collection], "HEAD"), address=A) == []


def test_a_commit_that_the_branch_has_not_is_refused(collection: Collection, repo: GitRepo) -> None:
    with pytest.raises(NotFoundError):
        since_of([collection], "1234567")
    repo.git("switch", "--quiet", "-c", "side", "HEAD~1")
    side = repo.commit("Side", **{"b.md": "side\n"})
    repo.git("switch", "--quiet", "main")
    with pytest.raises(NotFoundError):
        since_of([collection], side)
    with pytest.raises(GitError) as refused:
        since_of([replace(collection, past=None)], "1234567")
    assert refused.value.hint


def test_a_commit_that_touched_nothing_in_the_folder_counts_by_its_date(repo: GitRepo, tmp_path: Path) -> None:
    picture = repo.git("rev-parse", "HEAD~1")
    store = open_store(repo.path / "in", commit="manual", state_dir=tmp_path / "state")
    past = open_past(store, tmp_path / "cache")
    assert past is not None
    with closing(open_index(store, tmp_path / "cache")) as index, closing(past):
        index.sync()
        inner = Collection("in", store, index, past=past)
        assert subjects(inner, since=since_of([inner], picture)) == ["Change a"]


def test_a_walk_calls_back_for_each_batch_and_can_be_ended_by_it(collection: Collection) -> None:
    calls: list[int] = []
    list(commits(collection, ChangeFilter(), lambda: calls.append(1)))
    assert len(calls) == 1

    def stop() -> None:
        raise Stopped("gone")

    with pytest.raises(Stopped):
        list(commits(collection, ChangeFilter(), stop))


def deleted(collection: Collection, repo: GitRepo, change_filter: ChangeFilter) -> list[DeletedPage]:
    """The deleted pages, by the last commits alone and by the history that has been read."""
    store = open_store(repo.path, commit="manual", state_dir=repo.path.parent / "unread")
    unread = replace(collection, store=store)
    recent, is_whole = deleted_pages(unread, change_filter, 9, lambda: None)
    assert is_whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deletions, "MAX_RECENT", 1)
        patch.setattr(deletions, "RECENT_BATCH", 1)
        assert change_filter.since or not deleted_pages(unread, change_filter, 9, lambda: None)[1]
    store.history.touched()
    pages, is_whole = deleted_pages(unread, change_filter, 9, lambda: None)
    assert (pages, is_whole) == (recent, True)
    return pages


def test_deleted_pages_are_those_that_are_gone_now_with_the_commit_that_has_them(
    collection: Collection, repo: GitRepo
) -> None:
    (page,) = deleted(collection, repo, ChangeFilter())
    assert page.deleted_in.message.strip() == "Remove"
    assert (page.address, page.last_in) == (Address("gone.md"), repo.git("rev-parse", f"{page.deleted_in.id}^"))
    assert deleted(collection, repo, ChangeFilter(prefix="in/")) == []


def test_deleted_pages_since_a_commit_and_of_a_name(collection: Collection, repo: GitRepo) -> None:
    first, removed = (repo.git("log", "--format=%H", f"--grep={subject}") for subject in ("Begin", "Remove"))
    for after, paths in ((first, ["gone.md"]), (removed, [])):
        assert [
            page.address.path for page in deleted(collection, repo, ChangeFilter(since=since_of([collection], after)))
        ] == paths
    (page,) = deleted(collection, repo, ChangeFilter(address=Address("gone.md")))
    assert page.deleted_in
    assert page.deleted_in.id == removed
    repo.commit("More", **{"Ä b/index.md": "1\n", "x/gone.md": "1\n"})
    repo.git("rm", "--quiet", "Ä b/index.md", "x/gone.md")
    repo.git("commit", "--quiet", "--message", "Away")
    collection.index.sync()
    for _ in range(2):  # before the history has been read, and then
        names = {name: [page.path for page in gone_pages(collection, name)] for name in ("ä b", "gone", "x/gone", "a")}
        assert {name: sorted(paths) for name, paths in names.items()} == {
            "ä b": ["Ä b/index.md"],
            "gone": ["gone.md", "x/gone.md"],
            "x/gone": ["x/gone.md"],
            "a": [],
        }
        assert names["gone"][-1] == "gone.md"
        collection.store.history.touched()


def test_a_page_that_a_commit_moved_is_not_lost(collection: Collection, repo: GitRepo) -> None:
    for path, text in {"long.md": "one\ntwo\nthree\nfour\n", "other.md": "five\nsix\n"}.items():
        (repo.path / path).write_text(text)
    repo.commit("Write")
    for path in ("long.md", "other.md"):
        (repo.path / path).unlink()
    repo.commit("Move", **{"in/new.md": "one\ntwo\nthree\n4\n", "third.md": "seven\n"})
    collection.index.sync()
    addresses = {str(page.address): page.moved_to for page in deleted(collection, repo, ChangeFilter())}
    assert addresses == {"long.md": Address("in/new.md"), "other.md": None, "gone.md": None}


def test_a_page_that_was_moved_back_or_on_is_not_deleted(collection: Collection, repo: GitRepo) -> None:
    text = "one\ntwo\nthree\nfour\n"
    repo.commit("Write", **{"first.md": text, "stays.md": f"{text}five\n"})
    for old, new in (
        ("first", "second"),
        ("second", "first"),
        ("first", "third"),
        ("stays", "away"),
        ("away", "stays"),
    ):
        repo.git("mv", f"{old}.md", f"{new}.md")
        repo.git("commit", "--quiet", "--message", f"{old} to {new}")
    collection.index.sync()
    pages = {str(page.address): page for page in deleted(collection, repo, ChangeFilter())}
    assert {path: page.moved_to and page.moved_to.path for path, page in pages.items()} == {
        "first.md": "third.md",
        "second.md": "third.md",
        "away.md": "stays.md",
        "gone.md": None,
    }
    assert all(page.deleted_in for page in pages.values())
    repo.git("mv", "third.md", "fourth.md")
    repo.git("commit", "--quiet", "--message", "On")
    repo.git("rm", "--quiet", "fourth.md")
    repo.git("commit", "--quiet", "--message", "Delete")
    collection.index.sync()
    found_pages = {str(page.address): page for page in deleted(collection, repo, ChangeFilter())}
    assert found_pages["fourth.md"].moved_to is None
    assert found_pages["first.md"].moved_to == Address("fourth.md")


def test_who_deleted_a_page_is_not_who_changed_it_before(collection: Collection, repo: GitRepo) -> None:
    repo.git("config", "user.name", "Bea")
    repo.git("rm", "--quiet", "b.md")
    repo.git("-c", "user.name=Bea", "commit", "--quiet", "--author", "Bea <b@localhost>", "--message", "Away")
    collection.index.sync()
    (page,) = deleted(collection, repo, ChangeFilter(by="bea <b@"))
    assert (page.address, page.deleted_in and page.deleted_in.message.strip()) == (B, "Away")
    assert deleted(collection, repo, ChangeFilter(by="claude")) == []


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Subject\n\nCo-authored-by: A B <a@b>\nASSISTED-BY: Tool\n Generated-by: Words", ("A B", "Tool")),
        ("Co-authored-by: ", ()),
        ("about Co-authored-by: nobody", ()),
        ("", ()),
    ],
)
def test_programs_are_credited_by_lines_of_the_message(message: str, names: tuple[str, ...]) -> None:
    assert credited(message) == names


def test_who_wrote_through_what_is_said_once() -> None:
    cases = (
        ("Co-authored-by: tool <t@x>\nCommonplace-Client: tool 2.1\nCommonplace-Session: 0", "Ada, through tool 2.1"),
        ("Co-authored-by: Ada Tool <t@x>\nCommonplace-Client: Ada 2.1", "Ada 2.1, with Ada Tool"),
        ("Commonplace-Client: tool", "Ada, through tool"),
        ("Commonplace-Client: \nCo-authored-by: tool <t@x>", "Ada, with tool"),
        ("Commonplace-Client: one 1\nCommonplace-Client: two 2", "Ada, through one 1, through two 2"),
    )
    for trailers, names in cases:
        assert people_of(Commit("ab", Author("Ada", "a@x"), 0, f"Subject\n\n{trailers}")) == names, trailers


def test_a_commit_says_its_client_session_and_key_on_lines_of_their_own() -> None:
    program = ClientProgram("a <b>\nUndoes: x", "co-author", " 1\n2 ", "0123456789abcdef", "laptop")
    lines = ["Commonplace-Client: a bUndoes: x 12", "Commonplace-Session: 0123456789abcdef"]
    assert program.trailers("laptop") == lines
    assert program.trailers("Ada") == [*lines, "Commonplace-Key: laptop"]
    assert ClientProgram(" \n", "co-author", "9").trailers("Ada") == ["Commonplace-Client: an unnamed client"]
    assert people_line("Ada", "x\n\nCommonplace-Client: an unnamed client") == "Ada, through an unnamed client"
    assert replace(program, credit="none").trailers("Ada") == []
