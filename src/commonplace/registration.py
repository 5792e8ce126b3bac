"""Registrations of toolsets: one value for each toolset, with everything that the program needs from it.

Every process imports all registrations at its start. They therefore import nothing heavy: such parts are named as
"module:attribute" or imported in a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.domain.errors import ConfigError

if TYPE_CHECKING:  # imported only for types, to keep the server's start short
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from commonplace.domain.merge import FileMerge
    from commonplace.domain.ports import Store
    from commonplace.faces.mcp.toolset import Toolset
    from commonplace.faces.rest.endpoint import RestContract
    from commonplace.faces.web.exchange import ToolsetPages
    from commonplace.services.checks import BundleReport
    from commonplace.services.collections import Collection, Collections
    from commonplace.services.services import ServiceProvider, Services
    from commonplace.settings import Settings

GROUP = "commonplace.toolsets"
"""Group of entry points that name registrations: those of this package in its `pyproject.toml`, and those of others."""
DEFAULT_TOOLSET = "notes"
"""Name of the default toolset, unless settings or folders determine another."""


class LoadedPlugins(Protocol):
    """The plugins of this process, reduced to what registrations use."""

    @property
    def loaded(self) -> Sequence[object]:
        """All loaded plugins."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenContext:
    """Context in which a toolset's service is opened."""

    settings: Settings
    named: Sequence[Path]
    """The folders that the command or the settings name."""
    folders: Sequence[Path]
    """The served folders with links resolved, in the order of the collections."""
    collections: Collections
    open_collection: Callable[[Path], Collection]
    """Opens, indexes and watches another folder, or starts to follow the remote of another clone.

    Lasts until shutdown.
    """
    follow: Callable[[str], Path]
    """Returns the folder of a remote's clone. It is one of `folders`, or `open_collection` can open it.

    Raises `ConfigError` for an invalid remote, and `StorageError` if the clone cannot be created.
    """
    closing: ExitStack
    """Closes what the service opens, at shutdown."""


def _never(_: Settings) -> bool:
    return False


def _always(_: Settings) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetRegistration:
    """Describes one toolset to the program. Text of the form "module:attribute" is imported on first use."""

    name: str
    mcp: str
    """Location of the `Toolset` for MCP."""
    rest: str = ""
    """Location of the toolset's `RestContract`; "" if it has none."""
    web: str = ""
    """Location of the toolset's `ToolsetPages`; "" if it has none."""
    has_web: Callable[[Settings], bool] = _always
    """Whether a server with these settings shows the toolset's pages."""
    rest_alone: bool = False
    """Whether the toolset's REST API is served only by servers that exclude other toolsets."""
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    """Modules of the toolset's commands, by command name; a module has `NAME_command`, and `NAME_JSON`, for each."""
    check_bundle: str = ""
    """Location of a function from a `Collection` to its `BundleReport`; "" if the toolset has no format of bundles."""
    confined: bool = True
    """Whether the toolset uses only `Services.collections`, so that keys with limited collections may use it."""
    detects: Callable[[Settings], bool] = _never
    """Whether the toolset is the default for these settings, if they name no toolset."""
    takes_stdio: Callable[[Settings], bool] = _never
    """Whether standard input and output serve this toolset, regardless of the toolset in the settings."""
    excludes_others: Callable[[Settings], bool] = _never
    """Whether an HTTP server with these settings serves no other toolset."""
    folders: Callable[[Settings], Sequence[Path] | None] | None = None
    """Returns the folders to open instead of the named ones; None to open the named ones.

    Raises `ConfigError` for invalid settings.
    """
    remotes: Callable[[Settings], Sequence[str]] | None = None
    """Returns Git remotes to follow in addition to the folders, read-only. Raises the same errors as `folders`."""
    store_folder: Callable[[Sequence[Path], Settings], Path] | None = None
    """Returns the folder of the store that the toolset creates at its first start; None if the folders must exist.

    A server of replicas does not offer a toolset with a store of its own. Raises `ConfigError` for invalid folders.
    """
    store_refusal: Callable[[Settings], str] | None = None
    """Returns the reason why the folder cannot be the store, with a remedy; "" if it can."""
    opens: Callable[[OpenContext], ServiceProvider[Any]] | None = None
    """Opens the toolset's service, to be added to `Services`. Returns at once: slow parts are opened on first use."""
    merges: Callable[[Store], FileMerge | None] | None = None
    """Returns how files of the toolset's own store are merged; None for a folder that is no such store."""
    starts: Callable[[Services, Settings], None] | None = None
    """Called once before the folders are indexed, if the settings name this toolset."""
    serve_stdio: str = ""
    """Location of a function that serves these settings on standard input and output; "" for the common server."""
    extend: str = ""
    """Location of a function that extends the `Toolset` by plugins; "" if plugins cannot extend it."""


