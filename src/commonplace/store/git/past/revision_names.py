"""Resolves a revision that a caller names to a commit or blob: an id or a tag, or (with `^`) the commit before."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import pygit2
from pygit2.references import References

from commonplace.domain.errors import GitError, InvalidInputError
from commonplace.domain.revisions import is_revision
from commonplace.store.git.past.revision_walk import parents_of
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.names import is_ref

MAX_TAG_CHARS = 200
"""Maximum length of a tag's name in characters."""
MAX_REF_BYTES = 1_000
"""Maximum size in bytes of a tag's own file; Git writes 41 bytes."""


def checked(revision: str) -> str:
    """The validated revision; an id is converted to lower case.

    Raises:
        InvalidInputError: the revision is neither 7 to 40 hex digits nor a valid name of a tag, each with optional `^`.
    """
    named = revision.removesuffix("^")
    if is_revision(named):
        return revision.lower()
    if not is_tag_name(named):
        raise invalid(revision)
    return revision


def is_tag_name(name: str) -> bool:
    """Whether a name may be that of a tag: valid in Git, printable, and without a leading hyphen."""
    printable = name.isprintable() and not name.startswith("-")
    return printable and len(name) <= MAX_TAG_CHARS and is_ref(f"refs/tags/{name}")


def named_object(
    repository: GitRepository, ancestors: AncestorCache, head: str, revision: str
) -> pygit2.Commit | pygit2.Blob | None:
    """The commit of the current branch, or any blob, that a checked revision names; None if there is none.

    Raises:
        InvalidInputError: the id is ambiguous, or there is no tag of this name.
    """
    named = revision.removesuffix("^")
    try:
        commit = repository.find(named) if is_revision(named) else None
    except ValueError as error:
        raise InvalidInputError(
            f"The revision {revision} is not unique.", kind="revision", hint="Give more of its digits."
        ) from error
    parent = commit or _tagged(repository, named)
    if parent is None and not is_revision(named):
        raise invalid(revision)
    if isinstance(parent, pygit2.Commit) and named != revision:
        parent = next(iter(parents_of(parent)), None)
    if isinstance(parent, pygit2.Blob) or (parent and ancestors.holds(head, str(parent.id))):
        return parent
    return None


def invalid(revision: str) -> InvalidInputError:
    """The error for a text that is not a revision."""
    return InvalidInputError(
        f"Invalid revision {revision[:60]!r}: expected 7 to 40 hex digits, or a tag.",
        kind="revision",
        hint="Take one from the document's history.",
    )


def _tagged(repository: GitRepository, name: str) -> pygit2.Commit | None:
    """The commit of a tag; None if there is none, or if Git would not write such a file.

    The file is checked first, because libgit2 opens any kind of file: a pipe would block the process.
    """
    loose = repository.common / "refs" / "tags" / name
    try:
        with suppress(FileNotFoundError):  # a packed tag
            status = os.lstat(loose)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_REF_BYTES:
                return None
        reference = guarded(lambda: References(repository.handle).get(f"refs/tags/{name}"))
        if reference is None or not isinstance(reference.target, pygit2.Oid):  # Git creates no symbolic tags
            return None
        return guarded(lambda: reference.peel(pygit2.Commit))
    except (ValueError, KeyError, OSError, GitError):
        return None


# Caches ancestors of the current commit, so that reading a page of an old commit does not walk the history again.


MAX_KNOWN = 20_000
"""Maximum number of cached ancestors; the cache is cleared when it is exceeded."""


def _nothing_known(_tip: str, _commit: str) -> bool:
    return False


class AncestorCache:
    """Cached ancestors of a commit, which remain valid for its descendants. Thread-safe.

    Without the cache, each lookup in a history of n commits costs n reads. With it, a branch that grows costs a walk
    over its new commits only.

    Args:
        repository: The repository.
        contains: Whether a commit is known to be a tip or one of its ancestors, without a walk.
    """

    def __init__(self, repository: GitRepository, contains: Callable[[str, str], bool] = _nothing_known) -> None:
        self._repository = repository
        self._contains = contains
        self._lock = threading.Lock()
        self._tip = ""
        self._known: set[str] = set()

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one of its ancestors.

        Raises:
            GitError: the history cannot be read.
        """
        is_carried = self._advance(tip)
        if is_carried and self._is_known(tip, commit):
            return True
        found_flag = self._contains(tip, commit) or self._repository.holds(tip, commit)
        if found_flag and is_carried:
            self._add(tip, (commit,))
        return found_flag

    def add(self, tip: str, commits: Iterable[str]) -> None:
        """Add commits that are known to be ancestors of `tip`."""
        if self._advance(tip):
            self._add(tip, commits)

    def _is_known(self, tip: str, commit: str) -> bool:
        with self._lock:
            return tip == self._tip and commit in self._known

    def _add(self, tip: str, commits: Iterable[str]) -> None:
        with self._lock:
            if tip == self._tip:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known.update(commits)

    def _advance(self, tip: str) -> bool:
        """Apply the cached ancestors to a newer tip. Returns false for an older tip, to which they do not apply."""
        before = self._tip
        if tip == before:
            return True
        is_there = bool(before) and self._repository.has_object(before)
        is_descendant = is_there and self._repository.holds(tip, before)
        if is_there and not is_descendant and self._repository.holds(before, tip):
            return False
        with self._lock:
            if self._tip == before:  # otherwise another thread was faster
                self._tip = tip
                if not is_descendant:
                    self._known.clear()
            return self._tip == tip
