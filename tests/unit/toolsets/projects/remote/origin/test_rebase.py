"""Local commits on top of the remote's: what both changed is kept, and on a conflict the remote's text wins."""

from __future__ import annotations

from pathlib import Path

from commonplace.store.git.repository import GitRepository
from commonplace.toolsets.projects.remote.origin import RebaseResult, local_commits, rebase
from support import GitRepo, MakeRepo


def both(repo: GitRepo, ours: dict[str, str], theirs: dict[str, str]) -> tuple[GitRepository, RebaseResult]:
    """Commit to two branches that begin at the first commit, and rebase ours onto theirs."""
    base = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "--quiet", "-b", "theirs")
    onto = repo.commit("Theirs", **theirs)
    repo.git("checkout", "--quiet", "-b", "ours", base)
    head = repo.commit("Ours", **ours)
    repository = opened(repo.path)
    return repository, rebase(repository, local_commits(repository, head, [onto]), onto)


def opened(path: Path) -> GitRepository:
    return GitRepository(path / ".git", path)


def text(repo: GitRepo, commit: str, path: str) -> str:
    return repo.git("show", f"{commit}:{path}")


def test_changes_of_different_files_and_lines_are_both_kept(git_repo: MakeRepo) -> None:
    repo = git_repo("store", {"a.md": "1\n2\n3\n4\n5\n", "b.md": "b\n"})
    _, result = both(repo, {"a.md": "one\n2\n3\n4\n5\n", "c.md": "c\n"}, {"a.md": "1\n2\n3\n4\nfive\n"})
    assert result.conflicts == ()
    assert text(repo, result.tip, "a.md") == "one\n2\n3\n4\nfive"
    assert text(repo, result.tip, "c.md") == "c"
    assert repo.git("log", "-2", "--format=%s", result.tip).split("\n") == ["Ours", "Theirs"]
    assert repo.git("log", "-1", "--format=%an <%ae>", result.tip) == "Test Writer <writer@example.org>"


def test_on_a_conflict_the_remote_s_text_stays_and_the_rest_is_applied(git_repo: MakeRepo) -> None:
    repo = git_repo("store", {"a.md": "a\n", "b.md": "b\n"})
    _, result = both(repo, {"a.md": "ours\n", "b.md": "ours\n"}, {"a.md": "theirs\n"})
    assert result.conflicts == ("a.md",)
    assert text(repo, result.tip, "a.md") == "theirs"
    assert text(repo, result.tip, "b.md") == "ours"


def test_what_the_remote_has_already_makes_no_commit(git_repo: MakeRepo) -> None:
    repo = git_repo("store", {"a.md": "a\n"})
    _, result = both(repo, {"a.md": "same\n"}, {"a.md": "same\n"})
    assert (result.tip, result.conflicts) == (repo.git("rev-parse", "theirs"), ())


def test_local_commits_come_oldest_first_and_without_those_elsewhere(git_repo: MakeRepo) -> None:
    repo = git_repo("store", {"a.md": "a\n"})
    first = repo.git("rev-parse", "HEAD")
    second, third = (repo.commit(str(number), **{"a.md": f"{number}\n"}) for number in (2, 3))
    repository = opened(repo.path)
    assert [str(commit.id) for commit in local_commits(repository, third, [first, ""])] == [second, third]
    assert local_commits(repository, "", [first]) == []
    assert local_commits(repository, third, [third]) == []
