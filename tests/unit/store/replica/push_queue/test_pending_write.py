"""Fetches, pushes and drafts at the same time: no write replaces what its writer has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from commonplace.domain.errors import ConflictError
from commonplace.store.git.commits import commit_message
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.store.replica.push_queue import PendingWrite, PushQueue
from commonplace.store.replica.writer_lease import WriteResult, WriterLease
from remotes.queues import (
    BASE,
    handed_over,
    pushed,
    queue_of,
    remote_of,
    subjects,
    take,
    text_at,
    write,
)
from support import GitRepo, MakeRepo


@pytest.fixture
def work(git_repo: MakeRepo) -> GitRepo:
    """A repository with a bare remote."""
    repo = git_repo("work", {"a.md": "# One\n"})
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(remote_of(repo)))
    repo.git("remote", "add", "origin", str(remote_of(repo)))
    return repo


@pytest.mark.parametrize("text", ["# Mine\n", None])
def test_a_fetch_during_a_draft_does_not_let_the_write_replace_what_it_brought(work: GitRepo, text: str | None) -> None:
    queue = queue_of(work)
    with queue.drafting() as commit:
        entry = queue.clone.repository.entry(commit, "a.md")
        assert entry is not None
        outside = pushed(work, "a.md", "# One\nline of another writer\n")
        assert queue.clone.fetch() == outside
        words = commit_message(queue.clone.repository, "Write a.md", None)
        made = queue.add({"a.md": None if text is None else text.encode()}, {"a.md": entry.id}, words)
    with pytest.raises(ConflictError):
        queue.settle(made)
    assert text_at(work, "a.md") == "# One\nline of another writer"


def test_a_fetch_during_a_draft_of_another_file_keeps_both(work: GitRepo) -> None:
    queue = queue_of(work)
    with queue.drafting():
        outside = pushed(work, "a.md", "# One\nline of another writer\n")
        assert queue.clone.fetch() == outside
        made = queue.add({"b.md": b"# b\n"}, {"b.md": ""}, commit_message(queue.clone.repository, "Write b.md", None))
    queue.settle(made)
    assert (text_at(work, "a.md"), text_at(work, "b.md")) == ("# One\nline of another writer", "# b")
    assert made.parent == outside


class LateFetch(ReplicaClone):
    """A clone that does something more after each fetch, before its caller goes on."""

    after: Callable[[], None] = staticmethod(lambda: None)

    def fetch(self, *args: object, **options: object) -> str:
        tip = super().fetch(*args, **options)  # type: ignore[arg-type]
        after, self.after = self.after, lambda: None
        after()
        return tip


def test_a_write_on_top_of_a_push_that_ended_after_a_fetch_had_begun_is_not_confirmed_by_the_state_before(
    work: GitRepo,
) -> None:
    clone = LateFetch(work.path.parent / "late", parse_source(str(remote_of(work))))
    clone.fetch()
    queue = PushQueue(clone, clone.repository, lambda: None)
    back: list[PendingWrite] = []

    def push_then_write_back() -> None:
        queue.settle(write(queue, "a.md", "# Two\n"))
        back.append(write(queue, "a.md", "# One\n"))

    clone.after = push_then_write_back
    queue.catch_up()
    queue.settle(back[0])
    assert text_at(work, "a.md") == "# One"
    assert subjects(work)[1:] == ["Write a.md", "Write a.md"]


def test_a_write_settled_by_a_fetch_just_before_the_push_is_not_pushed_again(work: GitRepo) -> None:
    """Otherwise its older commit would be pushed on top of the present one, and drop the commits after it."""
    clone = queue_of(work).clone
    pushed(work, "a.md", "# Same\n")
    newest = pushed(work, "c.md", "# c\n")

    def fetch_meanwhile(_url: str, _writes: Sequence[PendingWrite]) -> None:
        queue.catch_up()

    clone.lease = WriterLease(clone.repository, "http://other", ["http://owner"], BASE)
    queue = PushQueue(clone, clone.repository, lambda: None, fetch_meanwhile)
    mine, same = write(queue, "b.md", "# b\n"), write(queue, "a.md", "# Same\n")
    queue.settle(mine)
    queue.settle(same)
    assert work.git("--git-dir", str(remote_of(work)), "rev-parse", "HEAD~1") == newest
    assert [text_at(work, path) for path in ("a.md", "b.md", "c.md")] == ["# Same", "# b", "# c"]


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_handed_write_overwritten_before_its_answer_came_is_told_as_the_answer_says(
    work: GitRepo, is_taken: bool
) -> None:
    def handing(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        owner.settle(write(owner, "between.md", "# Between\n"))
        results = take(owner, writes) if is_taken else []
        work.git("pull", "--quiet", "--rebase", "origin", "HEAD")
        pushed(work, "a.md", "# Theirs\n")
        queue.catch_up()
        assert mine.error is None
        return results

    owner, queue = handed_over(work, handing)
    if not is_taken:
        queue = PushQueue(queue.clone, queue.clone.repository, lambda: None, lambda _url, w: handing(owner, w) or None)
    mine = write(queue, "a.md", "# Mine\n")
    if is_taken:
        queue.settle(mine)
    else:
        with pytest.raises(ConflictError):
            queue.settle(mine)
    assert text_at(work, "a.md") == "# Theirs"
    assert ("Write a.md" in subjects(work)) is is_taken


def test_a_push_that_would_drop_commits_is_refused(work: GitRepo) -> None:
    queue = queue_of(work)
    first, second = queue.clone.tip(), pushed(work, "a.md", "# Two\n")
    queue.clone.fetch()
    for commit in (first, ""):
        with pytest.raises(ValueError, match="must not drop commits"):
            queue.clone.push(commit, second)
    assert text_at(work, "a.md") == "# Two"
