"""The page of a document with its surroundings; its source; its preview."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import quote, urlencode

from commonplace.domain.addresses import Address, fold, is_attachment_name
from commonplace.domain.changes import TrashItem
from commonplace.domain.document_reader import find_fragment, read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.markdown.paths import without_suffix
from commonplace.domain.revisions import revision_of
from commonplace.faces.web import shown
from commonplace.faces.web.edit_requests import waiting_notes
from commonplace.faces.web.exchange import CardRow, PageRequest, PageResponse, redirect
from commonplace.faces.web.markup.code import language_and_direction
from commonplace.faces.web.moments import at_moment
from commonplace.faces.web.navigation import NavigationHtml
from commonplace.faces.web.pages import base_title, breadcrumbs, page, words_of
from commonplace.faces.web.shown import gives_file, spans_of, visible, withholds
from commonplace.faces.web.urls import possible_addresses
from commonplace.faces.web.views.page_actions import new_url, trashed_page
from commonplace.services.collections import Collection, Collections, FoundDocument, current_revision
from commonplace.services.health.citations import page_citation_findings
from commonplace.services.history import is_changed_since, last_change, revision_at
from commonplace.services.past import SectionChange, as_of, is_moment, moment_of, section_blame
from commonplace.services.site.changes import GonePage, gone_page, latest
from commonplace.services.site.documents import (
    FOLDERS,
    Backlink,
    Mention,
    backlinks,
    document_at_path,
    named_document,
    neighbours,
    parsed_document,
    records,
    required_document,
)
from commonplace.services.site.documents import mentions as unlinked_mentions
from commonplace.services.sites import Site

START_COMMITS = 5
"""Number of recent commits on the start page."""
SHOWN_BACKLINKS = 50
"""Number of backlinks on one page."""
PREVIEW_CHARS = 900
"""Maximum size in bytes of the Markdown that a preview renders."""


def document(request: PageRequest) -> PageResponse:
    """The page of a document. Redirects from other names; shows the history of a deleted document."""
    collection, path = request.located()
    found_document = document_at_path(collection, path)
    if found_document is None:
        return _elsewhere(request, collection, path)
    canonical = request.urls.page(collection.name, found_document.record.address.path)
    if not _is_canonical(request, found_document):
        return redirect(canonical + _moment_query(request))
    if request.query.get("at"):
        return _old(request, found_document, request.query["at"])
    return page_of(request, found_document)


def _moment_query(request: PageRequest) -> str:
    """The moment of the request as a query string for a redirect; "" for the present."""
    at = request.query.get("at", "")
    return f"?{urlencode({'at': at})}" if at else ""


def _is_canonical(request: PageRequest, found_document: FoundDocument) -> bool:
    urls, path = request.urls, found_document.record.address.path.removesuffix(".md")
    named = request.path.startswith("@")
    plain = f"@{found_document.collection.name}/{path}" if named else path
    needed = found_document.collection.name != urls.first or path.startswith("@")
    return request.path == plain and named == needed


def page_of(request: PageRequest, found_document: FoundDocument, *, is_start: bool = False) -> PageResponse:
    """The page of a document; `is_start` adds what changed, for the start page of a base."""
    collection, record, urls = found_document.collection, found_document.record, request.urls
    text = parsed_document(collection, record.address)
    all_parts = shown.parts(text)
    number = min(request.number("part"), len(all_parts))
    part = all_parts[number - 1]
    url = urls.page(collection.name, record.address.path)
    links = backlinks(request.collections, collection, record.address, SHOWN_BACKLINKS)
    commit = last_change(collection, record.address)
    edit = shown.edit_url(request, found_document, text)
    site, words = request.site(collection), words_of(request, collection)
    html = shown.for_reader(shown.rendered(request, collection, text, (part.start, part.end)), edit, words)
    return page(
        request,
        "document.html",
        found=found_document,
        record=record,
        collection=collection,
        document=text,
        html=html,
        edit=edit,
        forge=site.settings.edit_url.replace("{path}", quote(record.address.path)),
        revision=revision_of(text.raw) if edit else "",
        part=part,
        parts=all_parts,
        url=url,
        crumbs=[] if is_start else crumbs_of(request, collection, site, record.address),
        description=shown.meta_description(html, record, site),
        titled=shown.has_title_heading(text) and number == 1,
        outline=shown.outline(text, all_parts, number, url),
        properties=shown.properties(shown.renderer_for(request, collection), text, site.settings.hidden_keys),
        shows_aliases="aliases" not in site.settings.hidden_keys,
        backlinks=[_shown_backlink(request, backlink) for backlink in links.shown],
        backlink_count=links.total,
        commit=shown.shown_commit(commit) if commit else None,
        uncommitted=is_changed_since(collection, record.address, text.raw),
        graph=shown.local_graph(urls, collection, record, neighbours(collection, record.address), words),
        navigation=NavigationHtml(urls, collection.name, site.navigation, words).whole(record.address.path),
        around=_around(request, collection, site, record.address),
        is_start=is_start,
        changes=[shown.shown_commit(commit) for commit in latest(collection, START_COMMITS)] if is_start else [],
        about=[row for pages in request.toolsets for row in pages.about(request, collection)] if is_start else [],
        notes=[*(waiting_notes(request, collection) if is_start else ()), *notes_of(request, found_document)],
        source=_source_url(request, found_document),
        **_language(text),
    )


def crumbs_of(request: PageRequest, collection: Collection, site: Site, address: Address) -> list[tuple[str, str]]:
    """Name and URL of the site and of each section above a page."""
    place = site.navigation.places.get(address.path)
    if place is None or not site.navigation.declared:
        return breadcrumbs(request, collection, address.folder)
    sections = NavigationHtml(request.urls, collection.name, site.navigation, words_of(request, collection))
    crumbs = [(base_title(request, collection), request.urls.view("tree", collection.name, ""))]
    for depth, node in enumerate(site.navigation.ancestors(place), 1):
        url = request.urls.page(collection.name, node.path) if node.path else sections.section_url(place[:depth])
        crumbs.append((sections.title(node), url))
    return crumbs


@dataclass(frozen=True, slots=True)
class NeighbourLink:
    """A link to the previous or the next page."""

    rel: str
    """`prev` or `next`."""
    title: str
    url: str


def _around(request: PageRequest, collection: Collection, site: Site, address: Address) -> list[NeighbourLink]:
    paths = dict(zip(("prev", "next"), site.navigation.around(address.path), strict=True))
    titles = {
        item.address.path: item.title
        for item in records(collection, [Address(path) for path in paths.values() if path])
    }
    return [
        NeighbourLink(rel, titles[path], request.urls.page(collection.name, path))
        for rel, path in paths.items()
        if path in titles
    ]


MAX_CITATION_NOTES = 5
"""Maximum number of notes about citations above a page."""


def notes_of(request: PageRequest, found_document: FoundDocument | None) -> list[CardRow]:
    """Rows above a document's text: what replaces it, what is proposed for it, then those of toolsets.

    None for a deleted document.
    """
    if found_document is None:
        return []
    collection, address = found_document.collection, found_document.record.address
    status_notes = shown.status_notes(request.urls, collection, address, words_of(request, collection))
    proposed = waiting_notes(request, collection, address)
    return [*status_notes, *_citation_notes(found_document), *proposed, *toolset_notes(request, found_document)]


def toolset_notes(request: PageRequest, found_document: FoundDocument | None) -> list[CardRow]:
    """Rows of toolsets about a document, beside any version of it; none for a deleted document."""
    if found_document is None:
        return []
    return [note for pages in request.toolsets for note in pages.notes(request, found_document)]


def _citation_notes(found_document: FoundDocument) -> list[CardRow]:
    """A row for each of the first citations that do not hold any more."""
    collection, record = found_document.collection, found_document.record
    if collection.is_past:
        return []
    findings = page_citation_findings(collection, record, parsed_document(collection, record.address))
    return [CardRow("", "", finding.message) for finding in islice(findings, MAX_CITATION_NOTES)]


def _source_url(request: PageRequest, found_document: FoundDocument) -> str:
    """The URL of a document's Markdown.

    If text is withheld, the URL names the collection, which requests the full text.
    """
    name = found_document.collection.name if spans_of(request, found_document) else ""
    return request.urls.view("raw", found_document.collection.name, found_document.record.address.path, layer=name)


def _shown_backlink(request: PageRequest, backlink: Backlink) -> Backlink:
    """A backlink, without its sentences if text of its document is withheld."""
    return replace(backlink, sentences=()) if backlink.sentences and spans_of(request, backlink.found) else backlink


def _language(text: Document) -> dict[str, str]:
    """The attributes `lang` and `dir` of a document's element."""
    lang, direction = language_and_direction(text)
    return {"lang": lang, "dir": direction}


