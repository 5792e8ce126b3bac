"""The values passed to plugins: the context of a call, and entries. Their form is that of the older server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from commonplace.domain.json import Json, JsonObject
from commonplace.services.links import DEFAULT_RELATION

if TYPE_CHECKING:  # most starts find no plugins
    from commonplace.plugins.open_index import Config, OpenIndex


@dataclass(frozen=True, slots=True)
class PluginContext:
    """The context of a plugin: each field is an attribute and an item, `context.db` and `context["db"]`."""

    config: Config
    """The settings relevant to a plugin, without secrets and absolute paths, and the open bases."""
    db: OpenIndex
    """The open index: reads what the caller may read, and writes if the caller may."""
    changed: Callable[[str], None]
    """Notifies the subscribers of one of the plugin's resources, by its URI, of a change."""
    kb_name: str = ""
    """The knowledge base of a hook's or validator's call; "" if there is none."""
    operation: str = ""
    """`create`, `update` or `delete` for a hook, if known."""
    user: str = ""
    """Always "", as callers are not identified."""
    kb_type: str = ""
    kb_schema: None = None
    extra: dict[str, object] = field(default_factory=dict[str, object])
    """Free for the plugin, for the duration of the call."""

    def of(self, kb_name: str, operation: str = "") -> PluginContext:
        """The context of one call."""
        return replace(self, kb_name=kb_name, operation=operation, extra={})

    @property
    def kb_service(self) -> OpenIndex:
        """The writer of entries: the same as `db`."""
        return self.db

    def __getitem__(self, key: str) -> object:
        if key in self.__slots__:
            return getattr(self, key)
        return self.extra[key]

    def get(self, key: str, default: object = None) -> object:
        """A field by its name, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401 - this is `get` itself

    def __contains__(self, key: str) -> bool:
        return key in self.__slots__ or key in self.extra

    def search_semantic(self, query: str, kb_name: str | None = None, limit: int = 10) -> list[dict[str, Any]]:
        """Rows of the entries that match a query, best first: a hybrid search if there is a model."""
        return self.db.search(query, kb_name or self.kb_name or None, limit=limit, mode="hybrid")


class Entry(dict[str, Json]):
    """An entry as passed to a hook, its fields as items and attributes. A copy: changes are not written."""

    @classmethod
    def of(cls, values: JsonObject) -> Entry:
        """An entry whose links have their fields as attributes, too."""
        stated = values.get("links")
        links = [_link(one) for one in stated] if isinstance(stated, list) else []
        return cls({**values, "links": links})

    def add_link(self, target: str, relation: str = DEFAULT_RELATION, **more: Json) -> None:
        """Add a link to the copy."""
        links = self.get("links")
        self["links"] = [
            *(links if isinstance(links, list) else []),
            _link({"target": target, "relation": relation, **more}),
        ]

    def __getattr__(self, name: str) -> Json:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = cast("Json", value)


def _link(stated: Json) -> Entry:
    values = stated if isinstance(stated, dict) else {"target": stated}
    return Entry({"target": "", "relation": DEFAULT_RELATION, "note": "", "kb": "", **values})
