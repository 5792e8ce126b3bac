"""A whole document, or a part of a large one, as HTML: pieces parsed, links resolved in one step, result sanitized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from urllib.parse import quote

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import find_fragment
from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.markdown.paths import joined
from commonplace.faces.web.markup.blocks import Piece, pieces
from commonplace.faces.web.markup.callouts import admonition_html
from commonplace.faces.web.markup.footnotes import Footnotes
from commonplace.faces.web.markup.html import HtmlWriter, LinkHtml, Scope
from commonplace.faces.web.markup.media import media_html
from commonplace.faces.web.markup.parser import LinkKey, Parsed, definitions, parse, written_links
from commonplace.faces.web.markup.sanitizer import Rebase, sanitized
from commonplace.faces.web.urls import Urls, heading_anchor
from commonplace.services.collections import Collection, Collections
from commonplace.services.site.documents import LinkTarget, link_targets

MAX_DEPTH = 4
"""Embeds inside of embeds, and admonitions inside of admonitions."""
MAX_EMBEDS = 60
"""Embedded documents of one page."""
MAX_EMBEDDED_BYTES = 400_000
"""Bytes of all of them."""


@dataclass(slots=True)
class Budget:
    """What embeds of a page may still use."""

    embeds: int = MAX_EMBEDS
    bytes: int = MAX_EMBEDDED_BYTES


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders documents of one collection for one reader."""

    collections: Collections
    collection: Collection
    urls: Urls
    budget: Budget = field(default_factory=Budget)
    within: tuple[Address, ...] = ()
    """The documents that are being rendered, outermost first."""

    def document(self, document: Document, span: tuple[int, int] | None = None) -> str:
        """A document's body, or the bytes of it from and to an offset, as sanitized HTML."""
        return sanitized(self._html(document, span, with_anchors=True), self._rebase(document.address))

    def text(self, document: Document, markdown: str) -> str:
        """Markdown that stands elsewhere, such as a value of the front matter, seen from a document."""
        raw = markdown.encode("utf-8", "replace")
        other = replace(document, raw=raw, sections=())
        return sanitized(self._html(other, (0, len(raw)), with_anchors=False), self._rebase(document.address))

    def _html(self, document: Document, span: tuple[int, int] | None, *, with_anchors: bool) -> str:
        raw = document.raw if document.decodable else document.text.encode()
        start, end = span or (document.body_start, len(raw))
        source = raw[start:end]
        if span and (start, end) != (document.body_start, len(raw)) and with_anchors:
            source = source + b"\n\n" + definitions(raw[document.body_start :])
        anchors = {one.content - start: one.anchor for one in document.sections if one.level} if with_anchors else {}
        return _Body(replace(self, within=(*self.within, document.address)), document).html(source, anchors)

    def embedded(self, target: LinkTarget, fragment: str) -> str:
        """A document, or the part of it that a fragment means, inside of another; not yet sanitized."""
        url = escape(self.urls.page(target.collection.name, target.address.path, fragment))
        name = escape(f"{target.title} › {fragment}" if fragment else target.title)  # noqa: RUF001 - as Obsidian has it
        title = f'<p class="embed-title"><a class="page-link" href="{url}">{name}</a></p>'
        if len(self.within) > MAX_DEPTH or target.address in self.within or self.budget.embeds <= 0:
            return f'<div class="embed">{title}</div>'
        try:
            document = target.collection.index.document(target.address)
            span = find_fragment(document, fragment)[:2] if fragment else (document.body_start, len(document.raw))
        except KnowledgeError as error:
            return f'<div class="embed">{title}<p class="embed-missing">{escape(str(error))}</p></div>'
        self.budget.embeds -= 1
        self.budget.bytes -= span[1] - span[0]
        if self.budget.bytes < 0:
            return f'<div class="embed">{title}</div>'
        other = replace(self, collection=target.collection)
        inside = other._html(document, span, with_anchors=False)  # noqa: SLF001 - another renderer of the same page
        return f'<div class="embed">{title}<div class="embed-body">{inside}</div></div>'

    def _rebase(self, address: Address) -> Rebase:
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
class _Body:
    """The rendering of one run of Markdown, with everything nested in it."""

    renderer: Renderer
    document: Document
    footnotes: Footnotes = field(default_factory=Footnotes)
    targets: dict[LinkKey, tuple[Link, LinkTarget | None]] = field(
        default_factory=dict[LinkKey, tuple[Link, LinkTarget | None]]
    )

    def html(self, source: bytes, anchors: Mapping[int, str]) -> str:
        """The HTML, footnotes last."""
        written = self._written(source, anchors, 0)
        return written + self.footnotes.html()

    def _written(self, source: bytes, anchors: Mapping[int, str], depth: int) -> str:
        found = list(pieces(source)) if depth < MAX_DEPTH else [Piece(source, 0)]
        parsed = [parse(piece.text) if not piece.admonition else Parsed(b"", ()) for piece in found]
        self._resolve(parsed)
        scope = Scope(self._link, anchors, self.footnotes)
        out: list[str] = []
        for piece, one in zip(found, parsed, strict=True):
            if piece.admonition:
                inside = self._written(piece.text, {}, depth + 1)
                out.append(admonition_html(piece.admonition, piece.title, inside, collapsed=piece.collapsed))
            else:
                out.append(HtmlWriter(one, scope, piece.start if anchors else -1).run())
        return "".join(out)

    def _resolve(self, parsed: Sequence[Parsed]) -> None:
        links = {key: link for key, link in written_links(parsed).items() if key not in self.targets}
        one = self.renderer
        targets = link_targets(one.collections, one.collection, self.document, list(links.values()))
        for (key, link), target in zip(links.items(), targets, strict=True):
            self.targets[key] = (link, target)

    def _link(self, key: LinkKey) -> LinkHtml:
        found = self.targets.get(key)
        if found is None:
            return _external(key)
        link, target = found
        urls, name = self.renderer.urls, self.renderer.collection.name
        if target is None:
            return _missing(link, urls, name)
        if not target.is_document:
            url = urls.file(target.collection.name, target.address.path)
            path = target.address.path
            if key.image:
                return LinkHtml("", lambda label, title: media_html(url, path, label or link.label, title))
            return LinkHtml(f'<a class="file" href="{escape(url)}">')
        if key.image:
            renderer = self.renderer
            return LinkHtml("", lambda _label, _title: renderer.embedded(target, link.fragment))
        same = target.address == self.document.address and target.collection.name == name and link.fragment
        url = f"#{quote(heading_anchor(link.fragment), safe='^')}" if same else ""
        url = url or urls.page(target.collection.name, target.address.path, link.fragment)
        return LinkHtml(f'<a class="page-link" href="{escape(url)}">')


def _external(key: LinkKey) -> LinkHtml:
    opening = f'<a class="external" href="{escape(key.destination)}">' if key.destination else '<a class="unresolved">'
    if not key.image:
        return LinkHtml(opening)

    def link(label: str, title: str) -> str:
        """Foreign images are linked to, never loaded."""
        return f"{opening}{escape(label or title or key.destination, quote=False)}</a>"

    return LinkHtml("", link)


def _missing(link: Link, urls: Urls, collection: str) -> LinkHtml:
    url = f"/wanted/{urls.path(link.collection or collection, link.target)}"
    opening = f'<a class="wanted" href="{escape(url)}" title="This page does not exist yet">'
    shown = escape(link.label or link.raw, quote=False)
    return LinkHtml(opening, lambda label, _title: f"{opening}{escape(label, quote=False) or shown}</a>")
