"""Files that are not documents: their content, and a list of files with the documents that use each."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.markup.html import SHOWN_TYPES, suffix_of
from commonplace.faces.web.pages import page
from commonplace.faces.web.shown import gives_file
from commonplace.services.collections import Collection
from commonplace.services.past import moment_of
from commonplace.services.site.documents import FOLDERS, document_at_path

MAX_FILES = 500
"""Maximum number of files in the list."""
SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Policy for a file that is opened directly: an SVG runs no script and has no origin."""


def file(request: PageRequest) -> PageResponse:
    """The content of a file, now or at a moment.

    Browsers show images, sound, video and PDF, and download other files.
    """
    collection, path = request.located()
    address = address_or_none(path)
    if address is None:
        raise NotFoundError("There is no such file.", kind="file")
    document = document_at_path(collection, address.path) if address.is_document else None
    if address.is_document and document is None:
        raise NotFoundError("There is no such file.", kind="file")
    if document is not None and not gives_file(request, document):
        return redirect(request.urls.page(collection.name, document.record.address.path))
    content = _content(request, collection, address)
    suffix = suffix_of(address.path)
    shown = SHOWN_TYPES.get(suffix)
    headers = {"cache-control": "private, no-cache"}
    if shown is None:
        return PageResponse(content, "application/octet-stream", 200, {**headers, "content-disposition": "attachment"})
    if suffix != "pdf":  # browsers do not show PDF in a sandbox
        headers["content-security-policy"] = SANDBOX
    return PageResponse(content, shown, 200, headers)


def _content(request: PageRequest, collection: Collection, address: Address) -> bytes:
    """The content of a file now or at the request's moment. For a document it is the current content.

    Whether text is withheld is checked in the current version only, so old versions of documents are not served.

    Raises:
        NotFoundError: there is, or was, no such file.
        InvalidInputError, GitError: same as `services.past.moment_of`.
    """
    store = collection.store
    if request.at and not address.is_document and collection.past is not None:
        store = collection.past.commits.store(moment_of(collection, request.at).commit.id)
    if store.ignores(address) or collection.store.ignores(address):
        raise NotFoundError("There is no such file.", kind="file")
    return store.read(address)


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file in the list."""

    collection: Collection
    address: Address
    size: int
    users: list[str]
    """Paths of the documents that link to the file."""


def attachments(request: PageRequest) -> PageResponse:
    """All files that are not documents, with the documents that use each."""
    rows: list[FileRow] = []
    for collection in request.collections:
        for address, size in _files(collection, MAX_FILES + 1 - len(rows)):
            users = {link.source.path for link in collection.index.links_to(address, sentences=False)}
            rows.append(FileRow(collection, address, size, sorted(users)))
    return page(request, "attachments.html", rows=rows[:MAX_FILES], cut=len(rows) > MAX_FILES)


def _files(collection: Collection, limit: int) -> list[tuple[Address, int]]:
    """Files that are not documents, in order of address, up to a limit."""
    sizes: list[tuple[Address, int]] = []
    waiting = [""]
    known_texts = set(FOLDERS.of(collection))
    while waiting and len(sizes) < limit:
        folder = waiting.pop()
        sizes += [
            (address, stat.size)
            for address, stat in collection.store.files(folder)
            if not address.is_document and not collection.store.ignores(address)
        ]
        inside = collection.store.folders(folder)
        waiting += [element for element in reversed(inside) if folder in known_texts or element in known_texts]
    return sorted(sizes)[:limit]
