"""Pending writes of a clone: one push takes all that wait, and nobody's write is lost or made twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from commonplace.domain.errors import ConflictError, GitError, KnowledgeError, UnavailableError
from commonplace.store.git.commits import commit_message
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.handed_writes import WriteResult
from commonplace.store.replica.push_queue import PendingWrite, PushQueue
from commonplace.store.replica.source import parse_source
from commonplace.store.replica.writer_lease import WriterLease
from remotes.slow import slow_remote
from support import GitRepo, MakeRepo


@pytest.fixture
def work(git_repo: MakeRepo) -> GitRepo:
    """A repository with a bare remote."""
    repo = git_repo("work", {"a.md": "# One\n"})
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(remote_of(repo)))
    repo.git("remote", "add", "origin", str(remote_of(repo)))
    return repo


def remote_of(work: GitRepo) -> Path:
    return work.path.parent / "team.git"


def queue_of(work: GitRepo, name: str = "one", pushed: Callable[[], None] = lambda: None) -> PushQueue:
    clone = ReplicaClone(work.path.parent / name, parse_source(str(remote_of(work))))
    clone.fetch()
    return PushQueue(clone, clone.repository, pushed)


def write(queue: PushQueue, path: str, text: str | None) -> PendingWrite:
    """A write on top of those that wait."""
    with queue.drafting() as commit:
        repository = queue.clone.repository
        entry = repository.entry(commit, path) if commit else None
        content = None if text is None else text.encode()
        return queue.add(
            {path: content}, {path: entry.id if entry else ""}, commit_message(repository, f"Write {path}", None)
        )


def subjects(work: GitRepo) -> list[str]:
    return work.git("--git-dir", str(remote_of(work)), "log", "--format=%s", "--reverse", "HEAD").splitlines()


def text_at(work: GitRepo, path: str) -> str:
    return work.git("--git-dir", str(remote_of(work)), "show", f"HEAD:{path}")


def pushed(work: GitRepo, path: str, text: str, *options: str) -> str:
    commit = work.commit("Outside", **{path: text})
    work.git("push", "--quiet", *options, "origin", "HEAD")
    return commit


def test_writes_that_wait_are_commits_of_their_own_and_go_with_one_push(work: GitRepo) -> None:
    told: list[str] = []
    queue = queue_of(work, pushed=lambda: told.append(queue.clone.tip()))
    waiting = [write(queue, f"{name}.md", f"# {name}\n") for name in "bcd"]
    queue.settle(waiting[0])
    assert all(one.is_settled and one.error is None for one in waiting)
    assert subjects(work)[1:] == ["Write b.md", "Write c.md", "Write d.md"]
    assert told == [waiting[-1].commit] == [work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD")]


def test_a_write_sees_those_that_wait_before_it(work: GitRepo) -> None:
    queue = queue_of(work)
    first = write(queue, "a.md", "# Two\n")
    second = write(queue, "a.md", "# Three\n")
    assert second.parent == first.commit
    queue.settle(second)
    assert text_at(work, "a.md") == "# Three"


def test_when_the_remote_has_moved_the_writes_are_made_again_on_top_of_it(work: GitRepo) -> None:
    queue = queue_of(work)
    waiting = [write(queue, "b.md", "# B\n"), write(queue, "c.md", "# C\n")]
    outside = pushed(work, "d.md", "# D\n")
    queue.settle(waiting[1])
    assert subjects(work)[1:] == ["Outside", "Write b.md", "Write c.md"]
    assert waiting[0].parent == outside
    assert waiting[1].parent == waiting[0].commit
    assert queue.clone.tip() == waiting[1].commit


def test_a_file_that_another_writer_has_changed_is_a_conflict_for_its_writer_alone(work: GitRepo) -> None:
    queue = queue_of(work)
    loser, other = write(queue, "a.md", "# Mine\n"), write(queue, "b.md", "# B\n")
    pushed(work, "a.md", "# Theirs\n")
    queue.settle(other)
    with pytest.raises(ConflictError) as conflict:
        queue.settle(loser)
    assert conflict.value.context["current_revision"] == work.git("rev-parse", "HEAD:a.md")
    assert text_at(work, "a.md") == "# Theirs"
    assert subjects(work)[1:] == ["Outside", "Write b.md"]


def test_a_write_on_top_of_one_in_conflict_is_in_conflict_too(work: GitRepo) -> None:
    queue = queue_of(work)
    first, second = write(queue, "a.md", "# Mine\n"), write(queue, "a.md", "# Mine, too\n")
    pushed(work, "a.md", "# Theirs\n")
    for one in (first, second):
        with pytest.raises(ConflictError):
            queue.settle(one)
    assert text_at(work, "a.md") == "# Theirs"


def test_a_write_that_the_remote_has_already_is_not_made_twice(work: GitRepo) -> None:
    queue = queue_of(work)
    mine = write(queue, "b.md", "# B\n")
    theirs = pushed(work, "b.md", "# B\n")
    queue.settle(mine)
    assert mine.commit == theirs
    assert subjects(work)[1:] == ["Outside"]


def test_after_a_rewind_of_the_remote_nothing_that_was_dropped_comes_back(work: GitRepo) -> None:
    first = work.git("rev-parse", "HEAD")
    pushed(work, "dropped.md", "# Dropped\n")
    queue = queue_of(work)
    mine = write(queue, "b.md", "# B\n")
    work.git("reset", "--quiet", "--hard", first)
    work.git("push", "--quiet", "--force", "origin", "HEAD")
    queue.settle(mine)
    assert mine.parent == first
    assert subjects(work)[1:] == ["Write b.md"]


def test_a_removal_and_the_last_file_of_a_branch(work: GitRepo) -> None:
    queue = queue_of(work)
    queue.settle(write(queue, "a.md", None))
    assert work.git("--git-dir", str(remote_of(work)), "ls-tree", "-r", "HEAD") == ""


def test_the_first_write_to_an_empty_remote_makes_the_branch_that_it_names(git_repo: MakeRepo) -> None:
    work = git_repo("work")
    work.git("init", "--quiet", "--bare", "--initial-branch", "main", str(remote_of(work)))
    queue = queue_of(work)
    queue.settle(write(queue, "a.md", "# A\n"))
    assert subjects(work) == ["Write a.md"]


def test_a_remote_that_is_gone_is_an_error_for_all_and_later_writes_begin_anew(work: GitRepo) -> None:
    queue = queue_of(work)
    waiting = [write(queue, "b.md", "# B\n"), write(queue, "c.md", "# C\n")]
    remote_of(work).rename(work.path.parent / "away.git")
    for one in waiting:
        with pytest.raises(UnavailableError, match=r"Nothing was written") as error:
            queue.settle(one)
        assert str(work.path.parent) not in str(error.value)
    (work.path.parent / "away.git").rename(remote_of(work))
    again = write(queue, "d.md", "# D\n")
    queue.settle(again)
    assert subjects(work)[1:] == ["Write d.md"]


def test_a_rule_of_the_remote_is_an_error_that_names_it(work: GitRepo) -> None:
    clone = ReplicaClone(work.path.parent / "one", parse_source(str(work.path)))  # its branch is checked out
    clone.fetch()
    queue = PushQueue(clone, clone.repository, lambda: None)
    with pytest.raises(GitError, match=r"refused the write: .*checked out") as error:
        queue.settle(write(queue, "b.md", "# B\n"))
    assert error.value.kind == "remote"
    assert work.git("log", "--format=%s").splitlines()[1:] == []


@pytest.mark.parametrize(("pace", "is_taken"), [("taken", True), ("lost", False)])
def test_a_push_without_an_answer_is_looked_up_and_else_said_to_be_unknown(
    work: GitRepo, pace: Literal["taken", "lost"], is_taken: bool
) -> None:
    with slow_remote(remote_of(work)) as remote:
        clone = ReplicaClone(work.path.parent / "one", parse_source(remote.url))
        clone.fetch()
        queue = PushQueue(clone, clone.repository, lambda: None)
        waiting = write(queue, "b.md", "# B\n")
        remote.pace = pace
        if is_taken:
            queue.settle(waiting)
        else:
            with pytest.raises(GitError, match="is unknown") as error:
                queue.settle(waiting)
            assert error.value.kind == "unknown"
            remote.pace = "whole"
            queue.settle(write(queue, "b.md", "# B\n"))
    assert subjects(work)[1:] == ["Write b.md"]


def test_a_write_that_was_handed_over_is_confirmed_although_the_remote_cannot_be_read_afterwards(work: GitRepo) -> None:
    owner = queue_of(work, "owner")
    owner.clone.lease = WriterLease(owner.clone.repository, "http://owner", ["http://other"])
    owner.settle(write(owner, "first.md", "# First\n"))  # takes the lease

    def forward(_url: str, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        made = [write(owner, "b.md", "# B\n") for _ in writes]
        owner.settle(made[-1])
        remote_of(work).rename(work.path.parent / "away.git")
        return [WriteResult(one.commit, one.parent) for one in made]

    clone = ReplicaClone(work.path.parent / "other", parse_source(str(remote_of(work))))
    clone.lease = WriterLease(clone.repository, "http://other", ["http://owner"])
    clone.fetch()
    assert clone.lease.owner == "http://owner"
    queue = PushQueue(clone, clone.repository, lambda: None, forward)
    mine = write(queue, "b.md", "# B\n")
    queue.settle(mine)
    (work.path.parent / "away.git").rename(remote_of(work))
    assert mine.commit == work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD")
    assert subjects(work)[1:] == ["Write first.md", "Write b.md"]


def test_many_writers_on_two_clones_lose_nothing(work: GitRepo) -> None:
    queues = [queue_of(work, "one"), queue_of(work, "two")]
    errors: list[KnowledgeError] = []

    def run(number: int) -> None:
        queue = queues[number % 2]
        for step in range(3):
            try:
                queue.settle(write(queue, f"{number}-{step}.md", f"# {number} {step}\n"))
            except UnavailableError as error:
                errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    wanted = {f"Write {number}-{step}.md" for number in range(6) for step in range(3)}
    assert sorted(subjects(work)[1:]) == sorted(wanted)
