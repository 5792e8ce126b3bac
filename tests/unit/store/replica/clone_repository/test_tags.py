"""The tags of a remote are names of commits that the clone has, and nothing else of what a remote calls a tag."""

from __future__ import annotations

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.store.replica.clone_repository import store_tags
from support import GitRepo, MakeRepo

MISSING = "1" * 40


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """A repository with two commits."""
    made = git_repo(files={"a.md": "# One\n"})
    made.commit("Change", **{"a.md": "# Two\n"})
    return made


def packed(repo: GitRepo) -> dict[str, str]:
    """The target of each stored tag by name, by git's own reading."""
    lines = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/tags").splitlines()
    return {name.removeprefix("refs/tags/"): target for name, target in map(str.split, lines)}


def stored(repo: GitRepo, *lines: str) -> dict[str, str]:
    store_tags(GitRepository(repo.path / ".git", repo.path), "".join(f"{line}\n" for line in lines))
    return packed(repo)


def test_an_annotated_tag_is_stored_as_the_commit_that_it_leads_to(repo: GitRepo) -> None:
    head, first = repo.git("rev-parse", "HEAD"), repo.git("rev-parse", "HEAD^")
    listed = f"{MISSING}\trefs/tags/v2", f"{head}\trefs/tags/v2^{{}}", f"{first}\trefs/tags/v1"
    assert stored(repo, *listed) == {"v1": first, "v2": head}


def test_moved_and_deleted_tags_follow_the_listing(repo: GitRepo) -> None:
    head, first = repo.git("rev-parse", "HEAD"), repo.git("rev-parse", "HEAD^")
    assert stored(repo, f"{first}\trefs/tags/a", f"{first}\trefs/tags/b") == {"a": first, "b": first}
    assert stored(repo, f"{head}\trefs/tags/b", f"{head}\trefs/tags/c/d") == {"b": head, "c/d": head}
    assert stored(repo) == {}


def test_an_unchanged_listing_writes_nothing(repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    stored(repo, f"{head}\trefs/tags/a")
    before = (repo.path / ".git/packed-refs").stat().st_ino
    stored(repo, f"{head}\trefs/tags/a")
    assert (repo.path / ".git/packed-refs").stat().st_ino == before


def test_a_tag_of_a_commit_that_is_not_here_or_of_a_file_is_left_out(repo: GitRepo) -> None:
    blob = repo.git("rev-parse", "HEAD:a.md")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    assert stored(repo, f"{MISSING}\trefs/tags/a", f"{blob}\trefs/tags/b", f"{tree}\trefs/tags/c") == {}


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/main",
        "refs/tags/../heads/main",
        "refs/tags/a..b",
        "refs/tags/-x",
        "refs/tags/a.lock",
        "refs/tags/a b",
        "refs/tags/a\r" + "0" * 40 + " refs/heads/x",
        "refs/tags//a",
        "refs/tags/",
        "refs/tags/^{}",
        "refs/tags/" + "a" * 201,
        "refs/tags/ä\x1b[2J",
        "HEAD",
        "/etc/passwd",
    ],
)
def test_a_name_that_could_mean_something_else_is_left_out(repo: GitRepo, name: str) -> None:
    head = repo.git("rev-parse", "HEAD")
    before = repo.git("for-each-ref", "refs/heads")
    assert stored(repo, f"{head}\t{name}", "not an id\trefs/tags/b", head, "") == {}
    assert repo.git("for-each-ref", "refs/heads") == before
