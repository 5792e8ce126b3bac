"""Rendering of a whole document, or of a part of a large one.

Links are resolved in one batch; the result is sanitized.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Self

from markupsafe import Markup

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import find_fragment
from commonplace.domain.documents import Document, gc_disabled
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.markdown.paths import joined
from commonplace.domain.tasks import with_boxes
from commonplace.faces.web.markup.blocks import Footnotes, Piece, container_html, pieces
from commonplace.faces.web.markup.html import HtmlWriter, LinkHtml, Scope
from commonplace.faces.web.markup.links import DocumentLinks, LinkSource, external_link
from commonplace.faces.web.markup.parser import LinkKey, Parsed, definitions, missing_definitions, parse, written_links
from commonplace.faces.web.markup.sanitizer import (
    MAX_EMBEDDED_EVENTS,
    MAX_SECONDS,
    PUBLISHED_SECONDS,
    Budget,
    OverBudgetError,
    Rebase,
    as_source,
    no_rebase,
    sanitized,
)
from commonplace.faces.web.messages import ENGLISH_WORDS, MessageCatalogue
from commonplace.faces.web.urls import Urls
from commonplace.faces.worker_threads import go_on
from commonplace.services.collections import Collection, Collections
from commonplace.services.site.documents import LinkTarget
from commonplace.services.writes.documents import in_own_form

MAX_DEPTH = 4
"""Maximum nesting depth of embeds, and of admonitions."""
MAX_EMBEDS = 60
"""Maximum number of embedded documents on one page."""
MAX_EMBEDDED_BYTES = 400_000
"""Maximum total size in bytes of the embedded documents on one page."""
MAX_READ_BYTES = 1_200_000
"""Maximum total size in bytes of the documents that are read for the embeds of one page, each read once."""

TEXT_EVENTS = 30
"""Number of parser events that a short text counts as at least, because each is sanitized by itself."""
MAX_TEXTS = 600_000
"""Maximum total characters of the texts on one page that are not part of a document."""
Visible = Callable[[Collection, Document], Document]
"""Returns a document with withheld text blanked; offsets are unchanged."""
CUT = "<p>\u2026 The rest is too long to be shown here.</p>\n"


@dataclass(slots=True)
class Embeds:
    """The rest of the limits for the embeds of one page."""

    left: int = MAX_EMBEDS
    bytes: int = MAX_EMBEDDED_BYTES
    unread: int = MAX_READ_BYTES
    documents: dict[tuple[str, Address], Document] = field(default_factory=dict[tuple[str, Address], Document])
    budget: Budget = field(default_factory=lambda: Budget(MAX_EMBEDDED_EVENTS))

    def document(self, target: LinkTarget, fragment: str) -> Document | None:
        """The document to embed, whole if there is no fragment; None if it is too large for what is left.

        Raises:
            KnowledgeError: it cannot be read.
        """
        key = target.collection.name, target.address
        if key in self.documents:
            return self.documents[key]
        stat = target.collection.store.stat(target.address)
        size = stat.size if stat else 0
        if size > self.unread or (size > self.bytes and not fragment):
            return None
        self.unread -= size
        self.documents[key] = target.collection.index.document(target.address)
        return self.documents[key]


def _as_it_is(_: Collection, document: Document) -> Document:
    return document


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders documents of one collection for one reader."""

    collections: Collections
    collection: Collection
    urls: Urls
    embeds: Embeds = field(default_factory=Embeds)
    within: tuple[Address, ...] = ()
    """The documents that are being rendered, outermost first. Used to detect recursive embeds."""
    visible: Visible = _as_it_is
    """Blanks withheld text of embedded documents."""
    tasks: bool = False
    """Whether the boxes of tasks name their place, in the attribute `TASK_ATTRIBUTE`."""
    seconds: float = MAX_SECONDS
    """Maximum CPU time in seconds of a document."""
    words: MessageCatalogue = ENGLISH_WORDS
    """The words of the page around its text, such as the titles of callouts without one."""

    @classmethod
    def of_files(cls, collections: Collections, collection: Collection, urls: Urls, words: MessageCatalogue) -> Self:
        """A renderer for pages that are written as files, which nobody waits for."""
        embeds = Embeds(budget=Budget.lasting(PUBLISHED_SECONDS, MAX_EMBEDDED_EVENTS))
        return cls(collections, collection, urls, embeds=embeds, seconds=PUBLISHED_SECONDS, words=words)

    @gc_disabled()
    def document(self, document: Document, span: tuple[int, int] | None = None) -> str:
        """A document's body, or the bytes `[start, end)` of the document, as sanitized HTML."""
        html = self._html(document, span, Budget.lasting(self.seconds), with_anchors=True)
        go_on()
        return sanitized(html, self.rebase(document.address))

    def text(self, document: Document, markdown: str) -> str:
        """Other Markdown, such as a front-matter value, as sanitized HTML. Links are relative to the document.

        All such texts of a page share the budget of its embeds; those over the budget are shown as their source.
        """
        try:
            self.embeds.budget.take(events=TEXT_EVENTS)
        except OverBudgetError:
            return escape(markdown, quote=False)
        raw = markdown.encode("utf-8", "replace")
        other = replace(document, raw=raw, sections=())
        return sanitized(
            self._html(other, (0, len(raw)), self.embeds.budget, with_anchors=False), self.rebase(document.address)
        )

    def _html(self, document: Document, span: tuple[int, int] | None, budget: Budget, *, with_anchors: bool) -> str:
        raw = document.source if document.frontmatter.is_fields else document.encoded
        if with_anchors and in_own_form(self.collection, document).is_blocks:
            raw = with_boxes(raw)
        start, end = span or (document.body_start, len(raw))
        source = raw[start:end]
        if span and (start, end) != (document.body_start, len(raw)) and with_anchors:
            source = source + b"\n\n" + definitions(raw[document.body_start :])
        anchors = {item.start - start: item.anchor for item in document.sections if item.level} if with_anchors else {}
        footnotes = Footnotes(self.words, scope=f"{MAX_EMBEDS - self.embeds.left}-" if self.within else "")
        offset = start if self.tasks and with_anchors and document.decodable else -1
        body = _Body(self.links(document), footnotes, budget=budget, offset=offset, words=self.words)
        return body.html(source, anchors)

    def links(self, document: Document) -> LinkSource:
        """Provides the HTML of a document's links."""
        inner = replace(self, within=(*self.within, document.address))
        return DocumentLinks(
            self.collections,
            self.collection,
            self.urls,
            document,
            page=inner.within[0],
            embedded=inner.embedded,
            words=self.words,
        )

    def embedded(self, target: LinkTarget, fragment: str, element: str) -> str:
        """An embedded document, or the part that a fragment names, as HTML that is not yet sanitized.

        Args:
            target: The document.
            fragment: The fragment of the link; "" for the whole document.
            element: The `id` of the element that the fragment names.
        """
        url = escape(self.urls.page(target.collection.name, target.address.path, element))
        name = escape(f"{target.title} › {fragment}" if fragment else target.title)  # noqa: RUF001 - as in Obsidian
        title = f'<p class="embed-title"><a class="page-link" href="{url}">{name}</a></p>'
        if (
            len(self.within) > MAX_DEPTH
            or target.address in self.within
            or self.embeds.left <= 0
            or self.embeds.budget.events < 0
        ):
            return f'<div class="embed">{title}</div>'
        try:
            document = self.embeds.document(target, fragment)
            if document is None:
                return f'<div class="embed">{title}</div>'
            span = find_fragment(document, fragment)[:2] if fragment else (document.body_start, len(document.source))
        except KnowledgeError as error:
            return f'<div class="embed">{title}<p class="embed-missing">{escape(str(error))}</p></div>'
        self.embeds.left -= 1
        if span[1] - span[0] > self.embeds.bytes:
            return f'<div class="embed">{title}</div>'
        self.embeds.bytes -= span[1] - span[0]
        other = replace(self, collection=target.collection)
        shown, budget = self.visible(target.collection, document), self.embeds.budget
        inside = other._html(shown, span, budget, with_anchors=False)  # noqa: SLF001 - another renderer of the same page
        return f'<div class="embed">{title}<div class="embed-body">{inside}</div></div>'

    def rebase(self, address: Address) -> Rebase:
        """A function that converts relative URLs in a document's raw HTML to URLs of this server."""

        def rebase(url: str, media: bool) -> str:
            path, mark, rest = url.partition("#")
            place = joined(address.folder, path)
            if place is None or not path:
                return url if not media else ""
            is_page = not media and place.endswith((".md", ".html"))
            place = place.removesuffix(".html").removesuffix(".md") if is_page else place
            return f"/{'p' if is_page else 'files'}/{self.urls.path(self.collection.name, place)}{mark}{rest}"

        return rebase


