"""Pages as an editor has them open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsprotocol.types import Position

from commonplace.faces.lsp.pages import EditorPage
from editor.desk import FILES, Desk
from indexed import Indexed


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Indexed(tmp_path, FILES) as base:
        yield Desk(base)


@pytest.fixture
def at() -> Callable[[EditorPage, str], Position]:
    """`at(page, text)`: the position behind the first occurrence of a text."""

    def place(page: EditorPage, text: str) -> Position:
        source = page.document.source
        return page.lines.position(source.index(text.encode()) + len(text.encode()))

    return place
