"""The context of a command: its settings, its output, and the folders, opened on first use."""

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
from commonplace.settings import CommitMode, Flags, Settings, load_settings
from commonplace.settings.folders import require_folders

if TYPE_CHECKING:  # a server starts through here, and answers before it loads them
    from commonplace.domain.diagnostics import Diagnostic
    from commonplace.domain.json import Json
    from commonplace.domain.ports import Progress
    from commonplace.services.checks import BundleReport
    from commonplace.services.collections import Collection, Collections
    from commonplace.services.services import Services


class ApplicationHandle(Protocol):
    """The folders of one process, as the composition root opens them."""

    @property
    def services(self) -> Services:
        """The services of these collections."""
        ...

    def fetch(self) -> Sequence[str]:
        """Read the remotes that are followed. Returns why one could not be read whose earlier state is there."""
        ...

    def sync(self, progress: Progress | None = None) -> None:
        """Bring every index up to date."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Options of a server over HTTP."""

    mcp_only: bool = False
    """MCP alone, at `/mcp`."""
    sse: Literal["off", "beside", "instead"] = "off"
    """The older transport: at `/sse`, or at `/mcp` itself."""
    anonymous: bool = False
    """Whether an address that others can reach may be served without a key."""


@dataclass(frozen=True, slots=True)
class CliDependencies:
    """The functions of the composition root that the command line uses."""

    open: Callable[[Sequence[Path], Settings], ApplicationHandle]
    commit_mode: Callable[[Path], CommitMode]
    """`auto` for a folder in a Git repository, else `manual`."""
    serve: Callable[[Settings], None]
    """Serve `Settings.kb` over MCP until the client goes."""
    serve_http: Callable[[Settings, HttpOptions], None]
    """Serve `Settings.kb` over HTTP until a signal ends the process."""
    serve_editor: Callable[[Settings], None]
    """Serve folders to an editor until it disconnects."""
    install_model: Callable[[Settings, Path | None, bool, Callable[[str], None]], str]
    """Install the model for searching by meaning, from a file, or anew even where it is; its name."""
    run_embed_worker: Callable[[Settings, Sequence[str], bool, Callable[[str], None]], int]
    """Embed for the search cluster the collections of these names, all of them without; the number of chunks."""
    git_command: Callable[[], Diagnostic]
    """Diagnostics of the git command."""
    diagnose: Callable[[Path, Settings], Iterable[Diagnostic]]
    """Diagnostics of one folder's repository and locks."""
    check_bundle: Callable[[Collection], BundleReport]
    """Check a folder as a bundle of concepts."""
    toolset_commands: Callable[[], Mapping[str, str]] = dict
    """The commands of toolsets by name: the module of each."""
    store_folder: Callable[[Sequence[Path], Settings], Path | None] = lambda _, __: None
    """The folder that the settings' toolset creates, from those that are named; None if these must exist."""
    store_refusal: Callable[[Settings], str] = lambda _: ""
    """Why the folder of the settings cannot be their toolset's store, with what to do; "" if it can."""
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
        for folder in () if self.settings.replica_of else self.settings.kb:
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
        settings = replace(self.settings, replica_writes=bool(self.settings.replica_of))  # as `opened_for_writing` does
        with self.opened_application(settings) as application:
            self.sync(application)
            yield application.services.collections

    @contextmanager
    def opened_as_is(self) -> Generator[Collections]:
        """The folders as they were last indexed."""
        with self.opened_application(self.settings) as application:
            fetch(self, application)
            yield application.services.collections

    @contextmanager
    def opened_for_writing(self, *, commit: bool) -> Generator[Collections]:
        """The one folder; each write in it is a commit where it lies in a Git repository, unless `commit` is false.

        A remote takes each write before the command ends.

        Raises:
            ConfigError: several folders are open; or a write to a remote is to be no commit.
        """
        folder, *others = self.settings.kb
        remotes = self.settings.replica_of
        if remotes and not commit:
            raise ConfigError("A write to a remote is a commit.", kind="commit", hint="Leave --no-commit out.")
        if len(remotes or others) > (1 if remotes else 0):
            raise ConfigError(
                "Several folders are open, and a page is written in one.", kind="kb", hint="Name it: --kb PATH."
            )
        mode = self.dependencies.commit_mode(folder) if commit and not remotes else "manual"
        settings = replace(self.settings, commit=mode, replica_writes=bool(remotes))
        with self.opened_application(settings) as application:
            self.sync(application)
            yield application.services.collections

    @contextmanager
    def opened_bundle(self, folder: str) -> Generator[Collection]:
        """One folder, whatever the settings name; its index is not needed."""
        settings = replace(self.configured({"kb": [folder]}), manifest=None, personal=None, shared=None)
        with self.opened_application(settings) as application:
            yield application.services.collections.members[0]

    @contextmanager
    def opened_application(self, settings: Settings, *, creates_folder: bool = False) -> Generator[ApplicationHandle]:
        """Opens everything under these settings, for a command of a toolset; updates no index.

        Args:
            settings: What to open, and how.
            creates_folder: Whether a folder that does not exist is created by what is opened.

        Raises:
            NotFoundError: a folder does not exist.
        """
        if not creates_folder and not settings.replica_of:
            require_folders(settings.kb)
        # Reading needs no commits: asking for them must not refuse a folder without Git.
        application = self.dependencies.open(settings.kb, settings)
        try:
            yield application
        finally:
            application.close()

    def sync(self, application: ApplicationHandle) -> None:
        """Bring every index up to date, with a bar that shows how far it is."""
        fetch(self, application)
        with progress_bar("Indexing", self.out.terminal) as progress:
            application.sync(progress)


def fetch(session: Session, application: ApplicationHandle) -> None:
    """Read the remotes that are followed, and say which could not be read."""
    for problem in application.fetch():
        session.out.message(problem)


def require_files(session: Session, what: str) -> None:
    """Refuse what needs the files of a folder, if remotes are open.

    Raises:
        ConfigError: remotes are open.
    """
    if session.settings.replica_of:
        raise ConfigError(
            f"{what} needs files, and a remote is open.", kind="replica", hint="Clone it, and name the folder: -C PATH."
        )


@contextmanager
def opened_at(session: Session, moment: str) -> Generator[tuple[Collections, dict[str, Json]]]:
    """The folders as they were at a moment ("" for now), and what JSON says of it: the commit of each folder.

    A message names the commit.

    Raises:
        InvalidInputError, NotFoundError, GitError: as `services.past.as_of`.
    """
    with session.opened() as collections:
        if not moment:
            yield collections, {}
            return
        from commonplace.services.past import as_of

        with as_of(collections, moment) as base:
            session.out.message(base.note)
            yield base.collections, {"at": {one.collection.name: one.commit.id for one in base.moments}}
