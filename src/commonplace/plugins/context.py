"""What plugins are given: the context of a call, and entries, as plugins for the older server know them too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from commonplace.domain.json import Json, JsonObject

if TYPE_CHECKING:  # a start looks for plugins, and hardly ever finds any
    from commonplace.plugins.open_index import OpenIndex


@dataclass(frozen=True, slots=True)
class PluginContext:
    """What a plugin is given: each part is an attribute and an item, `context.db` and `context["db"]`."""

    config: JsonObject
    """The settings that concern a plugin; no secrets and no absolute paths."""
    db: OpenIndex
    """The open index, read-only."""
    changed: Callable[[str], None]
    """Tells the clients that follow one of the plugin's resources, named by its URI, that it has changed."""
    kb_name: str = ""
    """The base that a hook or validator is called for, "" where there is none."""
    operation: str = ""
    """`create`, `update` or `delete` for a hook, where that is known."""
    user: str = ""
    """Nobody: who calls is not told."""
    kb_type: str = ""
    kb_schema: None = None
    extra: dict[str, object] = field(default_factory=dict[str, object])
    """The plugin's own, for as long as the call lasts."""

    def of(self, kb_name: str, operation: str = "") -> PluginContext:
        """The context of one call."""
        return replace(self, kb_name=kb_name, operation=operation, extra={})

    def __getitem__(self, key: str) -> object:
        if key in self.__slots__:
            return getattr(self, key)
        return self.extra[key]

    def get(self, key: str, default: object = None) -> object:
        """A part by its name."""
        return self[key] if key in self else default  # noqa: SIM401 - this is that `get`

    def __contains__(self, key: str) -> bool:
        return key in self.__slots__ or key in self.extra

    def search_semantic(self, query: str, kb_name: str | None = None, limit: int = 10) -> list[JsonObject]:
        """Rows of the entries that match a question, best first: by meaning and words where there is a model."""
        return self.db.search(query, kb_name or self.kb_name or None, limit, mode="hybrid")


class Entry(dict[str, Json]):
    """An entry as a hook is given it, its fields items and attributes: a copy, whose changes are not written."""

    def __getattr__(self, name: str) -> Json:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = cast("Json", value)
