"""Moving the store's work tree to another commit: what was edited in the moment before is not lost."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.changes import Author
from commonplace.store.discovery import retention_of
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.journal import Journal
from commonplace.store.folder.transaction_writer import TransactionWriter
from commonplace.store.folder.writer_lock import WriterLock
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.repository import GitRepository
from commonplace.toolsets.projects.remote.worktree import WorkTree
from support import GitRepo, MakeRepo

MAIN = "projects/x/main.md"


def work_tree(repo: GitRepo, state: Path) -> WorkTree:
    """The work tree of a repository, as a store of projects has it."""
    repository, folder = GitRepository(repo.path / ".git", repo.path), Folder(repo.path)
    git = GitWriter(repository)
    writer = TransactionWriter(repo.path, WriterLock(state / "lock"), Journal(state / "journal"), git)
    return WorkTree(folder, git, writer, retention_of(folder, repository, state), Author("W", "w@example.org"))


def test_an_edit_of_the_moment_before_a_move_goes_to_the_trash(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo: GitRepo = git_repo("repo", {MAIN: "one\n", "projects/x/same.md": "same\n"})
    first = repo.git("rev-parse", "HEAD")
    second = repo.commit("Two", **{MAIN: "two\n"})
    repo.git("reset", "--quiet", "--hard", first)
    repo.write(MAIN, "by hand\n")
    tree = work_tree(repo, tmp_path / "state")
    (tmp_path / "state").mkdir()
    with tree.writer.lock.held():
        tree.move(second)
    assert (repo.path / MAIN).read_text() == "two\n"
    trash = tree.retention.trash
    assert [(item.address.path, item.loss, trash.content(item)) for item in trash.items()] == [
        (MAIN, "replaced", b"by hand\n")
    ]
    with tree.writer.lock.held():
        tree.move(first)
    assert len(trash.items()) == 1, "what a commit has is not kept again"
