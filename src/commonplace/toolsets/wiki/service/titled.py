"""The names of an Otterwiki with its default setting `RETAIN_PAGE_NAME_CASE=False`.

Its API gives out every path in title case (`domain.title_case`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from commonplace.domain.errors import KnowledgeError
from commonplace.domain.title_case import title_case
from commonplace.toolsets.wiki.rules import Wiki, name_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ONE = frozenset({"path", "old_path", "new_path"})
_MANY = frozenset({"links_to", "linked_from", "updated_pages", "not_rewritten", "pages"})
_NESTED = frozenset({"notes", "hits", "chunks", "nodes", "edges"})


def titled(wiki: Wiki) -> Wiki:
    """The same wiki, whose answers name every note in title case. Its arguments are compared without regard to case."""
    ports = (wiki.notes, wiki.queries, wiki.attachments, wiki.versions)
    notes, queries, attachments, versions = (cast("Any", _TitledPort(port)) for port in ports)
    return Wiki(notes, queries, attachments, versions, retain_case=False)


class _TitledPort:
    """A port of a wiki, each of whose methods returns paths in title case."""

    def __init__(self, port: object) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._port, name)

        @wraps(method)
        def call(*args: object, **named: object) -> object:
            try:
                return _answer(method(*args, **named))
            except KnowledgeError as error:
                nearest = error.context.get("nearest")
                if isinstance(nearest, list):
                    error.context["nearest"] = [title_case(path) for path in nearest]
                raise

        return call


def _answer(value: object) -> object:
    """The answer of a method: a path, a pair that begins with one, a set of them, or values with paths in them."""
    match value:
        case str():
            return title_case(value)
        case tuple():
            path, rest = cast("tuple[str, object]", value)
            return title_case(path), rest
        case frozenset() | set():
            return {title_case(path) for path in cast("set[str]", value)}
        case list():
            return [_shown(item) for item in cast("list[object]", value)]
        case _:
            return _shown(value)


def _shown(value: object) -> object:
    if isinstance(value, tuple):  # an edge
        return tuple(title_case(path) for path in cast("tuple[str, ...]", value))
    if not is_dataclass(value):
        return value
    shown: dict[str, object] = {}
    for field in fields(value):
        held = getattr(value, field.name)
        if field.name in _ONE:
            shown[field.name] = title_case(held)
        elif field.name in _MANY:
            shown[field.name] = tuple(map(title_case, held))
        elif field.name in _NESTED:
            shown[field.name] = tuple(map(_shown, held))
        elif field.name == "name" and held == name_of(getattr(value, "path", "")):
            shown["name"] = name_of(title_case(held))
    return replace(cast("DataclassInstance", value), **shown)
