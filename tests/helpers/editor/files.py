"""The files of an editor: their URIs, positions in them, and edits carried out as an editor would."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types

UNITS = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}
"""Bytes of a unit of each position encoding."""


class EditorFiles:
    """The files of a session."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.capabilities: types.ServerCapabilities

    def uri(self, path: str) -> str:
        """The URI of a file."""
        return (self.root / path).as_uri()

    def at(self, path: str, text: str, offset: int = 0) -> types.Position:
        """The position of the first occurrence of a text in a saved file, in the units that were agreed on."""
        content = (self.root / path).read_text("utf-8")
        return self.position(content, content.index(text) + offset)

    def position(self, content: str, at: int) -> types.Position:
        """The position of an offset in characters, in the units that were agreed on."""
        line = content.rfind("\n", 0, at) + 1
        return types.Position(content.count("\n", 0, at), self.units(content[line:at]))

    def units(self, text: str) -> int:
        """The length of a text in those units."""
        return len(text.encode(self.codec)) // UNITS[self.codec]

    @property
    def codec(self) -> str:
        """The codec of the agreed position encoding."""
        return f"{self.capabilities.position_encoding or 'utf-16'}-le".replace("utf-8-le", "utf-8")

    def place(self, path: str, text: str, offset: int = 0) -> dict[str, Any]:
        """The file and position of a text, as arguments of a request."""
        return {"text_document": types.TextDocumentIdentifier(self.uri(path)), "position": self.at(path, text, offset)}


def path_of(uri: str) -> Path:
    """The path of a file."""
    return Path(unquote(uri.removeprefix("file://")))


def applied(text: str, edits: list[types.TextEdit], codec: str) -> str:
    """A text after edits that do not overlap."""
    lines = text.splitlines(keepends=True)

    def offset(place: types.Position) -> int:
        before = sum(len(line) for line in lines[: place.line])
        line = lines[place.line] if place.line < len(lines) else ""
        return before + len(line.encode(codec)[: place.character * UNITS[codec]].decode(codec))

    for edit in sorted(edits, key=lambda text_edit: offset(text_edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
