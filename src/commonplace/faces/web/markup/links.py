"""The HTML of links: of a document's links by their targets, and of external links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Protocol
from urllib.parse import quote

from commonplace.domain.documents import Document, Link
from commonplace.faces.web.markup.html import LinkHtml
from commonplace.faces.web.markup.media import media_html
from commonplace.faces.web.markup.parser import LinkKey
from commonplace.faces.web.urls import Urls, heading_anchor
from commonplace.services.collections import Collection, Collections
from commonplace.services.site.documents import LinkTarget, link_targets


class LinkSource(Protocol):
    """Provides the HTML of links."""

    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        """The HTML of each link to a document or file. A link without an entry is rendered as an external link."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentLinks:
    """Links of a document of a collection, resolved by the collection's index."""

    collections: Collections
    """All collections that the reader may see."""
    collection: Collection
    urls: Urls
    document: Document
    embedded: Callable[[LinkTarget, str], str]
    """Returns the HTML of an embedded document, or of the part that a fragment names."""

    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        """The HTML of every link. A broken link is rendered as a link to a wanted page."""
        targets = link_targets(self.collections, self.collection, self.document, list(links.values()))
        return {
            key: labelled(self._html(key, link, target), link, key)
            for key, (link, target) in zip(links, targets, strict=True)
        }

    def _html(self, key: LinkKey, link: Link, target: LinkTarget | None) -> LinkHtml:
        urls, name = self.urls, self.collection.name
        if target is None:
            return _missing(link, urls, name)
        if not target.is_document:
            url = urls.file(target.collection.name, target.address.path)
            path = target.address.path
            if key.image:
                return LinkHtml("", lambda label, title: media_html(url, path, label or link.label, title))
            return LinkHtml(f'<a class="file" href="{escape(url)}">')
        if key.image:
            return LinkHtml("", lambda _label, _title: self.embedded(target, link.fragment))
        same = target.address == self.document.address and target.collection.name == name and link.fragment
        url = f"#{quote(heading_anchor(link.fragment), safe='^')}" if same else ""
        return page_link(url or urls.page(target.collection.name, target.address.path, link.fragment))


def labelled(html: LinkHtml, link: Link, key: LinkKey) -> LinkHtml:
    """A link with a derived label: the side of `[[a|b]]` that is not the page, or the heading path of `[[a#b]]`."""
    if link.page_last:
        return replace(html, label=link.label)
    if key.wiki and not (key.image or key.inside) and "#" in key.destination:
        return replace(html, label=" > ".join(part.strip() for part in key.destination.split("#") if part.strip()))
    return html


def page_link(url: str) -> LinkHtml:
    """A link to a page of this server."""
    return LinkHtml(f'<a class="page-link" href="{escape(url)}">')


def external_link(key: LinkKey) -> LinkHtml:
    """A link to another server. External images become links and are never loaded."""
    opening = f'<a class="external" href="{escape(key.destination)}">' if key.destination else '<a class="unresolved">'
    if not key.image:
        return LinkHtml(opening)

    def link(label: str, title: str) -> str:
        return f"{opening}{escape(label or title or key.destination, quote=False)}</a>"

    return LinkHtml("", link)


def _missing(link: Link, urls: Urls, collection: str) -> LinkHtml:
    url = f"/wanted/{urls.path(link.collection or collection, link.target)}"
    opening = f'<a class="wanted" href="{escape(url)}" title="This page does not exist yet">'
    shown = escape(link.label or link.raw, quote=False)
    return LinkHtml(opening, lambda label, _title: f"{opening}{escape(label, quote=False) or shown}</a>")