def _old(request: PageRequest, candidate: FoundDocument, at: str) -> PageResponse:
    return _version(request, candidate.collection, candidate.record.address, at, candidate.record.address)


def _version(
    request: PageRequest, collection: Collection, address: Address, at: str, now: Address | None
) -> PageResponse:
    """A document at a moment or revision, in any form that the command `read` accepts.

    Args:
        request: The request.
        collection: The document's collection.
        address: An address of the document.
        at: The moment or revision.
        now: The document's current address; None if it no longer exists.
    """
    moment = at if is_moment(collection, at) else ""
    at = revision_at(collection, at)
    history = collection.store.history
    content = history.read(address, at)
    address = history.address_at(address, at) or address
    text = read_document(address, content)
    found_document = document_at_path(collection, now.path) if now else None
    all_parts = shown.parts(text)
    number = min(request.number("part"), len(all_parts))
    part = all_parts[number - 1]
    with at_moment(request) if moment else nullcontext((request, ())) as (then, _):
        there = next(element for element in then.collections if element.name == collection.name)
        html = shown.rendered(then, there, text, (part.start, part.end))
        crumbs = breadcrumbs(then, collection, address.folder)
    return page(
        request,
        "version.html",
        restores=request.may_edit(collection),
        revision=current_revision(collection, now or address),
        collection=collection,
        document=text,
        at=at,
        moment=moment,
        now=now,
        html=html,
        part=part,
        parts=all_parts,
        titled=shown.has_title_heading(text) and number == 1,
        notes=notes_of(request, found_document),
        crumbs=crumbs,
        **_language(text),
    )


