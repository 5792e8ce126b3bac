"""The bare repository of a replica's clone: made empty, and opened if it can be read."""

from __future__ import annotations

import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository, guarded

BRANCH = "refs/heads/replica"
"""The one branch of a clone."""
REMOTE = "origin"
SHOWN_ID = 12
"""Characters of a commit's id in messages."""


def readable_repository(path: Path) -> GitRepository:
    """The repository at a path.

    Raises:
        GitError: it, its HEAD or the commit of its branch cannot be read.
    """
    repository = GitRepository(path)
    if not repository.setting(f"remote.{REMOTE}.url"):
        raise GitError("Its configuration names no remote.", kind="repository")
    _ = repository.head
    if tip := repository.tip(BRANCH):
        repository.content(repository.tree_of(tip))
    return repository


def common_commit(repository: GitRepository, commit: str) -> str:
    """A commit while the branch has it, else the last one of its history that the branch has.

    Returns:
        "" if there is none, or a part of the history cannot be read.
    """
    tip = repository.tip(BRANCH)
    if not tip or tip == commit:
        return commit
    if not repository.has_object(commit) or not repository.has_object(tip):
        return ""
    with suppress(GitError):
        return str(guarded(lambda: repository.handle.merge_base(tip, commit)) or "")
    return ""


def make_repository(path: Path, url: str) -> None:
    """Create an empty bare repository in a folder, in place of what is left of another one.

    HEAD comes last: without it the repository counts as missing, so that a killed process leaves no partial one. `git
    init` would copy templates, with hooks.
    """
    path.mkdir(parents=True, exist_ok=True)
    for name in ("objects", "refs"):
        shutil.rmtree(path / name, ignore_errors=True)
    for name in ("packed-refs", "shallow"):
        (path / name).unlink(missing_ok=True)
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (path / name).mkdir(parents=True)
    config = path / "config"
    config.unlink(missing_ok=True)
    config.touch(0o600)  # the URL may contain credentials
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    config.write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tbare = true\n[remote "{REMOTE}"]\n\turl = "{quoted}"\n',
        encoding="utf-8",
        errors="surrogateescape",
    )
    made = path / f"HEAD.{secrets.token_hex(6)}"
    made.write_text(f"ref: {BRANCH}\n", encoding="utf-8")
    made.replace(path / "HEAD")