def load(where: str) -> Any:  # noqa: ANN401 - the caller knows the type
    """Import the value at a location of the form "module:attribute"."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


@cache
def registered() -> tuple[ToolsetRegistration, ...]:
    """The registrations of all installed packages: those of this package by name, then those of the others."""
    return _installed()[0]


def load_shipped_toolsets() -> bool:
    """Import the toolsets of this package with the schemas of their tools, and no other package's code.

    Returns:
        Whether no other package is installed that has toolsets.
    """
    from commonplace.plugins.entry_points import installed

    points = installed(GROUP)
    shipped = [point for point in points if point.module.startswith("commonplace.")]
    for point in shipped:
        registration: ToolsetRegistration = load(point.value)
        toolset: Toolset = load(registration.mcp)
        for tool in toolset.tools:
            tool.handler.input_schema()  # cached
    return len(shipped) == len(points)


def registration_faults() -> tuple[tuple[str, str], ...]:
    """Why toolsets of other packages are not used: the name of each entry point, and the reason."""
    return _installed()[1]


@cache
def _installed() -> tuple[tuple[ToolsetRegistration, ...], tuple[tuple[str, str], ...]]:
    from commonplace.plugins.entry_points import installed

    points = installed(GROUP)
    others = [point for point in points if not point.module.startswith("commonplace.")]
    ours = {point.name: load(point.value) for point in points if point not in others}
    return _with_others(ours, others) if others else (tuple(ours.values()), ())


def _with_others(
    ours: Mapping[str, ToolsetRegistration], points: Sequence[EntryPoint]
) -> tuple[tuple[ToolsetRegistration, ...], tuple[tuple[str, str], ...]]:
    from commonplace.plugins.loader import Faults, load_points
    from commonplace.plugins.values import StartBudget

    used = dict(ours)
    faults = Faults()
    for point, value in load_points(points, faults, StartBudget(), "toolset"):
        if not isinstance(value, ToolsetRegistration):
            faults.note(point.name, "", "The toolset is not used: its entry point names no ToolsetRegistration")
        elif value.name in used:
            faults.note(point.name, "", f"The toolset is not used: another toolset is named {value.name!r}")
        else:
            used[value.name] = value
    return tuple(used.values()), tuple((fault.plugin, str(fault)) for fault in faults.all)


def registration_of(name: str) -> ToolsetRegistration:
    """The registration of a toolset.

    Raises:
        ConfigError: there is no toolset of this name.
    """
    for registration in registered():
        if registration.name == name:
            return registration
    raise unknown_toolset(name, [registration.name for registration in registered()])


def unknown_toolset(name: str, toolsets: Sequence[str]) -> ConfigError:
    """The error for a toolset that does not exist."""
    return ConfigError(f"Unknown toolset {name!r}: expected one of {', '.join(toolsets)}.", kind="toolset")


def default_toolset(settings: Settings) -> str:
    """The toolset that the settings name, else the default for these settings."""
    if settings.toolset is not None:
        return settings.toolset
    return next((registration.name for registration in registered() if registration.detects(settings)), DEFAULT_TOOLSET)


def with_declared_store(settings: Settings) -> Settings:
    """The settings of a server, with the toolset whose store the named folder is if they name no toolset."""
    if settings.toolset is not None or settings.replica_of:
        return settings
    declared = default_toolset(settings)
    is_store = any(
        registration.name == declared and registration.store_folder is not None for registration in registered()
    )
    return replace(settings, toolset=declared) if is_store else settings


def own_stdio_server(settings: Settings) -> str:
    """Location of the settings' toolset's own server for standard input and output; "" for the common server.

    Only the common server has proposals, and asks before writes.
    """
    if settings.tier == "propose" or settings.confirm != "never":
        return ""
    usual = default_toolset(settings)
    return next((registration.serve_stdio for registration in registered() if registration.name == usual), "")


def stdio_toolset(settings: Settings) -> str:
    """The toolset for standard input and output."""
    return next(
        (registration.name for registration in registered() if registration.takes_stdio(settings)),
        default_toolset(settings),
    )


def served_folders(named: Sequence[Path], settings: Settings) -> Sequence[Path]:
    """The folders to open: the named ones, unless a toolset replaces them."""
    for registration in registered():
        instead = registration.folders(settings) if registration.folders is not None else None
        if instead is not None:
            return instead
    return named


def followed_remotes(settings: Settings) -> Sequence[str]:
    """The remotes to follow: those of `replica_of`, else those that toolsets name for these settings."""
    if settings.replica_of:
        return settings.replica_of
    return [
        remote
        for registration in registered()
        if registration.remotes is not None
        for remote in registration.remotes(settings)
    ]


def store_folder(named: Sequence[Path], settings: Settings) -> Path | None:
    """The folder that the settings' toolset creates at its first start; None if the named folders must exist.

    Raises:
        ConfigError: the toolset does not accept these folders.
    """
    for registration in registered():
        if registration.name == settings.toolset and registration.store_folder is not None:
            return registration.store_folder(named, settings)
    return None


def file_merge(store: Store) -> FileMerge | None:
    """The merge of files whose lines conflict, for a folder that is a store of a toolset's own; None for others."""
    merges = (registration.merges(store) for registration in registered() if registration.merges is not None)
    return next((merge for merge in merges if merge is not None), None)


