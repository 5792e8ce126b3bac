"""Resolves a revision that a caller names to a commit or blob: an id or a tag, or (with `^`) the commit before."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import pygit2
from pygit2.references import References

from commonplace.domain.errors import GitError, InvalidInputError
from commonplace.domain.revisions import is_revision
from commonplace.store.git.past.ancestors import AncestorCache
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
        found = repository.find(named) if is_revision(named) else None
    except ValueError as error:
        raise InvalidInputError(
            f"The revision {revision} is not unique.", kind="revision", hint="Give more of its digits."
        ) from error
    found = found or _tagged(repository, named)
    if found is None and not is_revision(named):
        raise invalid(revision)
    if isinstance(found, pygit2.Commit) and named != revision:
        found = next(iter(parents_of(found)), None)
    if isinstance(found, pygit2.Blob) or (found and ancestors.holds(head, str(found.id))):
        return found
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
