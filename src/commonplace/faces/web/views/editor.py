"""The editor of a page: its form, its preview, and what is shown when the page has changed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.browser_text import browser_text, section_span
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError, NotFoundError, TooLargeError
from commonplace.domain.merge import with_regions
from commonplace.domain.revisions import revision_of
from commonplace.faces.errors import error_mapping
from commonplace.faces.web import shown
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import breadcrumbs, page
from commonplace.faces.web.urls import possible_addresses
from commonplace.faces.web.views.field_form import inputs_of, with_fields
from commonplace.faces.web.views.merges import (
    MAX_REGIONS,
    PERSON,
    last_change,
    merge_rows,
    packed,
    text_of,
    unpacked,
    with_choices,
)
from commonplace.services.collections import Collection, FoundDocument, current_bytes
from commonplace.services.site.changes import differences, gone_page
from commonplace.services.site.documents import document_at_path, required_document
from commonplace.services.writes import WriteReceipt, WriteRequest, create
from commonplace.services.writes.saves import (
    MAX_EDITED_BYTES,
    OpenedText,
    StaleTextError,
    edited_bytes,
    is_in_history,
    opened_bytes,
    save,
)

MAX_MESSAGE_CHARS = 500
"""Maximum characters of the words that say what was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditForm:
    """The form of the editor."""

    collection: Collection
    address: Address
    text: str
    revision: str
    """The version that was opened; "" for a new page."""
    section: str = ""
    """Anchor of the section that is edited; "" for the whole page."""
    base: str = ""
    """The version that was opened, packed, if no commit has it."""
    message: str = ""
    unsaved: bool = False
    """Whether the text differs from the page's."""


def edit(request: PageRequest) -> PageResponse:
    """The editor of a page or a section; with POST, what its buttons do."""
    collection, path = request.located()
    require_edits(request, collection)
    if request.method == "POST":
        document = document_at_path(collection, path)
        return _sent(request, collection, document.record.address if document else _address(path))
    return _edit_page(request, _opened_form(request, required_document(collection, path)))


def require_edits(request: PageRequest, collection: Collection) -> None:
    """Check that the caller may change pages of a collection.

    Raises:
        ForbiddenError: kind "collection".
    """
    if not request.may_edit(collection):
        raise ForbiddenError(
            f"Pages of {collection.name} cannot be changed here.", kind="collection", hint=_refusal(collection)
        )


def _refusal(collection: Collection) -> str:
    reason = collection.store.read_only_reason
    return f"It is read-only: {reason}." if reason else "Proposals need a Git repository: git init in its folder."


def _address(path: str) -> Address:
    possible = possible_addresses(path)
    if not possible:
        raise NotFoundError("There is no such page.", kind="document")
    return possible[0]


def _opened_form(request: PageRequest, found_document: FoundDocument) -> EditForm:
    collection, address = found_document.collection, found_document.record.address
    raw = collection.store.read(address)
    require_editable(raw)
    document = read_document(address, raw)
    section = request.query.get("section", "")
    span = section_span(document, section) if section else None
    if section and span is None:
        raise NotFoundError("The page has no such section.", kind="section", hint="Edit the whole page.")
    return _form(collection, address, raw, browser_text(document, span), section=section)


def require_editable(raw: bytes) -> None:
    """Check that a page is small enough for a form.

    Raises:
        TooLargeError: it is not.
    """
    if len(raw) > MAX_EDITED_BYTES:
        raise TooLargeError(
            f"The page has {len(raw):,} bytes; up to {MAX_EDITED_BYTES:,} can be edited in a browser.",
            kind="document",
            hint="Edit its file, or split it into several pages.",
        )


def _form(
    collection: Collection, address: Address, raw: bytes, text: str, *, section: str = "", unsaved: bool = False
) -> EditForm:
    """The form for a text on top of the version `raw` of a page."""
    revision = revision_of(raw)
    base = "" if is_in_history(collection, address, revision) else packed(raw)
    return EditForm(
        collection=collection, address=address, text=text, revision=revision, section=section, base=base,
        unsaved=unsaved,
    )  # fmt: skip


