"""Commits name the calls that made them, so that any server of the remote finds a call that was made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.cluster import recording_written
from commonplace.index import open_index
from commonplace.replication import Follower
from commonplace.services.collections import Collection
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.toolsets.notes.service.made_calls import CallMadeError, require_unmade, with_call
from commonplace.toolsets.notes.service.repeats import WriteCall
from remotes.replicas import team
from support import GitRepo

MARK = "ab" * 16


@pytest.fixture
def work(tmp_path: Path) -> GitRepo:
    """A work tree whose remote is `team.git` beside it."""
    return team(tmp_path)[0]


@pytest.fixture
def replica(work: GitRepo, tmp_path: Path) -> Iterator[Collection]:
    """A collection that follows the remote; nothing was fetched yet."""
    del work
    follower = Follower(ReplicaClone(tmp_path / "one", parse_source(str(tmp_path / "team.git"))), 3600, writes=True)
    store = follower.store()
    collection = Collection("team", store, open_index(store, tmp_path / "cache"), replica=follower)
    yield collection
    collection.index.close()


def pushed(work: GitRepo, message: str) -> str:
    work.commit("Change", **{"a.md": message})
    work.git("commit", "--quiet", "--amend", "-m", message)
    work.git("push", "--quiet", "origin", "HEAD")
    return work.git("rev-parse", "HEAD")


def set_clock(monkeypatch: pytest.MonkeyPatch, *roles: str) -> None:
    for role in roles:
        monkeypatch.setenv(f"GIT_{role}_DATE", "2020-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Write: a", f"Write: a\n\nCommonplace-Request: {MARK}"),
        ("Write: a\n\nWhy.\n", f"Write: a\n\nWhy.\n\nCommonplace-Request: {MARK}"),
        ("Write\n\nSigned-off-by: A <a@b>\n", f"Write\n\nSigned-off-by: A <a@b>\nCommonplace-Request: {MARK}"),
    ],
)
def test_the_name_is_a_trailer_of_the_message(message: str, expected: str, work: GitRepo) -> None:
    assert with_call(message, MARK) == expected
    pushed(work, with_call(message, MARK))
    trailers = work.git("log", "-1", "--format=%(trailers:key=Commonplace-Request,valueonly)")
    assert trailers.strip() == MARK


def test_a_call_that_a_commit_names_was_made(replica: Collection, work: GitRepo) -> None:
    require_unmade(replica, MARK)
    made = pushed(work, with_call("Write: a", MARK))
    tip = pushed(work, "Later")
    assert replica.replica is not None
    replica.replica.refresh(now=True)
    with recording_written() as written, pytest.raises(CallMadeError) as error:
        require_unmade(replica, MARK)
    assert (error.value.commit.id, written) == (made, {replica.store.identity: tip})
    require_unmade(replica, "cd" * 16)


def test_a_call_of_another_day_is_not_found(
    replica: Collection, work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, "AUTHOR", "COMMITTER")
    pushed(work, with_call("Write: a", MARK))
    assert replica.replica is not None
    replica.replica.refresh(now=True)
    require_unmade(replica, MARK)


def test_a_call_is_found_below_an_old_date_and_when_it_was_rebased(
    replica: Collection, work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for roles, mark in ((("AUTHOR",), MARK), ((), "cd" * 16)):
        with monkeypatch.context() as patch:
            set_clock(patch, *roles)
            pushed(work, with_call("Write: a", mark))
    set_clock(monkeypatch, "AUTHOR", "COMMITTER")
    pushed(work, "By a computer with a wrong clock")
    assert replica.replica is not None
    replica.replica.refresh(now=True)
    for mark in (MARK, "cd" * 16):
        with pytest.raises(CallMadeError):
            require_unmade(replica, mark)


def test_a_call_has_one_name_on_servers_with_different_folders_and_no_other_call_has_it() -> None:
    def call(**changes: object) -> str:
        given_values = {"bases": ("b",), "client": "c", "tool": "write", "arguments": {"page": "a"}, "request_id": "i"}
        return WriteCall(**{**given_values, **changes}).mark  # type: ignore[arg-type]

    assert call() == call(bases=("other",))
    others = [{"client": "d"}, {"tool": "edit"}, {"arguments": {"page": "b"}}, {"request_id": "j"}]
    assert len({call(), *(call(**element) for element in others)}) == 5
    assert call(request_id="") == ""
