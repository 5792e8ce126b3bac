"""Gathering what plugins add to the services."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast, get_args

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema import EntryType, entry_type_of
from commonplace.domain.validation import Violation
from commonplace.plugins.hooks import Context, HookFunction, Plugin, ValidatorFunction
from commonplace.plugins.loading import Plugins, offered
from commonplace.plugins.open_index import OpenIndex
from commonplace.services.collections import Collections
from commonplace.services.deadline import Deadline
from commonplace.services.extending import Extensions, Hook, Moment, Supplement, Validator

log = logging.getLogger(__name__)


def extensions_of(plugins: Plugins, config: JsonObject, collections: Callable[[], Collections]) -> Extensions:
    """What plugins add to the services; one that fails in this is left out of it, with a warning.

    Args:
        plugins: Those that are loaded.
        config: The settings that concern a plugin.
        collections: Gives what is open.
    """
    context = Context(config, OpenIndex(collections), plugins.changes.tell)
    return _gathered(plugins.loaded, context)


def _gathered(plugins: Sequence[Plugin], context: Context) -> Extensions:
    for plugin in plugins:
        offered(plugin, "set_context", None, context)
    moments: Sequence[Moment] = get_args(Moment)
    hooks = [_hooks_of(plugin) for plugin in plugins]
    supplementing = [plugin for plugin in plugins if hasattr(plugin, "get_orient_supplement")]
    return Extensions(
        types={name: kind for plugin in plugins for name, kind in _types(plugin).items()},
        relations=tuple(pair for plugin in plugins for pair in _relations(plugin)),
        validators=tuple(one for plugin in plugins for one in _validators(plugin, context)),
        hooks={
            moment: tuple(_hook(moment, one, context) for named in hooks for one in named.get(moment, ()))
            for moment in moments
        },
        supplements=tuple(_supplement(plugin) for plugin in supplementing),
        presets={name: preset for plugin in plugins for name, preset in _presets(plugin).items()},
    )


def _hooks_of(plugin: Plugin) -> Mapping[str, Sequence[HookFunction]]:
    return offered(plugin, "get_hooks", cast("Mapping[str, Sequence[HookFunction]]", {}))


def _presets(plugin: Plugin) -> Mapping[str, JsonObject]:
    return offered(plugin, "get_kb_presets", cast("Mapping[str, JsonObject]", {}))


def _types(plugin: Plugin) -> dict[str, EntryType]:
    declared = offered(plugin, "get_entry_types", cast("Mapping[str, JsonObject]", {}))
    return {name: entry_type_of(name, body) for name, body in declared.items()}


def _relations(plugin: Plugin) -> list[tuple[str, str]]:
    declared = offered(plugin, "get_relationship_types", cast("Mapping[str, Json]", {}))
    pairs = [(name, body.get("inverse") if isinstance(body, Mapping) else body) for name, body in declared.items()]
    return [(name, inverse if isinstance(inverse, str) else name) for name, inverse in pairs]


def _validators(plugin: Plugin, context: Context) -> list[Validator]:
    declared = offered(plugin, "get_validators", cast("Sequence[ValidatorFunction]", ()))
    return [partial(_violations, plugin, function, context) for function in declared]


def _violations(
    plugin: Plugin, function: ValidatorFunction, context: Context, entry_type: str, values: JsonObject
) -> list[Violation]:
    try:
        found = function(entry_type, values, context)
    except Exception as error:  # noqa: BLE001 - somebody else's code: a validator that fails judges nothing
        log.warning("plugin %s: a validator failed: %s: %s", plugin.name, type(error).__name__, str(error)[:200])
        return []
    return [
        Violation(
            str(one.get("field", "")),
            str(one.get("rule", plugin.name)),
            str(one.get("expected", "another value")),
            str(one.get("got", "")),
        )
        for one in found
    ]


def _hook(moment: Moment, function: HookFunction, context: Context) -> Hook:
    """The hook as the services call it: before a write its error refuses the write, after it the write stands."""

    def hook(entry: JsonObject, _: Deadline | None) -> None:
        try:
            function(entry, context)
        except Exception as error:
            reason = str(error)[:200] or type(error).__name__
            if moment in {"before_save", "before_delete"}:
                raise InvalidInputError(f"A plugin refused this: {reason}.", kind="hook") from error
            log.warning("a plugin's %s hook failed: %s: %s", moment, type(error).__name__, reason)

    return hook


def _supplement(plugin: Plugin) -> Supplement:
    def supplement(name: str) -> JsonObject:
        return offered(plugin, "get_orient_supplement", cast("JsonObject", {}), name)

    return supplement
