"""Functions of the composition root that `cn` uses, and state shared by its commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from commonplace.settings import Flags, Settings, load_settings

if TYPE_CHECKING:
    from commonplace.services.services import Services
    from commonplace.toolsets.pages.rules.ports import PageEngine
    from commonplace.toolsets.pages.rules.space import Space

MessageSink = Callable[[str], None]
"""Prints one line for a person."""


class SpaceHandle(Protocol):
    """One synced space, as the composition root opens it."""

    @property
    def services(self) -> Services:
        """The services of the space."""
        ...

    @property
    def space(self) -> Callable[[], Space]:
        """The current content of its space file."""
        ...

    @property
    def engine(self) -> PageEngine:
        """The search engine of the space."""
        ...

    def sync(self) -> None:
        """Bring the folder's own index up to date, if it has one."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


@dataclass(frozen=True, slots=True)
class CnDependencies:
    """Functions of the composition root."""

    open: Callable[[Settings], SpaceHandle]
    serve: Callable[[Settings, MessageSink], None]
    """Serves the space over MCP until the client disconnects, and reports the progress of the start."""

    @contextmanager
    def opened(self, settings: Settings) -> Generator[SpaceHandle]:
        """Open a space for the duration of a `with` block."""
        place = self.open(settings)
        try:
            yield place
        finally:
            place.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Options that choose the search engine."""

    engine: Annotated[str | None, typer.Option(metavar="embedded|meilisearch", help="What searches the pages.")] = None
    meilisearch: Annotated[
        str | None, typer.Option("--meilisearch", metavar="URL", help="The search server; else MEILI_URL names it.")
    ] = None

    def settings(self, path: str = ".") -> Settings:
        """The settings of a command on the space at a path.

        Raises:
            ConfigError: a setting is invalid.
        """
        flags: Flags = {"kb": [path], "engine": self.engine, "search_url": self.meilisearch, "toolset": "pages"}
        return load_settings(flags=flags)


def out(text: str) -> None:
    """Write data with a line end to standard output."""
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "backslashreplace"))
    sys.stdout.flush()


def message(text: str) -> None:
    """Write one line for a person to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
