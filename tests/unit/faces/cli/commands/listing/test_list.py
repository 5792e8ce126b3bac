"""`commonplace list`: chosen, sorted and counted."""

from __future__ import annotations

import pytest

from shell import Shell
from support import GitRepo


def paths(shell: Shell, *arguments: str) -> list[str]:
    return [document["path"] for document in shell.ok("list", *arguments, "--json").json["documents"]]


def test_names_sort_upwards_and_dates_downwards_unless_turned_round(shell: Shell, repo: GitRepo) -> None:
    repo.write("older.md", "---\ndate: 2020-01-01\n---\n# Older\n")
    every = ["drinks/tea.md", "idea.md", "index.md", "lonely.md", "older.md"]
    assert paths(shell) == every
    assert paths(shell, "--reverse") == every[::-1]
    assert paths(shell, "--sort", "date", "--field", "date=2020-01-01") == ["older.md"]
    dated = [path for path in paths(shell, "--sort", "date") if path in {"idea.md", "older.md"}]
    assert dated == ["idea.md", "older.md"]
    turned = [path for path in paths(shell, "--sort", "date", "--reverse") if path in {"idea.md", "older.md"}]
    assert turned == ["older.md", "idea.md"]


def test_a_tag_means_those_below_it_and_an_unknown_one_is_corrected(shell: Shell) -> None:
    assert paths(shell, "--tag", "plan") == ["idea.md"]
    assert paths(shell, "--tag", "tea") == ["drinks/tea.md", "idea.md"]
    assert paths(shell, "--tag", "tea", "--tag", "plan/next") == ["idea.md"]
    done = shell.ok("list", "--tag", "plan/nxt")
    assert done.text == ""
    assert done.stderr == "No such pages.\nNo page has the tag 'plan/nxt'. Did you mean 'plan/next'?\n"


def test_what_is_left_out_is_counted_and_reached(shell: Shell) -> None:
    done = shell.ok("list", "--limit", "3")
    assert (len(done.lines), done.stderr) == (3, "Showing 3 of 4; pass --offset 3 for more.\n")
    rest = shell.ok("list", "--limit", "3", "--offset", "3", "--json").json
    assert (rest["total"], rest["limit"], rest["offset"], len(rest["documents"])) == (4, 3, 3, 1)


def test_a_list_of_the_past_has_the_pages_of_then(shell: Shell, repo: GitRepo) -> None:
    then = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "lonely.md")
    repo.commit("Delete", **{"new.md": "# New\n"})
    past = shell.ok("list", "--at", then, "--json").json
    assert past["at"] == {"notes": then}
    assert [document["path"] for document in past["documents"]] == ["drinks/tea.md", "idea.md", "index.md", "lonely.md"]
    assert "new.md" in paths(shell)


@pytest.mark.parametrize(
    "arguments", [["--sort", "size"], ["--from", "20240531"], ["--field", "status"], ["--limit", "0"]]
)
def test_what_cannot_be_is_refused(shell: Shell, arguments: list[str]) -> None:
    done = shell("list", *arguments)
    assert (done.code, done.text) == (2, "")
