"""Actions on a whole page: a new one, moving, deleting, restoring; and the ticking of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from commonplace.domain.addresses import Address, parse_document_address
from commonplace.domain.changes import TrashItem
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.faces.errors import error_mapping
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import breadcrumbs, page
from commonplace.faces.web.urls import possible_addresses
from commonplace.faces.web.views.editor import after_write, intent_of, rendered_text, require_edits, stale_page
from commonplace.faces.write_output import kept_title_lines, own_titles
from commonplace.services import writes
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.history import bring_back, is_changed_since, restore, trashed
from commonplace.services.reviews import mark_reviewed
from commonplace.services.site.changes import MAX_DIFF_ROWS, differences, version
from commonplace.services.site.documents import backlinks, document_at_path, required_document
from commonplace.services.writes import WriteRequest, preview_moves
from commonplace.services.writes.moves import MovePlan
from commonplace.services.writes.new_paths import (
    daily_address,
    moved_address,
    new_page_address,
    new_page_text,
    template_names,
    title_and_name,
)
from commonplace.services.writes.saves import OpenedText, StaleTextError, edited_bytes, tick

MAX_BACKLINKS = 200
"""Maximum number of pages that are listed because they link to a page that is to be deleted."""


def new(request: PageRequest) -> PageResponse:
    """A form for a new page; with POST, the page."""
    collection, folder = _collection_of(request)
    template = request.query.get("template", "")
    now = datetime.now().astimezone()
    if request.method == "POST":
        return _create(request, collection)
    path = request.query.get("path", "").strip() or (f"{folder}/" if folder else "")
    name = title_and_name(collection, path)[0] or path.rpartition("/")[2].removesuffix(".md")
    text = new_page_text(collection, name or "Title", now, template)
    return _new_form(request, collection, NewPage(path, text, template))


def daily(request: PageRequest) -> PageResponse:
    """Today's page: the page if it is there, otherwise a form that creates it."""
    collection, _ = _collection_of(request)
    now = datetime.now().astimezone()
    address = daily_address(collection, now)
    if collection.store.stat(address) is not None:
        return redirect(request.urls.page(collection.name, address.path))
    text = new_page_text(collection, address.stem, now, daily=True)
    return _new_form(request, collection, NewPage(address.id, text))


def _collection_of(request: PageRequest) -> tuple[Collection, str]:
    collection, path = request.located()
    require_edits(request, collection)
    return collection, path


@dataclass(frozen=True, slots=True)
class NewPage:
    """The contents of the form for a new page."""

    path: str
    text: str
    template: str = ""
    html: str = ""
    """The preview; "" for none."""


def _new_form(
    request: PageRequest, collection: Collection, new_page: NewPage, problem: KnowledgeError | None = None
) -> PageResponse:
    return page(
        request,
        "new.html",
        error_mapping(problem).http if problem else 200,
        collection=collection,
        new_page=new_page,
        templates=template_names(collection),
        action=request.urls.view("new", collection.name, ""),
        preview=request.urls.view("render", collection.name, new_page.path or "new"),
        complete=request.urls.view("complete", collection.name, new_page.path or "new"),
        message=request.form.get("message", ""),
        problem=problem,
        crumbs=breadcrumbs(request, collection, new_page.path.rpartition("/")[0]),
    )


def _create(request: PageRequest, collection: Collection) -> PageResponse:
    path, text = request.form.get("path", "").strip(), request.form.get("text", "")
    if request.form.get("action") == "preview":
        address = Address(f"{path.removesuffix('.md') or 'new'}.md")
        html = rendered_text(request, collection, address, text, 1).body.decode()
        return _new_form(request, collection, NewPage(path, text.replace("\r\n", "\n"), html=html))
    try:
        if not path or path.endswith("/"):
            raise InvalidInputError("The page needs a name.", kind="path", hint="Write it after the folder.")
        address = new_page_address(collection, title_and_name(collection, path.removeprefix("/"))[1])
        content = edited_bytes(address, None, "", text)
        receipt = writes.create(collection, address, content, intent_of(request))
    except KnowledgeError as error:
        return _new_form(request, collection, NewPage(path, text.replace("\r\n", "\n")), error)
    return after_write(request, collection, receipt.address)


