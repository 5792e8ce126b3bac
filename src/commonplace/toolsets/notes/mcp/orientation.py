"""The tools `overview` and `links` of the toolset `notes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commonplace.domain.errors import IndexingError, InvalidInputError
from commonplace.domain.foreground import foreground
from commonplace.domain.records import iso_timestamp
from commonplace.domain.tokens import size_of
from commonplace.faces.brief_output import brief_lines
from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.toolset import PROPOSE, Call, ToolResult
from commonplace.services import brief as brief_service
from commonplace.services import links as links_service
from commonplace.services.checks import history_gaps
from commonplace.services.collections import Collection, Collections
from commonplace.services.links import DEFAULT_RELATION, LinkedDocument
from commonplace.services.past.moments import PAST_READY_SECONDS
from commonplace.services.site.documents import mentions
from commonplace.toolsets.notes.mcp.parameters import NotesBrief, NotesLinks, NotesOverview
from commonplace.toolsets.notes.mcp.past_calls import call_at, page_at
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer, line_of, next_call
from commonplace.toolsets.notes.service.overview import FolderOverview, folder_overview, link_graph, resolved_titles
from commonplace.toolsets.notes.service.page_lookup import FoundPage, folder_prefix, require_known_folder, shown_path

if TYPE_CHECKING:
    from commonplace.services.proposals import decisions
else:
    decisions = LazyModule("commonplace.services.proposals.decisions")

BUILDING_WAIT_SECONDS = 0.8
"""Timeout in seconds for the first index; then the overview tells how far it is."""
BRIEF_WAIT_SECONDS = 0.15
"""Timeout in seconds for the first index before a brief reads the files instead; shorter if many files are left."""
MAX_SENTENCE = 140
"""Maximum number of characters of the sentence around a link."""
MAX_MENTIONS = 500
"""Maximum number of pages that are searched for as mentions; `max_tokens` shows fewer."""


def brief(call: Call, arguments: NotesBrief) -> ToolResult:
    """The rules, sections and changes that matter at the start of a session."""
    answer = BoundedAnswer(arguments.max_tokens)
    collections = call.services.collections
    collections.wait_soon_ready(BRIEF_WAIT_SECONDS)
    with foreground():
        found_brief = brief_service.brief(call.services, arguments.task, call.actor)
    viewer = call.proposer if call.tier == PROPOSE else None
    served = (call.served or call.services).collections
    proposals = [] if call.tier == "read" else decisions.listed(served, viewer)
    named = len(collections.members) > 1
    lines = brief_lines(
        found_brief,
        proposals,
        answer.room,
        lambda item, path: f"{item.name}:{path}" if named else path,
        next_call("changes", since=iso_timestamp(int(found_brief.since))),
    )
    answer.add_all(lines)
    return answer.text("" if lines and arguments.task else next_call("overview"))


def overview(call: Call, arguments: NotesOverview) -> ToolResult:
    """The overview of one folder or all folders."""
    answer = BoundedAnswer(arguments.max_tokens, arguments.at)
    collections = call.services.collections
    try:
        collections.wait_ready(PAST_READY_SECONDS if arguments.at else BUILDING_WAIT_SECONDS, call.progress)
    except IndexingError:
        if arguments.at:
            raise
        return _unfinished(collections, answer)
    with call_at(call, arguments.at, answer) as then:
        return _overview(then, arguments, answer)


def _unfinished(collections: Collections, answer: BoundedAnswer) -> str:
    """The folders and files at the top of each folder, and how far its first index is."""
    for collection in collections.members:
        store = collection.store
        try:
            collection.index.wait_ready(0)
            state = "its index is ready"
        except IndexingError as error:
            state = str(error)
        answer.add(f"{collection.name}: {state}")
        part = max(60, answer.room // 3)
        files = sorted(address.path for address, _ in store.files("") if address.is_document)
        for label, names in (("Folders", sorted(store.folders(""))), ("Pages at the top", files)):
            if names:
                answer.add(f"{label}: {_listed(names, part)}")
    return answer.text(next_call("overview"))


def _overview(call: Call, arguments: NotesOverview, answer: BoundedAnswer) -> str:
    collections = call.services.collections
    chosen, prefix = folder_prefix(collections, arguments.folder)
    empty = True
    share = max(1, len(chosen))
    for number, collection in enumerate(chosen, 1):
        found_overview = folder_overview(collections, collection, prefix)
        if prefix and not found_overview.pages:
            continue
        room = answer.room // (share - number + 1)
        empty = False
        lines = _overview_lines(found_overview, prefix, room, named=len(collections.members) > 1)
        all(map(answer.add, lines))  # up to the first that does not fit
    if empty and prefix:
        require_known_folder(chosen, prefix)
    all(map(answer.add, history_gaps(chosen)))
    if empty:
        answer.add("No pages yet. " + next_call("write", page="index.md"))
    return answer.text()


def _overview_lines(result: FolderOverview, prefix: str, room: int, *, named: bool) -> Iterator[str]:
    """The lines of one folder's overview, most important first. Long lists are truncated to a share of the room."""
    counts = result.counts
    whole = "" if prefix else f", {counts.sections} sections, {counts.links} links"
    name = (f"{result.name}:{prefix}" if named else prefix) if prefix else result.name
    yield f"{name}: {result.pages} pages{whole}" + (f" (read-only: {result.read_only})" if result.read_only else "")
    if result.purpose_page:
        yield f"About ({result.purpose_page}): {line_of(result.purpose, max(80, room // 6))}"
    part = max(60, room // 7)
    for label, values in (
        ("Folders", result.folders if len(result.folders) > 1 else ()),
        ("Types", result.types),
        ("Tags", result.tags),
        ("Fields", result.fields),
        ("Most linked", result.hubs),
    ):
        line = _counted(label, values, part)
        if line:
            yield line
    changed = [f"{record.address.path} ({record.updated[:10]})" for record in result.recent or ()]
    if result.recent is None:
        yield "Changed lately: not known yet, the history is being read"
    if changed:
        yield f"Changed lately: {_listed(changed, part)}"
    written = "; ".join(part for part in (f"files {result.naming}" if result.naming else "", result.linking) if part)
    if written:
        yield f"Written as: {written}"
    if result.findings:
        yield f"To mend: {_listed([f'{item.rule} {item.count} ({item.first})' for item in result.findings], 2 * part)}"


def _counted(label: str, values: Sequence[tuple[str, int]], room: int) -> str:
    shown = [f"{name} {count}" for name, count in values]
    return f"{label}: {_listed(shown, room)}" if shown else ""


def _listed(items: Sequence[str], room: int) -> str:
    """The items that fit, and the number of the others."""
    kept_texts: list[str] = []
    for item in items:
        if kept_texts and sum(size_of(kept_text) + 2 for kept_text in kept_texts) + size_of(item) > room:
            break
        kept_texts.append(item)
    more = len(items) - len(kept_texts)
    return ", ".join(kept_texts) + (f" and {more} more" if more else "")


def links(call: Call, arguments: NotesLinks) -> ToolResult:
    """Links of a page, or the wanted pages of the whole base."""
    answer = BoundedAnswer(arguments.max_tokens, arguments.at)
    with call_at(call, arguments.at, answer) as then:
        pages = [page_at(call, then, page) for page in (arguments.page, arguments.page and arguments.to) if page]
        return _links(then, arguments, answer, pages)


def _links(call: Call, arguments: NotesLinks, answer: BoundedAnswer, pages: Sequence[FoundPage]) -> str:
    collections = call.services.collections
    if not arguments.page:
        if arguments.to or arguments.kind not in {"all", "wanted"}:
            raise InvalidInputError("links needs a page for this.", kind="argument", hint="Give page.")
        lines = [
            f"{page.name} <- {', '.join(source.path for source in page.sources[:5])}"
            for collection in collections
            for page in links_service.wanted_pages(collections, collection)
        ]
        answer.add(f"Wanted pages (linked to, not there): {len(lines)}")
        return _closed(answer, lines)
    page = pages[0]
    if arguments.to:
        return _path(call, page, pages[1], answer)
    if arguments.depth > 1:
        return _neighbours(call, page, arguments.depth, answer)
    answer.add(f"{shown_path(collections, page.collection, page.record.address)}: links")
    return _closed(answer, _link_lines(call, page, arguments.kind))


def _closed(answer: BoundedAnswer, lines: Sequence[str]) -> str:
    answer.reserve("999999 of 999999 shown; a larger max_tokens shows more.")
    added = answer.add_all(lines)
    left = len(lines) - added
    return answer.text(f"{added} of {len(lines)} shown; a larger max_tokens shows more." if left else "")


def _unresolved(call: Call, page: FoundPage) -> Iterator[str]:
    """The links of a page that lead nowhere, or to none of several pages."""
    collections, collection, address = call.services.collections, page.collection, page.record.address
    for wanted_page in links_service.wanted_pages(collections, collection, address):
        yield f"?? {wanted_page.name} (not there)"
    for name, several in links_service.ambiguous(collections, collection, address).items():
        yield f"?? {name} (ambiguous: {', '.join(shown_path(collections, collection, place) for place in several)})"


def _link_lines(call: Call, page: FoundPage, kind: str) -> list[str]:
    collections, collection, address = call.services.collections, page.collection, page.record.address
    lines: list[str] = []
    if kind in {"all", "out"}:
        out = links_service.outgoing(collections, collection, address)
        lines += _neighbour_lines(call, collection, "->", out)
    if kind in {"all", "in"}:
        back = links_service.incoming(collections, collection, address)
        lines += _neighbour_lines(call, collection, "<-", back)
    if kind in {"all", "wanted"}:
        lines += _unresolved(call, page)
    if kind in {"all", "mentions"}:
        lines += [
            f"~ {shown_path(collections, collection, mention.found.record.address)} names it without a link:"
            f" {line_of(mention.snippet, MAX_SENTENCE)}"
            for mention in mentions(collection, page.record, MAX_MENTIONS)
        ]
    return lines or ["none"]


def _neighbour_lines(
    call: Call, collection: Collection, arrow: str, neighbours: Sequence[LinkedDocument]
) -> Iterator[str]:
    dead = links_service.dead_fragments(collection, neighbours)
    for document in links_service.distinct(neighbours):
        missing = dead.get((document.resolved.source, document.resolved.target), ())
        mark = f" [not there: #{line_of(', #'.join(missing), MAX_SENTENCE)}]" if missing else ""
        yield _line(call, arrow, document, mark)


def _line(call: Call, arrow: str, document: LinkedDocument, mark: str) -> str:
    if document.found is None:
        return ""
    path = shown_path(call.services.collections, document.found.collection, document.found.record.address)
    relation = "" if document.relation == DEFAULT_RELATION else f" ({document.relation})"
    said = document.resolved.link.note or document.resolved.sentence
    return f"{arrow} {path}{relation}{mark}" + (f": {line_of(said, MAX_SENTENCE)}" if said else "")


def _path(call: Call, start: FoundPage, end: FoundPage, answer: BoundedAnswer) -> str:
    collections = call.services.collections
    if start.collection.name != end.collection.name:
        raise InvalidInputError("The two pages lie in different folders.", kind="argument", hint="Give two of one.")
    steps = link_graph(start.collection).path(start.record.address, end.record.address)
    if not steps:
        answer.add("No links lead from one page to the other.")
    for step in steps:
        arrow = "" if step is steps[0] else "-> " if step.forward else "<- "
        answer.add(f"{arrow}{shown_path(collections, start.collection, step.address)}")
    return answer.text("Cut: a larger max_tokens shows all of it." if answer.cut else "")


def _neighbours(call: Call, page: FoundPage, depth: int, answer: BoundedAnswer) -> str:
    neighbours = link_graph(page.collection).neighbours(page.record.address, depth)
    titles = resolved_titles(page.collection, [address for address, _ in neighbours])
    answer.add(f"{len(neighbours)} pages within {depth} links of {page.record.address.path}")
    lines = [
        f"{far} {shown_path(call.services.collections, page.collection, address)} ({line_of(titles[address], 60)})"
        for address, far in neighbours
        if address in titles
    ]
    return _closed(answer, lines)