def _edit_page(
    request: PageRequest, form: EditForm, status: int = 200, *, problem: KnowledgeError | None = None, **more: object
) -> PageResponse:
    """The page with the form."""
    collection, address, urls = form.collection, form.address, request.urls
    values: dict[str, object] = {
        "html": None,
        "rows": [],
        "diff": [],
        "stale": None,
        "changed": None,
        "mine": PERSON,
        **more,
    }
    return page(
        request,
        "edit.html",
        status,
        form=form,
        collection=collection,
        address=address,
        title=collection.title_at(address),
        action=urls.view("edit", collection.name, address.path),
        preview=urls.view("render", collection.name, address.path),
        complete=urls.view("complete", collection.name, address.path),
        upload=urls.view("attach", collection.name, address.path),
        draft=f"{collection.name}/{address.path}#{form.section}",
        crumbs=breadcrumbs(request, collection, address.folder),
        problem=problem,
        fields=("", ()) if form.section else inputs_of(collection, address, form.text),
        **values,
    )


def _sent(request: PageRequest, collection: Collection, address: Address) -> PageResponse:
    """The response to a form that was sent."""
    fields = request.form
    if "text" not in fields:
        raise InvalidInputError("The form has no text.", kind="form", hint="Open the editor again.")
    opened = OpenedText(
        revision=fields.get("revision", ""),
        section=fields.get("section", ""),
        content=unpacked(fields.get("base", "")),
    )
    action = fields.get("action", "save")
    try:
        text = with_fields(collection, address, fields["text"].replace("\r\n", "\n"), fields)
    except InvalidInputError as error:
        return _edit_page(request, _again(request, collection, address), error_mapping(error).http, problem=error)
    request = replace(request, form={**fields, "text": text})
    if action == "preview":
        html = rendered_text(request, collection, address, text, 1).body.decode()
        return _edit_page(request, _again(request, collection, address), html=html)
    if action == "merge":
        return _merged(request, collection, address, opened)
    try:
        receipt = _saved(request, collection, address, opened)
    except StaleTextError as error:
        return stale_page(request, collection, error)
    except KnowledgeError as error:
        return _edit_page(request, _again(request, collection, address), error_mapping(error).http, problem=error)
    return after_write(request, collection, receipt.address, opened.section)


def _again(request: PageRequest, collection: Collection, address: Address) -> EditForm:
    """The form as it was sent."""
    fields = request.form
    return EditForm(
        collection=collection,
        address=address,
        text=fields["text"].replace("\r\n", "\n"),
        revision=fields.get("revision", ""),
        section=fields.get("section", ""),
        base=fields.get("base", ""),
        message=fields.get("message", ""),
        unsaved=True,
    )


def _saved(request: PageRequest, collection: Collection, address: Address, opened: OpenedText) -> WriteReceipt:
    intent = intent_of(request)
    text = request.form["text"]
    if opened.revision:
        return save(collection, address, opened, text, intent)
    return create(collection, address, edited_bytes(address, None, "", text), intent)


def intent_of(request: PageRequest) -> WriteRequest:
    """The request of a write, with the words of the form."""
    message = " ".join(request.form.get("message", "").split())[:MAX_MESSAGE_CHARS]
    return WriteRequest(message=message)


def after_write(request: PageRequest, collection: Collection, address: Address, section: str = "") -> PageResponse:
    """Lead to what was written: the page, or the proposal."""
    identifier = request.proposed.get(collection.store.identity)
    if identifier:
        return redirect(f"/proposals/{identifier}", 303)
    return redirect(request.urls.page(collection.name, address.path, section), 303)