@dataclass(slots=True)
class TextRenderer:
    """Renders texts that are not part of a document. All texts of one page share a list of footnotes.

    Args:
        links: Provides the HTML of links.
        local: Additional prefixes of permitted local URLs, such as `/concepts/`.
        rebase: Converts relative URLs in raw HTML.
    """

    links: LinkSource
    local: tuple[str, ...] = ()
    rebase: Rebase = no_rebase
    whole: str = ""
    """The full text that the rendered texts are parts of; defines footnotes and link references."""
    left: int = MAX_TEXTS
    """Remaining characters that may be rendered; longer text is truncated."""
    _footnotes: Footnotes = field(default_factory=Footnotes)
    _budget: Budget = field(default_factory=Budget)

    def html(self, markdown: str) -> Markup:
        """A text as sanitized HTML, without footnotes."""
        shown = markdown[: self.left]
        self.left -= len(shown)
        source = shown.encode("utf-8", "replace")
        defined = missing_definitions(source, self.whole.encode("utf-8", "replace"))
        body = _Body(self.links, self._footnotes, budget=self._budget)
        written = body.written(b"\n\n".join(filter(None, [source, *defined])))
        return self._clean(written + (CUT if len(shown) < len(markdown) else ""))

    def footnotes(self) -> Markup:
        """The footnotes of all texts rendered so far, as sanitized HTML."""
        return self._clean(self._footnotes.html())

    def _clean(self, html: str) -> Markup:
        return Markup(sanitized(html, self.rebase, self.local))  # noqa: S704 - sanitized


