"""`commonplace projects`: looked at, imported, synchronised."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell


@pytest.fixture
def shell(tmp_path: Path, cache_dir: Path) -> Shell:
    del cache_dir
    (tmp_path / "here").mkdir()
    return Shell(tmp_path / "here", {"KNOWLEDGE_MCP_HOME": str(tmp_path / "store")})


def test_a_look_makes_no_store(shell: Shell, tmp_path: Path) -> None:
    assert shell.ok("projects", "--json").json == {"projects": []}
    assert "there is no store at" in shell.ok("projects", "list").stderr
    for action in (["show", "--project", "a"], ["status"], ["sync", "--dry-run"]):
        done = shell("projects", *action)
        assert (done.code, done.text) == (3, ""), done
        assert "projects import FILE" in done.stderr
    assert not (tmp_path / "store").exists()


def test_files_are_imported_in_their_order_and_stay_where_they_are(shell: Shell) -> None:
    (shell.folder / "CLAUDE.md").write_bytes(b"\xef\xbb\xbf# One\n")
    (shell.folder / "AGENTS.md").write_text("# Two\n")
    made = shell.ok("projects", "import", "CLAUDE.md", "AGENTS.md", "--project", "app", "--json").json
    assert made == {"project_id": "app", "imported": ["CLAUDE.md", "AGENTS.md"]}
    shown = shell.ok("projects", "show", "--project", "app", "--json").json
    assert (shown["project_id"], shown["files"]) == ("app", [])
    assert shown["main"].index("# One") < shown["main"].index("# Two")
    assert shell.ok("projects", "list", "--json").json["projects"][0]["project_id"] == "app"
    assert shell.ok("projects").text.startswith("app  0 documents  ")
    again = shell("projects", "import", "AGENTS.md", "--project", "app")
    assert again.code == 5
    shell.ok("projects", "import", "AGENTS.md", "--project", "app", "--force")
    assert "# One" not in shell.ok("projects", "show", "--project", "app").text
    assert (shell.folder / "CLAUDE.md").exists()


def test_the_store_stands_to_git_as_it_says(shell: Shell, tmp_path: Path) -> None:
    (shell.folder / "a.md").write_text("# A\n")
    shell.ok("projects", "import", "a.md", "--project", "app")
    (tmp_path / "store" / "projects" / "app" / "main.md").write_text("# By hand\n")
    status = shell.ok("projects", "status", "--json").json
    assert (status["storage_path"], status["has_changes"], status["uncommitted_files"]) == (
        str(tmp_path / "store"), True, 1,
    )  # fmt: skip
    plan = shell.ok("projects", "sync", "--dry-run").lines
    assert plan[0] == "Would commit 1 file, bring in what the remote has, and push"
    assert any("main.md" in line for line in plan[1:])
    done = shell.ok("projects", "sync", "--json").json
    assert (done["files_committed"], done["pushed"]) == (1, False)
    assert shell.ok("projects", "status", "--json").json["has_changes"] is False


@pytest.mark.parametrize(
    ("code", "arguments", "says"),
    [
        (2, ["show"], "needs --project ID"),
        (2, ["import", "a.md"], "needs --project ID"),
        (2, ["import", "--project", "a"], "FILEs are given to import"),
        (2, ["list", "a.md"], "FILEs are given to import"),
        (2, ["status", "--dry-run"], "--dry-run is for sync alone"),
        (2, ["drop"], "'drop'"),
        (2, ["status", "-C", ".", "-C", ".."], "Projects have one store"),
        (3, ["import", "none.md", "--project", "a"], "none.md"),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, tmp_path: Path, code: int, arguments: list[str], says: str) -> None:
    done = shell("projects", *arguments)
    assert (done.code, done.text) == (code, ""), done
    assert says in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_folder_with_other_files_is_left_alone_unless_it_is_adopted(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "mine.txt").write_text("mine")
    (shell.folder / "a.md").write_text("# A\n")
    done = shell("projects", "import", "a.md", "--project", "app")
    assert done.code == 2
    assert "Nothing was written" in done.stderr
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["mine.txt"]
    shell.ok("projects", "import", "a.md", "--project", "app", "--adopt")
    assert (tmp_path / "store" / "mine.txt").read_text() == "mine"
    assert (tmp_path / "store" / "projects").is_dir()
