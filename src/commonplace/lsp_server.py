"""The process of the language server: opens folders and serves one editor over standard input and output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from commonplace import build
from commonplace.bootstrap import Application
from commonplace.domain.errors import require_libraries
from commonplace.services.collections import Collections
from commonplace.settings import Settings, require_folders


def serve_editor(settings: Settings) -> None:
    """Serve an editor until it disconnects.

    Args:
        settings: Settings with the folders to serve. If none is named, the folders that the editor has open are served.

    Raises:
        ConfigError: the library of the protocol is not installed; the hint is the command that installs it.
        NotFoundError: a named folder does not exist.
    """
    require_libraries(["pygls"], "The language server", "lsp")
    from commonplace.faces.lsp.server import language_server  # noqa: PLC0415 - installed by an extra

    if settings.names_folders:
        require_folders(settings.kb)
    server = language_server(lambda folders: _Folders(settings, folders), build())
    # pygls closes its streams at the end, so it gets duplicates of this process's descriptors.
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        try:
            server.start_io(requests, answers)
        finally:
            server.close()


class _Folders:
    """The open folders of an editor."""

    def __init__(self, settings: Settings, folders: Sequence[Path]) -> None:
        self.roots = settings.kb if settings.names_folders or not folders else tuple(folders)
        # The editor needs no semantic search, and the server makes no writes.
        self._application = Application(self.roots, replace(settings, kb=self.roots, embed=False, commit="manual"))
        self._application.start()

    @property
    def collections(self) -> Collections:
        return self._application.services.collections

    def close(self) -> None:
        self._application.close()
