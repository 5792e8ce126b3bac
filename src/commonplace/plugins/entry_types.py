"""Entry types of plugins, in the form of `kb.yaml` or as classes and objects of the older server."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, ClassVar, Literal, Union, cast, get_args, get_origin

from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema import EntryType, entry_type_of
from commonplace.plugins.calls import outcome_of
from commonplace.plugins.values import (
    FaultSink,
    WrongValueError,
    built,
    is_name,
    items,
    kind_of,
    named,
    plain,
    plain_object,
    wrong,
)

EXPECTED = "a dict of names and types, each a dict as in kb.yaml, a class or an object"
DECLARED = ("description", "required", "optional", "subdirectory", "file_pattern", "ai_instructions", "fields")
"""Attributes of a class that correspond to the keys of a type in `kb.yaml`."""
COMMON = frozenset(
    {
        *("id", "title", "body", "summary", "tags", "aliases", "links", "sources", "provenance", "metadata"),
        *("created_at", "updated_at", "kb_name", "kb_type", "file_path", "entry_type", "type", "name", "capabilities"),
    }
)
"""Attributes that every entry has, which are not fields of a type."""
DETAILS = ("type", "required", "default", "options", "min", "max", "format", "target_type", "description")
"""Attributes of an object that describes a field."""
KINDS: Mapping[object, str] = {
    str: "text", int: "number", float: "number", bool: "checkbox", datetime: "datetime", date: "date",
    list: "list", tuple: "list", set: "list", frozenset: "list",
}  # fmt: skip


def entry_types(value: object, tell: FaultSink) -> dict[str, EntryType]:
    """The valid types by name; invalid ones are reported and skipped.

    Raises:
        WrongValueError: the value is neither a mapping nor a list of classes.
    """
    found: dict[str, EntryType] = {}
    for name, one in _named(value, tell):
        for made in built(
            lambda name=name, one=one: entry_type_of(name, _declaration(one)), f"the type {name!r}", tell
        ):
            found[name] = made
    return found


def _named(value: object, tell: FaultSink) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return named(cast("object", value), EXPECTED, tell)
    found: list[tuple[str, object]] = []
    for number, one in enumerate(items(value, EXPECTED), 1):
        found += built(lambda one=one: (_name(one), one), f"item {number}", tell)
    return found


def _name(one: object) -> str:
    name = getattr(one, "name", None) or getattr(one, "entry_type", None)
    if not is_name(name):
        raise WrongValueError(f"{kind_of(one)} without a name; expected {EXPECTED}")
    return cast("str", name)


def _declaration(one: object) -> JsonObject:
    """A type in the form of `kb.yaml`."""
    if isinstance(one, Mapping):
        return _checked(plain_object(cast("object", one), EXPECTED))
    if one is None or isinstance(one, (str, bytes, int, float, list, tuple, set)) or inspect.isroutine(one):
        raise wrong(cast("object", one), "a dict as in kb.yaml, a class or an object")
    cls = one if isinstance(one, type) else type(one)
    stated = {key: plain(value) for key in DECLARED if _is_stated(value := getattr(one, key, None))}
    read = _fields(cls, one)
    given = stated.get("fields")
    fields = {**read, **_described(getattr(one, "fields", None))} if not isinstance(given, Mapping) else given
    body: dict[str, Json] = {**stated, "fields": fields}
    body.setdefault("description", _description(cls))
    return _checked(body)


def _checked(body: dict[str, Json]) -> JsonObject:
    fields = body.get("fields")
    if fields is not None and not isinstance(fields, Mapping):
        raise WrongValueError(f"a type whose `fields` is {kind_of(fields)}; expected a dict of fields")
    for name, one in (fields or {}).items():
        if not isinstance(one, Mapping):
            raise WrongValueError(
                f"a type whose field {name[:60]!r} is {kind_of(one)}; expected a dict such as {{'type': 'text'}}"
            )
    return body


def _is_stated(value: object) -> bool:
    """Whether a class attribute is a non-empty value; descriptors and methods are not."""
    return isinstance(value, (str, list, tuple, set, Mapping)) and bool(cast("object", value))


def _described(value: object) -> dict[str, Json]:
    """Fields from a list of objects that describe them, each with a name."""
    found: dict[str, Json] = {}
    for one in cast("list[object]", value) if isinstance(value, (list, tuple)) else ():
        name = getattr(one, "name", None)
        if is_name(name):
            details = {key: getattr(one, key, None) for key in DETAILS}
            found[cast("str", name)] = {key: plain(detail) for key, detail in details.items() if detail is not None}
    return found


def _fields(cls: type, one: object) -> dict[str, Json]:
    """Fields from dataclass fields, annotations and plain attributes, those of base classes first."""
    hints = _hints(cls)
    required = _without_default(cls)
    found: dict[str, Json] = {}
    for name in dict.fromkeys((*hints, *_attributes(cls))):
        hint = hints.get(name)
        if name.startswith("_") or name in COMMON or name in DECLARED or get_origin(hint) is ClassVar:
            continue
        rule = _rule(hint, _default(one, name))
        if name in required:
            rule["required"] = True
        found[name] = rule
    return found


def _hints(cls: type) -> dict[str, object]:
    """Annotations of a class and its bases; unevaluated if they cannot be evaluated."""
    evaluated = outcome_of(lambda: typing.get_type_hints(cls))
    if not evaluated.exception():
        return dict(evaluated.result())
    written: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        written |= inspect.get_annotations(base)
    return written


def _attributes(cls: type) -> list[str]:
    """Names of plain values in the bodies of a class and its bases."""
    bodies = [base.__dict__ for base in reversed(cls.__mro__) if base is not object]
    return [name for body in bodies for name, value in body.items() if isinstance(value, (str, int, float, list, date))]


def _without_default(cls: type) -> frozenset[str]:
    """Required fields of a dataclass."""
    if not dataclasses.is_dataclass(cls):
        return frozenset()
    missing = dataclasses.MISSING
    return frozenset(
        one.name for one in dataclasses.fields(cls) if one.default is missing and one.default_factory is missing
    )


def _default(one: object, name: str) -> Json:
    """The default value of a field in a class or object; None if there is none or it is empty."""
    value = getattr(one, name, None)
    if inspect.isdatadescriptor(value) and dataclasses.is_dataclass(one):  # a slot of the dataclass
        value = {field.name: field.default for field in dataclasses.fields(one)}.get(name)
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, (str, bool, int, float, date, list)) or value in ("", []):
        return None
    return plain(cast("object", value))


def _rule(hint: object, default: Json) -> dict[str, Json]:
    """A field in the form of `kb.yaml`."""
    kind, options = _kind(hint)
    if hint is None and default is not None:
        kind = KINDS.get(type(default), "list" if isinstance(default, list) else "text")
    rule: dict[str, Json] = {"type": kind}
    if options:
        rule["options"] = options
    if default is not None:
        rule["default"] = default
    return rule


def _kind(hint: object) -> tuple[str, list[Json]]:
    """The type of a field and its options."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _kind(get_args(hint)[0])
    if origin in {Union, UnionType}:
        parts = [part for part in get_args(hint) if part is not NoneType]
        return _kind(parts[0]) if len(parts) == 1 else ("text", [])
    if origin is Literal:
        return "select", [plain(option) for option in get_args(hint)]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "select", [plain(option.value) for option in hint]
    if isinstance(hint, str):  # an unevaluated annotation
        written = hint.partition("[")[0].partition("|")[0].strip()
        hint = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "date": date}.get(written, hint)
    kind = cast("object", origin or hint)
    return KINDS.get(kind, "text") if isinstance(kind, type) else "text", []


def _description(cls: type) -> str:
    """The first line of a class's own docstring. The docstring that a dataclass generates is ignored."""
    own = cls.__dict__.get("__doc__")
    if not isinstance(own, str) or own.startswith(f"{cls.__name__}("):
        return ""
    return inspect.cleandoc(own).partition("\n")[0].strip()
