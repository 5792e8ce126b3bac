"""Error pages, each with the problem, the valid values and the next step; pages before the first index is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from commonplace.domain.addresses import Address, fold
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import IndexingError, KnowledgeError
from commonplace.domain.ports import Store
from commonplace.domain.site_file import declared_site
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.markup.links import LinksByPath
from commonplace.faces.web.markup.page import TextRenderer
from commonplace.faces.web.pages import page
from commonplace.faces.web.shown import has_title_heading, renderer_for, withholds
from commonplace.faces.web.urls import possible_addresses
from commonplace.services.collections import Collection, is_served_folder, is_served_page, pages_in
from commonplace.services.sites import START_NAMES

READING_SECONDS = 10
"""Seconds after which a browser loads a text again."""
MAX_LISTED = 500
"""Maximum number of folders, and of pages, that are listed, and of folders that are looked into for pages."""


def error_page(request: PageRequest, error: KnowledgeError, status: int, near: str = "/p/") -> PageResponse:
    """An error as a page, with the nearest names as links.

    Args:
        request: The request.
        error: The error.
        status: HTTP status.
        near: URL prefix of the links to the nearest names.
    """
    nearest = error.context.get("nearest")
    names = [str(name) for name in nearest] if isinstance(nearest, list | tuple) else []
    return page(
        request,
        "error.html",
        status,
        message=str(error),
        hint=error.hint,
        nearest=names,
        near=near,
        code=status,
        problem=error,
    )


def waiting_page(request: PageRequest, error: IndexingError) -> PageResponse:
    """The page that is shown while the first index is being built. Browsers reload it every two seconds.

    One that answers a form stays, because loading it again would lose what was typed.
    """
    done, total = error.context.get("done", 0), error.context.get("total", 0)
    made = page(request, "waiting.html", 503, done=done, total=total)
    reload = {} if request.method == "POST" else {"refresh": "2"}
    return made.with_headers({**reload, "retry-after": "2", "cache-control": "no-store"})


def unfinished_page(request: PageRequest, view: str, error: IndexingError) -> PageResponse | None:
    """A page with what the files alone tell while the first index is being built; None if the index is needed.

    This is a page or its source by its path, a folder, and the start page of the only base. A name that is no path is
    not called missing: it may be a title, or that of a page that was moved.

    Args:
        request: The request.
        view: Name of the requested view.
        error: The state of the index.
    """
    if request.query.get("at") or request.method == "POST" or withholds(request):
        return None
    if view == "raw":
        return _source(request)
    if view not in _UNFINISHED:
        return None
    values = _UNFINISHED[view](request)
    if values is None:
        return None
    progress = {name: error.context.get(name, 0) for name in ("done", "total")}
    made = page(request, "unfinished.html", 503, **progress, **values)
    seconds = str(READING_SECONDS if values["html"] else 2)
    return made.with_headers({"refresh": seconds, "retry-after": "2", "cache-control": "no-store"})


def _start(request: PageRequest) -> Mapping[str, object] | None:
    """The start page of the only base: the declared one if it is a path, else one with a usual name, else its top."""
    if len(list(request.collections)) != 1:
        return None
    (collection,) = request.collections
    top = {
        fold(address.path.rpartition(".")[0]): address
        for address, _ in collection.store.files("")
        if address.is_document
    }
    addresses = [*possible_addresses(declared_site(collection.store).start), *filter(None, map(top.get, START_NAMES))]
    return _first_text(request, collection, addresses) or _listed(request, collection, "")


def _document(request: PageRequest) -> Mapping[str, object] | None:
    collection, path = request.located()
    return _first_text(request, collection, possible_addresses(path))


def _source(request: PageRequest) -> PageResponse | None:
    collection, path = request.located()
    served = [address for address in possible_addresses(path) if is_served_page(collection.store, address)]
    return PageResponse(collection.store.read(served[0]), "text/plain; charset=utf-8") if served else None


def _folder(request: PageRequest) -> Mapping[str, object] | None:
    collection, path = request.located()
    return _listed(request, collection, path.rstrip("/"))


_UNFINISHED: Mapping[str, Callable[[PageRequest], Mapping[str, object] | None]] = {
    "": _start,
    "p": _document,
    "tree": _folder,
}
"""Views that files alone can answer."""


def _first_text(
    request: PageRequest, collection: Collection, addresses: Sequence[Address]
) -> Mapping[str, object] | None:
    return next(filter(None, (_text(request, collection, address) for address in addresses)), None)


def _text(request: PageRequest, collection: Collection, address: Address) -> Mapping[str, object] | None:
    """The title and the text of a page; None if there is no such file."""
    if not is_served_page(collection.store, address):
        return None
    document = read_document(address, collection.store.read(address))
    renderer = TextRenderer(
        LinksByPath(collection, request.urls, document), rebase=renderer_for(request, collection).rebase(address)
    )
    body = document.encoded[document.body_start :].decode("utf-8", "replace")
    title = "" if has_title_heading(document) else collection.title_of(document)
    return {"title": collection.title_of(document), "heading": title, "html": renderer.html(body), "rows": ()}


def _listed(request: PageRequest, collection: Collection, path: str) -> Mapping[str, object] | None:
    """The names and URLs of what lies in a folder; None if it has no page and no folder."""
    urls, name = request.urls, collection.name
    store = collection.store
    if not is_served_folder(store, path):
        return None
    folders = [inner for inner in sorted(store.folders(path))[:MAX_LISTED] if _has_pages(store, inner)]
    pages = islice(pages_in(store, path), MAX_LISTED)
    rows = [(f"{inner.rpartition('/')[2]}/", urls.view("tree", name, f"{inner}/")) for inner in folders]
    rows += [(address.path.rpartition("/")[2], urls.page(name, address.path)) for address in pages]
    heading = path.rpartition("/")[2] or name
    return {"title": heading, "heading": heading, "html": "", "rows": rows} if rows else None


def _has_pages(store: Store, folder: str) -> bool:
    """Whether there is a page in a folder or below it; at most `MAX_LISTED` folders are looked into."""
    pending = [folder]
    for _ in range(MAX_LISTED):
        if not pending:
            break
        path = pending.pop()
        if any(True for _ in pages_in(store, path)):
            return True
        pending += store.folders(path)
    return False
