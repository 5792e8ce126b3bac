"""The language server: registers the requests, and publishes diagnostics."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from commonplace.domain.addresses import Address
from commonplace.domain.errors import IndexingError, InvalidInputError, KnowledgeError
from commonplace.faces.lsp import completion, navigation
from commonplace.faces.lsp.diagnostics import actions, diagnose
from commonplace.faces.lsp.pages import EditorPage, EditorPages, OpenText, file_path
from commonplace.services.collections import Collections

REQUEST_FAILED = -32803
"""The protocol's error code for a valid request that failed."""
READY_SECONDS = 20.0
"""Timeout in seconds for the first index of a collection. After it, a request fails with an indexing error."""
PAUSE_SECONDS = 0.3
"""Delay in seconds after the last keystroke before a page is diagnosed."""
_MARKDOWN_FILES = types.FileOperationFilter(types.FileOperationPattern("**/*.{md,markdown,mdx}"), scheme="file")
_FOLDERS = types.FileOperationFilter(
    types.FileOperationPattern("**", matches=types.FileOperationPatternKind.Folder), scheme="file"
)

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")
_Arguments = ParamSpec("_Arguments")


class OpenFolders(Protocol):
    """The open collections of a session."""

    @property
    def collections(self) -> Collections:
        """The collections, in the order of `roots`."""
        ...

    @property
    def roots(self) -> Sequence[Path]:
        """The folder of each collection."""
        ...

    def close(self) -> None:
        """Close the collections."""
        ...


class KnowledgeLanguageServer(LanguageServer):
    """A language server over folders of Markdown.

    Args:
        open_folders: Opens the folders to serve and keeps their indexes current. Called once with the client's
            folders.
        version: The program's version.
    """

    def __init__(self, open_folders: Callable[[Sequence[Path]], OpenFolders], version: str) -> None:
        super().__init__("commonplace", version)  # pyright: ignore[reportUnknownMemberType] - pygls passes any arguments on
        self._open_folders = open_folders
        self._opened: OpenFolders | None = None
        self._pages: EditorPages | None = None
        self._attempted = threading.Event()
        self._ready = False
        self._timers: dict[str, threading.Timer] = {}
        self._files: dict[str, Path | None] = {}
        """Paths of the pages that are open in the editor, by URI."""
        self._lock = threading.Lock()

    def open(self, folders: Sequence[Path]) -> None:
        """Open the collections. Later calls do not open them again."""
        try:
            with self._lock:
                if self._opened is None:
                    self._opened = self._open_folders(folders)
                    encoding = self.workspace.position_encoding
                    self._pages = EditorPages(self._opened.collections, self._opened.roots, self._texts, encoding)
            for collection in self._opened.collections.members:
                collection.index.listen(self._changed)
        finally:
            self._attempted.set()

    @property
    def pages(self) -> EditorPages:
        """The pages of the session, after their first index is complete.

        IndexingError: the first index is not complete yet.
            IndexingError: the first index is not complete yet.
            KnowledgeError: the folders cannot be opened.
        """
        self._attempted.wait(READY_SECONDS)
        if self._pages is None:
            raise InvalidInputError("No folder is open.", kind="folder", hint="Open a folder in the editor.")
        if not self._ready:
            for collection in self._pages.collections.members:
                collection.index.wait_ready(READY_SECONDS)
            self._ready = True
        return self._pages

    def diagnose_later(self, uri: str, seconds: float = PAUSE_SECONDS) -> None:
        """Diagnose a page after a delay. A later call for the same page restarts the delay."""
        with self._lock:
            pending = self._timers.pop(uri, None)
            if pending is not None:
                pending.cancel()
            timer = self._timers[uri] = threading.Timer(seconds, self._diagnose, [uri])
            timer.daemon = True
            timer.start()

    def diagnose_open(self) -> None:
        """Diagnose every open page, because targets of its links may have been created or deleted."""
        for uri in list(self.workspace.text_documents):
            self.diagnose_later(uri)

    def forget(self, uri: str) -> None:
        """Cancel and withdraw the diagnostics of a closed page."""
        with self._lock:
            pending = self._timers.pop(uri, None)
        self._files.pop(uri, None)
        if pending is not None:
            pending.cancel()
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def close(self) -> None:
        """Stop the timers and close the collections."""
        with self._lock:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            opened, self._opened, self._pages = self._opened, None, None
        if opened is not None:
            opened.close()

    def _changed(self, _: Sequence[Address], __: bool) -> None:
        """Listener of the indexes: any change of pages may affect links of the open pages."""
        self.diagnose_open()

    def _diagnose(self, uri: str) -> None:
        try:
            page = self.pages.page(uri)
            if page is None:
                return
            diagnostics = diagnose(self.pages, page)
        except IndexingError:
            self.diagnose_later(uri)
            return
        except KnowledgeError as error:
            log.warning("no diagnostics: %s", error.advice)
            return
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, page.version))

    def _texts(self) -> dict[Path, OpenText]:
        texts: dict[Path, OpenText] = {}
        for uri, document in list(self.workspace.text_documents.items()):
            if uri not in self._files:
                self._files[uri] = file_path(uri)  # resolves symbolic links of all parent folders
            file = self._files[uri]
            if file is not None:
                version = document.version  # read before the text: a newer text may replace it in between
                texts[file] = OpenText(document.source, version)
        return texts