def _page_of(request: PageRequest) -> FoundDocument:
    collection, path = request.located()
    require_edits(request, collection)
    return required_document(collection, path)


@dataclass(frozen=True, slots=True)
class LinkChange:
    """A page in which links are rewritten by a move."""

    address: Address
    why: str
    """The reason, if it is not that the page links to the moved one."""


def move(request: PageRequest) -> PageResponse:
    """A form for a new path, then the pages whose links will be rewritten; with POST, the move."""
    document = _page_of(request)
    collection, old = document.collection, document.record.address
    to = (request.form if request.method == "POST" else request.query).get("to", "").strip()
    problem: KnowledgeError | None = None
    plan: MovePlan | None = None
    new_address: Address | None = None
    try:
        if to:
            new_address = moved_address(collection, old, to)
            if request.method == "POST":
                return _moved(request, document, new_address)
            plan = preview_moves(collection, {old: new_address}, {})
    except KnowledgeError as error:
        problem = error
    return page(
        request,
        "move.html",
        error_mapping(problem).http if problem else 200,
        found=document,
        collection=collection,
        record=document.record,
        to=to or old.id,
        new_address=new_address if plan else None,
        changes=_link_changes(plan) if plan else [],
        not_rewritten=plan.not_rewritten if plan else (),
        kept_titles=kept_title_lines(own_titles(collection, [old])),
        revision=revision_of(collection.store.read(old)),
        action=request.urls.view("move", collection.name, old.path),
        problem=problem,
        crumbs=breadcrumbs(request, collection, old.folder),
    )


def _link_changes(plan: MovePlan) -> list[LinkChange]:
    reasons = dict.fromkeys(plan.pinned, "they would lead to the new name")
    return [LinkChange(address, reasons.get(address, "")) for address in plan.others]


def _moved(request: PageRequest, document: FoundDocument, new_address: Address) -> PageResponse:
    intent = _named_intent(request)
    try:
        receipt = writes.rename(document.collection, document.record.address, new_address, intent)
    except ConflictError as error:
        raise _changed_since() from error
    return after_write(request, document.collection, receipt.address)


def _changed_since() -> ConflictError:
    """The error about a page that has changed since its form was opened, in the words of the browser."""
    return ConflictError(
        "The page has changed since you opened this form.",
        kind="document",
        hint="Follow the link above to read it as it is now, then decide again: the form is now for that text.",
    )


def _named_intent(request: PageRequest) -> WriteRequest:
    """The request of a write that names the version which the person saw."""
    revision = request.form.get("revision", "")
    if not revision:
        raise InvalidInputError("The form does not say which version it is of.", kind="form", hint="Open it again.")
    intent = intent_of(request)
    return WriteRequest(expected=revision, message=intent.message, author=intent.author)


def delete(request: PageRequest) -> PageResponse:
    """A question whether to delete a page, with the pages that link to it; with POST, the deletion."""
    document = _page_of(request)
    collection, record = document.collection, document.record
    if request.method == "POST":
        try:
            writes.delete(collection, record.address, _named_intent(request))
        except ConflictError:
            return _deletion_form(request, document, _changed_since())
        return after_write(request, collection, record.address)
    return _deletion_form(request, document)


def _deletion_form(
    request: PageRequest, document: FoundDocument, problem: KnowledgeError | None = None
) -> PageResponse:
    collection, record = document.collection, document.record
    content = collection.store.read(record.address)
    links = backlinks(request.collections, collection, record.address, MAX_BACKLINKS)
    return page(
        request,
        "delete.html",
        error_mapping(problem).http if problem else 200,
        found=document,
        collection=collection,
        record=record,
        revision=revision_of(content),
        uncommitted=is_changed_since(collection, record.address, content),
        problem=problem,
        links=[backlink.found for backlink in links.shown],
        total=links.total,
        action=request.urls.view("delete", collection.name, record.address.path),
        crumbs=breadcrumbs(request, collection, record.address.folder),
    )


