"""`commonplace read`: a page, a part of it, and how it was."""

from __future__ import annotations

import pytest

from shell import Shell
from support import GitRepo


def test_a_page_and_its_parts_come_out_byte_for_byte(shell: Shell, repo: GitRepo) -> None:
    assert shell.ok("read", "drinks/tea").stdout == (repo.path / "drinks" / "tea.md").read_bytes()
    assert shell.ok("read", "idea#Plan").text == shell.ok("read", "idea", "--section", "plan").text
    assert shell.ok("read", "idea", "--section", "Plan").text == "## Plan\n\nOld plan.\n\n"
    assert shell.ok("read", "idea", "--lines", "6-8").text == "# Idea\n\nFirst words.\n"
    assert shell.ok("read", "idea", "--lines", "16-").text == "Done\n"


def test_a_page_whose_name_has_the_mark_of_a_part_is_that_page(shell: Shell, repo: GitRepo) -> None:
    repo.write("C# notes.md", "# Sharp\n")
    assert shell.ok("read", "C# notes").text == "# Sharp\n"


@pytest.mark.parametrize("lines", ["", "x", "3-x", "-4", "1-2-3", "1" * 12])
def test_lines_that_are_none_are_refused(shell: Shell, lines: str) -> None:
    done = shell("read", "idea", "--lines", lines)
    assert (done.code, done.text) == (2, ""), done
    assert "expected numbers" in done.stderr


@pytest.mark.parametrize("others", [["--section", "Plan", "--outline"], ["--lines", "1", "--at", "yesterday"]])
def test_two_parts_at_once_are_refused(shell: Shell, others: list[str]) -> None:
    done = shell("read", "idea", *others)
    assert (done.code, done.text) == (2, "")
    assert "cannot be combined" in done.stderr


def test_an_outline_names_each_heading_with_its_line_and_anchor(shell: Shell) -> None:
    json = shell.ok("read", "idea", "--outline", "--json").json
    assert json["outline"] == [
        {"level": 1, "heading": "Idea", "anchor": "idea", "line": 6},
        {"level": 2, "heading": "Plan", "anchor": "plan", "line": 10},
        {"level": 2, "heading": "End", "anchor": "end", "line": 14},
    ]
    assert not {"text", "frontmatter"} & json.keys()
    assert [line.split() for line in shell.ok("read", "idea", "--outline").lines][1] == ["10", "##", "Plan"]


def test_a_page_is_read_as_it_was_under_the_name_that_it_had(shell: Shell, repo: GitRepo) -> None:
    then = repo.git("rev-parse", "HEAD")
    shell.ok("write", "idea", "--rename", "thought")
    assert shell.ok("read", "idea", "--at", then).text.startswith("---\ntype: note\n")
    json = shell.ok("read", "idea", "--at", then, "--json").json
    assert (json["path"], json["at"]) == ("idea.md", {"notes": then})
    assert shell("read", "idea#Nothing", "--at", then).code == 3


def test_as_json_a_part_says_where_it_begins(shell: Shell) -> None:
    json = shell.ok("read", "idea", "--section", "End", "--json").json
    assert (json["heading"], json["first_line"], json["text"]) == (["Idea", "End"], 14, "## End\n\nDone\n")
    assert (json["frontmatter"]["type"], json["title"]) == ("note", "Idea")