@dataclass(slots=True)
class _Body:
    """Renders one run of Markdown, including nested admonitions."""

    links: LinkSource
    footnotes: Footnotes = field(default_factory=Footnotes)
    known: dict[LinkKey, LinkHtml] = field(default_factory=dict[LinkKey, LinkHtml])
    budget: Budget = field(default_factory=Budget)
    offset: int = -1
    """Byte offset of the source in its document; -1 if the boxes of tasks name no place."""
    words: MessageCatalogue = ENGLISH_WORDS
    """The words of the page."""

    def html(self, source: bytes, anchors: Mapping[int, str]) -> str:
        """The HTML, followed by the footnotes."""
        return self.written(source, anchors) + self.footnotes.html()

    def written(self, source: bytes, anchors: Mapping[int, str] | None = None) -> str:
        """The HTML without footnotes; the source of a text that is over the budget."""
        try:
            return self._written(Piece(source, 0 if anchors is not None or self.offset >= 0 else -1), anchors or {}, 0)
        except OverBudgetError:
            return as_source(source)

    def _written(self, whole: Piece, anchors: Mapping[int, str], depth: int) -> str:
        """The HTML of the text of a piece; its offset counts from the start of the source."""
        parts = whole.parts or (pieces(whole.text) if depth < MAX_DEPTH else (Piece(whole.text, 0),))
        content = [piece if whole.parts else piece.moved(whole.start) for piece in parts]
        parsed = [Parsed(b"", ()) if piece.kind else parse(piece.text, self.budget) for piece in content]
        self._resolve(parsed)
        scope = Scope(self._link, anchors, self.footnotes, self.budget, self.offset, self.words)
        group = f"tabs-{self.budget.events}"
        out: list[str] = []
        for piece, events in zip(content, parsed, strict=True):
            if piece.kind:
                inside = self._written(piece, anchors, depth + (piece.kind != "tabs"))
                anchor = anchors.get(piece.head, "")
                out.append(container_html(piece, inside, self.words, group=group, anchor=anchor))
            else:
                out.append(HtmlWriter(events, scope, piece.start).run())
        return "".join(out)

    def _resolve(self, parsed: Sequence[Parsed]) -> None:
        links = {key: link for key, link in written_links(parsed).items() if key not in self.known}
        self.known.update(self.links.shown(links) if links else {})

    def _link(self, key: LinkKey) -> LinkHtml:
        return self.known.get(key) or external_link(key)
