"""A page that gets the name of another link's label takes no link over, whichever side a face reads as the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from serving import commonplace
from support import GitRepo, new_repo

INDEX = "I [[Alpha|see]], [[see]] and [[Alpha#Part|see]], [[about it|Alpha]], ![[Alpha|see]].\n"
PAGES: dict[str, str | bytes] = {
    "index.md": INDEX,
    "Alpha.md": "# Alpha\n\n## Part\n",
    "Beta.md": "# Beta\n",
    "Gamma.md": "# Gamma\n",
}


@pytest.fixture
def repo(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return new_repo(tmp_path / "base", PAGES)


def test_the_wiki_reads_the_last_side_of_two_pages(repo: GitRepo) -> None:
    with agent("mcp", repo.path, "--toolset", "wiki", "--tier", "write", "--no-embed") as client:
        assert "- index" in client.text("rename_note", path="Beta", new_path="see")
        renamed = "I [see](Alpha.md), [[see]] and [see](Alpha.md#Part), [[about it|Alpha]], ![[Alpha|see]].\n"
        assert (repo.path / "index.md").read_text() == renamed
        assert "  - Alpha\n  - see\n" in client.text("get_links", path="index")
        client.text("rename_note", path="see", new_path="Beta")
        assert (repo.path / "index.md").read_text() == renamed.replace("[[see]]", "[[Beta]]")
        client.text("rename_note", path="Alpha", new_path="in/Delta")
        assert "I [see](in/Delta.md), [[Beta]] and [see](in/Delta.md#Part)" in (repo.path / "index.md").read_text()


def test_others_read_the_first_side_of_two_pages(repo: GitRepo) -> None:
    assert commonplace("mv", "Beta", "about it", "--kb", repo.path).returncode == 0
    expected = INDEX.replace("[[about it|Alpha]]", "[about it](Alpha.md)")
    assert (repo.path / "index.md").read_text() == expected
    with agent("mcp", repo.path, "--tier", "write", "--no-embed") as client:
        client.text("move", page="Gamma", to="see")
        assert (repo.path / "index.md").read_text() == expected, "the first side is still the page"
        assert "Alpha.md" in client.text("links", page="index", kind="out")
