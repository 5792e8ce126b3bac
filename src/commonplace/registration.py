"""How a toolset is made known to the program: one value for each, found by name.

A registration says what `bootstrap`, the servers and the command line ask of a toolset. It is loaded at the start of
every process, so it loads nothing itself: what is heavy stands as "module:attribute", or is imported in a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.domain.errors import ConfigError

if TYPE_CHECKING:  # a server starts through here, and answers before it loads them
    from pathlib import Path

    from commonplace.faces.mcp.toolset import Toolset
    from commonplace.faces.rest.endpoint import RestContract
    from commonplace.faces.web.exchange import ToolsetPages
    from commonplace.services.checks import BundleReport
    from commonplace.services.collections import Collection, Collections
    from commonplace.services.services import ServiceProvider, Services
    from commonplace.settings import Settings

TOOLSETS = {
    "cascade": "commonplace.toolsets.cascade.registration:CASCADE",
    "kb": "commonplace.toolsets.kb.registration:KB",
    "notes": "commonplace.toolsets.notes.registration:NOTES",
    "pages": "commonplace.toolsets.pages.registration:PAGES",
    "projects": "commonplace.toolsets.projects.registration:PROJECTS",
    "wiki": "commonplace.toolsets.wiki.registration:WIKI",
}
"""Where the registration of each toolset stands."""
DEFAULT_TOOLSET = "notes"
"""The default toolset, unless the settings or the folder determine another."""


class LoadedPlugins(Protocol):
    """The plugins of this process, as far as a registration looks at them."""

    @property
    def loaded(self) -> Sequence[object]:
        """Each of them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenContext:
    """Context in which a toolset's service is opened."""

    settings: Settings
    named: Sequence[Path]
    """The folders that the process was asked to serve."""
    folders: Sequence[Path]
    """The served folders, resolved; the collections are in the same order."""
    collections: Collections
    open_collection: Callable[[Path], Collection]
    """Opens, indexes and watches one more folder, or follows the remote of one more clone, until the process ends."""
    follow: Callable[[str], Path]
    """Returns the folder of a remote's clone, which is one of `folders` or can be opened with `open_collection`.

    Raises `ConfigError` for an invalid remote, and `StorageError` if the clone cannot be created.
    """
    closing: ExitStack
    """Closes what is opened."""


def _never(_: Settings) -> bool:
    return False


def _always(_: Settings) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetRegistration:
    """One toolset as the program knows it. Text such as "module:attribute" is loaded when it is needed."""

    name: str
    mcp: str
    """The `Toolset` that the MCP face speaks."""
    rest: str = ""
    """Its `RestContract`; "" for none."""
    web: str = ""
    """The `ToolsetPages` that it adds to the pages for people; "" for none."""
    has_web: Callable[[Settings], bool] = _always
    """Whether a server with these settings shows them."""
    rest_alone: bool = False
    """Whether its REST API is that of a server which has no other toolset, and of no other."""
    commands: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its commands by name: the module of each."""
    check_bundle: str = ""
    """A function from a `Collection` to its `BundleReport`, for the toolset that knows a format of bundles."""
    confined: bool = True
    """Whether it sees nothing but `Services.collections`, so that a key for some of them may use it."""
    detects: Callable[[Settings], bool] = _never
    """Whether it is usual for these settings where they name no toolset."""
    takes_stdio: Callable[[Settings], bool] = _never
    """Whether it is what standard input and output speak, whichever toolset the settings name."""
    excludes_others: Callable[[Settings], bool] = _never
    """Whether an HTTP server with these settings has no other toolset."""
    folders: Callable[[Settings], Sequence[Path] | None] | None = None
    """The folders to open instead of those that are named; None where those are meant.

    Raises `ConfigError` for settings that cannot be.
    """
    remotes: Callable[[Settings], Sequence[str]] | None = None
    """The Git remotes that are followed beside those folders, and only read. Raises as `folders`."""
    store_folder: Callable[[Sequence[Path], Settings], Path] | None = None
    """The folder of its own store, which it creates at its first start, from those that are named; None where these
    must exist. A server of replicas does not offer a toolset with a store of its own.

    Raises `ConfigError` for folders that cannot be.
    """
    store_refusal: Callable[[Settings], str] | None = None
    """Why that folder cannot be the store, with what to do; "" if it can."""
    opens: Callable[[OpenContext], ServiceProvider[Any]] | None = None
    """Its service, added to `Services`. Returns at once: slow parts are opened on first use."""
    starts: Callable[[Services, Settings], None] | None = None
    """Called once where the settings name it, before the folders are indexed."""
    serve_stdio: str = ""
    """A function that serves its settings on standard input and output instead of the usual way; "" for that."""
    extend: str = ""
    """A function from its `Toolset` and the plugins to the `Toolset` with what they add; "" where they add nothing."""


def load(where: str) -> Any:  # noqa: ANN401 - whoever names it knows what it is
    """The value that stands at "module:attribute"."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


