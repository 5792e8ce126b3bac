"""A write says what it newly causes: broken front matter, lost block ids and headings, links that lead nowhere."""

from __future__ import annotations

from pathlib import Path

from agent import agent
from shell import Shell
from support import new_repo

PAGES = {
    "n.md": "---\ntitle: Q3 Planning\n---\n# Notes\n\n## Part\n\nText ^b1\n\n[[gone already]]\n",
    "linking.md": "[[Q3 Planning]] [[n#^b1]] [[n#Part]]\n",
}


def test_an_edit_that_makes_front_matter_invalid_says_so(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", dict(PAGES))
    title = {"do": "replace", "old": "title: Q3 Planning", "text": "title: Q3: Planning"}
    with agent("mcp", repo.path, "--toolset", "notes", "--tier", "write") as notes:
        told = notes.text("edit", page="n", changes=[title])
        assert "Error in n.md:2: The front matter is not valid YAML" in told
        assert "Warning in linking.md: The link to 'Q3 Planning' leads nowhere. [broken_link]" in told
        assert "gone already" not in told
        mended = {"do": "replace", "old": "title: Q3: Planning", "text": "title: Q3 Planning"}
        assert "in n.md" not in notes.text("edit", page="n", changes=[mended])
        told = notes.text("edit", page="n", changes=[{"do": "replace", "old": " ^b1", "text": ""}])
        assert "Warning in linking.md: n.md has no heading or block '^b1'. Name one that it has. [dead_anchor]" in told


def test_a_rename_that_is_refused_names_the_page_and_line_of_the_link(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", {"p.md": "x\n", "deep/c.md": "---\nup: see [[p]]\n---\n"})
    done = Shell(repo.path)("mv", "p", "Plan, new")
    assert done.code == 4
    assert "deep/c.md, line 2: The new path Plan, new cannot be written" in done.stderr


def test_every_face_that_writes_returns_the_new_findings(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", dict(PAGES))
    shell = Shell(repo.path)
    rules = {("n.md", "broken_link"), ("linking.md", "dead_anchor")}
    done = shell.ok("write", "n", "--replace", "## Part", "[[no]]", "--json").json
    assert {(one["path"], one["rule"]) for one in done["findings"]} == rules
    assert "findings" not in shell.ok("write", "n", "--replace", "[[no]]", "## Part", "--json").json
    with agent("mcp", repo.path, "--toolset", "kb", "--tier", "write") as kb:
        body = "# Notes\n\n[[no]]\n\nText ^b1\n\n[[gone already]]\n"
        shown = kb.call("kb_get", entry_id="n")["entry"]
        saved = kb.call("kb_update", kb_name="base", entry_id="n", body=body, revision=shown["revision"])
        assert {(one["path"], one["rule"]) for one in saved["findings"]} == rules
