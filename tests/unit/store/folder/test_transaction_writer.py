"""One transaction on disk: all of it or nothing, and what a cut-off one leaves is mended by who comes next."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from commonplace.domain.changes import Author
from commonplace.domain.errors import ConflictError, GitError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.file_swap import FileChange, SeenFile
from commonplace.store.disk.folder import file_stat
from commonplace.store.disk.journal import Journal, JournalIntent, JournalRecord, JournalStep
from commonplace.store.folder.transaction_writer import TransactionWriter
from commonplace.store.folder.writer_lock import WriterLock
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import BranchUpdate, PlannedCommit, commit_message
from commonplace.store.git.repository import GitRepository
from support import GitRepo, MakeRepo


class Folder:
    """A folder with its writer; `git` is None without a repository."""

    def __init__(self, root: Path, own: Path, git: GitWriter | None) -> None:
        self.root = root
        self.journal = Journal(own / "commonplace.journal")
        self.lock = WriterLock(own / "commonplace.lock")
        self.git = git
        self.writer = TransactionWriter(root, self.lock, self.journal, git)

    def change(self, path: str, content: bytes | None) -> FileChange:
        """A change of the file that is there now."""
        file = self.root / path
        seen = SeenFile(file_stat(file.lstat()), revision_of(file.read_bytes())) if file.exists() else None
        return FileChange(path, seen, content)

    def apply(self, *changes: FileChange) -> str:
        """One transaction, committed if there is a repository."""

        def plan(token: str) -> BranchUpdate | None:
            if self.git is None:
                return None
            words = commit_message(self.git.repository, "Write", Author("Ann", "ann@example.org"))
            return self.git.plan(token, [PlannedCommit({change.path: change.content for change in changes}, words)])

        with self.lock.held():
            return self.writer.apply(changes, plan)

    def names(self) -> Sequence[str]:
        paths = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
        return sorted(path.as_posix() for path in paths if path.parts[0] != ".git")


@pytest.fixture
def plain(tmp_path: Path) -> Folder:
    (tmp_path / "plain").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "plain/a.md").write_text("# A\n")
    return Folder(tmp_path / "plain", tmp_path / "own", None)


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n"})


@pytest.fixture
def committed(repo: GitRepo) -> Folder:
    gitdir = repo.path / ".git"
    return Folder(repo.path, gitdir, GitWriter(GitRepository(gitdir, repo.path)))


def test_every_file_of_a_transaction_is_changed_and_nothing_else_is_left(plain: Folder) -> None:
    assert plain.apply(plain.change("a.md", None), plain.change("in/deep/new.md", b"# New\n")) == ""
    assert plain.names() == ["in/deep/new.md"]
    assert not plain.writer.needs_repair


def test_a_transaction_in_a_repository_is_one_commit_and_git_sees_nothing_to_do(
    committed: Folder, repo: GitRepo
) -> None:
    commit = committed.apply(committed.change("a.md", b"# A2\n"), committed.change("b.md", None))
    assert commit == repo.git("rev-parse", "HEAD")
    assert repo.git("diff", "--name-status", "HEAD~1", "HEAD").split() == ["M", "a.md", "D", "b.md"]
    assert repo.git("status", "--porcelain") == ""


def test_a_file_that_somebody_changed_stops_the_whole_transaction(committed: Folder, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    changes = [committed.change("in/new.md", b"# New\n"), committed.change("a.md", b"# A2\n")]
    repo.write("a.md", "# by somebody else\n")
    with pytest.raises(ConflictError):
        committed.apply(*changes)
    assert committed.names() == ["a.md", "b.md"]
    assert not (repo.path / "in").exists()
    assert (repo.path / "a.md").read_text() == "# by somebody else\n"
    assert repo.git("rev-parse", "HEAD") == head
    assert not committed.writer.needs_repair


def test_a_disk_error_is_told_as_one_and_leaves_nothing_behind(plain: Folder) -> None:
    change = FileChange("x" * 300 + ".md", None, b"too long a name")
    with pytest.raises(StorageError):
        plain.apply(plain.change("new.md", b"# New\n"), change)
    assert plain.names() == ["a.md"]
    assert not plain.writer.needs_repair


def test_a_commit_that_cannot_be_planned_changes_no_file(committed: Folder) -> None:
    def refuse(token: str) -> BranchUpdate | None:
        raise GitError(f"no plan {token[:0]}", kind="repository")

    with pytest.raises(GitError), committed.lock.held():
        committed.writer.apply([committed.change("a.md", b"# A2\n")], refuse)
    assert (committed.root / "a.md").read_bytes() == b"# A\n"


def interrupted(folder: Folder) -> None:
    """Leave the state of a writer that was killed after writing the new bytes beside the old file."""
    step = JournalStep("a.md", revision_of(b"# A\n"), revision_of(b"# A2\n"))
    (folder.root / ".commonplace-cafe01-0.new").write_bytes(b"# A2\n")
    with folder.lock.held():
        folder.journal.write(JournalRecord(JournalIntent("cafe01", (step,))))


def test_the_next_reader_finishes_what_a_killed_writer_began(plain: Folder) -> None:
    interrupted(plain)
    assert plain.writer.needs_repair
    plain.writer.repair_if_idle()
    assert not plain.writer.needs_repair
    assert plain.names() == ["a.md"]
    assert (plain.root / "a.md").read_bytes() == b"# A2\n"


def test_a_repair_says_what_it_did_once(plain: Folder) -> None:
    interrupted(plain)
    with plain.lock.held():
        assert plain.writer.repair() == ["finished an interrupted write of a.md"]
        assert plain.writer.repair() == []


def test_a_reader_repairs_nothing_while_somebody_writes(plain: Folder, tmp_path: Path) -> None:
    interrupted(plain)
    with plain.lock.held():
        plain.writer.repair_if_idle()
    assert plain.writer.needs_repair
    descriptor = os.open(tmp_path / "own/commonplace.lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        plain.writer.repair_if_idle()
        assert plain.writer.needs_repair
    finally:
        os.close(descriptor)
    plain.writer.repair_if_idle()
    assert not plain.writer.needs_repair


def test_a_journal_that_cannot_be_read_stops_writers_and_no_reader(plain: Folder, tmp_path: Path) -> None:
    journal = tmp_path / "own/commonplace.journal"
    journal.mkdir()
    plain.writer.repair_if_idle()
    assert plain.writer.needs_repair
    with plain.lock.held(), pytest.raises(StorageError) as refused:
        plain.writer.repair()
    assert refused.value.hint
    journal.rmdir()
    interrupted(plain)
    plain.writer.repair_if_idle()
    assert plain.writer.needs_repair, "the next look is some seconds later"
    TransactionWriter(plain.root, plain.lock, plain.journal, None).repair_if_idle()
    assert not plain.writer.needs_repair


def test_an_index_that_another_git_holds_is_updated_by_a_later_reader(committed: Folder, repo: GitRepo) -> None:
    lock = repo.path / ".git/index.lock"
    lock.touch()
    committed.apply(committed.change("a.md", b"# A2\n"))
    assert committed.writer.needs_repair
    committed.writer.repair_if_idle()
    assert committed.writer.needs_repair
    assert committed.writer.staged_blobs({"a.md": False}) == []
    lock.unlink()
    committed.writer.repair_if_idle()
    assert not committed.writer.needs_repair
    assert repo.git("status", "--porcelain") == ""


def test_what_git_has_of_the_files_of_a_commit_is_named_staged_or_not(committed: Folder, repo: GitRepo) -> None:
    assert committed.writer.staged_blobs({"a.md": False}) == [("a.md", repo.git("rev-parse", "HEAD:a.md"))]
    repo.write("a.md", "# staged\n")
    repo.git("add", "a.md")
    repo.write("a.md", "# A\n")
    assert committed.writer.staged_blobs({"a.md": False}) == [("a.md", repo.git("rev-parse", ":a.md"))]
    assert committed.writer.staged_blobs({"none.md": False}) == []
    assert committed.writer.staged_blobs({}) == []
