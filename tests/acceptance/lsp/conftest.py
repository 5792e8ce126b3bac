"""A folder of pages, and an editor's session over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from editor import Editor, editing

FILES = {
    "index.md": "# Start\n\nSee [[guide]] and [[guide#Set up|how]] and [deep](notes/deep.md#the-end).\n\n#topic/one\n",
    "guide.md": "---\ntitle: The Guide\ntags: [topic/one, help]\ntype: howto\n---\n# The Guide\n\n"
    "Intro.\n\n## Set up\n\nDo it. See [[index]].\n\n### Later\n\nA line. ^block1\n",
    "notes/deep.md": "# Deep 😀\n\nBack to [the guide](../guide.md) and [set up](../guide.md#set-up).\n\n"
    "## The end\n\nGone.\n",
    "notes/ключ.md": "# Ключ\n\n😀😀 [[guide#Set up]] и [[Deep 😀]]\n",
}


@pytest.fixture
def root(tmp_path: Path, cache_dir: Path) -> Path:
    """A folder of pages."""
    assert cache_dir.is_dir()
    folder = tmp_path / "base"
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def editor(root: Path) -> Iterator[Editor]:
    """A session over that folder."""
    with editing(root) as opened:
        yield opened
