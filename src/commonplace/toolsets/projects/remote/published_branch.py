"""The branch that a store publishes: the branch on which the store was created or adopted.

A symbolic ref of the repository names the branch, so `git symbolic-ref` reads and changes it. A store without that ref
was created by an older version or by hand.
"""

from __future__ import annotations

import pygit2

from commonplace.domain.errors import GitError
from commonplace.store.git.refs import set_ref
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.names import BRANCHES, checked_ref

REMOTE, BRANCH = "origin", "main"
"""The remote and its branch to which a store is pushed."""
TRACKING = f"refs/remotes/{REMOTE}/{BRANCH}"
SYNCED = "refs/commonplace/synced"
"""Ref with the remote's commit at the last synchronization. Unlike the tracking branch, no other program moves it."""
_MARK = "refs/commonplace/branch"


def published_branch(repository: GitRepository) -> str:
    """The full name of the branch; "" if it is not known yet.

    Raises:
        GitError: the repository cannot be read, or the symbolic ref is invalid.
    """
    target = guarded(lambda: _target(repository))
    if not isinstance(target, str) or not target.startswith(BRANCHES):
        return _unmarked(repository)
    current = repository.branch
    gone = target != current and not repository.tip(checked_ref(target))
    return current if gone and _was_renamed(repository, target, current) else target


def mark_published_branch(repository: GitRepository, *, current: bool = False) -> None:
    """Record the published branch unless it is recorded already.

    Args:
        repository: The store's repository.
        current: Whether the current branch becomes the published one.

    Raises:
        GitError, StorageError, UnavailableError: the ref cannot be read or written.
    """
    branch = repository.branch if current else published_branch(repository)
    if branch and branch != guarded(lambda: _target(repository)):
        set_ref(repository.common, _MARK, f"ref: {branch}")


def reason_not_to_publish(repository: GitRepository) -> str:
    """The reason why nothing is pushed or fetched now, with the remedy; "" if the published branch is current."""
    current, published = repository.branch, published_branch(repository)
    if current == published or not current:  # a detached HEAD is reported elsewhere
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
    """Whether the reflog of a branch shows that it was renamed from another name (`git branch -m`)."""
    try:
        entries = list(guarded(lambda: repository.handle.lookup_reference(now).log())) if now else []
    except GitError:  # an unborn branch
        return False
    return any(entry.message.startswith(f"Branch: renamed {before} to ") for entry in entries)


def _unmarked(repository: GitRepository) -> str:
    """`main` if it exists, else the current branch. If both exist, the one that contains the last pushed commit."""
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
