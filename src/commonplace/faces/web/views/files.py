"""Files that are no documents: their bytes, and a list of them with who uses each."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.markup.media import SHOWN_TYPES, suffix_of
from commonplace.faces.web.pages import page
from commonplace.faces.web.withheld import gives_file
from commonplace.services.collections import Collection
from commonplace.services.past import moment_of
from commonplace.services.site.documents import document_at_path
from commonplace.services.site.tree import FOLDERS

MAX_FILES = 500
"""Files that the list names."""
SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""For a file that is opened by itself: an SVG runs no script and has no origin."""


def file(request: PageRequest) -> PageResponse:
    """The bytes of a file, now or then. A browser shows images, sound, video and PDF, and downloads the rest."""
    collection, path = request.located()
    address = address_or_none(path)
    if address is None:
        raise NotFoundError("There is no such file.", kind="file")
    found = document_at_path(collection, address.path) if address.is_document else None
    if found is not None and not gives_file(request, found):
        return redirect(request.urls.page(collection.name, found.record.address.path))
    content = _content(request, collection, address)
    suffix = suffix_of(address.path)
    shown = SHOWN_TYPES.get(suffix)
    headers = {"cache-control": "private, no-cache"}
    if shown is None:
        return PageResponse(content, "application/octet-stream", 200, {**headers, "content-disposition": "attachment"})
    if suffix != "pdf":  # browsers show no PDF in a sandbox
        headers["content-security-policy"] = SANDBOX
    return PageResponse(content, shown, 200, headers)


def _content(request: PageRequest, collection: Collection, address: Address) -> bytes:
    """The bytes of a file now, or at the request's moment; a document's are those of now, of which no text is withheld.

    Raises:
        NotFoundError: there is, or was, no such file.
        InvalidInputError, GitError: as `services.past.moment_of`.
    """
    if not request.at or address.is_document or collection.past is None:
        return collection.store.read(address)
    return collection.past.commits.store(moment_of(collection, request.at).commit.id).read(address)


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file in the list."""

    collection: Collection
    address: Address
    size: int
    users: list[str]
    """Paths of the documents that use it."""


def attachments(request: PageRequest) -> PageResponse:
    """Every file beside the documents, and which documents use it."""
    rows: list[FileRow] = []
    for collection in request.collections:
        for address, size in _files(collection, MAX_FILES + 1 - len(rows)):
            users = {link.source.path for link in collection.index.links_to(address, sentences=False)}
            rows.append(FileRow(collection, address, size, sorted(users)))
    return page(request, "attachments.html", rows=rows[:MAX_FILES], cut=len(rows) > MAX_FILES)


def _files(collection: Collection, limit: int) -> list[tuple[Address, int]]:
    """Files that are no documents, by folder, at most so many."""
    found: list[tuple[Address, int]] = []
    waiting = [""]
    known = set(FOLDERS.of(collection))
    while waiting and len(found) < limit:
        folder = waiting.pop()
        found += [(one, stat.size) for one, stat in collection.store.files(folder) if not one.is_document]
        inside = collection.store.folders(folder)
        waiting += [one for one in reversed(inside) if folder in known or one in known]
    return sorted(found)[:limit]
