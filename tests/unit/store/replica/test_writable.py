"""The store of a replica that is written: its transactions, and the writes that another server hands over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, recording_retained
from commonplace.domain.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.store.git.commits import CommitMessage, Signature
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.store.replica.writable import WritableReplicaStore
from commonplace.store.replica.writer_lease import ForwardedWrite
from support import GitRepo, MakeRepo

A, B = Address("a.md"), Address("folder/b.md")
WHO = Signature(Author("An Agent", "agent@example.org"), 1_700_000_000, 60)


@pytest.fixture
def work(git_repo: MakeRepo) -> GitRepo:
    """A repository with a bare remote."""
    repo = git_repo("work", {"a.md": "# One\n"})
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(remote_of(repo)))
    repo.git("remote", "add", "origin", str(remote_of(repo)))
    return repo


def remote_of(work: GitRepo) -> Path:
    return work.path.parent / "team.git"


def store_of(work: GitRepo, problem: str = "") -> WritableReplicaStore:
    clone = ReplicaClone(work.path.parent / "clones", parse_source(str(remote_of(work))))
    clone.fetch()
    return WritableReplicaStore(clone, lambda: None, lambda: problem)


def subjects(work: GitRepo) -> list[str]:
    shown = work.git("--git-dir", str(remote_of(work)), "log", "--format=%s|%an", "--reverse", "HEAD")
    return shown.splitlines()[1:]


def handed(path: str, content: bytes | None, before: str = "") -> ForwardedWrite:
    return ForwardedWrite({path: content}, {path: before}, CommitMessage("Handed over", WHO, WHO))


def put(store: WritableReplicaStore, files: Mapping[str, bytes], meanwhile: Callable[[], None] = lambda: None) -> None:
    with store.transaction("Write") as draft:
        for path, content in files.items():
            draft.put(Address(path), content)
        meanwhile()


def _put_and_fail(transaction: Transaction) -> None:
    transaction.put(A, b"# Two\n")
    transaction.remove(B)  # which is not there


def test_a_transaction_is_one_commit_of_the_remote_and_readable_at_once(work: GitRepo) -> None:
    store = store_of(work)
    assert store.read_only_reason == ""
    with recording_retained() as copies, store.transaction("Write", Author("Ann", "ann@example.org")) as transaction:
        transaction.put(A, b"# Two\n", keep=True)
        transaction.put(B, b"# B\n")
    assert subjects(work) == ["Write|Ann"]
    assert (store.read(A), store.read(B)) == (b"# Two\n", b"# B\n")
    assert transaction.receipt.commit == work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD")
    assert [(copy.address, copy.revision, copy.commit) for copy in copies] == [
        (A, revision_of(b"# One\n"), work.git("rev-parse", "HEAD"))
    ]


def test_a_transaction_that_fails_or_changes_nothing_pushes_nothing(work: GitRepo) -> None:
    store = store_of(work)
    with store.transaction("Same") as transaction:
        transaction.put(A, b"# One\n")
    assert transaction.receipt.commit == ""
    with pytest.raises(NotFoundError), store.transaction("Fails") as failing:
        _put_and_fail(failing)
    assert subjects(work) == []
    assert store.read(A) == b"# One\n"


def test_while_the_remote_has_a_problem_nothing_is_begun(work: GitRepo) -> None:
    store = store_of(work, "The remote cannot be read.")
    with pytest.raises(UnavailableError, match="cannot be read"), store.transaction("Write"):
        raise AssertionError("the block is not entered")


def test_writes_that_are_handed_over_keep_their_people_and_come_back_with_their_commits(work: GitRepo) -> None:
    store = store_of(work)
    revision = revision_of(b"# One\n")
    results = store.apply([handed("a.md", b"# Two\n", revision), handed("folder/b.md", b"# B\n")])
    assert [element.error for element in results] == [None, None]
    assert results[1].parent == results[0].commit
    assert subjects(work) == ["Handed over|An Agent"] * 2
    assert store.read(B) == b"# B\n"


def test_a_handed_write_on_top_of_what_this_server_has_not_fetched_is_made(work: GitRepo) -> None:
    store = store_of(work)
    work.commit("Outside", **{"a.md": "# Two\n"})
    work.git("push", "--quiet", "origin", "HEAD")
    (result,) = store.apply([handed("a.md", b"# Three\n", revision_of(b"# Two\n"))])
    assert result.error is None
    assert store.read(A) == b"# Three\n"


def test_a_handed_write_is_not_called_a_conflict_while_the_remote_cannot_be_read(work: GitRepo) -> None:
    store = store_of(work)
    remote_of(work).rename(work.path.parent / "away.git")
    (result,) = store.apply([handed("a.md", b"# Three\n", revision_of(b"# Two\n"))])
    assert isinstance(result.error, UnavailableError)


def test_a_handed_write_whose_file_is_another_is_a_conflict_and_one_that_is_there_is_done(work: GitRepo) -> None:
    store = store_of(work)
    stale, again, gone = store.apply(
        [
            handed("a.md", b"# Two\n", "1" * 40),
            handed("a.md", b"# One\n", "1" * 40),
            handed("never.md", None, "1" * 40),
        ]
    )
    assert isinstance(stale.error, ConflictError)
    assert stale.error.context["current_revision"] == revision_of(b"# One\n")
    tip = work.git("rev-parse", "HEAD")
    assert (again.commit, gone.commit) == (tip, tip)
    assert subjects(work) == []


@pytest.mark.parametrize("path", ["../a.md", ".git/config", "/etc/x.md", "a.md/b.md", ""])
def test_a_handed_write_to_a_path_that_is_none_is_refused(work: GitRepo, path: str) -> None:
    (result,) = store_of(work).apply([handed(path, b"x\n")])
    assert isinstance(result.error, InvalidInputError)
    assert subjects(work) == []


def test_a_push_of_several_writes_is_one_pack_in_a_remote_on_this_machine(work: GitRepo) -> None:
    store = store_of(work)
    results = store.apply([handed(f"new/{number}.md", b"# New\n%d\n" % number) for number in range(8)])
    assert all(element.commit and element.error is None for element in results)
    assert "packs: 1\n" in work.git("--git-dir", str(remote_of(work)), "count-objects", "-v")


def test_callers_at_the_same_time_share_a_fetch(work: GitRepo) -> None:
    clone = ReplicaClone(work.path.parent / "clones", parse_source(str(remote_of(work))))
    clone.fetch()
    tips: list[str] = []
    store = WritableReplicaStore(clone, lambda: tips.append(clone.tip()), lambda: "")
    outside = work.commit("Outside", **{"d.md": "# D\n"})
    work.git("push", "--quiet", "origin", "HEAD")
    callers = [threading.Thread(target=store.catch_up) for _ in range(12)]
    for act in (threading.Thread.start, threading.Thread.join):
        for caller in callers:
            act(caller)
    assert set(tips) == {outside}
    assert len(tips) < 12


def test_a_write_that_changes_nothing_here_is_refused_if_the_remote_has_another_state(work: GitRepo) -> None:
    store = store_of(work)
    work.commit("Outside", **{"a.md": "# Theirs\n"})
    work.git("push", "--quiet", "origin", "HEAD")
    with pytest.raises(ConflictError):
        put(store, {"a.md": b"# One\n"})
    put(store, {"a.md": b"# One\n"})
    assert subjects(work) == ["Outside|Test Writer", "Write|commonplace"]


def test_a_file_that_a_transaction_leaves_as_it_is_must_be_so_at_the_remote(work: GitRepo) -> None:
    store = store_of(work)
    work.commit("Outside", **{"a.md": "# Theirs\n"})
    work.git("push", "--quiet", "origin", "HEAD")
    with pytest.raises(ConflictError):
        put(store, {"a.md": b"# One\n", "new.md": b"# New\n"})
    assert subjects(work) == ["Outside|Test Writer"]


def test_a_handed_write_that_is_there_only_in_a_write_under_way_waits_for_it(work: GitRepo) -> None:
    store = store_of(work)
    away = work.path.parent / "away.git"
    entered, remote = threading.Event(), remote_of(work)
    results: list[str] = []

    def hand() -> None:
        entered.wait(30)
        (result,) = store.apply([handed("new.md", b"# New\n")])
        results.append(type(result.error).__name__)

    thread = threading.Thread(target=hand)
    thread.start()

    def lose_remote() -> None:
        remote.rename(away)
        entered.set()

    with pytest.raises(UnavailableError):
        put(store, {"new.md": b"# New\n"}, lose_remote)
    thread.join(60)
    away.rename(remote)
    assert results == ["UnavailableError"]
    assert subjects(work) == []


@pytest.mark.parametrize("is_handed", [True, False])
def test_a_moved_file_stays_executable(work: GitRepo, *, is_handed: bool) -> None:
    (work.path / "a.md").chmod(0o755)
    work.git("commit", "--quiet", "--all", "--message", "Mode")
    work.git("push", "--quiet", "origin", "HEAD")
    store = store_of(work)
    if is_handed:
        moved = ForwardedWrite(
            {"a.md": None, "new.md": b"# One\n"},
            {"a.md": revision_of(b"# One\n"), "new.md": ""},
            CommitMessage("Move", WHO, WHO),
            frozenset({"new.md"}),
        )
        assert store.apply([moved])[0].error is None
    else:
        with store.transaction("Move") as transaction:
            transaction.remove(A, keep=False)
            transaction.put(Address("new.md"), b"# One\n", moved_from=A)
    listed = work.git("--git-dir", str(remote_of(work)), "ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD")
    assert listed == "100755 new.md"
