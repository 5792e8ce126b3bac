"""A write commits its own change of a page, and not the lines that a person has not committed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import agent
from at_propose import accept_all
from forms import edited
from serving import Server
from shell import Shell
from support import GitRepo, eventually, new_repo

TEXT = "# P\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n"
BY_HAND = TEXT.replace("Second.", "Second.\n\nBy hand, after it.").replace("# P\n", "# P\n\nBy hand, before it.\n")
NEW = "First, and more."
Change = Callable[[Server, GitRepo, Path], None]


def by_rest(server: Server, _repo: GitRepo, _state: Path) -> None:
    note = server.page("GET", "p").json
    body = {"content": note["content"].replace("First.", NEW), "revision": note["revision"]}
    answer = server.page("PUT", "p", body)
    assert answer.status == 200, answer.body


def by_tool(server: Server, _repo: GitRepo, _state: Path) -> None:
    change = {"do": "replace", "old": "First.", "text": NEW}
    answer = server.call("notes", "edit", {"page": "p", "changes": [change]})
    assert not answer.get("isError"), answer


def by_form(server: Server, _repo: GitRepo, _state: Path) -> None:
    edited(server, "/edit/p", lambda text: text.replace("First.", NEW), "saved")


def by_command(_server: Server, repo: GitRepo, state: Path) -> None:
    text = (repo.path / "p.md").read_text().replace("First.", NEW)
    Shell(repo.path, {"XDG_STATE_HOME": str(state)}).ok("write", "p", "--force", "-C", repo.path, stdin=text)


def by_acceptance(_server: Server, repo: GitRepo, state: Path) -> None:
    with agent("mcp", repo.path, "--tier", "propose") as client:
        change = {"do": "replace", "old": "First.", "text": NEW}
        assert "PROPOSED" in client.text("edit", page="p", changes=[change])
    accept_all(repo.path, state)


@pytest.fixture(scope="module")
def repo(folder: Path) -> GitRepo:
    return new_repo(folder / "base", {"p.md": TEXT})


@pytest.fixture
def edited_by_hand(repo: GitRepo, server: Server) -> GitRepo:
    repo.git("reset", "--quiet", "--hard", repo.git("rev-list", "--max-parents=0", "HEAD").strip())
    for path in set(repo.path.rglob("*.md")) - {repo.path / "p.md"}:
        path.unlink()
    repo.write("p.md", BY_HAND)
    eventually(lambda: server.page("GET", "p").json.get("content") == BY_HAND)
    eventually(lambda: server.page("GET", "sub/q").status == 404)
    return repo


@pytest.mark.parametrize("change", [by_rest, by_tool, by_form, by_command, by_acceptance])
def test_a_write_commits_its_change_and_not_the_lines_of_a_person(
    server: Server, edited_by_hand: GitRepo, folder: Path, change: Change
) -> None:
    repo, shell = edited_by_hand, Shell(edited_by_hand.path, {"XDG_STATE_HOME": str(folder)})
    change(server, repo, folder)
    assert (repo.path / "p.md").read_text() == BY_HAND.replace("First.", NEW)
    assert repo.git("show", "HEAD:p.md").rstrip() == TEXT.replace("First.", NEW).rstrip()
    assert repo.git("status", "--porcelain").splitlines() == [" M p.md"]
    (difference,) = json.loads(shell.ok("diff", "--json", "-C", repo.path).text)["uncommitted"]
    assert NEW not in "".join(line for line in difference["diff"].splitlines() if line.startswith(("+", "-")))
    shell.ok("undo", "HEAD", "-C", repo.path)
    assert (repo.path / "p.md").read_text() == BY_HAND
    assert repo.git("show", "HEAD:p.md").rstrip() == TEXT.rstrip()


def test_a_moved_page_takes_the_lines_of_a_person_along_uncommitted(
    server: Server, edited_by_hand: GitRepo, folder: Path
) -> None:
    repo = edited_by_hand
    answer = server.call("notes", "move", {"page": "p", "to": "sub/q"})
    assert not answer.get("isError"), answer
    assert (repo.path / "sub" / "q.md").read_text() == BY_HAND
    assert repo.git("show", "HEAD:sub/q.md").rstrip() == TEXT.rstrip()
    assert repo.git("status", "--porcelain").splitlines() == [" M sub/q.md"]
    Shell(repo.path, {"XDG_STATE_HOME": str(folder)}).ok("undo", "HEAD", "-C", repo.path)
    assert (repo.path / "p.md").read_text() == BY_HAND
    assert repo.git("show", "HEAD:p.md").rstrip() == TEXT.rstrip()
    assert repo.git("status", "--porcelain").splitlines() == [" M p.md"]


def test_what_a_write_makes_of_a_persons_line_is_its_change(server: Server, edited_by_hand: GitRepo) -> None:
    repo = edited_by_hand
    change = {"do": "replace", "old": "By hand, after it.", "text": "By the agent."}
    answer = server.call("notes", "edit", {"page": "p", "changes": [change]})
    assert not answer.get("isError"), answer
    assert repo.git("show", "HEAD:p.md").rstrip() == TEXT.rstrip() + "\n\nBy the agent."
    assert (repo.path / "p.md").read_text() == BY_HAND.replace("By hand, after it.", "By the agent.")


def test_lines_appended_after_those_of_a_person_are_committed_alone(server: Server, edited_by_hand: GitRepo) -> None:
    repo = edited_by_hand
    answer = server.call("notes", "edit", {"page": "p", "changes": [{"do": "append", "text": "By the agent."}]})
    assert not answer.get("isError"), answer
    assert repo.git("show", "HEAD:p.md").rstrip() == TEXT.rstrip() + "\n\nBy the agent."
    assert (repo.path / "p.md").read_text().endswith("By hand, after it.\n\nBy the agent.\n")
