"""Failures of `cn`: one line on standard error, and a specific exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from commonplace.domain.changes import escaped_controls
from commonplace.domain.errors import Code, KnowledgeError
from commonplace.settings import Flags, Settings, load_settings

if TYPE_CHECKING:
    from commonplace.services.services import Services
    from commonplace.toolsets.pages.rules.queries import PageEngine
    from commonplace.toolsets.pages.rules.space import Space


GENERAL, INVALID, INTERRUPTED = 1, 6, 130

EXIT_CODES = (
    (0, "ok"),
    (GENERAL, "general error"),
    (2, "wrong configuration"),
    (3, "authentication failed"),
    (4, "network or rate limit"),
    (5, "space not found"),
    (INVALID, "invalid arguments"),
    (7, "page not found"),
    (8, "version conflict"),
    (9, "search server not reachable"),
    (10, "index problem"),
    (11, "folder not found"),
    (INTERRUPTED, "interrupted"),
)
"""Exit codes with their meaning, for the help text."""

_BY_KIND = {
    (Code.NOT_FOUND, "space"): GENERAL,
    (Code.NOT_FOUND, "search_index"): 10,
    (Code.STORAGE, "search_index"): 10,
    (Code.NOT_FOUND, "remote_space"): 5,
    (Code.NOT_FOUND, "page"): 7,
    (Code.NOT_FOUND, "folder"): 11,
    (Code.UNAVAILABLE, "engine"): 9,
}
_BY_CODE = {
    Code.INVALID: INVALID,
    Code.TOO_LARGE: INVALID,
    Code.CONFIG: 2,
    Code.UNAUTHENTICATED: 3,
    Code.FORBIDDEN: 3,
    Code.RATE_LIMITED: 4,
    Code.UNAVAILABLE: 4,
    Code.CONFLICT: 8,
    Code.INDEXING: 10,
}


def exit_code(error: KnowledgeError) -> int:
    """The exit code of an error; 1 if it has no code of its own."""
    return _BY_KIND.get((error.code, error.kind)) or _BY_CODE.get(error.code, GENERAL)


# Functions of the composition root that `cn` uses, and state shared by its commands.


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

    def settings(self, path: str = ".", tier: str | None = None) -> Settings:
        """The settings of a command on the space at a path, served at a tier.

        Raises:
            ConfigError: a setting is invalid.
        """
        flags: Flags = {
            "kb": [path],
            "engine": self.engine,
            "search_url": self.meilisearch,
            "toolset": "pages",
            "tier": tier,
        }
        return load_settings(flags=flags)


def out(text: str) -> None:
    """Write data with a line end to standard output."""
    if sys.stdout.isatty():  # what a site calls its pages must not steer the terminal
        text = escaped_controls(text)
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "backslashreplace"))
    sys.stdout.flush()


def message(text: str) -> None:
    """Write one line for a person to standard error."""
    sys.stderr.write(f"{escaped_controls(text)}\n")
    sys.stderr.flush()
