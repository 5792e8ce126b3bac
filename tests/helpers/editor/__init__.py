"""An editor: a client of the real language server, whose calls wait for their answer."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from editor.files import EditorFiles, applied, path_of
from forks.preloaded import preloaded
from support import eventually

Value = TypeVar("Value")
TIMEOUT = 60


class Editor(EditorFiles):
    """A client of a language server, whose calls wait for the answer."""

    def __init__(self, root: Path, loop: asyncio.AbstractEventLoop, client: LanguageClient) -> None:
        super().__init__(root)
        self.client = client
        self._loop = loop

    def wait(self, work: Awaitable[Value]) -> Value:
        """The result of a call."""

        async def awaited() -> Value:
            return await asyncio.wait_for(work, TIMEOUT)

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(TIMEOUT + 5)

    def call(self, method: Callable[[Any], Awaitable[Value]], params: object) -> Value:
        """Send a request and wait for its answer."""

        async def called() -> Value:
            return await method(params)

        return self.wait(called())

    def tell(self, method: Callable[[Any], None], params: object) -> None:
        """Send a notification."""

        async def told() -> None:
            method(params)

        self.wait(told())

    def open(self, path: str, text: str | None = None) -> None:
        """Open a file, with another text than its own if given."""
        shown = (self.root / path).read_text("utf-8") if text is None else text
        item = types.TextDocumentItem(self.uri(path), "markdown", 1, shown)
        self.tell(self.client.text_document_did_open, types.DidOpenTextDocumentParams(item))

    def change(self, path: str, text: str, version: int = 2) -> None:
        """Replace the text of an open file."""
        params = types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version, self.uri(path)),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
        self.tell(self.client.text_document_did_change, params)

    def rules(self, path: str) -> list[str]:
        """The rules of the published diagnostics of a file."""
        return sorted(str(diagnostic.code) for diagnostic in self.client.diagnostics.get(self.uri(path), ()))

    def diagnosed(self, path: str, *rules: str) -> None:
        """Wait until a file has exactly these diagnostics."""
        eventually(lambda: self.uri(path) in self.client.diagnostics and self.rules(path) == sorted(rules), TIMEOUT)

    def apply(self, edit: types.WorkspaceEdit) -> None:
        """Carry an edit out in the files, as an editor would."""
        for change in edit.document_changes or ():
            if isinstance(change, types.TextDocumentEdit):
                file = path_of(change.text_document.uri)
                edits = [edit for edit in change.edits if isinstance(edit, types.TextEdit)]
                file.write_text(applied(file.read_text("utf-8"), edits, self.codec), "utf-8")
            elif isinstance(change, types.CreateFile):
                file = path_of(change.uri)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch(exist_ok=bool(change.options and change.options.ignore_if_exists))
            elif isinstance(change, types.RenameFile):
                target = path_of(change.new_uri)
                target.parent.mkdir(parents=True, exist_ok=True)
                path_of(change.old_uri).rename(target)


@contextmanager
def editing(root: Path, *arguments: str, client_name: str = "neovim") -> Generator[Editor]:
    """A session over a folder, with a client of these capabilities."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="client", daemon=True)
    thread.start()
    client = make_test_lsp_client()
    editor = Editor(root, loop, client)
    try:
        program = preloaded().stand_in(os.environ) or [sys.executable, "-m", "commonplace"]
        start = cast("Callable[..., Awaitable[None]]", getattr(client, "start_io"))  # noqa: B009 - its type is unknown
        editor.wait(start(*program, "lsp", *arguments, cwd=root))
        found_result = editor.wait(
            client.initialize_session(
                types.InitializeParams(
                    capabilities=client_capabilities(client_name),
                    workspace_folders=[types.WorkspaceFolder(root.as_uri(), "base")],
                    root_uri=root.as_uri(),
                )
            )
        )
        editor.capabilities = found_result.capabilities
        yield editor
        editor.wait(client.shutdown_session())
        editor.wait(client.stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT)
        loop.close()
