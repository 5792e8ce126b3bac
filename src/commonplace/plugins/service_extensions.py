"""Collects the plugins' additions to the services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast, get_args

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import JsonObject
from commonplace.domain.schema import EntryType
from commonplace.domain.validation import Violation
from commonplace.plugins.calls import HOOK_SECONDS, is_failure, message_of
from commonplace.plugins.context import Entry, PluginContext
from commonplace.plugins.entry_types import entry_types
from commonplace.plugins.faults import Fault
from commonplace.plugins.loader import Plugin, Plugins
from commonplace.plugins.open_index import Config, OpenIndex
from commonplace.plugins.values import (
    FaultSink,
    WrongValueError,
    built,
    fitting,
    function,
    items,
    kind_of,
    named,
    plain_object,
    shown,
)
from commonplace.services.collections import Collections
from commonplace.services.deadline import Deadline
from commonplace.services.extensions import Extensions, Hook, HookPoint, Supplement, Validator

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
        validators=tuple(one for plugin in plugins.loaded for one in _validators(plugin, context)),
        hooks=_hooks(plugins.loaded, context),
        supplements=tuple(_supplement(one) for one in plugins.loaded if one.has("get_orient_supplement")),
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
    found: dict[str, JsonObject] = {}
    for name, one in named(value, "a dict of names and kb.yaml files as dicts", tell):
        for preset in built(partial(plain_object, one, "a kb.yaml as a dict"), f"the preset {name!r}", tell):
            found[name] = preset
    return found


def _relations(value: object, tell: FaultSink) -> list[tuple[str, str]]:
    expected = "a dict of relations and their inverses"
    found: list[tuple[str, str]] = []
    for name, one in named(value, expected, tell):
        found += built(partial(_relation, name, one), f"the inverse of the relation {name!r}", tell)
    return found


def _relation(name: str, one: object) -> tuple[str, str]:
    inverse = cast("Mapping[str, object]", one).get("inverse", name) if isinstance(one, Mapping) else one
    if not isinstance(inverse, str) or not inverse:
        raise WrongValueError(f"{kind_of(inverse)}; expected a text")
    return name, inverse


def _validators(plugin: Plugin, context: PluginContext) -> list[Validator]:
    takes = "a function validator(entry_type, data, context)"

    def check(value: object, tell: FaultSink) -> list[Function]:
        return _functions(items(value, f"a list of {takes[2:]}"), 3, takes, tell, least=2)

    return [partial(_violations, plugin, one, context) for one in plugin.hook_result("get_validators", check, [])]


def _violations(
    plugin: Plugin, validator: Function, context: PluginContext, entry_type: str, values: JsonObject, kb_name: str
) -> list[Violation]:
    hook = "get_validators"

    def judge() -> list[Violation]:
        found = validator(*fitting(validator, (entry_type, dict(values), context.of(kb_name))))
        rows = [] if found is None else items(found, "a list of dicts with field, rule, expected and got")
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
        one = plain_object(row, "a dict with field, rule, expected and got")
    except WrongValueError as error:
        plugin.fault("get_validators", f"a validator found {error}")
        return None
    return Violation(
        str(one.get("field", "")),
        str(one.get("rule", plugin.name)),
        str(one.get("expected", "another value")),
        str(one.get("got", "")),
        enforced=False if one.get("severity") in {"warning", "info"} else None,
    )


def _hooks(plugins: Sequence[Plugin], context: PluginContext) -> dict[HookPoint, tuple[Hook, ...]]:
    found: dict[HookPoint, list[Hook]] = {moment: [] for moment in HOOK_POINTS}
    for plugin in plugins:
        for moment, functions in plugin.hook_result("get_hooks", _moments, {}).items():
            found[moment] += [_hook(plugin, moment, one, context) for one in functions]
    return {moment: tuple(hooks) for moment, hooks in found.items()}


def _moments(value: object, tell: FaultSink) -> dict[HookPoint, list[Function]]:
    found: dict[HookPoint, list[Function]] = {}
    for name, given in named(value, "a dict of moments and lists of functions hook(entry, context)", tell):
        moment: HookPoint | None = next((one for one in HOOK_POINTS if one == name), None)
        if moment is None:
            tell(f"there is no moment {shown(name)}; expected one of {', '.join(HOOK_POINTS)}")
            continue
        takes = "a function hook(entry, context)"
        rows = partial(_rows, given, f"a list of {takes[2:]}")
        for functions in built(rows, moment, tell):
            found[moment] = _functions(functions, 2, f"{takes} for {moment}", tell)
    return found


def _rows(given: object, expected: str) -> list[object]:
    return [given] if callable(given) else items(given, expected)


def _functions(
    rows: Sequence[object], arguments: int, expected: str, tell: FaultSink, *, least: int | None = None
) -> list[Function]:
    found: list[Function] = []
    for row in rows:
        found += built(partial(function, row, arguments, expected, least=least), "one item", tell)
    return found


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
