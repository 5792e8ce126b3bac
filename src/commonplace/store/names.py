"""Validation of names from a repository: refs, objects, and files in trees and in the index."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from commonplace.domain.addresses import Address, visible_form
from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError

MAX_REF_BYTES = 1024
MAX_COMPONENT_BYTES = 250
"""Maximum length in bytes of one part of a ref's name, which leaves room for `.lock`."""
MAX_SHOWN_NAME = 60
"""Maximum length in characters of a rejected name in an error."""
BRANCHES = "refs/heads/"

_ID = re.compile(r"[0-9a-f]{40}")
_NOT_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|\.$|/$")
_SHORT_GIT = re.compile(r"git~\d+")


def missing_file(address: Address) -> NotFoundError:
    """The error for a missing file."""
    return NotFoundError(
        f"No such file: {address}.", kind="document", hint="List or search to see what there is.", path=address.path
    )


def require_moved(address: Address, hides: Callable[[Address], bool]) -> None:
    """Check that a file may be moved: an ignored one would be served and committed at its new path.

    Raises:
        InvalidInputError: kind "path": it is ignored.
    """
    if hides(address):
        raise InvalidInputError(
            f"{address} {address.ignored_by}, so it is not moved.",
            kind="path",
            hint="Move it outside of commonplace"
            + ("." if address.skipped_folder else ", or change the ignore file first."),
        )


def is_object_id(text: str) -> bool:
    """Whether a text is a full object id: 40 hex digits in lower case."""
    return bool(_ID.fullmatch(text))


def is_ref(name: str) -> bool:
    """Whether a name is a valid ref below `refs/`, by the rules of git-check-ref-format(1)."""
    if not name.startswith("refs/") or _NOT_IN_REFS.search(name):
        return False
    raw = os.fsencode(name)
    return len(raw) <= MAX_REF_BYTES and all(len(part) <= MAX_COMPONENT_BYTES for part in raw.split(b"/"))


def checked_ref(name: str) -> str:
    """The name itself, if it is a valid ref below `refs/`.

    Raises:
        GitError: the name is not valid; Git rejects it too.
    """
    if not is_ref(name):
        raise GitError(
            f"The repository names a ref {shown(name)}; a ref has a valid name below refs/. Nothing was changed.",
            kind="repository",
            hint="Find out who wrote that. On a branch main, .git/HEAD says: ref: refs/heads/main",
        )
    return name


def is_tree_path(path: str) -> bool:
    """Whether a path from a tree or from the index stays inside the work tree and outside Git's own folders."""
    return "\0" not in path and all(part and not _is_special(part) for part in path.split("/"))


def checked_tree_path(path: str) -> str:
    """The path itself, if it names a file of the work tree.

    Raises:
        GitError: the path leads out of the work tree, or into Git's own folder.
    """
    if not is_tree_path(path):
        raise GitError(
            f"The repository names a file {shown(path)}; that is outside its work tree. Nothing was changed.",
            kind="repository",
            hint="Run git fsck --strict in it, and do not use commits or an index that came with such a name.",
        )
    return path


def shown(name: str) -> str:
    """A rejected name for a message: quoted, short, and without control characters."""
    if name.startswith(("/", "~")):
        return "that is an absolute path"
    cut = name if len(name) <= MAX_SHOWN_NAME else f"{name[: MAX_SHOWN_NAME - 3]}..."
    return ascii(cut)


def printable(path: str) -> str:
    """A path that cannot be served, for messages: on one line, its undecodable bytes and control characters escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _is_special(part: str) -> bool:
    """Whether a part is `.`, `..`, or a spelling of `.git` on some file system."""
    if part in {".", ".."}:
        return True
    plain = visible_form(part).lower().rstrip(". ")
    return plain == ".git" or bool(_SHORT_GIT.fullmatch(plain))