@cache
def registered() -> tuple[ToolsetRegistration, ...]:
    """Every registration, in the order of the table."""
    return tuple(load(where) for where in TOOLSETS.values())


def registration_of(name: str) -> ToolsetRegistration:
    """The registration of a toolset.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in TOOLSETS:
        raise unknown_toolset(name, list(TOOLSETS))
    return next(one for one in registered() if one.name == name)


def unknown_toolset(name: str, known: Sequence[str]) -> ConfigError:
    """The error for a toolset that does not exist."""
    return ConfigError(f"Unknown toolset {name!r}: expected one of {', '.join(known)}.", kind="toolset")


def default_toolset(settings: Settings) -> str:
    """The toolset that the settings name, else what is usual for them."""
    if settings.toolset is not None:
        return settings.toolset
    return next((one.name for one in registered() if one.detects(settings)), DEFAULT_TOOLSET)


def own_stdio_server(settings: Settings) -> str:
    """Where the function stands with which the settings' toolset serves standard input and output; "" for the usual."""
    usual = default_toolset(settings)
    return next((one.serve_stdio for one in registered() if one.name == usual), "")


def stdio_toolset(settings: Settings) -> str:
    """The toolset that standard input and output speak."""
    return next((one.name for one in registered() if one.takes_stdio(settings)), default_toolset(settings))


def served_folders(named: Sequence[Path], settings: Settings) -> Sequence[Path]:
    """The folders to open: those that are named, unless a toolset has others for these settings."""
    for one in registered():
        instead = one.folders(settings) if one.folders is not None else None
        if instead is not None:
            return instead
    return named


def followed_remotes(settings: Settings) -> Sequence[str]:
    """The remotes that are followed: those of `replica_of`, else those that a toolset names for these settings."""
    if settings.replica_of:
        return settings.replica_of
    return [remote for one in registered() if one.remotes is not None for remote in one.remotes(settings)]


def store_folder(named: Sequence[Path], settings: Settings) -> Path | None:
    """The folder that the settings' toolset creates at its first start; None if the named folders must exist.

    Raises:
        ConfigError: the toolset cannot be given these folders.
    """
    for one in registered():
        if one.name == settings.toolset and one.store_folder is not None:
            return one.store_folder(named, settings)
    return None


def store_refusal(settings: Settings) -> str:
    """Why the folder that the settings name cannot be the store of their toolset, with what to do; "" if it can."""
    refusals = (one.store_refusal for one in registered() if one.name == settings.toolset)
    return next((refusal(settings) for refusal in refusals if refusal is not None), "")


def load_toolset(name: str, plugins: Callable[[], LoadedPlugins]) -> Toolset:
    """A toolset with what plugins add to it.

    Args:
        name: Which one.
        plugins: Loads the plugins; called only for a toolset to which they can add.

    Raises:
        ConfigError: there is no toolset of this name.
    """
    one = registration_of(name)
    toolset: Toolset = load(one.mcp)
    if not one.extend or not plugins().loaded:
        return toolset
    extended: Toolset = load(one.extend)(toolset, plugins())
    return extended


def rest_contracts(settings: Settings) -> list[RestContract]:
    """The REST APIs of a server with these settings."""
    alone = [one for one in registered() if one.excludes_others(settings)]
    offered = alone or [one for one in registered() if not one.rest_alone]
    return [load(one.rest) for one in offered if one.rest]


def toolset_pages(settings: Settings) -> list[ToolsetPages]:
    """The pages that toolsets add to a server with these settings."""
    return [load(one.web) for one in registered() if one.web and one.has_web(settings)]


def bundle_check() -> Callable[[Collection], BundleReport]:
    """The function that checks a folder as a bundle."""
    check: Callable[[Collection], BundleReport] = next(
        load(one.check_bundle) for one in registered() if one.check_bundle
    )
    return check


def toolset_commands() -> dict[str, str]:
    """The commands that toolsets add to the command line: the module of each, by name."""
    return {name: module for one in registered() for name, module in one.commands.items()}
