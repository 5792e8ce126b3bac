"""The store of project knowledge from the command line: instruction files in, a look at it, in step with a remote."""

from __future__ import annotations

from pathlib import Path

from shell import Shell
from support import GitRepo


def test_instruction_files_are_brought_in_and_shown_and_the_store_goes_to_its_remote(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_bytes(b"\xef\xbb\xbf# App\r\n\r\nBe kind.\r\n")
    (tmp_path / "AGENTS.md").write_text("## Build\n\nmake\n")
    home = tmp_path / "home"
    shell = Shell(tmp_path, {"KNOWLEDGE_MCP_HOME": str(home)})
    given_row = ("projects", "import", "CLAUDE.md", "AGENTS.md", "--project", "My App")
    done = shell.ok(*given_row, "--json").json
    assert done == {"project_id": "My App", "imported": ["CLAUDE.md", "AGENTS.md"]}
    assert (home / "projects/my-app/main.md").read_text() == "# App\n\nBe kind.\n\n## Build\n\nmake\n"
    again = shell(*given_row, "--json")
    assert again.code == 5
    assert again.error["code"] == "already_exists"
    assert (tmp_path / "CLAUDE.md").exists()
    shell.ok("projects", "import", "AGENTS.md", "--project", "My App", "--force")
    assert (home / "projects/my-app/main.md").read_text() == "## Build\n\nmake\n"

    (row,) = shell.ok("projects", "list", "--json").json["projects"]
    assert (row["project_id"], row["has_main"], row["file_count"]) == ("My App", True, 0)
    shown = shell.ok("projects", "show", "--project", "My App", "--json").json
    assert (shown["main"], shown["files"]) == ("## Build\n\nmake\n", [])
    assert shell("projects", "show", "--project", "none").code == 3
    assert shell("projects", "import", "--project", "x").code == 2
    assert shell("projects", "show").code == 2

    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    assert shell.ok("projects", "status", "--json").json["remote_status"] == "No remote configured"
    GitRepo(home).git("remote", "add", "origin", str(bare.path))
    (home / "projects/my-app/main.md").write_text("by hand\n")
    planned = shell.ok("projects", "sync", "--dry-run", "--json").json
    assert planned == {
        "would_commit": [" M projects/my-app/main.md"],
        "remote_status": "origin/main (3 ahead, 0 behind)",
    }
    assert "Would commit 1 file, bring" in shell.ok("projects", "sync", "--dry-run").text
    assert shell("projects", "list", "--dry-run").code == 2
    synced = shell.ok("projects", "sync", "--json").json
    assert (synced["pushed"], "push_error" in synced) == (True, False)
    assert bare.git("show", "main:projects/my-app/main.md") == "by hand"
    status = shell.ok("projects", "status", "--json").json
    assert (status["remote_status"], status["has_changes"]) == ("origin/main (up to date)", False)


def test_a_look_into_a_folder_that_does_not_exist_makes_none(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for action in (["list"], ["status"], ["show", "--project", "app"]):
        done = shell("projects", *action, "-C", str(tmp_path / "no/such"))
        assert done.code == 3
        assert "There is no folder" in done.stderr
    assert not (tmp_path / "no").exists()


def test_a_store_without_projects_says_so(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {"KNOWLEDGE_MCP_HOME": str(tmp_path / "home")})
    shell.ok("projects", "sync")
    done = shell.ok("projects", "list")
    assert (done.text, done.stderr) == ("", "No projects.\n")


def test_a_look_makes_no_store(tmp_path: Path) -> None:
    home, empty = tmp_path / "home", tmp_path / "empty"
    empty.mkdir()
    shell = Shell(tmp_path, {"KNOWLEDGE_MCP_HOME": str(home)})
    assert shell.ok("projects", "list", "--json").json == {"projects": []}
    done = shell.ok("projects", "list")
    assert done.text == ""
    assert f"No projects: there is no store at {home}. commonplace projects import" in done.stderr
    assert shell.ok("projects", "list", "-C", str(empty), "--json").json == {"projects": []}
    for action in (["status"], ["show", "--project", "app"], ["sync", "--dry-run"]):
        refused = shell("projects", *action)
        assert (refused.code, "There is no store of projects" in refused.stderr) == (3, True)
    assert not home.exists()
    assert list(empty.iterdir()) == []
