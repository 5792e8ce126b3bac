"""Converts a file's bytes to those that `git add` stores: line ends and `$Id$` by attributes and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pygit2

from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.worktree.attributes import AttributeValue, attributes_of
from commonplace.store.git.worktree.ignored import GitIgnoreRules
from commonplace.store.git_command import redacted

_ID = re.compile(rb"\$Id:[^$\n]*\$")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_UNPRINTABLE = bytes(byte for byte in (*range(32), 127) if byte not in b"\b\t\n\r\x1b\x0c")
_MOST_UNPRINTABLE = 128
"""Minimum number of printable characters of a text for each unprintable one; Git's rule."""


def stored_form(repository: GitRepository, path: str, content: bytes) -> bytes:
    """The bytes of the blob for a file's bytes.

    Args:
        repository: The repository, with its attributes and settings.
        path: Path of the file in the repository.
        content: Bytes of the file in the work tree.

    Raises:
        GitError: the file's attributes name a filter program or an encoding, which are not supported.
    """
    with repository.rules() as handle:
        attributes = attributes_of(repository, _index(handle), path)
        _refuse_programs(repository, attributes, path)
        if b"\r\n" in content:
            content = _with_line_feeds(repository, handle, attributes, (path, content))
    return _ID.sub(b"$Id$", content) if attributes.get("ident") is True else content


def is_ignored(repository: GitRepository, path: str) -> bool:
    """Whether Git's ignore files exclude this file. Whether Git tracks it is not considered."""
    return GitIgnoreRules(repository).ignores(path)


def _with_line_feeds(
    repository: GitRepository,
    handle: pygit2.Repository,
    attributes: Mapping[str, AttributeValue],
    file: tuple[str, bytes],
) -> bytes:
    """The content with LF for CRLF if Git converts it; see `text` and `eol` in gitattributes(5)."""
    path, content = file
    text = attributes.get("text", attributes.get("crlf"))
    if isinstance(text, str) and text not in {"auto", "input"}:
        text = None
    if text is None and attributes.get("eol") in {"lf", "crlf"}:
        text = True
    if text is None:
        text = "auto" if repository.setting("core.autocrlf").lower() in {"true", "yes", "on", "1", "input"} else False
    if text is False:
        return content
    if text == "auto" and (_is_binary(content) or _has_returns(handle, path)):
        return content
    return content.replace(b"\r\n", b"\n")


def _is_binary(content: bytes) -> bool:
    """Whether Git takes the content for binary (convert.c): a lone CR, a NUL, or many unprintable characters."""
    if b"\0" in content or _LONE_RETURN.search(content):
        return True
    unprintable = len(content) - len(content.translate(None, _UNPRINTABLE)) - content.endswith(b"\x1a")
    breaks = content.count(b"\r") + content.count(b"\n")
    printable = len(content) - breaks - unprintable
    return printable // _MOST_UNPRINTABLE < unprintable


def _has_returns(handle: pygit2.Repository, path: str) -> bool:
    """Whether the staged version of the file contains CRLF; Git preserves CRLF then."""
    index = _index(handle)
    try:
        index.read(force=False)
    except (pygit2.GitError, OSError) as error:
        raise _unreadable_index(error) from error
    try:
        staged = index[path].id
    except KeyError:
        return False
    blob = guarded(lambda: handle[staged]).read_raw()
    return b"\r\n" in blob and not _is_binary(blob)


def _refuse_programs(repository: GitRepository, attributes: Mapping[str, AttributeValue], path: str) -> None:
    driver = attributes.get("filter")
    if isinstance(driver, str) and any(repository.setting(f"filter.{driver}.{way}") for way in ("clean", "process")):
        raise _unsupported(path, f"goes through the program of the filter {driver!r} (gitattributes)", "command")
    encoding = attributes.get("working-tree-encoding")
    if isinstance(encoding, str) and encoding.lower() not in {"utf-8", "utf8"}:
        raise _unsupported(path, f"is kept in the encoding {encoding!r} (gitattributes)", "repository")


def _index(handle: pygit2.Repository) -> pygit2.Index:
    """The index. It must be readable, because it contains the attributes files that the work tree lacks."""
    try:
        return handle.index
    except (pygit2.GitError, OSError) as error:
        raise _unreadable_index(error) from error


def _unreadable_index(error: Exception) -> GitError:
    return GitError(
        f"The repository's index cannot be read: {redacted(str(error))}. Nothing was changed.",
        kind="repository",
        hint="A split or sparse index: run git update-index --no-split-index, or git sparse-checkout set "
        "--no-sparse-index. A damaged one: delete .git/index and run git reset.",
    )


def _unsupported(path: str, what: str, kind: str) -> GitError:
    return GitError(
        f"{path} {what}, so it cannot be committed here. Nothing was changed.",
        kind=kind,
        hint="Write it without a commit (--no-commit on the command line, --commit manual of a server) and commit it "
        "with git.",
        path=path,
    )
