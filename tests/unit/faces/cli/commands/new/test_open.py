"""`commonplace open`: which file, at which line."""

from __future__ import annotations

from pathlib import Path

from shell import Shell
from support import GitRepo


def test_as_json_nothing_is_opened(shell: Shell, repo: GitRepo) -> None:
    quiet = Shell(shell.folder, {**shell.environment, "EDITOR": "false"})
    assert quiet.ok("open", "idea", "--json").json == {"path": str(repo.path / "idea.md"), "line": 1}
    assert quiet.ok("open", "idea#Plan", "--json").json["line"] == 10
    assert quiet.ok("open", "Tea#Steps", "--json").json["path"] == str(repo.path / "drinks" / "tea.md")
    assert quiet("open", "idea").code == 9


def test_what_is_not_there_is_not_opened(shell: Shell) -> None:
    for page in ("idee", "idea#Plans", "../outside"):
        done = shell("open", page, "--json")
        assert (done.code, done.text) == (3, ""), done


def test_of_several_folders_the_page_s_own_is_taken(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "far.md").write_text("# Far\n")
    json = shell.ok("open", "far", "-C", shell.folder, "-C", tmp_path / "other", "--json").json
    assert json["path"] == str(tmp_path / "other" / "far.md")
