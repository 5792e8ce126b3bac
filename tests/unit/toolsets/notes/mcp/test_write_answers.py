"""Answers to a write: changed lines, links, and near-duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent
from support import GitRepo, MakeRepo

LONG = "Boil the water, wait until it is at eighty degrees, and pour it over the leaves slowly. " * 4


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo(
        "base",
        {
            "tea.md": f"# Tea\n\n{LONG}\n",
            "list.md": "# List\n\none\ntwo\nthree\n\n[[tea]]\n",
            "drinks/mate.md": "# Mate\n",
            "long.md": "# Long\n\n" + "".join(f"row {at}\n\n" for at in range(1_000)),
        },
    )


@pytest.fixture
def client(repo: GitRepo) -> Iterator[Agent]:
    with agent("mcp", repo.path, "--tier", "write") as connected:
        yield connected


def edit(client: Agent, old: str, text: str) -> str:
    return client.text("edit", page="list", changes=[{"do": "replace", "old": old, "text": text}]).splitlines()[0]


def test_an_edit_says_how_many_lines_and_where(client: Agent) -> None:
    assert edit(client, "two\n", "two\n2b\n").endswith("(+1 -0 lines, at 5-5): 2b")
    assert edit(client, "three", "3").endswith("(+1 -1 lines, at 6-6): 3")
    assert edit(client, "one\n", "").endswith("(-1 lines at 3)")
    both = [{"do": "replace", "old": f"row {at}\n", "text": f"new {at}\n"} for at in (100, 900)]
    assert "(+2 -2 lines, at 203-1803)" in client.text("edit", page="long", changes=both)


def test_an_edit_says_which_text_it_took_away_that_the_session_had_not_read(client: Agent, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")[:12]

    def replaced(text: str) -> str:
        return client.text("edit", page="list", changes=[{"do": "section", "section": "List", "text": text}])

    said = replaced("four")
    assert f'had not read: \'one\' and 3 more lines. Next: read {{"page": "list.md", "at": "{head}"}}' in said
    assert "had not read" not in replaced("five"), "the session wrote what it replaces"
    client.text("read", page="drinks/mate")
    drink = {"do": "section", "section": "Mate", "text": "Bitter."}
    assert "had not read" not in client.text("edit", page="drinks/mate", changes=[drink])


def test_a_move_names_the_pages_whose_links_follow(client: Agent) -> None:
    planned = client.text("move", page="tea", to="drinks/", dry_run=True)
    assert planned.startswith("Would move 1 file: tea.md -> drinks/tea.md")
    assert "\nNothing was changed.\n" in planned
    reported_text = client.text("move", page="tea", to="chai")
    assert reported_text.startswith("Moved tea.md -> chai.md rev ")
    assert "links follow in list.md" in reported_text
    folder = client.text("move", page="drinks/", to="cups/")
    assert folder.startswith("Moved drinks/ -> cups/ (1 file)")


def test_a_new_page_that_says_the_same_is_told_beside_the_one_that_does(client: Agent) -> None:
    reported_text = client.text("write", page="notes/tea again", text=f"# Tea\n\n{LONG}\n")
    assert reported_text.startswith("Created notes/tea again.md rev ")
    assert "'tea' says nearly the same: edit that one instead, or link the two." in reported_text
    assert "nearly the same" not in client.text("write", page="other", text="# Other\n\nNothing alike.\n")


def test_a_deletion_names_the_links_that_lead_nowhere_now(client: Agent, repo: GitRepo) -> None:
    client.text("read", page="tea")
    reported_text = client.text("delete", page="tea")
    assert reported_text.startswith("Deleted tea.md")
    assert "list.md" in reported_text
    assert not (Path(repo.path) / "tea.md").exists()
