"""`commonplace check`: what is shown, what is counted, and the exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo


def test_what_is_only_worth_knowing_is_left_out_and_still_counted(shell: Shell) -> None:
    whole, quiet = shell("check", "--json"), shell("check", "--quiet", "--json")
    assert (whole.code, quiet.code) == (1, 1)
    assert whole.json["counts"] == quiet.json["counts"]
    severities = {finding["severity"] for finding in whole.json["findings"]}
    assert "info" in severities
    assert {finding["severity"] for finding in quiet.json["findings"]} == severities - {"info"}


def test_notes_that_are_only_worth_knowing_are_no_failure(shell: Shell, repo: GitRepo) -> None:
    repo.write("index.md", "# Index\n\nSee [[idea]] and [tea](drinks/tea.md#Steps).\n")
    done = shell("check")
    assert done.code == 0
    assert "lonely.md: info: " in done.text
    assert done.stderr.startswith("4 pages: 0 errors, 0 warnings, ")


def test_of_several_folders_every_finding_names_its_own(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    done = shell("check", "--quiet", "-C", shell.folder, "-C", tmp_path / "other")
    assert [line.partition(": ")[0] for line in done.lines] == ["notes:index.md:3"]


@pytest.mark.parametrize("option", [["--okf", "."], ["--okf", "nowhere"]])
def test_a_bundle_is_not_asked_questions(shell: Shell, option: list[str]) -> None:
    done = shell("check", "--questions", *option)
    assert (done.code, done.text) == (2, "")
    assert "--okf and --questions cannot be combined" in done.stderr


def test_without_questions_it_is_said_how_they_are_written(shell: Shell) -> None:
    done = shell("check", "--questions", "--json")
    assert done.code == 2
    assert "There is no questions.yaml" in done.error["message"]
    assert "pages:" in done.error["hint"]


def test_a_question_whose_page_is_not_found_is_a_finding_in_the_file_of_questions(shell: Shell, repo: GitRepo) -> None:
    repo.write("questions.yaml", "- {question: boil water, pages: [drinks/tea.md]}\n")
    assert shell.ok("check", "--questions", "--json").json == {
        "questions": 1,
        "counts": {"error": 0, "warning": 0, "info": 0},
        "findings": [],
    }
    repo.write("questions.yaml", "- {question: boil water, pages: [lonely.md], budget: 300}\n")
    failed = shell("check", "--questions", "--json")
    assert failed.code == 1
    assert [finding["path"] for finding in failed.json["findings"]] == ["questions.yaml"]


def test_on_a_terminal_the_gravest_come_first_by_rule_and_each_sentence_once(shell: Shell, repo: GitRepo) -> None:
    repo.write("bad.md", "---\ntitle: a: b\n---\n# Bad\n")
    repo.write("links.md", "# Links\n\n[[no]]\n")
    repo.write("more.md", "# More\n\n[[no]]\n")
    _, shown = shell.on_a_terminal("check", "--no-color")
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()]
    heads = [line for line in lines if line.startswith(("error: ", "warning: ", "info: "))]
    assert heads[0] == "error: bad_yaml (1)"
    severities = [line.partition(":")[0] for line in heads]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    reported_lines = [line for line in lines if "The link to 'no' leads nowhere." in line]
    assert reported_lines == ["The link to 'no' leads nowhere. links.md:3, more.md:3"]
