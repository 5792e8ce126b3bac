"""The published branch of a store; nothing is published while another branch is checked out."""

from __future__ import annotations

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.toolsets.projects.remote.origin import (
    SYNCED,
    mark_published_branch,
    published_branch,
    reason_not_to_publish,
)
from support import GitRepo, MakeRepo

MAIN, SIDE = "refs/heads/main", "refs/heads/side"


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", {"a.md": "1\n"})


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


def test_the_branch_that_was_marked_is_published_whatever_is_checked_out(repo: GitRepo) -> None:
    mark_published_branch(opened(repo))
    assert repo.git("symbolic-ref", "refs/commonplace/branch") == MAIN
    assert reason_not_to_publish(opened(repo)) == ""
    repo.git("switch", "--quiet", "-c", "side")
    assert published_branch(opened(repo)) == MAIN
    assert "Run git switch main, or publish side" in reason_not_to_publish(opened(repo))
    mark_published_branch(opened(repo))
    assert published_branch(opened(repo)) == MAIN, "a mark is not moved by being made again"
    mark_published_branch(opened(repo), current=True)
    assert (published_branch(opened(repo)), reason_not_to_publish(opened(repo))) == (SIDE, "")


def test_the_command_of_the_message_publishes_the_other_branch(repo: GitRepo) -> None:
    mark_published_branch(opened(repo))
    repo.git("switch", "--quiet", "-c", "side")
    command = reason_not_to_publish(opened(repo)).rpartition(": git ")[2]
    repo.git(*command.split())
    assert published_branch(opened(repo)) == SIDE


def test_a_renamed_branch_is_still_the_published_one(repo: GitRepo) -> None:
    mark_published_branch(opened(repo))
    repo.git("branch", "--move", "main", "renamed")
    assert published_branch(opened(repo)) == "refs/heads/renamed"
    assert reason_not_to_publish(opened(repo)) == ""


def test_a_branch_that_is_gone_is_told(repo: GitRepo) -> None:
    mark_published_branch(opened(repo))
    repo.git("switch", "--quiet", "-c", "side")
    repo.git("branch", "--quiet", "-D", "main")
    assert "main, which is gone, and side is checked out. Publish side" in reason_not_to_publish(opened(repo))


def test_without_a_mark_main_is_published_unless_only_the_current_branch_has_what_was_pushed(repo: GitRepo) -> None:
    assert published_branch(opened(repo)) == MAIN
    repo.git("switch", "--quiet", "-c", "side")
    assert published_branch(opened(repo)) == MAIN
    pushed = repo.commit("On the side", **{"b.md": "x\n"})
    repo.git("update-ref", SYNCED, pushed)
    assert published_branch(opened(repo)) == SIDE
    repo.git("switch", "--quiet", "main")
    assert published_branch(opened(repo)) == MAIN


def test_a_repository_without_main_publishes_its_branch_and_one_on_no_branch_says_nothing(repo: GitRepo) -> None:
    repo.git("branch", "--move", "main", "trunk")
    assert published_branch(opened(repo)) == "refs/heads/trunk"
    repo.git("switch", "--quiet", "--detach")
    assert reason_not_to_publish(opened(repo)) == ""
    mark_published_branch(opened(repo))
    with pytest.raises(AssertionError):
        repo.git("symbolic-ref", "refs/commonplace/branch")
