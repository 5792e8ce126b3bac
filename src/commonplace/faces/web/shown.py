"""Parts of a document that several views use: rendered text, properties, commits and local graph."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import accumulate, chain
from unicodedata import east_asian_width

from markupsafe import Markup

from commonplace.domain.addresses import Address
from commonplace.domain.browser_text import browser_text
from commonplace.domain.changes import Commit, people, uncredited
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json
from commonplace.domain.query import Record
from commonplace.domain.revisions import revision_of
from commonplace.domain.status import Status, TextStatus
from commonplace.faces.web.exchange import CardRow, PageRequest
from commonplace.faces.web.markup.page import Renderer
from commonplace.faces.web.markup.sanitizer import TASK_ATTRIBUTE
from commonplace.faces.web.messages import MessageCatalogue
from commonplace.faces.web.pages import words_of
from commonplace.faces.web.urls import Urls
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.site.documents import Neighbour, parsed_document
from commonplace.services.sites import Site
from commonplace.services.statuses import CollectionStatuses
from commonplace.services.writes.saves import MAX_EDITED_BYTES

PART_BYTES = 160_000
"""Maximum size in bytes of Markdown on one page; larger documents are shown in parts."""
MAX_CACHED_CHARS = 24_000_000
"""Maximum total characters of cached HTML."""
MAX_OUTLINE = 250
"""Maximum number of headings in the outline. Above it, only the first two levels are listed, up to this number."""
MAX_NAME = 18
"""Maximum width of a neighbour's name in the local graph, in Latin characters."""
MAX_IN_CIRCLE = 10
"""Maximum number of neighbours that the local graph shows in a circle; more are in two columns."""
GRAPH_WIDTH, GRAPH_HEIGHT = 300, 230
"""Width and least height of the local graph."""
COLUMN, NAME_HEIGHT = 38, 19
"""Distance of the columns from the middle, and of names in a column."""
_SHOWN_ELSEWHERE = frozenset({"title", "tags", "tag", "aliases", "alias"})
_URL = re.compile(r"https?://\S+")
_TASK_PLACE = re.compile(rf' {TASK_ATTRIBUTE}="\d+"')
_TASK_BOX = re.compile(rf'<input [^<>]*{TASK_ATTRIBUTE}="(\d+)"[^<>]*>')
_PARAGRAPH = re.compile(r"<p(?: [^<>]*)?>(.*?)(?=</?p[ >]|\Z)", re.DOTALL)
_ANCHOR = re.compile(r'<a class="anchor" href="#([^"<>]*)"[^<>]*>#</a>')
_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80
"""Mask of a byte's two high bits, and their value in UTF-8 continuation bytes."""


_RENDERED: BoundedCache[str] = BoundedCache(MAX_CACHED_CHARS)


def rendered(request: PageRequest, collection: Collection, document: Document, span: tuple[int, int]) -> Markup:
    """A byte range of a document as HTML. Cached until the document or an index of the reader's collections changes."""
    if withholds(request):  # not cached: what is withheld depends on more than the indexes
        return rendered_now(request, collection, document, span)
    names = tuple(other_collection.name for other_collection in request.collections)
    words = words_of(request, collection)
    key = (
        collection.store.identity,
        document.address,
        revision_of(document.raw),
        tuple(other_collection.index.generation for other_collection in request.collections),
        names,
        span,
        words.language,
        (request.urls.at, collection.store.history.head()) if request.urls.at else None,
    )
    html = _RENDERED.get(key)
    if html is None:
        html = rendered_now(request, collection, document, span)
        _RENDERED.put(key, html, len(html))
    return Markup(html)  # noqa: S704 - sanitized


def rendered_now(request: PageRequest, collection: Collection, document: Document, span: tuple[int, int]) -> Markup:
    """Like `rendered`, but not cached: for a text that is being written."""
    renderer = replace(renderer_for(request, collection), tasks=True)
    return Markup(renderer.document(document, span))  # noqa: S704 - sanitized


def for_reader(html: Markup, edit_url: str, words: MessageCatalogue) -> Markup:
    """The HTML of a page as its reader gets it: for one who may edit it, sections and tasks have links and buttons.

    Args:
        html: Rendered HTML.
        edit_url: URL of the page's editor; "" for a reader who may not edit it.
        words: The words of the page.
    """
    if not edit_url:
        return Markup(_TASK_PLACE.sub("", html)) if TASK_ATTRIBUTE in html else html  # noqa: S704 - sanitized
    label, edit = words.text("Edit this section"), words.text("Edit")

    def with_link(anchor: re.Match[str]) -> str:
        """A heading's anchor, followed by the link to the editor of its section."""
        url = f"{escape(edit_url)}?section={anchor[1]}"
        return f'{anchor[0]} <a class="anchor edit-section" href="{url}" aria-label="{label}">{edit}</a>'

    linked = _ANCHOR.sub(with_link, str(html))
    return Markup(_TASK_BOX.sub(partial(_task_button, words), linked))  # noqa: S704 - sanitized, and what this module writes


