"""A branch moves to a commit that exists, or everything stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import UnavailableError
from commonplace.store.disk.durable import Unsynced
from commonplace.store.git.commits import BranchMove
from commonplace.store.git.objects import MODE_FILE, TreeEntry
from commonplace.store.git.repository import GitRepository
from support import GitRepo, MakeRepo

MAIN = "refs/heads/main"


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Main is one commit behind the branch `next`, which changes a.md and adds b.md."""
    repo = git_repo("repo", {"a.md": "# A\n"})
    repo.git("switch", "--quiet", "-c", "next")
    repo.commit("Next", **{"a.md": "# A2\n", "b.md": "# B\n"})
    repo.git("switch", "--quiet", "main")
    return repo


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


def moving(repo: GitRepo) -> BranchMove:
    """The move to `next`, written."""
    changed = {path: TreeEntry(MODE_FILE, repo.git("rev-parse", f"next:{path}")) for path in ("a.md", "b.md")}
    move = BranchMove(opened(repo), "token", repo.git("rev-parse", "next"), changed)
    with Unsynced() as unsynced:
        move.write(unsynced)
        unsynced.sync()
    return move


def temporary(repo: GitRepo) -> list[str]:
    paths = (repo.path / ".git").rglob("*")
    return [path.name for path in paths if path.name.startswith("commonplace-") or path.suffix == ".lock"]


def test_a_published_move_is_what_git_sees_and_its_log_says_so(repo: GitRepo) -> None:
    before = repo.git("rev-parse", "main")
    move = moving(repo)
    assert repo.git("rev-parse", "main") == before
    assert move.before == {"a.md": repo.git("rev-parse", "main:a.md"), "b.md": ""}
    assert move.place() == []
    assert move.publish() == [repo.path / ".git/refs/heads"]
    assert repo.git("rev-parse", "main") == repo.git("rev-parse", "next")
    assert repo.git("reflog", "-1", "--format=%gs", "main") == "commonplace: bring in the remote"
    assert repo.git("rev-parse", "main@{1}") == before
    assert temporary(repo) == []


def test_a_branch_that_another_program_moved_stays_where_it_is(repo: GitRepo) -> None:
    move = moving(repo)
    theirs = repo.commit("Theirs", **{"c.md": "# C\n"})
    with pytest.raises(UnavailableError, match="Nothing was changed"):
        move.publish()
    assert repo.git("rev-parse", "main") == theirs
    move.discard()
    assert temporary(repo) == []


def test_after_a_switch_to_another_branch_neither_branch_moves(repo: GitRepo) -> None:
    before = repo.git("rev-parse", "main")
    move = moving(repo)
    repo.git("switch", "--quiet", "-c", "side")
    with pytest.raises(UnavailableError) as refused:
        move.publish()
    assert refused.value.hint == "Try again."
    assert {repo.git("rev-parse", name) for name in ("main", "side")} == {before}


def test_a_move_is_rolled_back_whether_or_not_it_was_published(repo: GitRepo) -> None:
    before = repo.git("rev-parse", "main")
    move = moving(repo)
    assert move.roll_back()
    move.publish()
    assert move.roll_back()
    assert repo.git("rev-parse", "main") == before


def test_a_move_that_others_have_built_upon_is_not_rolled_back(repo: GitRepo) -> None:
    move = moving(repo)
    move.publish()
    repo.git("reset", "--quiet", "--hard")
    theirs = repo.commit("On top", **{"c.md": "# C\n"})
    assert not move.roll_back()
    assert repo.git("rev-parse", "main") == theirs


def test_a_branch_without_a_commit_is_moved_and_moved_back(repo: GitRepo, tmp_path: Path) -> None:
    fresh = GitRepo(tmp_path / "fresh")
    fresh.path.mkdir()
    fresh.git("init", "--quiet", "--initial-branch=main")
    fresh.git("fetch", "--quiet", str(repo.path), "next:refs/heads/next")
    move = moving(fresh)
    move.publish()
    assert fresh.git("rev-parse", "main") == fresh.git("rev-parse", "next")
    assert move.roll_back()
    assert fresh.git("for-each-ref", "--format=%(refname)") == "refs/heads/next"
    assert opened(fresh).tip(MAIN) == ""
