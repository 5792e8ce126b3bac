"""What a command runs in: its settings, its output, and the folders, opened when it needs them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from commonplace.domain.addresses import MAX_SHOWN_ADDRESS
from commonplace.domain.errors import ConfigError, InvalidInputError
from commonplace.faces.cli.output import Output
from commonplace.faces.cli.progress import progress_bar
from commonplace.services.cascade import CASCADE_KEY
from commonplace.services.projects import PROJECTS_KEY
from commonplace.settings import CommitMode, Flags, Settings, load_settings
from commonplace.settings.folders import require_folders

if TYPE_CHECKING:  # a server starts through here, and answers before it loads them
    from commonplace.domain.diagnostics import Diagnostic
    from commonplace.domain.ports import Progress
    from commonplace.services.cascade.cascade import Cascade
    from commonplace.services.collections import Collection, Collections
    from commonplace.services.projects.project_store import ProjectStore
    from commonplace.services.services import Services


class ApplicationHandle(Protocol):
    """The folders of one process, as the composition root opens them."""

    @property
    def services(self) -> Services:
        """What can be done with them."""
        ...

    def sync(self, progress: Progress | None = None) -> None:
        """Bring every index up to date."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What is served over HTTP."""

    mcp_only: bool = False
    """MCP alone, at `/mcp`."""
    sse: Literal["off", "beside", "instead"] = "off"
    """The older transport: at `/sse`, or at `/mcp` itself."""
    anonymous: bool = False
    """Whether an address that others can reach may be served without a key."""


@dataclass(frozen=True, slots=True)
class CliDependencies:
    """What the composition root lends to the command line."""

    open: Callable[[Sequence[Path], Settings], ApplicationHandle]
    commit_mode: Callable[[Path], CommitMode]
    """`auto` for a folder in a Git repository, else `manual`."""
    serve: Callable[[Settings], None]
    """Serve `Settings.kb` over MCP until the client goes."""
    serve_http: Callable[[Settings, HttpOptions], None]
    """Serve `Settings.kb` over HTTP until a signal ends the process."""
    install_model: Callable[[Settings, Path | None, bool, Callable[[str], None]], str]
    """Install the model for searching by meaning, from a file, or anew even where it is; its name."""
    git_command: Callable[[], Diagnostic]
    """What there is to say of the git command."""
    diagnose: Callable[[Path, Settings], Iterable[Diagnostic]]
    """What there is to say of one folder's repository and locks."""
    commands: Callable[[], Mapping[str, AddedCommand]] = dict
    """Loads the plugins and gives the subcommands that they add, by name."""
    plugin_faults: Callable[[Settings], Sequence[tuple[str, str]]] = lambda _: ()
    """Loads the plugins and gives the name of each in which something is wrong, with what that is."""


@dataclass(frozen=True, slots=True)
class AddedCommand:
    """A subcommand that a plugin adds."""

    function: Callable[..., object]
    """Or a `typer.Typer`."""
    refuse: Callable[[str], None]
    """Told why it cannot be used."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of one command."""

    dependencies: CliDependencies
    settings: Settings
    flags: Flags
    """The settings that the command line gave, by name."""
    out: Output

    def configured(self, flags: Flags) -> Settings:
        """The settings with further flags of the command line."""
        return load_settings(flags={**self.flags, **flags})

    def relative(self, page: str) -> str:
        """A page as its folder names it; an absolute path is taken for a file of one of the folders.

        Raises:
            InvalidInputError: an absolute path outside all of them.
        """
        given = Path(os.path.normpath(page))
        if not given.is_absolute():
            return page
        for folder in self.settings.kb:
            for top, file in ((folder.absolute(), given), (folder.resolve(), given.parent.resolve() / given.name)):
                if file != top and file.is_relative_to(top):
                    inside = file.relative_to(top).as_posix()
                    return f"{top.name}:{inside}" if len(self.settings.kb) > 1 else inside
        raise InvalidInputError(
            f"Invalid path {page[:MAX_SHOWN_ADDRESS]!r}: it is absolute, and lies in no folder that is open.",
            kind="path",
            hint="Give a path relative to the folder, or name the folder: --kb PATH.",
        )

    @contextmanager
    def opened(self) -> Generator[Collections]:
        """The folders with what changed in them since the last time taken in."""
        with self._workplace(self.settings) as application:
            self._sync(application)
            yield application.services.collections

    @contextmanager
    def opened_as_is(self) -> Generator[Collections]:
        """The folders as they were last indexed."""
        with self._workplace(self.settings) as application:
            yield application.services.collections

    @contextmanager
    def opened_for_writing(self, *, commit: bool) -> Generator[Collections]:
        """The one folder; each write in it is a commit where it lies in a Git repository, unless `commit` is false.

        Raises:
            ConfigError: several folders are open.
        """
        folder, *others = self.settings.kb
        if others:
            raise ConfigError(
                "Several folders are open, and a page is written in one.", kind="kb", hint="Name it: --kb PATH."
            )
        mode = self.dependencies.commit_mode(folder) if commit else "manual"
        with self._workplace(replace(self.settings, commit=mode)) as application:
            self._sync(application)
            yield application.services.collections

    @contextmanager
    def opened_layers(self, flags: Flags, *, sync: bool) -> Generator[Cascade]:
        """The layers that the settings and these flags name.

        Args:
            flags: What the command line says of them.
            sync: Whether the indexes must know what changed; single concepts are read from their files anyway.

        Raises:
            ConfigError: they name none, or the manifest is not valid.
        """
        with self._workplace(self.configured(flags)) as application:
            cascade = application.services.of(CASCADE_KEY)
            if cascade is None:
                raise ConfigError("No layers are named: give --manifest FILE, or --personal DIR and --shared DIR.")
            if sync:
                self._sync(application)
            yield cascade

    @contextmanager
    def opened_bundle(self, folder: str) -> Generator[Collection]:
        """One folder, whatever the settings name; its index is not needed."""
        settings = replace(self.configured({"kb": [folder]}), manifest=None, personal=None, shared=None)
        with self._workplace(settings) as application:
            yield application.services.collections.members[0]

    @contextmanager
    def opened_projects(self, *, adopt: bool = False) -> Generator[ProjectStore]:
        """The one store of projects, made at the first start.

        Args:
            adopt: Whether it may be made in a folder that holds other files.

        Raises:
            ConfigError: the folder is no store.
        """
        settings = replace(self.settings, toolset="projects", adopt=adopt or self.settings.adopt)
        with self._workplace(settings) as application:
            yield application.services.of(PROJECTS_KEY)

    @contextmanager
    def _workplace(self, settings: Settings) -> Generator[ApplicationHandle]:
        if settings.toolset != "projects":  # its store is made at the first start
            require_folders(settings.kb)
        # Reading needs no commits: asking for them must not refuse a folder without Git.
        application = self.dependencies.open(settings.kb, settings)
        try:
            yield application
        finally:
            application.close()

    def _sync(self, application: ApplicationHandle) -> None:
        with progress_bar("Indexing", self.out.terminal) as progress:
            application.sync(progress)
