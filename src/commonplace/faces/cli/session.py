"""The context of a command: settings, output, and collections, opened on first use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from commonplace.domain.activity import Actor, session_id
from commonplace.domain.addresses import MAX_SHOWN_ADDRESS
from commonplace.domain.errors import ConfigError, InvalidInputError
from commonplace.faces.cli.output import Output, progress_bar
from commonplace.settings import CommitMode, Flags, Settings, load_settings, require_folders

if TYPE_CHECKING:  # imported only for types, to keep the server's start short
    from commonplace.domain.activity import AccessLog
    from commonplace.domain.findings import Diagnostic
    from commonplace.domain.json import Json
    from commonplace.domain.ports import Progress
    from commonplace.services.checks import BundleReport
    from commonplace.services.collections import Collection, Collections
    from commonplace.services.services import Services
    from commonplace.services.site.publication import PublishReport


class ApplicationHandle(Protocol):
    """The open collections of one process, provided by the composition root."""

    @property
    def services(self) -> Services:
        """The services of these collections."""
        ...

    def fetch(self) -> Sequence[str]:
        """Fetch the remotes of replicas. Returns a message for each that failed but has an earlier state."""
        ...

    def sync(self, progress: Progress | None = None) -> None:
        """Bring every index up to date."""
        ...

    def close(self) -> None:
        """Close all collections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Options of a server over HTTP."""

    mcp_only: bool = False
    """Whether only MCP is served, at `/mcp`."""
    sse: Literal["off", "beside", "instead"] = "off"
    """Path of the older SSE transport: none, at `/sse`, or at `/mcp` instead of the newer transport."""
    anonymous: bool = False
    """Whether an address that other machines can reach may be served without a key."""


@dataclass(frozen=True, slots=True)
class CliDependencies:
    """The functions of the composition root that the command line uses."""

    open: Callable[[Sequence[Path], Settings], ApplicationHandle]
    commit_mode: Callable[[Path], CommitMode]
    """The commit mode of a folder: `auto` in a Git repository, else `manual`."""
    serve: Callable[[Settings], None]
    """Serve `Settings.kb` over MCP until the client disconnects."""
    serve_http: Callable[[Settings, HttpOptions], None]
    """Serve `Settings.kb` over HTTP until a signal ends the process."""
    serve_editor: Callable[[Settings], None]
    """Serve folders to an editor until it disconnects."""
    install_model: Callable[[Settings, Path | None, bool, Callable[[str], None]], str]
    """Install the embedding model, from a file if one is given; reinstall it if the flag is set. Returns its name."""
    run_embed_worker: Callable[[Settings, Sequence[str], bool, Callable[[str], None]], int]
    """Embed the collections of these names, or all, for the search cluster. Returns the number of chunks."""
    publish: Callable[[Collection, Path, Path, str, bool, Path], PublishReport]
    """Write the pages of a base: the base, its folder, the output folder, the site's address, whether to index them."""
    git_command: Callable[[], Diagnostic]
    """Check the git command."""
    diagnose_clones: Callable[[Settings], Iterable[Diagnostic]]
    """Check the clones of replicas."""
    diagnose: Callable[[Path, Settings], Iterable[Diagnostic]]
    """Check one folder's repository and locks."""
    activity: Callable[[Settings], AccessLog]
    """The log of reads and writes on this machine."""
    back_up: Callable[[Settings, Path, bool], Sequence[str]]
    """Write a backup to a file, or restore it if the flag is set. Returns the names of what it has."""
    check_bundle: Callable[[Collection], BundleReport]
    """Check a folder as a bundle of concepts."""
    toolset_commands: Callable[[], Mapping[str, str]] = dict
    """Modules of the toolsets' commands, by command name."""
    store_folder: Callable[[Sequence[Path], Settings], Path | None] = lambda _, __: None
    """The folder that the settings' toolset creates, among the given ones; None if it creates none."""
    store_refusal: Callable[[Settings], str] = lambda _: ""
    """Reason why the folder of the settings cannot be the toolset's store, with a remedy; "" if it can."""
    commands: Callable[[], Mapping[str, AddedCommand]] = dict
    """Load the plugins and return the commands that they add, by name."""
    plugin_faults: Callable[[Settings], Sequence[tuple[str, str]]] = lambda _: ()
    """Load the plugins and return the faults found, as pairs of plugin name and description."""


