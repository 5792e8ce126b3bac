"""Diagnostics of `doctor` about a folder's repository, its locks and its writers."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Severity
from commonplace.domain.findings import Diagnostic
from commonplace.store.discovery import MAX_PACKS, STALE_SECONDS, diagnose, diagnose_clones, git_command, open_store
from commonplace.store.disk.folder import Folder
from commonplace.store.folder.folder_store import key_of
from commonplace.store.folder.writer_lock import WriterLock
from support import GitRepo, MakeRepo


def checked(folder: Path, check: str) -> list[Diagnostic]:
    """The results of one check."""
    return [diagnostic for diagnostic in diagnose(folder, folder.parent / "state") if diagnostic.check == check]


def only(folder: Path, check: str) -> Diagnostic:
    (diagnostic,) = checked(folder, check)
    return diagnostic


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", {"a.md": "# A\n"})


def left(file: Path, seconds_ago: float = 2 * STALE_SECONDS) -> Path:
    """A lock file of this age."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    when = time.time() - seconds_ago
    os.utime(file, (when, when))
    return file


def test_packs_and_loose_objects_are_counted_and_many_have_a_command(repo: GitRepo) -> None:
    objects = repo.path / ".git/objects"
    assert only(repo.path, "packs").severity is None
    for number in range(MAX_PACKS + 1):
        left(objects / f"pack/pack-{number:040}.pack")
    diagnostic = only(repo.path, "packs")
    assert (diagnostic.severity, diagnostic.command) == (Severity.INFO, f"git -C {repo.path} gc")
    assert "51 packs" in diagnostic.message
    for file in (objects / "pack").iterdir():
        file.unlink()
    for number in range(30):
        left(objects / f"17/{number:038}")
    assert "about 7,680 loose objects" in only(repo.path, "packs").message


def test_the_packs_of_a_clone_are_gathered_without_dropping_an_object(repo: GitRepo, tmp_path: Path) -> None:
    clones = tmp_path / "replicas"
    repo.git("clone", "-q", "--bare", str(repo.path), str(clones / "0123456789abcdef/notes.git"))
    (diagnostic,) = diagnose_clones(clones)
    assert (diagnostic.subject, diagnostic.severity) == ("clone notes", None)
    for number in range(MAX_PACKS + 1):
        left(clones / f"0123456789abcdef/notes.git/objects/pack/pack-{number:040}.pack")
    (found_diagnostic,) = diagnose_clones(clones)
    assert found_diagnostic.command.endswith("notes.git repack --geometric=2 -d")


def test_the_version_of_git_is_reported() -> None:
    diagnostic = git_command()
    assert diagnostic.severity is None
    assert diagnostic.message.startswith("git version ")


def test_a_missing_git_is_a_warning_that_says_what_needs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    diagnostic = git_command()
    assert diagnostic.severity is Severity.WARNING
    assert diagnostic.hint.startswith("Install git")


def test_a_folder_without_git_has_no_history_and_that_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    diagnostic = only(tmp_path / "plain", "git")
    assert diagnostic.severity is None
    assert "no history" in diagnostic.message


def test_branch_and_commit_of_a_repository_are_named(repo: GitRepo) -> None:
    diagnostic = only(repo.path, "git")
    assert diagnostic.severity is None
    assert diagnostic.message == f"A Git repository on main, commit {repo.git('rev-parse', 'HEAD')[:10]}."


def test_a_repository_without_commits_and_one_on_no_branch_are_told_apart(git_repo: MakeRepo, repo: GitRepo) -> None:
    assert only(git_repo("new").path, "git").message == "A Git repository on main, no commit yet."
    repo.git("switch", "--quiet", "--detach")
    diagnostic = only(repo.path, "git")
    assert diagnostic.severity is Severity.INFO
    assert "detached" in diagnostic.message


