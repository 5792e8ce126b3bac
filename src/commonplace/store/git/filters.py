"""Which bytes Git stores for a file: line ends and `$Id$` as its attributes and settings say, as `git add` does."""

from __future__ import annotations

import pygit2

from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git_command import redacted


def stored_form(repository: GitRepository, path: str, content: bytes) -> bytes:
    """The bytes of the blob for a file's bytes.

    Args:
        repository: Whose attributes and settings hold.
        path: As the repository names it.
        content: As it lies in the work tree.

    Raises:
        GitError: the file's attributes name a program to run or an encoding; neither is done here.
    """
    with repository.rules() as handle:
        _refuse_programs(repository, handle, path)
        if b"\r" not in content and b"$Id" not in content:
            return content
        _refresh_index(handle)  # line ends that the index has already are kept
        filters = guarded(lambda: handle.load_filter_list(path))
        if filters is None:
            return content
        if b"\0" in content:  # pygit2 gives back what stands before the first NUL only
            return _without_carriage_returns(handle, path, content)
        return guarded(lambda: filters.apply_to_buffer(content))


def is_ignored(repository: GitRepository, path: str) -> bool:
    """Whether Git is told to leave this file alone (unless it tracks it already)."""
    with repository.rules() as handle:
        return guarded(lambda: handle.path_is_ignored(path))


def _without_carriage_returns(handle: pygit2.Repository, path: str, content: bytes) -> bytes:
    """Bytes with NUL are no text to Git unless the attributes say so outright, or by naming a line end."""
    text, eol = _attribute(handle, path, "text"), _attribute(handle, path, "eol")
    says_text = text is True or (text is None and eol in {"lf", "crlf"})
    return content.replace(b"\r\n", b"\n") if says_text else content


def _refuse_programs(repository: GitRepository, handle: pygit2.Repository, path: str) -> None:
    driver = _attribute(handle, path, "filter")
    if isinstance(driver, str) and any(repository.setting(f"filter.{driver}.{way}") for way in ("clean", "process")):
        raise _unsupported(path, f"goes through the program of the filter {driver!r} (gitattributes)", "command")
    encoding = _attribute(handle, path, "working-tree-encoding")
    if isinstance(encoding, str) and encoding.lower() not in {"utf-8", "utf8"}:
        raise _unsupported(path, f"is kept in the encoding {encoding!r} (gitattributes)", "repository")


def _attribute(handle: pygit2.Repository, path: str, name: str) -> bool | str | None:
    """Attributes are looked for in the work tree and in the index, so that must be readable."""
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
        hint="Serve the folder with --commit manual and commit this file with git.",
        path=path,
    )
