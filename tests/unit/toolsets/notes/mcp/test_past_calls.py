"""Calls about the base as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, RefusedError, agent
from support import GitRepo, MakeRepo


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("base", {"tea.md": "# Tea\n\nGreen.\n"})


@pytest.fixture
def client(repo: GitRepo) -> Iterator[Agent]:
    repo.git("tag", "then")
    repo.commit("Change", **{"tea.md": "# Tea\n\nBlack.\n", "new.md": "# New\n"})
    with agent("mcp", repo.path, "--tier", "write") as connected:
        yield connected


def test_the_first_line_names_the_commit_and_the_rest_is_of_then(client: Agent, repo: GitRepo) -> None:
    reported_text = client.text("read", page="tea", at="then")
    assert repo.git("rev-parse", "then")[:7] in reported_text.splitlines()[0]
    assert "Green." in reported_text
    assert "Black." not in reported_text
    assert "Black." in client.text("read", page="tea")
    with pytest.raises(RefusedError):
        client.text("read", page="new", at="then")


def test_what_was_seen_of_the_past_is_not_taken_for_the_present(client: Agent, repo: GitRepo) -> None:
    client.text("read", page="tea", at="then")
    with pytest.raises(RefusedError):
        client.text("write", page="tea.md", text="# Tea\n\nGreen again.\n")
    assert (Path(repo.path) / "tea.md").read_text() == "# Tea\n\nBlack.\n"


@pytest.mark.parametrize("moment", ["someday", "0" * 40, "before"])
def test_a_moment_that_is_none_is_refused(client: Agent, moment: str) -> None:
    with pytest.raises(RefusedError) as refused:
        client.text("search", query="tea", at=moment)
    assert moment[:7] in refused.value.text