def language_server(open_folders: Callable[[Sequence[Path]], OpenFolders], version: str) -> KnowledgeLanguageServer:
    """Create the language server with all its handlers; `start_io` serves a client."""
    server = KnowledgeLanguageServer(open_folders, version)
    _register_session(server)
    _register_reading(server)
    _register_structure(server)
    _register_writing(server)
    return server


def _register_session(server: KnowledgeLanguageServer) -> None:
    @server.feature(types.INITIALIZED)
    def _initialized(ls: KnowledgeLanguageServer, _: types.InitializedParams) -> None:
        uris = [folder.uri for folder in ls.workspace.folders.values()] or [ls.workspace.root_uri or ""]
        folders = [folder for folder in map(file_path, uris) if folder is not None]
        threading.Thread(target=_open, args=(ls, folders), name="open", daemon=True).start()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def _opened(ls: KnowledgeLanguageServer, params: types.DidOpenTextDocumentParams) -> None:
        ls.diagnose_later(params.text_document.uri, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def _changed(ls: KnowledgeLanguageServer, params: types.DidChangeTextDocumentParams) -> None:
        ls.diagnose_later(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def _saved(ls: KnowledgeLanguageServer, _: types.DidSaveTextDocumentParams) -> None:
        ls.diagnose_open()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def _closed(ls: KnowledgeLanguageServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    def _shutdown(ls: KnowledgeLanguageServer, _: None) -> None:
        ls.close()


def _register_reading(server: KnowledgeLanguageServer) -> None:
    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list(completion.TRIGGERS))
    )
    @server.thread()
    @_answering
    def _complete(page: EditorPage, pages: EditorPages, params: types.CompletionParams) -> types.CompletionList:
        return completion.complete(pages, page, params.position)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @server.thread()
    @_answering
    def _hover(page: EditorPage, pages: EditorPages, params: types.HoverParams) -> types.Hover | None:
        return navigation.hover(pages, page, params.position)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    @server.thread()
    @_answering
    def _definition(page: EditorPage, pages: EditorPages, params: types.DefinitionParams) -> types.Location | None:
        return navigation.definition(pages, page, params.position)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    @server.thread()
    @_answering
    def _references(page: EditorPage, pages: EditorPages, params: types.ReferenceParams) -> list[types.Location]:
        return navigation.references(pages, page, params.position, declared=params.context.include_declaration)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    @server.thread()
    @_answering
    def _highlights(
        page: EditorPage, pages: EditorPages, params: types.DocumentHighlightParams
    ) -> list[types.DocumentHighlight]:
        return navigation.highlights(pages, page, params.position)


def _register_structure(server: KnowledgeLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    @server.thread()
    @_answering
    def _links(page: EditorPage, pages: EditorPages, _: types.DocumentLinkParams) -> list[types.DocumentLink]:
        return navigation.document_links(pages, page)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    @server.thread()
    @_answering
    def _symbols(page: EditorPage, _: EditorPages, __: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return navigation.symbols(page)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    @server.thread()
    @_answering
    def _folds(page: EditorPage, _: EditorPages, __: types.FoldingRangeParams) -> list[types.FoldingRange]:
        return navigation.folds(page)

    @server.feature(types.WORKSPACE_SYMBOL)
    @server.thread()
    @_with_errors
    def _workspace_symbols(
        ls: KnowledgeLanguageServer, params: types.WorkspaceSymbolParams
    ) -> list[types.WorkspaceSymbol]:
        return navigation.workspace_symbols(ls.pages, params.query)


def _register_writing(server: KnowledgeLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    @server.thread()
    @_answering
    def _prepare(
        page: EditorPage, pages: EditorPages, params: types.PrepareRenameParams
    ) -> types.PrepareRenamePlaceholder | None:
        return navigation.prepare(pages, page, params.position)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    @server.thread()
    @_answering
    def _rename(page: EditorPage, pages: EditorPages, params: types.RenameParams) -> types.WorkspaceEdit:
        return navigation.rename(pages, page, params.position, params.new_name)

    @server.feature(
        types.WORKSPACE_WILL_RENAME_FILES, types.FileOperationRegistrationOptions([_MARKDOWN_FILES, _FOLDERS])
    )
    @server.thread()
    @_with_errors
    def _will_rename(ls: KnowledgeLanguageServer, params: types.RenameFilesParams) -> types.WorkspaceEdit:
        files = [(rename.old_uri, rename.new_uri) for rename in params.files]
        changes: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
        for name, moves in navigation.moved_pages(ls.pages, files).items():
            edit = navigation.move(ls.pages, ls.pages.collections.get(name), moves, is_moved=True)
            changes += edit.document_changes or ()
        return types.WorkspaceEdit(document_changes=changes)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    @server.thread()
    @_answering
    def _actions(page: EditorPage, pages: EditorPages, params: types.CodeActionParams) -> list[types.CodeAction]:
        return actions(pages, page, params.context.diagnostics)


class _OfTextDocument(Protocol):
    @property
    def text_document(self) -> types.TextDocumentIdentifier: ...


_Params = TypeVar("_Params", bound=_OfTextDocument)


def _answering(
    answer: Callable[[EditorPage, EditorPages, _Params], _Answer],
) -> Callable[[KnowledgeLanguageServer, _Params], _Answer | None]:
    """Wrap a handler for one page. The result is None if the file is not a page."""

    def handle(ls: KnowledgeLanguageServer, params: _Params) -> _Answer | None:
        page = ls.pages.page(params.text_document.uri)
        return None if page is None else answer(page, ls.pages, params)

    return _with_errors(handle)


def _with_errors(
    handle: Callable[Concatenate[KnowledgeLanguageServer, _Arguments], _Answer],
) -> Callable[Concatenate[KnowledgeLanguageServer, _Arguments], _Answer]:
    """Wrap a handler so that its errors become protocol errors. pygls passes the server to the parameter named `ls`."""

    def answered(ls: KnowledgeLanguageServer, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Answer:
        try:
            return handle(ls, *args, **kwargs)
        except KnowledgeError as error:
            raise JsonRpcException(error.advice, REQUEST_FAILED) from error

    return answered


def _open(ls: KnowledgeLanguageServer, folders: Sequence[Path]) -> None:
    try:
        ls.open(folders)
    except KnowledgeError as error:
        shown = types.ShowMessageParams(types.MessageType.Error, f"commonplace: {error.advice}")
        ls.window_show_message(shown)
        return
    ls.diagnose_open()
