"""A graph of Logseq: headings in items are sections, markers are tasks, and what is added is blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import RefusedError, agent
from forms import page, sent
from serving import create_key, served
from support import new_repo

PAGE = "- ## Plan\n\t- TODO buy [[tea]]\n\t- LATER call `TODO x`\n- plain sibling\n- ## Next\n- # Top\n"
FILES = {
    "logseq/config.edn": "{:file/name-format :triple-lowbar}",
    "pages/a.md": PAGE,
    "pages/tea.md": "- [[a#Plan]]\n",
}


def test_blocks_are_read_outlined_ticked_and_appended_in_their_own_form(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", FILES)
    file, journal = repo.path / "pages/a.md", repo.path / "journals/2026_11_30.md"
    with agent("mcp", repo.path, "--tier", "write", "--commit", "auto", "--no-embed") as notes:
        assert PAGE.partition("- ## Next")[0] in notes.text("read", page="a", section="Plan")
        assert "[1] pages/a.md#plan (a > Plan)" in notes.text("search", query="plain sibling")
        assert "broken" not in notes.text("links", page="tea")
        notes.text("edit", page="a", changes=[{"do": "task", "task": "buy"}])
        notes.text("edit", page="a", changes=[{"do": "append", "section": "Plan", "text": "one\n\ntwo\nmore"}])
        notes.text("edit", page="a", changes=[{"do": "section", "section": "Next", "text": "- filled"}])
        notes.text("edit", page="a", changes=[{"do": "append", "text": "last"}])
        expected = PAGE.replace("TODO buy", "DONE buy").replace("TODO x`\n", "TODO x`\n\t- one\n\t- two\n\t  more\n")
        assert file.read_text() == expected.replace("Next\n", "Next\n\t- filled\n") + "- last\n"
        notes.text("edit", page="a", changes=[{"do": "task", "task": "buy", "done": False}])
        assert "\t- LATER buy [[tea]]\n" in file.read_text()  # the page has the workflow of LATER and NOW
        assert notes.text("edit", page="2026-11-30", changes=[{"do": "append", "text": "met Ada"}]).startswith(
            "Created "
        )
        notes.text("edit", page="2026-11-30", changes=[{"do": "append", "text": "- TODO write"}])
        assert journal.read_text() == "- met Ada\n- TODO write\n"
    key = create_key("Ada", "--tier", "write")
    with served(repo.path, "--commit", "auto") as server:
        html = page(server, "/p/pages/a", key=key)
        box = html.partition("buy")[0].rpartition('name="task" value="')[2].partition('"')[0]
        assert box == f"{file.read_bytes().index(b'LATER buy') + 1}-1"
        form = {"task": box, "revision": html.partition('name="revision" value="')[2].partition('"')[0]}
        assert sent(server, "/tick/pages/a", key=key, **form).status == 303, html
        assert "\t- DONE buy [[tea]]\n" in file.read_text()


def test_an_append_makes_the_missing_page_of_a_day_from_its_template_and_no_other(tmp_path: Path) -> None:
    template = "# {{date}}\n\n## Log\n\n## Later\n\nnothing\n"
    repo = new_repo(tmp_path / "base", {"templates/daily.md": template, "days/2026-11-28.md": "# 2026-11-28\n"})
    with agent("mcp", repo.path, "--tier", "write", "--commit", "auto", "--no-embed") as notes:
        notes.text("edit", page="2026-11-30", changes=[{"do": "append", "section": "Log", "text": "- met Ada"}])
        assert (repo.path / "days/2026-11-30.md").read_text() == (
            "# 2026-11-30\n\n## Log\n\n- met Ada\n\n## Later\n\nnothing\n"
        )
        with pytest.raises(RefusedError, match="There is no page 'Ada'"):
            notes.text("edit", page="Ada", changes=[{"do": "append", "text": "x"}])
        with pytest.raises(RefusedError, match="There is no page '2026-12-01'"):
            notes.text("edit", page="2026-12-01", changes=[{"do": "replace", "old": "a", "text": "b"}])