@dataclass(frozen=True, slots=True)
class _Near:
    title: str
    url: str


def _elsewhere(request: PageRequest, collection: Collection, path: str) -> PageResponse:
    """The response for a path that is not a document's current path: a redirect, an old version or an error page."""
    urls = request.urls
    if path in FOLDERS.of(collection):
        return redirect(urls.view("tree", collection.name, f"{path}/" if path else "", at=request.at))
    gone = next(
        (known_page for address in possible_addresses(path) if (known_page := gone_page(collection, address))), None
    )
    answer = _moved_or_old(request, collection, gone) if gone else None
    if answer is not None:
        return answer
    named = named_document([collection], path) if path and gone is None else None
    if named is not None:
        return redirect(urls.page(named.collection.name, named.record.address.path) + _moment_query(request))
    then = _named_then(request, collection, path)
    if then:
        return redirect(urls.page(collection.name, then) + _moment_query(request))
    return page(
        request,
        "missing.html",
        404,
        in_trash=_in_trash(request, collection, path, gone),
        new="" if is_attachment_name(path) else new_url(request, collection, path),
        collection=collection,
        path=path,
        gone=gone,
        was_moved=gone is not None and gone.address not in possible_addresses(path),
        removed=shown.shown_commit(gone.removed) if gone else None,
        near=_near(request, collection, path),
        is_file=is_attachment_name(path),
        sources=_sources(request.collections, collection, path),
    )


def _moved_or_old(request: PageRequest, collection: Collection, gone: GonePage) -> PageResponse | None:
    """The redirect to where a page is now, or its text at the request's moment; None for a deleted page of now."""
    target = gone.renamed_to.path if gone.renamed_to else ""
    if request.query.get("at"):
        target = _elsewhere_then(request, collection, gone)
        if not target:
            return _version(request, collection, gone.address, request.query["at"], gone.renamed_to)
    return redirect(request.urls.page(collection.name, target) + _moment_query(request)) if target else None


def _elsewhere_then(request: PageRequest, collection: Collection, gone: GonePage) -> str:
    """The path to which a page had been moved by the request's moment, or that of another one with its name then."""
    if not is_moment(collection, request.at):
        return ""
    commit = moment_of(collection, request.at).commit.id
    if collection.store.history.address_at(gone.address, commit) is not None:
        return ""
    return gone.renamed_to.path if gone.renamed_to else _named_then(request, collection, gone.address.id)


def _in_trash(request: PageRequest, collection: Collection, path: str, gone: GonePage | None) -> TrashItem | None:
    """The last text of a deleted page in the trash; None if a commit has a later state."""
    item = trashed_page(request, collection, path)
    return item if item and (gone is None or not gone.is_committed or item.when >= gone.removed.when) else None


def _named_then(request: PageRequest, collection: Collection, path: str) -> str:
    """The path of the document that had this title or alias at the request's moment; "" if there was none."""
    if not path or not is_moment(collection, request.at):
        return ""
    with as_of(Collections(lambda: [collection]), request.at) as base:
        named = named_document(base.collections.members, path)
        return named.record.address.path if named else ""


def _near(request: PageRequest, collection: Collection, path: str) -> list[_Near]:
    result: list[_Near] = []
    for identifier in collection.index.nearest(path or "index", 5):
        record = collection.index.find(identifier)
        if record is not None:
            result.append(_Near(record.title, request.urls.page(collection.name, record.address.path)))
    return result


