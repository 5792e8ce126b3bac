"""Pending writes of a clone: one push takes all that wait, and nobody's write is lost or made twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

import pytest

from commonplace.domain.errors import ConflictError, GitError, KnowledgeError, UnavailableError
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.store.replica.push_queue import PendingWrite, PushQueue
from commonplace.store.replica.writer_lease import WriteResult
from remotes.queues import (
    handed_over,
    pushed,
    queue_of,
    remote_of,
    run_all,
    subjects,
    take,
    text_at,
    write,
)
from remotes.slow import slow_remote
from support import GitRepo, MakeRepo


@pytest.fixture
def work(git_repo: MakeRepo) -> GitRepo:
    """A repository with a bare remote."""
    repo = git_repo("work", {"a.md": "# One\n"})
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(remote_of(repo)))
    repo.git("remote", "add", "origin", str(remote_of(repo)))
    return repo


def test_writes_that_wait_are_commits_of_their_own_and_go_with_one_push(work: GitRepo) -> None:
    tips: list[str] = []
    queue = queue_of(work, pushed=lambda: tips.append(queue.clone.tip()))
    waiting = [write(queue, f"{name}.md", f"# {name}\n") for name in "bcd"]
    queue.settle(waiting[0])
    assert all(pending_write.is_settled and pending_write.error is None for pending_write in waiting)
    assert subjects(work)[1:] == ["Write b.md", "Write c.md", "Write d.md"]
    assert tips == [waiting[-1].commit] == [work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD")]


def test_a_push_does_not_wait_for_the_draft_of_another_write(work: GitRepo) -> None:
    queue = queue_of(work)
    pushing = threading.Thread(target=queue.settle, args=(write(queue, "b.md", "# B\n"),))
    with queue.drafting():
        pushing.start()
        pushing.join(timeout=20)
        assert subjects(work)[-1] == "Write b.md"


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
    for pending_write in (first, second):
        with pytest.raises(ConflictError):
            queue.settle(pending_write)
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
    for pending_write in waiting:
        with pytest.raises(UnavailableError, match=r"Nothing was written") as error:
            queue.settle(pending_write)
        assert str(work.path.parent) not in str(error.value)
    (work.path.parent / "away.git").rename(remote_of(work))
    again = write(queue, "d.md", "# D\n")
    queue.settle(again)
    assert subjects(work)[1:] == ["Write d.md"]


def test_a_draft_has_what_another_process_has_pushed_from_the_same_clone(work: GitRepo) -> None:
    one, two = queue_of(work), queue_of(work)
    waiting = write(two, "c.md", "# C\n")
    one.settle(write(one, "b.md", "# B\n"))
    with two.drafting() as commit:
        assert one.clone.holds(commit, one.clone.tip())
    later = write(two, "b.md", "# B, edited\n")
    for pending in (waiting, later):
        two.settle(pending)
    assert (subjects(work)[1:], text_at(work, "b.md")) == (["Write b.md", "Write c.md", "Write b.md"], "# B, edited")


def test_two_processes_push_from_one_clone_in_turn(work: GitRepo) -> None:
    one, two = queue_of(work), queue_of(work)
    row = [
        (queue, write(queue, f"{number}.md", "# N\n"))
        for number in range(6)
        for queue in (one, two)
        if number % 2 == (queue is two)
    ]
    run_all([threading.Thread(target=queue.settle, args=(pending,)) for queue, pending in row])
    assert sorted(subjects(work)[1:]) == [f"Write {number}.md" for number in range(6)]


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
            with pytest.raises(UnavailableError, match="is unknown") as error:
                queue.settle(waiting)
            assert error.value.kind == "unknown"
            remote.pace = "whole"
            queue.settle(write(queue, "b.md", "# B\n"))
    assert subjects(work)[1:] == ["Write b.md"]


@pytest.mark.parametrize("is_same", [True, False], ids=["the commit of the sender", "another commit"])
def test_a_write_that_was_handed_over_is_confirmed_although_the_remote_cannot_be_read_afterwards(
    work: GitRepo, is_same: bool
) -> None:
    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        if not is_same:
            owner.settle(write(owner, "between.md", "# Between\n"))
        results = take(owner, writes)
        remote_of(work).rename(work.path.parent / "away.git")
        return results

    _, queue = handed_over(work, handing)
    queue.settle(mine := write(queue, "b.md", "# B\n"))
    (work.path.parent / "away.git").rename(remote_of(work))
    assert mine.commit == work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD")
    assert subjects(work)[-1] == "Write b.md"
    assert (queue.clone.tip() == mine.commit) is is_same


def test_a_draft_sees_a_write_that_was_handed_over_before_its_commit_is_fetched(work: GitRepo) -> None:
    late: list[PendingWrite] = []

    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        if not late:
            owner.settle(write(owner, "between.md", "# Between\n"))
            late.append(write(queue, "a.md", "# One\nfirst\nsecond\n"))
        return take(owner, writes)

    owner, queue = handed_over(work, handing)
    queue.settle(first := write(queue, "a.md", "# One\nfirst\n"))
    assert queue.clone.tip() == first.commit
    queue.settle(late[0])
    assert late[0].before["a.md"] == first.changed["a.md"].id  # type: ignore[union-attr]
    assert subjects(work)[1:] == ["Write first.md", "Write between.md", "Write a.md", "Write a.md"]
    assert text_at(work, "a.md") == "# One\nfirst\nsecond"
    assert queue.clone.tip() == late[0].commit == owner.clone.tip()


def test_a_draft_on_top_of_a_refused_write_is_refused_and_one_of_another_page_goes_on(work: GitRepo) -> None:
    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        pushed(work, "a.md", "# Theirs\n") if len(subjects(work)) == 2 else None
        owner.clone.fetch()
        return take(owner, writes)

    _, queue = handed_over(work, handing)
    work.git("pull", "--quiet", "--rebase", "origin", "HEAD")
    waiting = [write(queue, "a.md", "# Mine\n"), write(queue, "b.md", "# B\n")]
    queue.settle(waiting[1])
    with pytest.raises(ConflictError):
        queue.settle(waiting[0])
    queue.settle(write(queue, "a.md", "# Theirs and mine\n"))
    assert text_at(work, "a.md") == "# Theirs and mine"
    assert subjects(work)[1:] == ["Write first.md", "Outside", "Write b.md", "Write a.md"]


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_server_that_does_not_answer_costs_no_write_and_makes_none_twice(work: GitRepo, is_taken: bool) -> None:
    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        if is_taken:
            take(owner, writes)
        raise ConnectionError

    _, queue = handed_over(work, handing)
    queue.settle(mine := write(queue, "b.md", "# B\n"))
    assert subjects(work)[1:] == ["Write first.md", "Write b.md"]
    assert queue.clone.tip() == mine.commit == work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD")


def test_a_write_that_an_unanswering_server_has_pushed_is_confirmed_with_its_own_commit(work: GitRepo) -> None:
    taken: list[WriteResult] = []

    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        owner.settle(write(owner, "before.md", "# Before\n"))  # so that the commit is another one
        taken.extend(take(owner, writes))
        owner.settle(write(owner, "after.md", "# After\n"))
        raise ConnectionError

    _, queue = handed_over(work, handing)
    queue.settle(mine := write(queue, "b.md", "# B\n"))
    assert subjects(work)[1:] == ["Write first.md", "Write before.md", "Write b.md", "Write after.md"]
    assert [(element.commit, element.parent) for element in taken] == [(mine.commit, mine.parent)]


@pytest.mark.parametrize("is_away", [True, False], ids=["the remote does not answer either", "the page has changed"])
def test_the_outcome_is_unknown_if_a_server_did_not_answer_and(work: GitRepo, is_away: bool) -> None:
    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        owner.settle(write(owner, "c.md", "# C\n"))  # so that the commit is another one
        take(owner, writes)
        if is_away:
            remote_of(work).rename(away)
        else:
            owner.settle(write(owner, "b.md", "# Another\n"))
        raise ConnectionError

    away = work.path.parent / "away.git"
    _, queue = handed_over(work, handing)
    with pytest.raises(UnavailableError, match="is unknown"):
        queue.settle(write(queue, "b.md", "# B\n"))
    if is_away:
        away.rename(remote_of(work))
    assert text_at(work, "b.md") == ("# B" if is_away else "# Another")


def test_a_write_is_confirmed_if_a_server_did_not_answer_and_the_history_has_its_commit(work: GitRepo) -> None:
    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        take(owner, writes)
        owner.settle(write(owner, "b.md", "# Another\n"))
        raise ConnectionError

    _, queue = handed_over(work, handing)
    queue.settle(made := write(queue, "b.md", "# B\n"))
    assert text_at(work, "b.md") == "# Another"
    assert work.git("--git-dir", str(remote_of(work)), "show", f"{made.commit}:b.md") == "# B"


def test_writes_made_while_a_fetch_brings_a_push_that_is_not_answered_yet_are_pushed_next(work: GitRepo) -> None:
    with slow_remote(remote_of(work)) as remote:
        clone = ReplicaClone(work.path.parent / "one", parse_source(remote.url))
        clone.fetch()
        queue = PushQueue(clone, clone.repository, lambda: None)
        remote.pace = "held"
        first = write(queue, "b.md", "# B\n")
        pushing = threading.Thread(target=queue.settle, args=(first,))
        pushing.start()
        assert remote.landed.wait(60)
        remote.pace = "whole"
        queue.catch_up()
        second = write(queue, "c.md", "# C\n")
        remote.answering.set()
        pushing.join()
        queue.settle(second)
    assert subjects(work)[1:] == ["Write b.md", "Write c.md"]
    assert [text_at(work, "b.md"), first.error, second.parent] == ["# B", None, first.commit]


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

    run_all([threading.Thread(target=run, args=(number,)) for number in range(6)])
    assert not errors
    assert sorted(subjects(work)[1:]) == sorted(f"Write {number}-{step}.md" for number in range(6) for step in range(3))