def stale_page(request: PageRequest, collection: Collection, error: StaleTextError) -> PageResponse:
    """The page for a text whose page has changed since it was opened: all three versions, and the merge of them."""
    error = _followed(collection, error)
    address, theirs = error.address, error.theirs
    if theirs is None:
        text = browser_text(read_document(address, error.mine))
        message = request.form.get("message", "")
        form = EditForm(collection=collection, address=address, text=text, revision="", message=message, unsaved=True)
        return _edit_page(request, form, 409, stale=error, changed=last_change(collection, address, None))
    regions = error.regions
    contents = [None if error.base is None else region.merged for region in regions]
    rows = merge_rows(regions, contents)
    changed = last_change(collection, address, theirs)
    if all(content is not None for content in contents):
        merged = with_regions(error.base or theirs, regions, [content or b"" for content in contents])
        form = _form(collection, address, theirs, text_of(address, merged), unsaved=True)
        form = replace(form, message=request.form.get("message", ""))
        return _edit_page(request, form, 409, stale=error, rows=rows, changed=changed)
    sent = EditForm(
        collection=collection,
        address=address,
        text=text_of(address, error.mine),
        revision=request.form.get("revision", ""),
        base=packed(error.base),
        message=request.form.get("message", ""),
    )
    return page(
        request,
        "merge.html",
        409,
        form=sent,
        collection=collection,
        address=address,
        now=revision_of(theirs),
        known=error.base is not None,
        rows=rows[:MAX_REGIONS],
        mine=PERSON,
        hidden={"section": ""},
        cancel=request.urls.page(collection.name, address.path),
        conflicts=sum(1 for row in rows if row.number),
        changed=changed,
        action=request.urls.view("edit", collection.name, address.path),
        crumbs=breadcrumbs(request, collection, address.folder),
    )


def _followed(collection: Collection, error: StaleTextError) -> StaleTextError:
    """The same for the new address of a page that was moved meanwhile."""
    if error.theirs is not None:
        return error
    gone = gone_page(collection, error.address)
    target = gone.renamed_to if gone else None
    content = current_bytes(collection, target) if target else None
    return StaleTextError(target, error.base, error.mine, content) if target and content is not None else error


def _merged(request: PageRequest, collection: Collection, address: Address, opened: OpenedText) -> PageResponse:
    """The editor with the text that the choices at each conflict give, on top of the page as it is now."""
    base = opened_bytes(collection, address, opened)
    mine = edited_bytes(address, base, opened.section, request.form["text"])
    theirs = current_bytes(collection, address)
    error = StaleTextError(address, base, mine, theirs)
    if theirs is None or revision_of(theirs) != request.form.get("now"):
        return stale_page(request, collection, error)
    text = text_of(address, with_choices(error, request.form))
    form = replace(_form(collection, address, theirs, text, unsaved=True), message=request.form.get("message", ""))
    rows = differences(text_of(address, theirs), text)
    return _edit_page(request, form, diff=rows)


def render(request: PageRequest) -> PageResponse:
    """A text that is being edited as HTML: the whole of it, or the part of a large one in which a line is."""
    collection, path = request.located()
    document = document_at_path(collection, path)
    address = document.record.address if document else _address(path or "new")
    line = int(request.form.get("line", "1")) if request.form.get("line", "1").isdecimal() else 1
    return rendered_text(request, collection, address, request.form.get("text", ""), line)


def rendered_text(request: PageRequest, collection: Collection, address: Address, text: str, line: int) -> PageResponse:
    """A text as the page at this address shows it, with what is wrong with its front matter."""
    raw = text.replace("\r\n", "\n").encode("utf-8", "replace")
    if len(raw) > MAX_EDITED_BYTES:
        raise TooLargeError("The text is too long for a preview.", kind="text", hint="Save it first.")
    document = read_document(address, raw)
    parts = shown.parts(document)
    offset = _offset_of(raw, line)
    part = next((document_part for document_part in reversed(parts) if document_part.start <= offset), parts[0])
    html = shown.rendered_now(request, collection, document, (part.start, part.end))
    is_part = len(parts) > 1 or bool(request.form.get("excerpt"))
    return page(request, "rendered.html", html=html, is_part=is_part, findings=document.findings)


def _offset_of(raw: bytes, line: int) -> int:
    """Byte offset of a line, from 1; the end of the text for a line behind it."""
    at = 0
    for _ in range(line - 1):
        at = raw.find(b"\n", at) + 1
        if not at:
            return len(raw)
    return at
