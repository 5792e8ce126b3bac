"""Sections behind a code fence that nothing closes: no edit of a section takes them away, in any face."""

from __future__ import annotations

from pathlib import Path

from agent import agent, text_of
from knowledge import projects
from shell import Shell
from support import new_repo

OPEN = "# T\n\n## A\n\n```sh\ncode\n\n## B\n\nBe.\n"
MENDED = "```sh\ncode\n```\n\n## B\n\nBe."


def test_chapters_behind_an_unclosed_fence_are_told_and_kept(tmp_path: Path) -> None:
    store = tmp_path / "home"
    with projects(store) as client:
        where = {"project_id": "app", "filename": "t.md"}
        client.call("create_knowledge_file", **where, title="T", introduction="I.", keywords=["t"], chapters=[])
        (file,) = store.rglob("t.md")
        head = file.read_text().partition("# T")[0]
        file.write_text(f"{head}{OPEN}")
        for tool, more in (("list_chapters", {}), ("get_chapter", {"chapter_title": "A"}), ("get_knowledge_file", {})):
            warning = client.call(tool, **where, **more)["warning"]
            assert "is not closed" in warning
            assert "'B'" in warning
        for tool, more in (("update_chapter", {"new_content": "New."}), ("remove_chapter", {})):
            assert "'B'" in client.refusal(tool, **where, chapter_title="A", **more)["error"]
        assert file.read_text().endswith(OPEN)
        client.call("update_chapter", **where, chapter_title="A", new_content=MENDED)
        listed = client.call("list_chapters", **where)
        assert [chapter["title"] for chapter in listed["chapters"]] == ["A", "B"]
        assert "warning" not in listed


def test_sections_behind_an_unclosed_fence_are_kept_on_the_command_line_and_in_notes(
    tmp_path: Path, cache_dir: Path
) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", {"t.md": OPEN})
    done = Shell(repo.path)("write", "t", "--section", "A", "--force", stdin=b"New.")
    assert (done.code, done.text) == (4, "")
    assert "would delete 'B'" in done.stderr
    with agent("mcp", repo.path, "--toolset", "notes", "--tier", "write") as client:
        refused = client.raw("edit", page="t", changes=[{"do": "section", "section": "A", "text": "New."}])
    assert refused.is_error
    assert "would delete 'B'" in text_of(refused)
    assert (repo.path / "t.md").read_text() == OPEN
    Shell(repo.path).ok("write", "t", "--section", "A", "--force", stdin=MENDED.encode())
    assert (repo.path / "t.md").read_text() == OPEN.replace("code\n", "code\n```\n")
