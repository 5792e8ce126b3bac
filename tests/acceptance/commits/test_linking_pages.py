"""A move commits of the pages that link to it their new links, and nothing that a person left uncommitted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent import agent
from at_propose import accept_all
from forms import fields, page, sent
from serving import Server
from shell import Shell
from support import GitRepo, eventually, new_repo

LINES = "# L\n\nSee [P](p.md).\n\nfirst\n\nlast\n"
PAGES: dict[str, str | bytes] = {"p.md": "# P\n\nText.\n", "plain.md": LINES, "edited.md": LINES, "beside.md": LINES}
Move = Callable[[Server, GitRepo, Path], None]


def by_rest(server: Server, _repo: GitRepo, _state: Path) -> None:
    answer = server.page("POST", "p", {"new_path": "q"}, below="/rename")
    assert answer.status == 200, answer.body


def by_tool(server: Server, _repo: GitRepo, _state: Path) -> None:
    answer = server.call("notes", "move", {"page": "p", "to": "q"})
    assert not answer.get("isError"), answer


def by_form(server: Server, _repo: GitRepo, _state: Path) -> None:
    form = fields(page(server, "/move/p?to=q"), '<form class="edit-foot" method="post"')
    assert sent(server, "/move/p", **form).status == 303


def by_command(_server: Server, repo: GitRepo, state: Path) -> None:
    Shell(repo.path, {"XDG_STATE_HOME": str(state)}).ok("write", "p", "--rename", "q", "-C", repo.path)


def by_acceptance(_server: Server, repo: GitRepo, state: Path) -> None:
    with agent("mcp", repo.path, "--tier", "propose") as client:
        assert "PROPOSED" in client.text("move", page="p", to="q")
    accept_all(repo.path, state)


@pytest.fixture(scope="module")
def repo(folder: Path) -> GitRepo:
    return new_repo(folder / "base", PAGES)


@pytest.mark.parametrize("move", [by_rest, by_tool, by_form, by_command, by_acceptance])
def test_a_move_commits_the_links_and_not_the_edits_of_the_pages_that_link(
    server: Server, repo: GitRepo, folder: Path, move: Move
) -> None:
    begin = repo.git("rev-list", "--max-parents=0", "HEAD").strip()
    repo.git("reset", "--quiet", "--hard", begin)
    repo.write("edited.md", LINES.replace("last", "by hand"))
    repo.write("beside.md", LINES.replace("See", "By hand"))
    repo.write("new.md", LINES)
    eventually(lambda: len(server.ask("GET", "/api/v1/links/p").json["linked_from"]) == 4)
    move(server, repo, folder)
    text = LINES.replace("p.md", "q.md")
    files = {path.name: path.read_text() for path in repo.path.glob("*.md")}
    assert files == {
        "q.md": "# P\n\nText.\n",
        "plain.md": text,
        "edited.md": text.replace("last", "by hand"),
        "beside.md": text.replace("See", "By hand"),
        "new.md": text,
    }
    changed = repo.git("show", "--name-status", "--no-renames", "--format=", "HEAD").splitlines()
    assert changed == ["M\tedited.md", "D\tp.md", "M\tplain.md", "A\tq.md"]
    assert repo.git("show", "HEAD:edited.md").rstrip() == text.rstrip()
    assert repo.git("status", "--porcelain").splitlines() == [" M beside.md", " M edited.md", "?? new.md"]
    Shell(repo.path, {"XDG_STATE_HOME": str(folder)}).ok("undo", "HEAD", "-C", repo.path)
    assert repo.git("show", "--name-status", "--no-renames", "--format=", "HEAD").splitlines() == [
        "M\tedited.md", "A\tp.md", "M\tplain.md", "D\tq.md",
    ]  # fmt: skip
    assert repo.git("show", "HEAD:edited.md").rstrip() == LINES.rstrip()
    assert (repo.path / "edited.md").read_text() == LINES.replace("last", "by hand")
