"""Selects a space's search engine from flags, environment and configuration files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Index, Store
from commonplace.toolsets.pages.engines.embedded import EmbeddedEngine
from commonplace.toolsets.pages.rules.queries import PageEngine
from commonplace.toolsets.pages.rules.space import SPACE_FILE, Space, as_object, read_object

EMBEDDED, SERVER = ENGINES = ("embedded", "meilisearch")
"""Values of `--engine`."""
DEFAULT_URL = "http://localhost:7700"
HOME_FILE = ".cn/config.json"
"""Path relative to the user's home. Its `search` applies if the space's own file names no server."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """The caller's request for an engine."""

    engine: str | None = None
    """One of `ENGINES`; None for the server if a URL is given, else the embedded engine."""
    url: str | None = None
    """URL of a server, from a flag or the environment."""
    key: str | None = None
    """Key for that server. It is never sent to a server that a file names."""


@dataclass(frozen=True, slots=True)
class EngineServer:
    """A search server and the key given with its URL."""

    url: str
    key: str = ""


def server_for(request: EngineRequest, space: Space, home: Path) -> EngineServer | None:
    """The server to use; None for the embedded engine.

    Args:
        request: The caller's request.
        space: The space file.
        home: The user's home.

    Raises:
        ConfigError: the engine is unknown, the user's own file is not a JSON object, or a URL or key in a file is not a
            string.
    """
    if request.engine not in {None, *ENGINES}:
        raise ConfigError(f"Unknown engine {request.engine!r}: expected one of {', '.join(ENGINES)}.", kind="engine")
    if request.engine == EMBEDDED:
        return None
    files = ((space.search, SPACE_FILE.path), (_home_search(home), f"~/{HOME_FILE}"))
    named = list(filter(None, starmap(_named, files)))
    if request.url:
        key = next((server.key for server in named if server.url.rstrip("/") == request.url.rstrip("/")), "")
        return EngineServer(request.url, request.key or key)
    if named:
        return named[0]
    return EngineServer(DEFAULT_URL, request.key or "") if request.engine == SERVER else None


def server_engine(server: EngineServer, store: Store, space: Callable[[], Space]) -> PageEngine:
    """The engine on a server.

    Raises:
        ConfigError: the server's URL is invalid.
    """
    from commonplace.toolsets.pages.engines.meilisearch.client import MeilisearchClient  # noqa: PLC0415 - most spaces need none
    from commonplace.toolsets.pages.engines.meilisearch.engine import MeilisearchEngine  # noqa: PLC0415

    return MeilisearchEngine(MeilisearchClient(server.url, server.key), store, space)


def embedded_engine(index: Index, store: Store, space: Callable[[], Space]) -> PageEngine:
    """The engine in this process, over the folder's own index."""
    return EmbeddedEngine(index, store, space)


def _named(search: JsonObject, file: str) -> EngineServer | None:
    """The server that a file names; None if it names none.

    Raises:
        ConfigError: the URL or key is not a string.
    """
    for name, example in (("meilisearchUrl", DEFAULT_URL), ("apiKey", "the key itself")):
        if search.get(name) is not None and not isinstance(search[name], str):
            raise ConfigError(f"search.{name} in {file} must be a text in quotation marks: {example}.", kind="engine")
    url, key = search.get("meilisearchUrl"), search.get("apiKey")
    if not isinstance(url, str) or not url.strip():
        return None
    return EngineServer(url.strip(), key if isinstance(key, str) else "")


def _home_search(home: Path) -> JsonObject:
    try:
        text = (home / HOME_FILE).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"~/{HOME_FILE} cannot be read.", kind="engine") from None
    return as_object(read_object(text, f"~/{HOME_FILE}").get("search"))