def _task_button(words: MessageCatalogue, box: re.Match[str]) -> str:
    """A button in the place of a task's box. It belongs to the form below the page."""
    done = " checked" in box[0]
    state, label = ("true", "Done") if done else ("false", "To do")
    return (
        f'<button type="submit" form="_ui-tasks" name="task" value="{box[1]}-{int(not done)}" class="task-box" '
        f'role="checkbox" aria-checked="{state}" aria-label="{words.text(label)}"></button>'
    )


def edit_url(request: PageRequest, found_document: FoundDocument, document: Document) -> str:
    """The URL of a page's editor; "" for a reader who may not edit it, or a page that cannot be edited there."""
    collection = found_document.collection
    if not document.decodable or len(document.raw) > MAX_EDITED_BYTES:
        return ""
    if not request.may_edit_page(collection, document.address, document.raw):
        return ""
    return request.urls.view("edit", collection.name, document.address.path)


def version_text(address: Address, content: bytes | None) -> str | None:
    """A version of a file as it is shown; "" for no file, None for a file that is no text."""
    if content is None:
        return ""
    document = read_document(address, content)
    return browser_text(document) if document.decodable and b"\0" not in content else None


def renderer_for(request: PageRequest, collection: Collection) -> Renderer:
    """A renderer for a collection's documents and this reader."""
    words = words_of(request, collection)
    return Renderer(request.collections, collection, request.urls, visible=partial(visible, request), words=words)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A byte range of a document that is shown on one page."""

    number: int
    """Number of the part, from 1."""
    start: int
    end: int


def parts(document: Document) -> list[DocumentPart]:
    """The parts of a document, split before headings or else at blank lines; a single part for most documents."""
    raw = document.source
    cuts = [document.body_start]
    headings = [section.start for section in document.sections if section.level]
    while len(raw) - cuts[-1] > PART_BYTES:
        limit = cuts[-1] + PART_BYTES
        heading = max((at for at in headings if cuts[-1] < at <= limit), default=0)
        blank = raw.rfind(b"\n\n", cuts[-1] + 1, limit) + 2
        line = raw.rfind(b"\n", cuts[-1] + 1, limit) + 1
        cuts.append(heading or (blank if blank > 1 else line) or character_start(raw, limit))
    return [
        DocumentPart(number + 1, a, b) for number, (a, b) in enumerate(zip(cuts, [*cuts[1:], len(raw)], strict=True))
    ]


def character_start(source: bytes, at: int) -> int:
    """The start of the UTF-8 character that contains the byte at this offset."""
    while 0 < at < len(source) and source[at] & _CONTINUATION_MASK == _CONTINUATION:
        at -= 1
    return at


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A heading in the outline."""

    level: int
    heading: str
    url: str


def outline(document: Document, all_parts: Sequence[DocumentPart], current: int, page_url: str) -> list[OutlineRow]:
    """The headings of a document, with URLs relative to the part that is shown."""
    headings = [section for section in document.sections if section.level and not _is_title(document, section)]
    if len(headings) > MAX_OUTLINE:
        top = sorted({section.level for section in headings})[:2]
        headings = [section for section in headings if section.level in top]
    least = min((section.level for section in headings), default=1)
    rows: list[OutlineRow] = []
    left = len(headings) - MAX_OUTLINE
    for section in headings[: MAX_OUTLINE + 1]:
        part = next((p.number for p in all_parts if p.start <= section.start < p.end), 1)
        base = "" if part == current else page_url if part == 1 else f"{page_url}?part={part}"
        rows.append(OutlineRow(section.level - least + 1, section.heading or "(no text)", f"{base}#{section.anchor}"))
    return [*rows[:MAX_OUTLINE], OutlineRow(1, f"\u2026 {left:,} more", rows[MAX_OUTLINE].url)] if left > 0 else rows


def has_title_heading(document: Document) -> bool:
    """Whether the text begins with its title as a level-1 heading, so that the page adds none."""
    return any(_is_title(document, section) for section in document.sections[1:2])


def _is_title(document: Document, section: Section) -> bool:
    return section.level == 1 and section.ordinal == 1 and section.heading == document.title


def properties(
    renderer: Renderer, document: Document, hidden: AbstractSet[str] = frozenset()
) -> list[tuple[str, Markup]]:
    """The front matter as pairs of name and HTML value, without hidden fields and those shown elsewhere."""
    return [
        (key, _value(renderer, document, value))
        for key, value in document.frontmatter.values.items()
        if key.lower() not in _SHOWN_ELSEWHERE and key not in hidden and value not in (None, "", [], {})
    ]


