"""Queues of pending writes whose clones follow the bare remote of a work tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from commonplace.store.disk.file_swap import changed_meanwhile
from commonplace.store.git.commits import commit_message
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.store.replica.push_queue import PendingWrite, PushQueue
from commonplace.store.replica.writer_lease import WriteResult, WriterLease
from support import GitRepo


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


def run_all(threads: Sequence[threading.Thread]) -> None:
    for act in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            act(thread)


def subjects(work: GitRepo) -> list[str]:
    return work.git("--git-dir", str(remote_of(work)), "log", "--format=%s", "--reverse", "HEAD").splitlines()


def text_at(work: GitRepo, path: str) -> str:
    return work.git("--git-dir", str(remote_of(work)), "show", f"HEAD:{path}")


def pushed(work: GitRepo, path: str, text: str, *options: str) -> str:
    commit = work.commit("Outside", **{path: text})
    work.git("push", "--quiet", *options, "origin", "HEAD")
    return commit


Handing: TypeAlias = Callable[[PushQueue, Sequence[PendingWrite]], list[WriteResult]]


BASE = "base 1"
"""A base for which the server called owner is the first in the order."""


def handed_over(work: GitRepo, handing: Handing) -> tuple[PushQueue, PushQueue]:
    """The queue of the server that has the lease, and that of another, which hands its writes over."""
    owner = queue_of(work, "owner")
    owner.clone.lease = WriterLease(owner.clone.repository, "http://owner", ["http://other"], BASE)
    owner.settle(write(owner, "first.md", "# First\n"))  # takes the lease
    clone = ReplicaClone(work.path.parent / "other", parse_source(str(remote_of(work))))
    clone.lease = WriterLease(clone.repository, "http://other", ["http://owner"], BASE)
    clone.fetch()
    assert clone.lease.owner == "http://owner"
    queue = PushQueue(clone, clone.repository, lambda: None, lambda _url, writes: handing(owner, writes))
    return owner, queue


def take(owner: PushQueue, writes: Sequence[PendingWrite]) -> list[WriteResult]:
    """Accept forwarded writes as a server does."""
    results: list[WriteResult] = []
    for pending_write in writes:
        with owner.drafting() as commit:
            now = {path: owner.clone.repository.entry(commit, path) for path in pending_write.contents}
            moved = [path for path, entry in now.items() if (entry.id if entry else "") != pending_write.before[path]]
            if moved:
                results.append(WriteResult(error=changed_meanwhile(moved[0], "")))
                continue
            made = owner.add(pending_write.contents, pending_write.before, pending_write.words, is_forwarded=True)
        owner.settle(made)
        results.append(WriteResult(made.commit, made.parent))
    return results
