"""A folder of notes in a repository, and the command line in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo, MakeRepo

NOTES = {
    "index.md": "# Index\n\nSee [[idea]], [tea](drinks/tea.md#Steps) and [[not written]].\n",
    "idea.md": (
        "---\ntype: note\ntags: [plan/next, tea]\ndate: 2024-05-01\n---\n# Idea\n\nFirst words.\n\n"
        "## Plan\n\nOld plan.\n\n## End\n\nDone\n"
    ),
    "drinks/tea.md": "---\ntags: [tea]\n---\n# Tea\r\n\n## Steps\n\nBoil the water.\n",
    "lonely.md": "# Lonely\n\nNobody names it.\n",
}
"""Pages with links, one of them broken, a page that nothing links to, and line ends of both kinds."""


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("notes", NOTES)


@pytest.fixture
def shell(repo: GitRepo, tmp_path: Path) -> Shell:
    """A command line whose index, keys and trash are its own."""
    own = {name: str(tmp_path / f".{name}") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    return Shell(repo.path, own)
