"""The bytes that Git stores for a file: line ends and `$Id$` by attributes and configuration, as `git add` does."""

from __future__ import annotations

import pygit2

from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git_command import redacted


def stored_form(repository: GitRepository, path: str, content: bytes) -> bytes:
    """The bytes of the blob for a file's bytes.

    Args:
        repository: Repository whose attributes and configuration apply.
        path: Path in the repository.
        content: Bytes of the file in the work tree.

    Raises:
        GitError: the file's attributes name a filter program or an encoding, which are not supported.
    """
    with repository.rules() as handle:
        _refuse_programs(repository, handle, path)
        if b"\r" not in content and b"$Id" not in content:
            return content
        _refresh_index(handle)  # line ends that are in the index already stay
        filters = guarded(lambda: handle.load_filter_list(path))
        if filters is None:
            return content
        if b"\0" in content:  # pygit2 truncates the result at the first NUL
            return _without_carriage_returns(handle, path, content)
        return guarded(lambda: filters.apply_to_buffer(content))


def is_ignored(repository: GitRepository, path: str) -> bool:
    """Whether ignore rules of Git exclude this file (if it is not tracked)."""
    with repository.rules() as handle:
        return guarded(lambda: handle.path_is_ignored(path))


def _without_carriage_returns(handle: pygit2.Repository, path: str, content: bytes) -> bytes:
    """Git treats bytes with NUL as binary unless the attributes `text` or `eol` say otherwise."""
    text, eol = _attribute(handle, path, "text"), _attribute(handle, path, "eol")
    says_text = text is True or (text is None and eol in {"lf", "crlf"})
    return content.replace(b"\r\n", b"\n") if says_text else content


def _refuse_programs(repository: GitRepository, handle: pygit2.Repository, path: str) -> None:
    driver = _attribute(handle, path, "filter")
    if isinstance(driver, str) and any(repository.setting(f"filter.{driver}.{way}") for way in ("clean", "process")):
        raise _unsupported(path, f"goes through the program of the filter {driver!r} (gitattributes)", "command")
    encoding = _attribute(handle, path, "working-tree-encoding")
    if isinstance(encoding, str) and encoding.lower() not in {"utf-8", "utf8"}:
        raise _unsupported(path, f"has the encoding {encoding!r} (gitattributes)", "repository")


def _attribute(handle: pygit2.Repository, path: str, name: str) -> bool | str | None:
    """The value of an attribute. Attributes are read from the work tree and from the index, which must be readable."""
    try:
        return handle.get_attr(path, name)
    except (pygit2.GitError, OSError) as error:
        raise _unreadable_index(error) from error


def _refresh_index(handle: pygit2.Repository) -> None:
    try:
        handle.index.read(force=False)
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
