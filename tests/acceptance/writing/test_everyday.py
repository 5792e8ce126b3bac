"""The commands of a person's day, by the real program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.faces.cli.commands.new import editor_command
from shell import Shell
from support import GitRepo, MakeRepo

FILES = {
    "idea.md": "---\ntags: [plan, plan/boat]\n---\n# Idea\n\nSee [[later]].\n\n## Steps\n\nOne.\n",
    "index.md": "# Index\n\n[[idea]] and [[later]] and [[never]].\n",
    "templates/meeting.md": "# {{title}}\n\nOn {{ date }} at {{time}}.\n",
    "templates/daily.md": "# Day {{date}}\n",
    "journal/2020-01-02.md": "# Then\n",
}


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("notes", FILES)


@pytest.fixture
def shell(repo: GitRepo) -> Shell:
    return Shell(repo.path)


def test_a_new_page_has_a_heading_and_is_one_commit(shell: Shell, repo: GitRepo) -> None:
    done = shell.ok("new", "topics/tides", "--json").json
    assert done["path"] == "topics/tides.md"
    assert done["commit"] == repo.git("rev-parse", "HEAD")
    assert (repo.path / "topics/tides.md").read_text() == "# tides\n\n"
    assert shell("new", "topics/tides").code == 5, "a page is never overwritten"


def test_a_template_is_filled_in(shell: Shell, repo: GitRepo) -> None:
    shell.ok("new", "meetings/kickoff", "--template", "meeting")
    text = (repo.path / "meetings/kickoff.md").read_text()
    assert re.fullmatch(r"# kickoff\n\nOn \d{4}-\d\d-\d\d at \d\d:\d\d\.\n", text)
    failed = shell("new", "x", "--template", "meetng", "--json")
    assert failed.code == 3
    assert failed.error["nearest"] == ["daily", "meeting"]
    assert not (repo.path / "x.md").exists()


def test_the_page_of_today_lies_beside_its_like_and_is_made_once(shell: Shell, repo: GitRepo) -> None:
    first, second = (shell.ok("new", "--daily", "--json").json for _ in range(2))
    assert first["path"].startswith("journal/20")
    assert (repo.path / first["path"]).read_text() == f"# Day {first['path'][8:18]}\n"
    assert (first["action"], second["action"], second["revision"]) == ("created", "exists", first["revision"])


def test_new_takes_a_page_or_the_day(shell: Shell) -> None:
    assert shell("new").code == shell("new", "x", "--daily").code == 2


def test_a_page_moves_into_a_folder_and_its_links_follow(shell: Shell, repo: GitRepo) -> None:
    assert shell.ok("mv", "idea", "archive/").lines[0].startswith("Renamed archive/idea.md")
    assert (repo.path / "index.md").read_text().startswith("# Index\n\n[[archive/idea]]") or (
        "[[idea]]" in (repo.path / "index.md").read_text()
    )
    assert shell.ok("links", "archive/idea", "--back", "--json").json["back"][0]["path"] == "index.md"


def test_a_program_deletes_only_what_it_has_read_or_by_force(shell: Shell, repo: GitRepo) -> None:
    assert shell("rm", "idea").code == 5
    assert (repo.path / "idea.md").exists()
    assert shell.ok("rm", "idea", "--dry-run").lines == ["Would delete idea.md", "Would break links in index.md"]
    shell.ok("rm", "idea", "--force")
    assert not (repo.path / "idea.md").exists()


def test_lists_read_well_for_programs(shell: Shell) -> None:
    assert shell.ok("tags").lines == ["1\tplan", "1\tplan/boat"]
    assert shell.ok("tags", "#plan/", "--json").json == {"total": 1, "tags": [{"tag": "plan/boat", "documents": 1}]}
    assert shell.ok("wanted").lines == ["later\tidea.md\tindex.md", "never\tindex.md"]
    assert shell.ok("wanted", "--json").json["wanted"][0] == {
        "collection": "notes",
        "name": "later",
        "sources": ["idea.md", "index.md"],
    }
    assert {line.split("\t")[0] for line in shell.ok("orphans").lines} == {
        "index.md",
        "journal/2020-01-02.md",
        "templates/daily.md",
        "templates/meeting.md",
    }
    shell.ok("write", "idea", "--append", stdin="More.\n")
    assert shell.ok("recent", "-n", "1").lines[0].split("\t")[1] == "idea.md"


def test_a_page_opens_at_a_heading_in_the_users_editor(shell: Shell, repo: GitRepo, tmp_path: Path) -> None:
    editor, said = tmp_path / "my editor", tmp_path / "said"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}\n')
    editor.chmod(0o755)
    shell = Shell(repo.path, {"VISUAL": f"'{editor}' --wait", "EDITOR": "false"})
    shell.ok("open", "idea#Steps")
    assert said.read_text().splitlines() == ["--wait", "+8", str(repo.path / "idea.md")]
    assert shell.ok("open", "idea", "--json").json == {"path": str(repo.path / "idea.md"), "line": 1}
    assert Shell(repo.path, {"VISUAL": "", "EDITOR": "false"})("open", "idea").code == 9
    assert Shell(repo.path, {"VISUAL": "'", "EDITOR": ""})("open", "idea").code == 2


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("nvim", ["nvim", "+7", "/a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b.md:7"]),
        ("/usr/bin/hx", ["/usr/bin/hx", "/a b.md:7"]),
    ],
)
def test_editors_are_told_the_line_in_their_way(editor: str, command: list[str]) -> None:
    assert editor_command(Path("/a b.md"), 7, {"EDITOR": editor}) == command
