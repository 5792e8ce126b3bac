"""`commonplace rm`: a program must say that it means it."""

from __future__ import annotations

from shell import Shell
from support import GitRepo


def test_a_program_needs_the_revision_or_force(shell: Shell, repo: GitRepo) -> None:
    done = shell("rm", "lonely", "--json")
    assert done.code == 5
    assert (repo.path / "lonely.md").exists()
    revision = done.error["current_revision"]
    deleted = shell.ok("rm", "lonely", "--revision", revision, "--json").json
    assert (deleted["action"], deleted["commit"]) == ("deleted", repo.git("rev-parse", "HEAD"))
    assert not (repo.path / "lonely.md").exists()


def test_what_no_commit_has_is_kept_and_the_command_that_brings_it_back_is_told(shell: Shell, repo: GitRepo) -> None:
    repo.write("draft one.md", "# Draft\n")
    lines = shell.ok("rm", "draft one", "--force").lines
    assert lines[0].startswith("Deleted draft one.md")
    assert any("commonplace restore" in line for line in lines[1:])


def test_a_plan_deletes_nothing(shell: Shell, repo: GitRepo) -> None:
    assert shell.ok("rm", "idea", "--dry-run").lines == ["Would delete idea.md", "Would break links in index.md"]
    assert repo.git("status", "--porcelain") == ""


def test_on_a_terminal_only_a_yes_deletes(shell: Shell, repo: GitRepo) -> None:
    for typed in ("\n", "n\n", "no\n", "yep\n"):
        code, said = shell.on_a_terminal("rm", "idea", typed=typed)
        assert "Would break links in" in said
        assert said.endswith("Delete it? [y/N] Nothing was deleted.\n")
        assert (code, (repo.path / "idea.md").exists()) == (0, True)
    code, said = shell.on_a_terminal("rm", "idea", typed="Yes\n")
    assert (code, (repo.path / "idea.md").exists()) == (0, False)
    assert "Deleted" in said
