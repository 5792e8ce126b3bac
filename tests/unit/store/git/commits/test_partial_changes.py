"""A commit of a part of a file is made in the text that its very parent has."""

from __future__ import annotations

from commonplace.domain.changes import Author
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import PlannedCommit, commit_message, settle
from commonplace.store.git.repository import GitRepository
from support import MakeRepo


def test_it_keeps_what_others_committed_since_it_was_planned(git_repo: MakeRepo) -> None:
    repo = git_repo("repo", {"a.md": "# A\n\nend\n"})
    before, after = b"# A\n\nby hand\n\nend\n", b"# A\n\nby hand\n\nend\nby the agent\n"
    git = GitWriter(GitRepository(repo.path / ".git", repo.path))
    words = commit_message(git.repository, "Write", Author("Ann", "ann@example.org"))
    planned = git.plan("0" * 12, [PlannedCommit({"a.md": after}, words, partial={"a.md": (before, after)})])
    settle(planned)
    assert repo.git("show", f"{planned.commit}:a.md") == "# A\n\nend\nby the agent"
    repo.commit("By hand", **{"a.md": before.decode()})
    planned.publish()
    assert repo.git("show", "HEAD:a.md") == after.decode().rstrip()
    assert repo.git("log", "--format=%s").splitlines()[:2] == ["Write", "By hand"]