def _value(renderer: Renderer, document: Document, value: Json) -> Markup:
    if isinstance(value, str):
        return _text(renderer, document, value)
    if isinstance(value, Mapping):
        rows = [Markup("<dt>{}</dt><dd>{}</dd>").format(k, _value(renderer, document, v)) for k, v in value.items()]
        return Markup("<dl>{}</dl>").format(Markup("").join(rows))
    if isinstance(value, Sequence):
        if any(isinstance(element, Mapping | list) for element in value):
            rows = [Markup("<li>{}</li>").format(_value(renderer, document, element)) for element in value]
            return Markup("<ul>{}</ul>").format(Markup("").join(rows))
        return Markup(", ").join(_value(renderer, document, element) for element in value)
    return Markup("{}").format({True: "yes", False: "no"}[value] if isinstance(value, bool) else value)


def _text(renderer: Renderer, document: Document, value: str) -> Markup:
    if "[[" in value:
        return Markup(renderer.text(document, value))  # noqa: S704 - sanitized
    if _URL.fullmatch(value):
        return Markup('<a class="external" href="{0}" rel="noopener noreferrer">{0}</a>').format(value)
    return Markup("{}").format(value)


def status_notes(urls: Urls, collection: Collection, address: Address, words: MessageCatalogue) -> list[CardRow]:
    """A row, in the words of a language, for the page and each of its sections that is a draft or does not hold."""
    statuses = CollectionStatuses(collection)
    declared = statuses.declared.get(address, ())
    if not declared:
        return []
    sections = parsed_document(collection, address).sections
    rows: list[CardRow] = []
    for declared_status in declared:
        status = statuses.at(address, declared_status.ordinal)
        if not status.mark or declared_status.ordinal >= len(sections):
            continue
        what = "The section {section}" if declared_status.ordinal else "This page"
        state = words.text("a draft" if status.status is Status.DRAFT else str(status.status))
        by = " by {page}" if status.by else ""
        heading = repr(sections[declared_status.ordinal].heading)
        about = words.text(f"{what} is {{state}}{by}.", section=heading, state=state, page=status.by)
        url = replacement_url(urls, collection, status)
        rows.append(CardRow(str(words.text("Go to what holds.")) if url else "", url, about))
    return rows


def status_mark(status: TextStatus, words: MessageCatalogue) -> str:
    """The mark of what does not hold, such as `SUPERSEDED by new.md`; "" for what holds, and for drafts."""
    if not status.is_lapsed:
        return ""
    state = words.plain(status.status.value).upper()
    return words.plain("{state} by {page}", state=state, page=status.by) if status.by else state


def replacement_url(urls: Urls, collection: Collection, status: TextStatus) -> str:
    """The URL of the page or section that replaces a text; "" for none, or one that is elsewhere."""
    if not status.by or not status.resolved or "://" in status.by:
        return ""
    path, _, anchor = status.by.partition("#")
    return urls.page(collection.name, path) + (f"#{anchor}" if anchor else "")


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """A commit in the form that pages show."""

    id: str
    when: int
    author: str
    programs: tuple[str, ...]
    """Programs and agents that the message names, as `people` has them."""
    subject: str
    body: str


def shown_commit(commit: Commit) -> ShownCommit:
    """Convert a commit to the form that pages show."""
    subject, _, body = commit.message.strip().partition("\n")
    author, *programs = people(commit)
    return ShownCommit(commit.id, commit.when, author, tuple(programs), subject, uncredited(body))


def local_graph(
    urls: Urls, collection: Collection, record: Record, around: Sequence[Neighbour], words: MessageCatalogue
) -> Markup:
    """An SVG of a document and the documents linked with it, with their names; empty if there are none."""
    if not around:
        return Markup("")
    places = _in_circle(len(around)) if len(around) <= MAX_IN_CIRCLE else _in_columns(len(around))
    height = max(GRAPH_HEIGHT, 2 * NAME_HEIGHT + max(int(y) for _, y, _ in places))
    middle = f"{GRAPH_WIDTH // 2}", f"{height // 2}"
    lines: list[str] = []
    nodes: list[str] = []
    for neighbour, (x, y, side) in zip(around, places, strict=True):
        kind = "both" if neighbour.outgoing and neighbour.incoming else "out" if neighbour.outgoing else "in"
        lines.append(f'<line class="{kind}" x1="{middle[0]}" y1="{middle[1]}" x2="{x:.1f}" y2="{y:.1f}"/>')
        url, title = escape(urls.page(collection.name, neighbour.record.address.path)), escape(neighbour.record.title)
        at = {"before": (x - 10, y + 4), "after": (x + 10, y + 4)}.get(side, (x, y + 17))
        nodes.append(
            f'<a href="{url}"><title>{title}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
            f'<text class="{side}" x="{at[0]:.1f}" y="{at[1]:.1f}">{escape(_short(neighbour.record.title))}</text></a>'
        )
    center = f'<circle class="self" cx="{middle[0]}" cy="{middle[1]}" r="8"/>'
    label = words.text("Pages linked with {page}", page=record.title)
    svg = f'<svg class="local-graph" viewBox="0 0 {GRAPH_WIDTH} {height}" role="group" aria-label="{label}">'
    return Markup(f"{svg}{''.join(lines)}{center}{''.join(nodes)}</svg>")  # noqa: S704 - its texts are escaped


