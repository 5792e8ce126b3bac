"""The commits of a branch by name and date, whatever lies in `refs/tags`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.past import PastCommits, StoreWithPast
from commonplace.store import open_store
from support import GitRepo, MakeRepo


def past_of(repo: GitRepo, place: Path) -> PastCommits:
    store = open_store(repo.path, commit="manual", state_dir=place / "state")
    assert isinstance(store, StoreWithPast)
    assert store.past is not None
    return store.past


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    made = git_repo(files={"a.md": "# One\n"})
    made.git("tag", "one")
    made.git("tag", "--annotate", "annotated", "--message", "x")
    made.git("tag", "of-blob", made.git("rev-parse", "HEAD:a.md"))
    made.git("tag", "of-tree", "HEAD^{tree}")
    made.commit(**{"a.md": "# Two\n"})
    return made


def test_a_commit_of_another_branch_is_none(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("checkout", "--quiet", "-b", "side")
    side = repo.commit(**{"b.md": "# Side\n"})
    repo.git("tag", "beside")
    repo.git("checkout", "--quiet", "main")
    past = past_of(repo, tmp_path)
    for name in (side, "beside"):
        with pytest.raises(KnowledgeError):
            past.commit(name)


def test_dates_go_by_the_first_parents_and_follow_a_rewritten_branch(
    git_repo: MakeRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2023-01-01T00:00:00Z")
    repo = git_repo(files={"a.md": "# One\n"})
    repo.commit(**{"a.md": "# Two\n"})
    past = past_of(repo, tmp_path)
    day = {number: datetime(2024, 1, number, tzinfo=UTC).timestamp() for number in (1, 2, 3, 4)}

    def commit(number: int, **files: str) -> str:
        monkeypatch.setenv("GIT_AUTHOR_DATE", f"2024-01-0{number}T00:00:00Z")
        return repo.commit(**files)

    second = commit(2, x="main")
    repo.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    commit(3, y="side")
    repo.git("checkout", "--quiet", "main")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2024-01-04T00:00:00Z")
    repo.git("merge", "--quiet", "--no-ff", "side")
    merged = repo.git("rev-parse", "HEAD")
    commits = [past.latest(day[number]) for number in (2, 3, 4)]
    assert [commit.id if commit else "" for commit in commits] == [second, second, merged]
    assert past.latest(0) is None
    repo.git("reset", "--quiet", "--hard", second)
    latest = past.latest(day[4])
    assert latest is not None
    assert latest.id == second


def test_a_shallow_clone_has_the_commits_that_it_has(repo: GitRepo, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(shallow))
    past = past_of(GitRepo(shallow), tmp_path)
    head = past.latest(datetime(2999, 1, 1, tzinfo=UTC).timestamp())
    assert head is not None
    assert past.store(head.id).read(Address("a.md")) == b"# Two\n"
    with pytest.raises(NotFoundError):
        past.commit(f"{head.id}^")
