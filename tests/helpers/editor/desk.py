"""An editor's pages over a folder, with texts that are not saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from commonplace.faces.lsp.pages import EditorPage, EditorPages, OpenText
from indexed import Indexed

FILES = {
    "index.md": "# Start\n\nSee [[guide]], [how](guide.md#set-up) and [[nothing]].\n\n#topic/one\n",
    "guide.md": (
        "---\ntags: [topic/one]\ntype: howto\nstatus: open\n---\n# Guide\n\n"
        "## Set up\n\nDo it. ^block1\n\n### Later\n\nMore.\n"
    ),
    "notes/deep.md": "# Deep 😀\n\n😀 [the guide](../guide.md) and [[guide#Set up]].\n",
    "notes/C# (new) 50%.md": "---\nstatus: 'yes'\n---\n# Odd name\n",
    "notes/photo.png": "x",
}


@dataclass
class Desk:
    """An editor's pages."""

    base: Indexed
    unsaved: dict[Path, OpenText] = field(default_factory=dict[Path, OpenText])

    @property
    def pages(self) -> EditorPages:
        """The pages as the server has them."""
        return EditorPages(self.base.collections, [self.base.folder], lambda: self.unsaved)

    def page(self, path: str) -> EditorPage:
        """A page with its text as it is shown."""
        page = self.pages.page((self.base.folder / path).as_uri())
        assert page is not None
        return page

    def type(self, path: str, text: str) -> EditorPage:
        """Change a page without saving it."""
        file = (self.base.folder / path).resolve()
        before = self.unsaved.get(file)
        self.unsaved[file] = OpenText(text, 1 + (before.version or 0 if before else 0))
        return self.page(path)
