"""`commonplace log`: the commits of a page, and of everything."""

from __future__ import annotations

from pathlib import Path

from shell import Shell
from support import GitRepo, new_repo


def test_a_page_has_its_own_commits_and_the_folder_all(shell: Shell, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "HEAD")
    second = repo.commit("Change tea\n\nMore.", **{"drinks/tea.md": "# Tea\n"})
    third = repo.commit("Change the idea", **{"idea.md": "# Idea\n"})
    of_page = shell.ok("log", "Tea", "--json").json
    assert (of_page["path"], [commit["commit"] for commit in of_page["commits"]]) == ("drinks/tea.md", [second, first])
    assert of_page["commits"][0]["message"].startswith("Change tea\n\nMore.")
    every = shell.ok("log", "--json").json
    assert (every["path"], [commit["commit"] for commit in every["commits"]]) == (None, [third, second, first])
    assert [line[:10] for line in shell.ok("log", "--limit", "1", "--offset", "1").lines] == [second[:10]]
    assert shell.ok("log", "--offset", "9").stderr == "No commits.\n"


def test_the_programs_and_agents_that_a_message_credits_are_named_beside_the_author(
    shell: Shell, repo: GitRepo
) -> None:
    repo.commit("Change tea\n\nCo-Authored-By: claude-code <c@localhost>", **{"drinks/tea.md": "# Tea\n"})
    row = shell.ok("log", "Tea", "--json").json["commits"][0]
    assert row["with"] == ["claude-code"]
    assert f"  {row['author']}, with claude-code  Change tea" in shell.ok("log", "Tea", "--limit", "1").text
    assert "with" not in shell.ok("log", "idea", "--json").json["commits"][0]


def test_a_deleted_page_is_named_by_its_path_and_one_that_never_was_is_not_found(shell: Shell, repo: GitRepo) -> None:
    repo.git("rm", "--quiet", "lonely.md")
    gone = repo.commit("Delete")
    assert shell.ok("log", "lonely.md", "--json").json["commits"][0]["commit"] == gone
    missing = shell("log", "ide", "--json")
    assert (missing.code, missing.error["nearest"][0]) == (3, "idea")


def test_a_new_page_without_a_commit_has_none(shell: Shell, repo: GitRepo) -> None:
    repo.write("fresh.md", "# Fresh\n")
    done = shell.ok("log", "fresh")
    assert (done.text, done.stderr) == ("", "No commits.\n")


def test_a_diff_is_of_one_page(shell: Shell, repo: GitRepo) -> None:
    first = repo.git("rev-parse", "HEAD")
    second = repo.commit("Change", **{"lonely.md": "# Lonely\n"})
    assert shell("log", "--diff", first).code == 2
    between = shell.ok("log", "lonely", "--diff", f"{first}..{second}", "--json").json
    assert (between["from"], between["to"]) == (first, second)
    assert "-Nobody names it." in between["diff"]
    assert shell.ok("log", "lonely", "--diff", second).text == ""


def test_the_commits_of_several_folders_stand_in_one_order(shell: Shell, repo: GitRepo, tmp_path: Path) -> None:
    other = new_repo(tmp_path / "other", {"a.md": "# A\n"})
    shell.ok("write", "lonely", "--append", stdin="More.\n")
    commits = shell.ok("log", "-C", repo.path, "-C", other.path, "--json").json["commits"]
    assert {commit["collection"] for commit in commits} == {"notes", "other"}
    dates = [commit["date"] for commit in commits]
    assert dates == sorted(dates, reverse=True)
