"""`commonplace new`: a heading, a template, or the page of today."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from shell import Shell
from support import GitRepo


def test_a_new_page_is_its_heading_and_one_commit(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("new", "notes/First thought", "--json").json
    assert (done["path"], done["action"], done["commit"]) == (
        "notes/First thought.md", "created", repo.git("rev-parse", "HEAD"),
    )  # fmt: skip
    assert (repo.path / "notes" / "First thought.md").read_text() == "# First thought\n\n"
    assert shell("new", "notes/First thought").code == 5


@pytest.mark.parametrize(
    ("title", "file"), [('What is "tea": a plant?', "What is tea a plant.md"), ("con", "con page.md"), ("a.", "a.md")]
)
def test_a_file_name_is_one_that_every_system_allows(shell: Shell, repo: GitRepo, title: str, file: str) -> None:
    done = shell.ok("new", f"notes/{title}")
    assert (repo.path / "notes" / file).read_text() == f"# {title}\n\n"
    assert f"the title is {title!r}" in done.text
    assert "commit" in done.text


def test_a_path_with_a_suffix_stays_as_it_is_named(shell: Shell, repo: GitRepo) -> None:
    shell.ok("new", "notes/a: b.md")
    assert (repo.path / "notes" / "a: b.md").read_text() == "# a: b\n\n"


def test_a_template_is_filled_in(shell: Shell, repo: GitRepo) -> None:
    repo.write("templates/meeting.md", "# {{title}}\n\nOn {{ date }} at {{time}}, {{who}}.\n")
    shell.ok("new", "kickoff", "-t", "meeting", "--no-commit")
    text = (repo.path / "kickoff.md").read_text()
    assert re.fullmatch(r"# kickoff\n\nOn \d{4}-\d\d-\d\d at \d\d:\d\d, \{\{who\}\}\.\n", text)
    assert "?? kickoff.md" in repo.git("status", "--porcelain")


def test_an_unknown_template_is_refused_with_those_that_there_are(shell: Shell, repo: GitRepo) -> None:
    none = shell("new", "a", "-t", "meeting", "--json")
    assert (none.code, "templates/" in none.error["hint"]) == (3, True)
    repo.write("templates/meeting.md", "x\n")
    done = shell("new", "a", "-t", "meting", "--json")
    assert (done.code, done.error["hint"], done.error["nearest"]) == (3, "Templates: meeting.", ["meeting"])
    assert not (repo.path / "a.md").exists()


def test_the_page_of_today_is_made_once_where_the_others_are(shell: Shell, repo: GitRepo) -> None:
    for day in ("2024-05-01", "2024-05-02"):
        repo.write(f"journal/{day}.md", f"# {day}\n")
    made = shell.ok("new", "--daily", "--json").json
    assert made["action"] == "created"
    assert re.fullmatch(r"journal/\d{4}-\d\d-\d\d\.md", made["path"])
    again = shell.ok("new", "--daily", "--json").json
    # A test that runs at midnight makes the page of the next day.
    assert again["action"] == "exists" or again["path"] != made["path"]
    assert datetime.fromisoformat(made["path"][8:18])


@pytest.mark.parametrize(("arguments", "says"), [([], "Missing PAGE"), (["a", "--daily"], "cannot be combined")])
def test_a_page_or_today_is_asked_for(shell: Shell, arguments: list[str], says: str) -> None:
    done = shell("new", *arguments)
    assert (done.code, done.text) == (2, "")
    assert says in done.stderr


def test_the_editor_opens_below_the_heading(shell: Shell, repo: GitRepo) -> None:
    editor = repo.path.parent / "editor"
    editor.write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/opened"\n')
    editor.chmod(0o755)
    Shell(shell.folder, {**shell.environment, "EDITOR": str(editor)}).ok("new", "plan", "-e")
    assert (repo.path.parent / "opened").read_text() == f"+3 {repo.path / 'plan.md'}\n"