def _in_circle(count: int) -> list[tuple[float, float, str]]:
    """The points of few neighbours, their names below them."""
    angles = [2 * math.pi * number / count - math.pi / 2 for number in range(count)]
    middle, radius = (GRAPH_WIDTH / 2, GRAPH_HEIGHT / 2), 84
    return [
        (middle[0] + radius * 1.15 * math.cos(angle), middle[1] + radius * math.sin(angle), "below") for angle in angles
    ]


def _in_columns(count: int) -> list[tuple[float, float, str]]:
    """The points of many neighbours in two columns, their names beside them."""
    half = GRAPH_WIDTH / 2
    return [
        (half + (-COLUMN, COLUMN)[number % 2], NAME_HEIGHT * (1 + number // 2), ("before", "after")[number % 2])
        for number in range(count)
    ]


def _short(title: str) -> str:
    """A title truncated to the width of `MAX_NAME` Latin characters, at a word boundary if possible."""
    widths = accumulate(2 if east_asian_width(character) in "WF" else 1 for character in title)
    cut = title[: sum(width <= MAX_NAME for width in widths)]
    return title if cut == title else f"{cut[: cut.rfind(' ')] if ' ' in cut else cut[:-1]}…"


# Withheld text: parts of a document that a toolset suppresses on all pages but the document's own.


_NOT_LINE_END = re.compile(rb"[^\r\n]")


def withholds(request: PageRequest) -> bool:
    """Whether a toolset of the caller may withhold text."""
    return any(pages.withheld is not None for pages in request.toolsets)


def withheld_spans(request: PageRequest, collection: Collection, document: Document) -> list[tuple[int, int]]:
    """Sorted byte ranges `[start, end)` of a document that other pages must not show."""
    candidate = (pages.withheld for pages in request.toolsets if pages.withheld is not None)
    return sorted(span for withheld in candidate for span in withheld(request, collection, document))


def spans_of(request: PageRequest, found_document: FoundDocument) -> list[tuple[int, int]]:
    """Like `withheld_spans`, but for a record: reads the document. Empty if the document was deleted."""
    if not withholds(request):
        return []
    try:
        document = parsed_document(found_document.collection, found_document.record.address)
    except KnowledgeError:
        return []
    return withheld_spans(request, found_document.collection, document)


def gives_file(request: PageRequest, document: FoundDocument) -> bool:
    """Whether a request may get a document's unmodified file.

    It may if no text is withheld, or if the parameter `layer` names the document's collection.
    """
    return request.query.get("layer") == document.collection.name or not spans_of(request, document)


def visible(request: PageRequest, collection: Collection, document: Document) -> Document:
    """The document with withheld text replaced by blanks; offsets are unchanged."""
    spans = withheld_spans(request, collection, document) if withholds(request) else []
    if not spans:
        return document
    source = document.encoded
    raw = bytearray(source)
    for start, end in spans:
        raw[start:end] = _NOT_LINE_END.sub(b" ", source[start:end])
    return replace(document, raw=bytes(raw), text=raw.decode("utf-8", "replace"))


def meta_description(html: Markup, record: Record, site: Site, relinked: Callable[[str], str] = str) -> str:
    """The description of a page for search engines and messengers: its own description, else its first paragraph.

    The start page, and a page without text, have the description of the site.

    Args:
        html: The text as this reader sees it.
        record: The page.
        site: Its site.
        relinked: Replaces links of the HTML of one paragraph before its text is taken.
    """
    of_site = site.settings.description
    before = of_site if record.address.path == site.start else ""
    paragraphs = (Markup(relinked(paragraph[1])).striptags() for paragraph in _PARAGRAPH.finditer(html))  # noqa: S704 - rendered
    return next((about for about in chain((record.description, before), paragraphs) if about), of_site)


def visible_description(request: PageRequest, collection: Collection, record: Record) -> str:
    """A document's description; "" if its frontmatter is withheld."""
    if not record.description or not withholds(request):
        return record.description
    spans = spans_of(request, FoundDocument(collection, record))
    return "" if overlaps(spans, 0, 1) else record.description


def overlaps(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a range has a byte in `[start, end)`."""
    return any(first < end and start < last for first, last in spans)