def store_refusal(settings: Settings) -> str:
    """Reason why the settings' folder cannot be the store of their toolset, with a remedy; "" if it can."""
    refusals = (registration.store_refusal for registration in registered() if registration.name == settings.toolset)
    return next((refusal(settings) for refusal in refusals if refusal is not None), "")


def load_toolset(name: str, plugins: Callable[[], LoadedPlugins]) -> Toolset:
    """A toolset, extended by plugins.

    Args:
        name: Name of the toolset.
        plugins: Loads the plugins; called only for a toolset that plugins can extend.

    Raises:
        ConfigError: there is no toolset of this name.
    """
    registration = registration_of(name)
    toolset: Toolset = load(registration.mcp)
    if not registration.extend or not plugins().loaded:
        return toolset
    extended: Toolset = load(registration.extend)(toolset, plugins())
    return extended


def rest_contracts(settings: Settings) -> list[RestContract]:
    """The REST APIs of a server with these settings."""
    alone = [registration for registration in registered() if registration.excludes_others(settings)]
    offered = alone or [registration for registration in registered() if not registration.rest_alone]
    return [load(registration.rest) for registration in offered if registration.rest]


def toolset_pages(settings: Settings) -> list[ToolsetPages]:
    """The pages that toolsets add to a server with these settings."""
    return [
        load(registration.web) for registration in registered() if registration.web and registration.has_web(settings)
    ]


def bundle_check() -> Callable[[Collection], BundleReport]:
    """The function that checks a folder as a bundle of concepts."""
    check: Callable[[Collection], BundleReport] = next(
        load(registration.check_bundle) for registration in registered() if registration.check_bundle
    )
    return check


def toolset_commands() -> dict[str, str]:
    """Modules of the commands that toolsets add, by command name."""
    return {name: module for registration in registered() for name, module in registration.commands.items()}