def _sources(collections: Collections, collection: Collection, path: str) -> Sequence[FoundDocument]:
    """The documents that link to a missing page of this name."""
    from commonplace.services.site.overview import wanted_pages

    name = fold(without_suffix(path))
    wanted_page = next(
        (other_page for other_page in wanted_pages(collections, collection).pages if fold(other_page.name) == name),
        None,
    )
    addresses = list(wanted_page.sources[:SHOWN_BACKLINKS]) if wanted_page else []
    return [FoundDocument(collection, record) for record in records(collection, addresses)]


def _found(request: PageRequest) -> FoundDocument:
    collection, path = request.located()
    return required_document(collection, path)


def once_located(request: PageRequest) -> tuple[Collection, Address]:
    """The collection and address that the path names, whether or not the document exists now."""
    collection, path = request.located()
    document = document_at_path(collection, path)
    if document:
        return collection, document.record.address
    possible = possible_addresses(path)
    if not possible:
        raise NotFoundError("There is no such page.", kind="document")
    log = collection.store.history
    addresses = (address for address in possible if log.available and log.log(address, limit=1))
    return collection, next(addresses, possible[0])


def source(request: PageRequest) -> PageResponse:
    """The Markdown of a document as in its file; with `at`, as it was then.

    If text is withheld, only if `layer` names the document's collection.
    """
    if request.at:
        collection, address = once_located(request)
        if withholds(request) and request.query.get("layer") != collection.name:
            return redirect(request.urls.page(collection.name, address.path) + _moment_query(request))
        content = collection.store.history.read(address, revision_at(collection, request.at))
        return PageResponse(content, "text/plain; charset=utf-8")
    found_document = _found(request)
    if not gives_file(request, found_document):
        return redirect(request.urls.page(found_document.collection.name, found_document.record.address.path))
    content = found_document.collection.store.read(found_document.record.address)
    return PageResponse(content, "text/plain; charset=utf-8")


def preview(request: PageRequest) -> PageResponse:
    """The start of a document, or of the section of the element that `fragment` names, for a small window."""
    candidate = _found(request)
    text = visible(request, candidate.collection, parsed_document(candidate.collection, candidate.record.address))
    element = request.query.get("fragment", "")
    start, end = text.body_start, len(text.source)
    if element:
        try:
            start, end, _ = find_fragment(text, element if element.startswith("^") else f"#{element}")
        except KnowledgeError:
            element = ""
    if end - start > PREVIEW_CHARS:
        cut = text.source.rfind(b"\n", start + 1, start + PREVIEW_CHARS)
        end = cut if cut > start else shown.character_start(text.source, start + PREVIEW_CHARS)
    html = shown.rendered(request, candidate.collection, text, (start, end))
    return page(
        request,
        "preview.html",
        record=candidate.record,
        html=html,
        notes=notes_of(request, candidate) if spans_of(request, candidate) else [],
        url=request.urls.page(candidate.collection.name, candidate.record.address.path, element),
    )


def _shown_mention(request: PageRequest, mention: Mention) -> Mention:
    return replace(mention, snippet="") if spans_of(request, mention.found) else mention


def linked_from(request: PageRequest) -> PageResponse:
    """All documents that link to this document, in pages."""
    found_document = _found(request)
    collection, address = found_document.collection, found_document.record.address
    number = request.number("page")
    links = backlinks(request.collections, collection, address, SHOWN_BACKLINKS, (number - 1) * SHOWN_BACKLINKS)
    last = max(1, -(-links.total // SHOWN_BACKLINKS))
    if number > last:
        return redirect(request.urls.view("backlinks", collection.name, address.path, page=str(last)))
    return page(
        request,
        "backlinks.html",
        found=found_document,
        record=found_document.record,
        backlinks=[_shown_backlink(request, backlink) for backlink in links.shown],
        total=links.total,
        number=number,
        last=last,
    )


def mentions(request: PageRequest) -> PageResponse:
    """Documents that mention this document's name without a link."""
    candidate = _found(request)
    return page(
        request,
        "mentions.html",
        found=candidate,
        record=candidate.record,
        mentions=[
            _shown_mention(request, mention) for mention in unlinked_mentions(candidate.collection, candidate.record)
        ],
        fragment=request.query.get("fragment") == "1",
    )


def sections(request: PageRequest) -> PageResponse:
    """The last commit and author of each section."""
    candidate = _found(request)
    collection, address = candidate.collection, candidate.record.address
    if collection.store.history.available:
        blame = section_blame(collection, address)
    else:
        blame = [
            SectionChange(section, None) for section in parsed_document(collection, address).sections if section.level
        ]
    rows = [(change.section, shown.shown_commit(change.commit) if change.commit else None) for change in blame]
    fragment = request.query.get("fragment") == "1"
    return page(request, "sections.html", found=candidate, record=candidate.record, rows=rows, fragment=fragment)