def test_a_repository_whose_work_tree_is_another_folder_is_said_to_be_readable_only(
    repo: GitRepo, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    repo.git("config", "core.worktree", str(tmp_path / "other"))
    diagnostic = only(repo.path, "git")
    assert diagnostic.severity is Severity.WARNING
    assert "git config --unset core.worktree" in diagnostic.message
    assert str(tmp_path) not in diagnostic.message


def test_a_git_file_that_leads_elsewhere_is_an_error_with_the_command_that_mends_it(
    repo: GitRepo, tmp_path: Path
) -> None:
    folder = tmp_path / "other folder"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {repo.path / '.git'}\n")
    diagnostic = only(folder, "git")
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.command == f"git -C '{folder}' config core.worktree '{folder}'"


def test_a_damaged_configuration_is_an_error_that_names_a_next_step(repo: GitRepo) -> None:
    (repo.path / ".git/config").write_text("[core\n")
    diagnostic = only(repo.path, "git")
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.hint or diagnostic.command


@pytest.mark.parametrize(
    ("settings", "flushed"),
    [
        ({}, False),
        ({"core.fsync": "none"}, False),
        ({"core.fsync": "reference"}, False),
        ({"core.fsync": "committed"}, True),
        ({"core.fsync": "reference, Loose-Object"}, True),
        ({"core.fsync": "all", "core.fsyncMethod": "batch"}, True),
        ({"core.fsync": "all", "core.fsyncMethod": "writeout-only"}, False),
        ({"core.fsyncObjectFiles": "true"}, True),
    ],
)
def test_whether_git_flushes_its_own_commits_is_read_from_its_settings(
    repo: GitRepo, settings: dict[str, str], flushed: bool
) -> None:
    for name, value in settings.items():
        repo.git("config", name, value)
    diagnostic = only(repo.path, "fsync")
    assert (diagnostic.severity is None) is flushed
    assert bool(diagnostic.command) is not flushed


def test_a_writer_who_is_configured_in_any_of_git_s_ways_is_known(repo: GitRepo) -> None:
    assert checked(repo.path, "identity") == []
    repo.git("config", "--remove-section", "user")
    diagnostic = only(repo.path, "identity")
    assert diagnostic.severity is Severity.INFO
    assert "commonplace <commonplace@localhost>" in diagnostic.message
    for key in ("author.name", "author.email", "committer.name", "committer.email"):
        repo.git("config", key, "ann@example.org")
    assert checked(repo.path, "identity") == []


def test_the_name_that_commits_will_have_is_the_one_that_is_shown(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "--unset", "user.name")
    assert "commonplace <writer@example.org>" in only(repo.path, "identity").message
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Ann")
    assert checked(repo.path, "identity") == []


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/a b.lock"])
def test_a_lock_of_a_killed_git_is_a_warning_with_the_command_that_removes_it(repo: GitRepo, name: str) -> None:
    lock = left(repo.path / ".git" / name)
    diagnostic = only(repo.path, "lock")
    assert diagnostic.severity is Severity.WARNING
    assert name in diagnostic.message
    then = f" && commonplace status -C {repo.path}" if name == "index.lock" else ""
    assert diagnostic.command == (f"rm '{lock}'" if " " in name else f"rm {lock}") + then


def test_writes_that_wait_for_the_lock_of_a_killed_git_are_counted(repo: GitRepo, tmp_path: Path) -> None:
    left(repo.path / ".git/index.lock")
    store = open_store(repo.path, commit="auto", state_dir=tmp_path / "state")
    with store.transaction("Write") as transaction:
        transaction.put(Address("new.md"), b"# New\n")
    (diagnostic,) = (element for element in checked(repo.path, "lock") if element.severity is Severity.WARNING)
    assert "Git's index lacks what commonplace has committed of 1 file" in diagnostic.message


def test_a_fresh_lock_is_a_git_at_work(repo: GitRepo) -> None:
    left(repo.path / ".git/index.lock", 0.0)
    diagnostic = only(repo.path, "lock")
    assert diagnostic.severity is Severity.INFO
    assert diagnostic.command == ""


def test_a_linked_work_tree_has_its_own_index_and_shares_the_branches(repo: GitRepo, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "--quiet", "-b", "side", str(linked))
    left(repo.path / ".git/index.lock")
    assert checked(linked, "lock") == []
    left(repo.path / ".git/refs/heads/side.lock")
    left(repo.path / ".git/worktrees/linked/index.lock")
    parts = [diagnostic.message.split(" left ")[1].split(",")[0] for diagnostic in checked(linked, "lock")]
    assert sorted(parts) == ["index.lock", "refs/heads/side.lock"]


@pytest.mark.parametrize("git", [False, True])
def test_a_process_that_writes_now_is_told_from_one_that_has_ended(
    git_repo: MakeRepo, tmp_path: Path, git: bool
) -> None:
    folder = git_repo("written", {"a.md": "# A\n"}).path if git else tmp_path / "plain"
    folder.mkdir(exist_ok=True)
    (tmp_path / "state").mkdir()
    lock = folder / ".git/commonplace.lock" if git else tmp_path / "state" / f"{key_of(Folder(folder))}.lock"
    assert checked(folder, "lock") == []
    with WriterLock(lock).held():
        diagnostic = only(folder, "lock")
        assert diagnostic.severity is Severity.INFO
        assert diagnostic.message.startswith(f"This process ({os.getpid()}) has the writer lock"), diagnostic.message
    assert only(folder, "lock").message == "The writer lock is free."