@dataclass(frozen=True, slots=True)
class AddedCommand:
    """A subcommand that a plugin adds."""

    function: Callable[..., object]
    """The command function, or a `typer.Typer`."""
    refuse: Callable[[str], None]
    """Called with the reason if the command cannot be used."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a command."""

    dependencies: CliDependencies
    settings: Settings
    flags: Flags
    """Settings given on the command line, by name."""
    out: Output
    command: str = ""
    """Name of the command."""

    def configured(self, flags: Flags) -> Settings:
        """The settings, overridden by further flags."""
        return load_settings(flags={**self.flags, **flags})

    def relative(self, page: str) -> str:
        """The reference of a page within its folder. An absolute path is taken as a file in one of the folders.

        Raises:
            InvalidInputError: the path is absolute and in none of the folders.
        """
        path = Path(os.path.normpath(page))
        if not path.is_absolute():
            return page
        for folder in () if self.settings.replica_of else self.settings.kb:
            for top, file in ((folder.absolute(), path), (folder.resolve(), path.parent.resolve() / path.name)):
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
        """Open the collections and bring their indexes up to date."""
        settings = replace(self.settings, replica_writes=bool(self.settings.replica_of))  # as for writing
        with self.opened_application(settings) as application:
            self.sync(application)
            yield application.services.collections

    @contextmanager
    def opened_as_is(self) -> Generator[Collections]:
        """Open the collections without updating their indexes."""
        with self.services_as_is() as services:
            yield services.collections

    @contextmanager
    def services_as_is(self) -> Generator[Services]:
        """Open the collections without updating their indexes."""
        with self.opened_application(self.settings) as application:
            fetch(self, application)
            yield application.services

    @contextmanager
    def opened_for_writing(self, *, commit: bool) -> Generator[Collections]:
        """The collections of `services_for_writing`."""
        with self.services_for_writing(commit=commit) as services:
            yield services.collections

    @contextmanager
    def services_for_writing(self, *, commit: bool) -> Generator[Services]:
        """Open the one folder for writing.

        If `commit` is true and the folder is in a Git repository, each write is a commit.
        Writes to a replica are pushed to its remote before the command ends.

        Raises:
            ConfigError: several folders are open, or `commit` is false for a remote.
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
            with application.services.watch(_actor(self.command), reads=False):
                yield application.services

    @contextmanager
    def opened_bundle(self, folder: str) -> Generator[Collection]:
        """Open one folder instead of those in the settings. Its index is not updated."""
        settings = replace(self.configured({"kb": [folder]}), manifest=None, personal=None, shared=None)
        with self.opened_application(settings) as application:
            yield application.services.collections.members[0]

    @contextmanager
    def opened_application(self, settings: Settings, *, creates_folder: bool = False) -> Generator[ApplicationHandle]:
        """Open the collections of these settings without updating their indexes.

        Args:
            settings: The settings.
            creates_folder: Whether opening creates a missing folder.

        Raises:
            NotFoundError: a folder does not exist.
        """
        if not creates_folder and not settings.replica_of:
            require_folders(settings.kb)
        # The commit mode is not set here: reading must not fail in a folder without Git.
        application = self.dependencies.open(settings.kb, settings)
        try:
            yield application
        finally:
            application.close()

    def sync(self, application: ApplicationHandle) -> None:
        """Bring all indexes up to date, with a progress bar."""
        fetch(self, application)
        with progress_bar("Indexing", self.out.terminal) as progress:
            application.sync(progress)


def _actor(command: str) -> Actor:
    """The person at the command line. A terminal is one session for a day."""
    session = session_id("cli", str(os.getsid(0)), time.strftime("%Y-%m-%d"))
    return Actor(face="cli", session=session, tool=command)


def fetch(session: Session, application: ApplicationHandle) -> None:
    """Fetch the remotes of replicas, and report those that failed."""
    for problem in application.fetch():
        session.out.message(problem)


def require_files(session: Session, what: str) -> None:
    """Check that a command that needs files is not used with remotes.

    Raises:
        ConfigError: remotes are open.
    """
    if session.settings.replica_of:
        raise ConfigError(
            f"{what} needs files, and a remote is open.", kind="replica", hint="Clone it, and name the folder: -C PATH."
        )


@contextmanager
def opened_at(session: Session, moment: str) -> Generator[tuple[Collections, dict[str, Json]]]:
    """Open the collections at a moment ("" for now), and return the commit of each folder as JSON.

    The commit is also shown as a message.

    Raises:
        InvalidInputError, NotFoundError, GitError: same as `services.past.as_of`.
    """
    with session.opened() as collections, at_moment(session, collections, moment) as then:
        yield then


@contextmanager
def at_moment(
    session: Session, collections: Collections, moment: str
) -> Generator[tuple[Collections, dict[str, Json]]]:
    """The same for collections that are open."""
    if not moment:
        yield collections, {}
        return
    from commonplace.services.past import as_of

    with as_of(collections, moment) as base:
        session.out.message(base.note)
        yield base.collections, {"at": {moment.collection.name: moment.commit.id for moment in base.moments}}
