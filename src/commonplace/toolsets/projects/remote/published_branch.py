"""The branch that a store publishes: the one that it was made or adopted on.

A symbolic ref of the repository names it, so `git symbolic-ref` reads and changes it. A store without that ref was
made by an older version or by hand.
"""

from __future__ import annotations

import pygit2

from commonplace.domain.errors import GitError
from commonplace.store.git.refs import set_ref
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.names import BRANCHES, checked_ref

REMOTE, BRANCH = "origin", "main"
"""The remote and its branch that a store is pushed to."""
TRACKING = f"refs/remotes/{REMOTE}/{BRANCH}"
SYNCED = "refs/commonplace/synced"
"""Commit of the remote at the last synchronization; unlike the tracking branch, no other program moves it."""
_MARK = "refs/commonplace/branch"


def published_branch(repository: GitRepository) -> str:
    """The full name of the branch; "" where none is known yet.

    Raises:
        GitError: the repository cannot be read, or the mark names no ref.
    """
    target = guarded(lambda: _target(repository))
    if not isinstance(target, str) or not target.startswith(BRANCHES):
        return _unmarked(repository)
    current = repository.branch
    gone = target != current and not repository.tip(checked_ref(target))
    return current if gone and _was_renamed(repository, target, current) else target


def mark_published_branch(repository: GitRepository, *, current: bool = False) -> None:
    """Write down the branch that is published, unless that is done already.

    Args:
        repository: The store's.
        current: Whether it is the current branch, whatever was published before.

    Raises:
        GitError, StorageError, UnavailableError: the ref cannot be read or written.
    """
    branch = repository.branch if current else published_branch(repository)
    if branch and branch != guarded(lambda: _target(repository)):
        set_ref(repository.common, _MARK, f"ref: {branch}")


def reason_not_to_publish(repository: GitRepository) -> str:
    """Why nothing is pushed and nothing brought in now, with what to do; "" while the published branch is current."""
    current, published = repository.branch, published_branch(repository)
    if current == published or not current:  # that it is on no branch is told elsewhere
        return ""
    name, other = published.removeprefix(BRANCHES), current.removeprefix(BRANCHES)
    there, way = (
        (", which is gone,", "Publish")
        if not repository.tip(published)
        else (",", f"Run git switch {name}, or publish")
    )
    return (
        f"the store publishes its branch {name}{there} and {other} is checked out. {way} {other} from now on: "
        f"git symbolic-ref {_MARK} {current}"
    )


def _target(repository: GitRepository) -> pygit2.Oid | str | None:
    try:
        return repository.handle.lookup_reference(_MARK).target
    except KeyError:
        return None


def _was_renamed(repository: GitRepository, before: str, now: str) -> bool:
    """Whether the reflog of a branch tells that it had another name before (`git branch -m`)."""
    try:
        entries = list(guarded(lambda: repository.handle.lookup_reference(now).log())) if now else []
    except GitError:  # an unborn branch
        return False
    return any(entry.message.startswith(f"Branch: renamed {before} to ") for entry in entries)


def _unmarked(repository: GitRepository) -> str:
    """`main` where there is one, else the current branch; of both the one that has what was pushed last."""
    current, main = repository.branch, f"{BRANCHES}{BRANCH}"
    if current == main or not repository.tip(main):
        return current
    pushed = repository.tip(SYNCED) or repository.tip(TRACKING)
    only_current = (
        current
        and pushed
        and repository.holds(repository.tip(current), pushed)
        and not repository.holds(repository.tip(main), pushed)
    )
    return current if only_current else main
