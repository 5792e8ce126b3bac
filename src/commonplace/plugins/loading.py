"""Finding plugins and gathering what they offer; one that fails is set aside with its reason."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar, cast, get_args

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema import EntryType, entry_type_of
from commonplace.domain.validation import Violation
from commonplace.plugins.hooks import GROUPS, Context, HookFunction, Plugin, ValidatorFunction
from commonplace.services.extending import Extensions, Hook, Moment, Supplement, Validator

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SetAside:
    """A plugin that is not used."""

    name: str
    reason: str


class Changes:
    """Passes on which of the plugins' resources change."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call a listener with the URI of every resource that changes from now on; it must not raise."""
        self._listeners.append(listener)

    def tell(self, uri: str) -> None:
        """The resource has changed."""
        for listener in tuple(self._listeners):
            listener(uri)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins of this process."""

    loaded: tuple[Plugin, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    changes: Changes = field(default_factory=Changes)

    def commands(self) -> dict[str, Callable[..., object]]:
        """The subcommands that they add to the command line, the first of two with one name."""
        added: dict[str, Callable[..., object]] = {}
        for plugin in self.loaded:
            for name, function in _commands(plugin).items():
                added.setdefault(name, function)
        return added

    def extensions(self, context: Context) -> Extensions:
        """What they add to the services; one that fails in this is left out of it, with a warning."""
        for plugin in self.loaded:
            offered(plugin, "set_context", None, context)
        moments: Sequence[Moment] = get_args(Moment)
        hooks = [_hooks_of(plugin) for plugin in self.loaded]
        supplementing = [plugin for plugin in self.loaded if hasattr(plugin, "get_orient_supplement")]
        return Extensions(
            types={name: kind for plugin in self.loaded for name, kind in _types(plugin).items()},
            relations=tuple(pair for plugin in self.loaded for pair in _relations(plugin)),
            validators=tuple(one for plugin in self.loaded for one in _validators(plugin, context)),
            hooks={
                moment: tuple(_hook(moment, one, context) for named in hooks for one in named.get(moment, ()))
                for moment in moments
            },
            supplements=tuple(_supplement(plugin) for plugin in supplementing),
            presets={name: preset for plugin in self.loaded for name, preset in _presets(plugin).items()},
        )


def load_plugins() -> Plugins:
    """Load every plugin that an installed package names; the first of two with one name is used."""
    loaded: dict[str, Plugin] = {}
    set_aside: list[SetAside] = []
    for point in _points():
        try:
            plugin = _made(point)
        except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises must not stop the server
            set_aside.append(SetAside(point.name, f"{type(error).__name__}: {str(error)[:200]}"))
            continue
        if plugin.name in loaded:
            set_aside.append(SetAside(point.name, f"another plugin is named {plugin.name!r}"))
        else:
            loaded[plugin.name] = plugin
    for one in set_aside:
        log.warning("plugin %s is not used: %s", one.name, one.reason)
    return Plugins(tuple(loaded.values()), tuple(set_aside))


def offered(plugin: Plugin, method: str, nothing: T, *arguments: object) -> T:
    """What a plugin's method returns; `nothing` where it has none, returns None, or fails, which is logged."""
    function = cast("Callable[..., T | None] | None", getattr(plugin, method, None))
    if function is None:
        return nothing
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001 - somebody else's code: whatever it raises must not stop the server
        log.warning("plugin %s: %s failed: %s: %s", plugin.name, method, type(error).__name__, str(error)[:200])
        return nothing
    return nothing if result is None else result


def _points() -> Iterable[EntryPoint]:
    for group in GROUPS:
        yield from sorted(entry_points(group=group), key=lambda point: point.name)


def _made(point: EntryPoint) -> Plugin:
    loaded = point.load()
    plugin = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(plugin, Plugin) or not plugin.name:
        raise TypeError("a plugin is a class with a `name`")
    return plugin


def _hooks_of(plugin: Plugin) -> Mapping[str, Sequence[HookFunction]]:
    return offered(plugin, "get_hooks", cast("Mapping[str, Sequence[HookFunction]]", {}))


def _commands(plugin: Plugin) -> Mapping[str, Callable[..., object]]:
    return offered(plugin, "get_cli_commands", cast("Mapping[str, Callable[..., object]]", {}))


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

    def hook(entry: JsonObject) -> None:
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
