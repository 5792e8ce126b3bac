"""Values of a note's frontmatter as text, and a note's name."""

from __future__ import annotations

import json
from collections.abc import Mapping

from commonplace.domain.json import Json, JsonObject


def note_name(path: str, frontmatter: JsonObject) -> str:
    """The frontmatter's title, else the last part of the path."""
    return as_text(frontmatter.get("title")) or name_of(path)


def name_of(path: str) -> str:
    """The last part of a note's path."""
    return path.rpartition("/")[2]


def as_text(value: Json) -> str:
    """A frontmatter value of any type as one line; "" for null and empty values."""
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False) if value else ""
    if isinstance(value, int | float):
        return str(value)
    return ", ".join(text for text in map(as_text, value) if text)


def as_texts(value: Json) -> tuple[str, ...]:
    """A frontmatter value of any type as the items of a list."""
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in map(as_text, items) if text)
