"""Creates and opens the bare repository of a replica's clone."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from commonplace.domain.errors import GitError
from commonplace.store.git.repository import GitRepository

BRANCH = "refs/heads/replica"
"""The only branch of a clone."""
REMOTE = "origin"


def readable_repository(path: Path) -> GitRepository:
    """The repository at a path.

    Raises:
        GitError: the repository, its HEAD or the commit of its branch cannot be read.
    """
    repository = GitRepository(path)
    if not repository.setting(f"remote.{REMOTE}.url"):
        raise GitError("Its configuration names no remote.", kind="repository")
    _ = repository.head
    if tip := repository.tip(BRANCH):
        repository.content(repository.tree_of(tip))
    return repository


def make_repository(path: Path, url: str) -> None:
    """Create an empty bare repository in a folder, replacing the remains of another one.

    HEAD is written last: a repository without HEAD counts as missing, so a killed process leaves no partial one. `git
    init` is not used, because it copies templates, with hooks.
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
