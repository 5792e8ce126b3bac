"""The two engines on a space, in this process: `with engine_on(kind, space.root, ...) as engine`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from commonplace.index import open_index
from commonplace.store import open_store
from commonplace.toolsets.pages.engines.selection import EngineServer, embedded_engine, server_engine
from commonplace.toolsets.pages.rules.queries import PageEngine
from commonplace.toolsets.pages.service.pages import SpaceFile, SpacePages
from spaces.server import KEY, SearchServer

KINDS = ("embedded", "meilisearch")


@dataclass(frozen=True, slots=True)
class Scratch:
    """The place of an engine's own data."""

    folder: Path
    server: SearchServer | None = None


@contextmanager
def engine_on(kind: str, root: Path, scratch: Scratch) -> Iterator[SpacePages]:
    """The space at a folder with an engine of a kind, not yet indexed."""
    store = open_store(root, commit="manual", state_dir=scratch.folder / "state")
    space = SpaceFile(store)
    with ExitStack() as closing:
        engine: PageEngine
        if kind == "embedded":
            index = open_index(store, scratch.folder / "cache")
            closing.callback(index.close)
            engine = embedded_engine(index, store, space)
        else:
            assert scratch.server is not None
            engine = server_engine(EngineServer(scratch.server.url, KEY), store, space)
        closing.callback(engine.close)
        yield SpacePages(store, space, engine)