def restored(request: PageRequest) -> PageResponse:
    """Write an earlier version of a page again, or a deleted page from a commit or the trash.

    The form names the page that the person saw: a later text of it is not overwritten unseen. Text that no commit has
    is shown first.
    """
    collection, path = request.located()
    require_edits(request, collection)
    at = request.form.get("at", "")
    document = document_at_path(collection, path)
    address = document.record.address if document else parse_document_address(path)
    seen = request.form.get("revision")
    if seen is None:
        raise InvalidInputError("The form does not say which version it is of.", kind="form", hint="Open it again.")
    if document is not None and not seen:
        raise ConflictError("The page is there again since this was shown.", kind="document", hint="Open it again.")
    if at:
        return _restored_version(request, collection, address, at, document)
    item = trashed(collection, address.path)
    if item is None:
        raise NotFoundError("The trash has no such page.", kind="trash", hint="Its history may have it.")
    # The form names the text that was there; the person may never have seen it.
    report = bring_back(collection, item, item.address, replace(intent_of(request), pinned=seen))
    return after_write(request, collection, report.written.address)


def _restored_version(
    request: PageRequest, collection: Collection, address: Address, at: str, document: FoundDocument | None
) -> PageResponse:
    """Write the version of a commit again. Text of the page that no commit has is shown first, with a second form."""
    seen = request.form.get("revision", "")
    expected = seen if request.form.get("shown") else ""
    try:
        report = restore(collection, address, at, replace(intent_of(request), pinned=seen, expected=expected))
    except ConflictError as error:
        if document is None or error.context.get("current_revision") != seen:
            raise
        return _restoration_form(request, document, at, seen)
    return after_write(request, collection, report.written.address)


def _restoration_form(request: PageRequest, document: FoundDocument, at: str, revision: str) -> PageResponse:
    """A question whether to restore a version over text that no commit has, with that text."""
    collection, address = document.collection, document.record.address
    rows = differences(version(collection, address, ""), version(collection, address, at))
    return page(
        request,
        "restore.html",
        409,
        collection=collection,
        record=document.record,
        at=at,
        revision=revision,
        rows=rows[:MAX_DIFF_ROWS],
        cut=len(rows) > MAX_DIFF_ROWS,
        action=request.urls.view("restore", collection.name, address.path),
        crumbs=breadcrumbs(request, collection, address.folder),
    )


def ticked(request: PageRequest) -> PageResponse:
    """Tick a task on a page, or untick it."""
    document = _page_of(request)
    place, _, done = request.form.get("task", "").partition("-")
    if not place.isdecimal() or len(place) > 12 or done not in {"0", "1"}:  # noqa: PLR2004 - digits of an offset
        raise InvalidInputError("The form names no task.", kind="form", hint="Open the page again.")
    opened = OpenedText(revision=request.form.get("revision", ""))
    collection, address = document.collection, document.record.address
    try:
        receipt = tick(collection, address, opened, int(place), intent_of(request), done=done == "1")
    except StaleTextError as error:
        return stale_page(request, collection, error)
    return after_write(request, collection, receipt.address)


def reviewed(request: PageRequest) -> PageResponse:
    """Note that a page was reviewed today, and go back to what is to be reviewed."""
    document = _page_of(request)
    mark_reviewed(document.collection, document.record.address, request.caller.name)
    identifier = request.proposed.get(document.collection.store.identity)
    return redirect(f"/proposals/{identifier}" if identifier else "/review", 303)


def trashed_page(request: PageRequest, collection: Collection, path: str) -> TrashItem | None:
    """A deleted page that the trash has; None for a reader who may not restore it."""
    if not request.may_edit(collection):
        return None
    possible = possible_addresses(path)
    return next((item for address in possible if (item := trashed(collection, address.path))), None)


def new_url(request: PageRequest, collection: Collection, path: str) -> str:
    """The URL of the form for a new page with this path; "" for a reader who may not make one."""
    if not request.may_edit(collection):
        return ""
    return f"{request.urls.view('new', collection.name, '')}?{urlencode({'path': path})}"
