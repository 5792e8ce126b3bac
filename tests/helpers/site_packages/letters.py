"""A plugin as they are written for the older server: hooks on entries with attributes, contexts with items."""

from __future__ import annotations

from typing import Any


class LetterEntry:
    """A letter to somebody."""

    addressee: str
    stamps: int = 1
    sealed: bool = False

    def from_frontmatter(self) -> None: ...


def check_author(entry: Any, context: Any) -> Any:
    """Only the author changes a letter."""
    if entry.entry_type != "letter":
        return entry
    if context.get("operation", "") == "create" and not getattr(entry, "author_id", ""):
        entry.author_id = context.get("user", "") or "nobody"
        return entry
    if context["operation"] == "update" and getattr(entry, "sealed", False):
        raise PermissionError(f"the letter {entry.title} is sealed")
    return entry


class Plugin:
    name = "letters"
    capabilities = frozenset({"schema"})

    def __init__(self) -> None:
        self.seen: list[str] = []

    def get_entry_types(self) -> dict[str, object]:
        return {"letter": LetterEntry()}

    def get_hooks(self) -> dict[str, list[Any]]:
        return {"before_save": [check_author], "after_save": [self._note], "after_delete": [self._note]}

    def get_orient_supplement(self, _: str) -> dict[str, Any]:
        return {"letters": tuple(self.seen)}

    def get_db_tables(self) -> list[dict[str, Any]]:
        return [{"name": "vote", "columns": [{"name": "id", "type": "INTEGER"}]}]

    def _note(self, entry: Any, context: Any) -> None:
        if "kb_name" in context and hasattr(entry, "entry_type"):
            self.seen.append(f"{context.get('operation')} {entry.id} in {context.kb_name}")
