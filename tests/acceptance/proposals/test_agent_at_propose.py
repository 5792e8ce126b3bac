"""An agent's own proposals over stdio: what the answers say of them, and a folder that can have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent, text_of
from support import new_repo

FILES: dict[str, str | bytes] = {"a.md": "# A\n\none\n"}


@pytest.fixture(autouse=True)
def caches(cache_dir: Path) -> None:
    assert cache_dir.is_dir()


def test_a_withdrawn_proposal_is_not_said_to_wait(tmp_path: Path) -> None:
    with agent("mcp", new_repo(tmp_path / "notes", FILES).path, "--tier", "propose") as client:
        client.text("edit", page="a", changes=[{"do": "replace", "old": "one", "text": "two"}])
        assert "WITH YOUR PROPOSAL" in client.text("read", page="a")
        identifier = client.text("proposals", action="list").split()[0]
        assert client.text("proposals", action="withdraw", id=identifier) == f"Withdrawn {identifier}."


def test_what_an_own_proposal_took_away_is_told_as_such_and_comes_back_unread(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "notes", FILES | {"b.md": "# B\n\nbeta\n"})
    edit = {"do": "replace", "old": "beta", "text": "gamma"}
    with agent("mcp", repo.path, "--tier", "propose") as client:
        client.text("edit", page="b", changes=[edit])
    with agent("mcp", repo.path, "--tier", "propose") as client:  # which has read nothing
        client.text("edit", page="b", changes=[edit])
        restored = client.text("restore", page="b", at="HEAD")
        assert restored.startswith("Restored b.md")
        assert "Undo:" not in restored  # no moment names a commit of a proposal
        client.text("read", page="b")
        client.text("delete", page="b")
        assert "There is no page 'b'. It is deleted in your proposal; commit" in text_of(client.raw("read", page="b"))
        assert "b.md deleted by your proposal; last in" in client.text("changes", deleted=True)
        client.text("move", page="a", to="c")
        assert "It is moved to c.md in your proposal; commit" in text_of(client.raw("read", page="a.md"))


def test_without_git_the_start_and_the_list_say_that_proposals_need_it(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"# A\n")
    log = tmp_path / "log"
    with agent("mcp", folder, "--tier", "propose", log=log) as client:
        said = client.text("proposals", action="list")
    assert said.startswith("plain takes no proposals: proposals are branches")
    assert "git init" in said
    assert "plain: no proposals without a Git repository. Run git init" in log.read_text()
