"""Finding and loading plugins; one that fails is set aside with its reason.

Every start comes through here: what plugins add is gathered in `gathering`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar, cast

from commonplace.plugins.hooks import GROUPS, Plugin

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
    installed = entry_points()  # reads a file of every package
    for group in GROUPS:
        yield from sorted(installed.select(group=group), key=lambda point: point.name)


def _made(point: EntryPoint) -> Plugin:
    loaded = point.load()
    plugin = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(plugin, Plugin) or not plugin.name:
        raise TypeError("a plugin is a class with a `name`")
    return plugin


def _commands(plugin: Plugin) -> Mapping[str, Callable[..., object]]:
    return offered(plugin, "get_cli_commands", cast("Mapping[str, Callable[..., object]]", {}))
