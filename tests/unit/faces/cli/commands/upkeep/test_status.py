"""`commonplace status`: commit, pages that no commit has, and what was recognised."""

from __future__ import annotations

from pathlib import Path

from shell import Shell
from support import GitRepo


def test_pages_that_no_commit_has_are_named(shell: Shell, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    repo.write("new.md", "# New\n")
    repo.write("lonely.md", "# Changed\n")
    (value,) = shell.ok("status", "--json").json["collections"]
    assert (value["collection"], value["commit"], value["message"]) == ("notes", head, "Begin")
    assert (value["uncommitted"], value["documents"], value["read_only"]) == (["lonely.md", "new.md"], 5, "")
    assert (value["docs_trees"], value["left_out"]) == ([], {})
    lines = shell.ok("status").lines
    assert lines[0].startswith(f"notes: commit {head[:10]} Begin; index generation ")
    assert lines[1:] == ["    not committed: lonely.md", "    not committed: new.md"]


def test_of_many_uncommitted_pages_the_first_are_named(shell: Shell, repo: GitRepo) -> None:
    for number in range(13):
        repo.write(f"new{number:02}.md", "# New\n")
    lines = shell.ok("status").lines
    assert (len(lines), lines[-1]) == (12, "    and 3 more")


def test_a_folder_without_git_has_no_commits(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.md").write_text("# A\n")
    (tmp_path / "plain" / "b.rst").write_text("B\n")
    (tmp_path / "plain" / "board.canvas").write_text('{"nodes": [{"type": "file", "file": "a.md"}]}')
    shell = Shell(tmp_path / "plain")
    (value,) = shell.ok("status", "--json").json["collections"]
    assert (value["commit"], value["message"], value["uncommitted"], value["documents"]) == ("", "", [], 1)
    assert value["canvases"] == 1
    assert "    1 file .canvas: not read, so a move of a page leaves its path there" in shell.ok("status").lines
    assert shell.ok("status").text.startswith("plain: no commits; index generation ")


def test_a_docs_tree_is_told_with_its_link_roots(shell: Shell, repo: GitRepo) -> None:
    repo.write("mkdocs.yml", "site_name: Ours\ndocs_dir: drinks\n")
    (tree,) = shell.ok("status", "--json").json["collections"][0]["docs_trees"]
    assert (tree["generator"], tree["config"]) == ("MkDocs", "mkdocs.yml")
    assert any("docs tree: MkDocs by mkdocs.yml; / is drinks" in line for line in shell.ok("status").lines)
