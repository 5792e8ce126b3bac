"""Collects the plugins' additions to the services."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, cast, get_args, get_origin

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema import EntryType, entry_type_of
from commonplace.domain.validation import Violation
from commonplace.plugins.loader import Fault, Plugin, Plugins
from commonplace.plugins.open_index import Config, OpenIndex
from commonplace.plugins.values import (
    HOOK_SECONDS,
    FaultSink,
    WrongValueError,
    built,
    fitting,
    function,
    is_failure,
    is_name,
    items,
    kind_of,
    message_of,
    named,
    outcome_of,
    plain,
    plain_object,
    shown,
    wrong,
)
from commonplace.services.collections import Collections
from commonplace.services.extensions import Deadline, Extensions, Hook, HookPoint, Supplement, Validator
from commonplace.services.links import DEFAULT_RELATION

HOOK_POINTS: Sequence[HookPoint] = get_args(HookPoint)
BEFORE_HOOKS: frozenset[HookPoint] = frozenset({"before_save", "before_delete"})
"""Hook points at which a hook can prevent the write."""
Function = Callable[..., object]


def extensions_of(plugins: Plugins, config: JsonObject, collections: Callable[[], Collections]) -> Extensions:
    """The plugins' additions to the services. Invalid parts are skipped and recorded as faults.

    Args:
        plugins: The loaded plugins.
        config: The settings relevant to a plugin.
        collections: Returns the open collections.
    """
    database = OpenIndex(collections)
    context = PluginContext(Config(config, database), database, plugins.changes.notify)
    for plugin in plugins.loaded:
        plugin.hook_result("set_context", _anything, None, context)
    types: dict[str, EntryType] = {}
    presets: dict[str, JsonObject] = {}
    relations: list[tuple[str, str]] = []
    for plugin in plugins.loaded:
        types |= plugin.hook_result("get_entry_types", entry_types, {})
        presets |= plugin.hook_result("get_kb_presets", _presets, {})
        relations += plugin.hook_result("get_relationship_types", _relations, [])
    return Extensions(
        types=types,
        relations=tuple(relations),
        validators=tuple(validator for plugin in plugins.loaded for validator in _validators(plugin, context)),
        hooks=_hooks(plugins.loaded, context),
        supplements=tuple(_supplement(plugin) for plugin in plugins.loaded if plugin.has("get_orient_supplement")),
        presets=presets,
    )


def faults_of(plugins: Plugins, state_dir: Path) -> list[Fault]:
    """All faults of plugins: those found by loading their additions to the services, and those recorded by servers.

    Args:
        plugins: The loaded plugins.
        state_dir: Folder with the servers' records.
    """
    config: JsonObject = {"tier": "read", "commit": "manual"}
    extensions_of(plugins, config, lambda: Collections(tuple)).supplement("base", "generic")
    return list(dict.fromkeys((*plugins.faults.all, *plugins.faults.stored_in(state_dir))))


def _anything(value: object, tell: FaultSink) -> None:
    del value, tell


def _presets(value: object, tell: FaultSink) -> dict[str, JsonObject]:
    presets: dict[str, JsonObject] = {}
    for name, element in named(value, "a dict of names and kb.yaml files as dicts", tell):
        for preset in built(partial(plain_object, element, "a kb.yaml as a dict"), f"the preset {name!r}", tell):
            presets[name] = preset
    return presets


def _relations(value: object, tell: FaultSink) -> list[tuple[str, str]]:
    expected = "a dict of relations and their inverses"
    relations: list[tuple[str, str]] = []
    for name, element in named(value, expected, tell):
        relations += built(partial(_relation, name, element), f"the inverse of the relation {name!r}", tell)
    return relations


def _relation(name: str, element: object) -> tuple[str, str]:
    inverse = cast("Mapping[str, object]", element).get("inverse", name) if isinstance(element, Mapping) else element
    if not isinstance(inverse, str) or not inverse:
        raise WrongValueError(f"{kind_of(inverse)}; expected a text")
    return name, inverse


def _validators(plugin: Plugin, context: PluginContext) -> list[Validator]:
    takes = "a function validator(entry_type, data, context)"

    def check(value: object, tell: FaultSink) -> list[Function]:
        return _functions(items(value, f"a list of {takes[2:]}"), 3, takes, tell, least=2)

    return [partial(_violations, plugin, item, context) for item in plugin.hook_result("get_validators", check, [])]


def _violations(
    plugin: Plugin, validator: Function, context: PluginContext, entry_type: str, values: JsonObject, kb_name: str
) -> list[Violation]:
    hook = "get_validators"

    def judge() -> list[Violation]:
        violations = validator(*fitting(validator, (entry_type, dict(values), context.of(kb_name))))
        rows = [] if violations is None else items(violations, "a list of dicts with field, rule, expected and got")
        return [violation for row in rows if (violation := _violation(plugin, row))]

    outcome = plugin.called(hook, judge)
    if outcome is None:
        return []
    if error := outcome.exception():
        plugin.failed(hook, "a validator", error)
        return []
    return outcome.result()


def _violation(plugin: Plugin, row: object) -> Violation | None:
    try:
        other_object = plain_object(row, "a dict with field, rule, expected and got")
    except WrongValueError as error:
        plugin.fault("get_validators", f"a validator found {error}")
        return None
    return Violation(
        str(other_object.get("field", "")),
        str(other_object.get("rule", plugin.name)),
        str(other_object.get("expected", "another value")),
        str(other_object.get("got", "")),
        enforced=False if other_object.get("severity") in {"warning", "info"} else None,
    )


def _hooks(plugins: Sequence[Plugin], context: PluginContext) -> dict[HookPoint, tuple[Hook, ...]]:
    hooks: dict[HookPoint, list[Hook]] = {moment: [] for moment in HOOK_POINTS}
    for plugin in plugins:
        for moment, functions in plugin.hook_result("get_hooks", _moments, {}).items():
            hooks[moment] += [_hook(plugin, moment, element, context) for element in functions]
    return {moment: tuple(hooks) for moment, hooks in hooks.items()}


def _moments(value: object, tell: FaultSink) -> dict[HookPoint, list[Function]]:
    moments: dict[HookPoint, list[Function]] = {}
    for name, listed in named(value, "a dict of moments and lists of functions hook(entry, context)", tell):
        moment: HookPoint | None = next((point for point in HOOK_POINTS if point == name), None)
        if moment is None:
            tell(f"there is no moment {shown(name)}; expected one of {', '.join(HOOK_POINTS)}")
            continue
        takes = "a function hook(entry, context)"
        rows = partial(_rows, listed, f"a list of {takes[2:]}")
        for functions in built(rows, moment, tell):
            moments[moment] = _functions(functions, 2, f"{takes} for {moment}", tell)
    return moments


def _rows(functions: object, expected: str) -> list[object]:
    return [functions] if callable(functions) else items(functions, expected)


def _functions(
    rows: Sequence[object], arguments: int, expected: str, tell: FaultSink, *, least: int | None = None
) -> list[Function]:
    found_functions: list[Function] = []
    for row in rows:
        found_functions += built(partial(function, row, arguments, expected, least=least), "one item", tell)
    return found_functions


def _hook(plugin: Plugin, moment: HookPoint, hook: Function, context: PluginContext) -> Hook:
    """Wrap a hook for the services. An exception before a write prevents the write; after a write, it is a fault."""

    def before(entry: JsonObject, answer_by: Deadline | None, operation: str) -> None:
        del answer_by
        outcome = plugin.called(moment, partial(hook, Entry.of(entry), context.of(_base(entry), operation)))
        error = outcome.exception() if outcome else None
        if error:
            if is_failure(error):
                plugin.failed(moment, "a hook", error)
            reason = message_of(error) or type(error).__name__
            raise InvalidInputError(f"The plugin {plugin.name} refused this: {reason}.", kind="hook") from error

    def after(entry: JsonObject, answer_by: Deadline | None, operation: str) -> None:
        call = partial(hook, Entry.of(entry), context.of(_base(entry), operation))
        plugin.deliver(moment, call, answer_by.left if answer_by else HOOK_SECONDS)

    return before if moment in BEFORE_HOOKS else after


def _base(entry: JsonObject) -> str:
    name = entry.get("kb_name")
    return name if isinstance(name, str) else ""


def _supplement(plugin: Plugin) -> Supplement:
    def check(value: object, tell: FaultSink) -> JsonObject:
        del tell
        return plain_object(value, "a dict")

    def supplement(name: str, kb_type: str) -> JsonObject:
        nothing: JsonObject = {}
        return plugin.hook_result("get_orient_supplement", check, nothing, name, kb_type)

    return supplement


# The values passed to plugins: the context of a call, and entries. Their form is that of the older server.


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
        links = [_link(element) for element in stated] if isinstance(stated, list) else []
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


# Entry types of plugins, in the form of `kb.yaml` or as classes and objects of the older server.


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
    types: dict[str, EntryType] = {}
    for name, element in _named(value, tell):
        for made in built(
            lambda name=name, value=element: entry_type_of(name, _declaration(value)), f"the type {name!r}", tell
        ):
            types[name] = made
    return types


def _named(value: object, tell: FaultSink) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return named(cast("object", value), EXPECTED, tell)
    found_pairs: list[tuple[str, object]] = []
    for number, element in enumerate(items(value, EXPECTED), 1):
        found_pairs += built(lambda candidate=element: (_name(candidate), candidate), f"item {number}", tell)
    return found_pairs


def _name(element: object) -> str:
    name = getattr(element, "name", None) or getattr(element, "entry_type", None)
    if not is_name(name):
        raise WrongValueError(f"{kind_of(element)} without a name; expected {EXPECTED}")
    return cast("str", name)


def _declaration(element: object) -> JsonObject:
    """A type in the form of `kb.yaml`."""
    if isinstance(element, Mapping):
        return _checked(plain_object(cast("object", element), EXPECTED))
    if element is None or isinstance(element, (str, bytes, int, float, list, tuple, set)) or inspect.isroutine(element):
        raise wrong(cast("object", element), "a dict as in kb.yaml, a class or an object")
    cls = element if isinstance(element, type) else type(element)
    stated = {key: plain(value) for key in DECLARED if _is_stated(value := getattr(element, key, None))}
    read = _fields(cls, element)
    given_fields = stated.get("fields")
    fields = (
        {**read, **_described(getattr(element, "fields", None))}
        if not isinstance(given_fields, Mapping)
        else given_fields
    )
    body: dict[str, Json] = {**stated, "fields": fields}
    body.setdefault("description", _description(cls))
    return _checked(body)


def _checked(body: dict[str, Json]) -> JsonObject:
    fields = body.get("fields")
    if fields is not None and not isinstance(fields, Mapping):
        raise WrongValueError(f"a type whose `fields` is {kind_of(fields)}; expected a dict of fields")
    for name, value in (fields or {}).items():
        if not isinstance(value, Mapping):
            raise WrongValueError(
                f"a type whose field {name[:60]!r} is {kind_of(value)}; expected a dict such as {{'type': 'text'}}"
            )
    return body


def _is_stated(value: object) -> bool:
    """Whether a class attribute is a non-empty value; descriptors and methods are not."""
    return isinstance(value, (str, list, tuple, set, Mapping)) and bool(cast("object", value))


def _described(value: object) -> dict[str, Json]:
    """Fields from a list of objects that describe them, each with a name."""
    fields: dict[str, Json] = {}
    for element in cast("list[object]", value) if isinstance(value, (list, tuple)) else ():
        name = getattr(element, "name", None)
        if is_name(name):
            details = {key: getattr(element, key, None) for key in DETAILS}
            fields[cast("str", name)] = {key: plain(detail) for key, detail in details.items() if detail is not None}
    return fields


def _fields(cls: type, element: object) -> dict[str, Json]:
    """Fields from dataclass fields, annotations and plain attributes, those of base classes first."""
    hints = _hints(cls)
    required = _without_default(cls)
    rules: dict[str, Json] = {}
    for name in dict.fromkeys((*hints, *_attributes(cls))):
        hint = hints.get(name)
        if name.startswith("_") or name in COMMON or name in DECLARED or get_origin(hint) is ClassVar:
            continue
        rule = _rule(hint, _default(element, name))
        if name in required:
            rule["required"] = True
        rules[name] = rule
    return rules


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
        other_field.name
        for other_field in dataclasses.fields(cls)
        if other_field.default is missing and other_field.default_factory is missing
    )


def _default(element: object, name: str) -> Json:
    """The default value of a field in a class or object; None if there is none or it is empty."""
    value = getattr(element, name, None)
    if inspect.isdatadescriptor(value) and dataclasses.is_dataclass(element):  # a slot of the dataclass
        value = {field.name: field.default for field in dataclasses.fields(element)}.get(name)
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
    if origin is Literal or (isinstance(hint, type) and issubclass(hint, Enum)):
        values = get_args(hint) or [option.value for option in cast("type[Enum]", hint)]
        return "select", list(map(plain, values))
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
