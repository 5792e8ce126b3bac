"""The HTML of links: of a document's links by their targets, and of external links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from typing import Protocol

from commonplace.domain.addresses import Address, is_attachment_name
from commonplace.domain.document_reader import Fragments, slug_of_fragment
from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.links import url_elsewhere
from commonplace.domain.markdown.paths import joined
from commonplace.domain.sites import site_of
from commonplace.faces.web.markup.html import LinkHtml, media_html
from commonplace.faces.web.markup.parser import LinkKey
from commonplace.faces.web.messages import ENGLISH_WORDS, MessageCatalogue
from commonplace.faces.web.urls import Urls, element_fragment
from commonplace.services.collections import Collection, Collections
from commonplace.services.links import wanted_name
from commonplace.services.site.documents import LinkTarget, link_targets, parsed_document

MAX_TARGETS = 200
"""Maximum number of pages that are parsed for the headings to which the links of one page lead; others by slug."""


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
    page: Address
    """The page on which the links are shown: the document, or the outermost one that embeds it."""
    embedded: Callable[[LinkTarget, str, str], str]
    """Returns the HTML of an embedded document, or of the part that a fragment names, given this part's element."""
    words: MessageCatalogue = ENGLISH_WORDS
    """The words of the page."""

    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        """The HTML of every link. A broken link is rendered as a link to a wanted page."""
        targets = link_targets(self.collections, self.collection, self.document, list(links.values()))
        elements = _Elements(self.collection, self.document)
        return {
            key: labelled(self._html(key, link, target, elements), link, key)
            for key, (link, target) in zip(links, targets, strict=True)
        }

    def _html(self, key: LinkKey, link: Link, target: LinkTarget | None, elements: _Elements) -> LinkHtml:
        urls, name = self.urls, self.collection.name
        if target is None:
            if link.raw.startswith("/") and (url := self._elsewhere(link)):
                return external_link(replace(key, destination=url))
            named = self.collections.named(link.collection, self.collection)
            page_name = wanted_name(link._replace(collection=""), self.document.address)
            return _missing(link, page_name, urls, named.name if named else link.collection, self.words)
        if not target.is_document:
            url = urls.file(target.collection.name, target.address.path)
            path = target.address.path
            if key.image:
                return LinkHtml("", lambda label, title: media_html(url, path, label or link.label, title), url=url)
            return LinkHtml(f'<a class="file" href="{escape(url)}">', url=url)
        element = elements(target, link.fragment) if link.fragment else ""
        if key.image:
            return LinkHtml("", lambda _label, _title: self.embedded(target, link.fragment, element))
        same = target.address == self.document.address == self.page and target.collection.name == name and element
        return page_link(
            element_fragment(element) if same else urls.page(target.collection.name, target.address.path, element),
            dead=link.fragment if link.fragment and not elements.has(target, link.fragment) else "",
            words=self.words,
        )

    def _elsewhere(self, link: Link) -> str:
        site = site_of(self.collection.index.lookup().sites, self.document.address)
        return url_elsewhere(link, site)


@dataclass(frozen=True, slots=True)
class LinksByPath:
    """Links of a document of a collection that is not indexed yet: by path, or by name, and none is called broken."""

    collection: Collection
    urls: Urls
    document: Document

    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        """The HTML of every link."""
        return {key: labelled(self._html(key, link), link, key) for key, link in links.items()}

    def _html(self, key: LinkKey, link: Link) -> LinkHtml:
        path = link.target if key.wiki else joined(self.document.address.folder, link.target) or link.target
        if is_attachment_name(path):
            return self._file(key, path, link.label)
        element = slug_of_fragment(link.fragment) if link.fragment else ""
        name = link.collection or self.collection.name
        shown = page_link(self.urls.page(name, path or self.document.address.path, element))
        if not key.image:
            return shown
        return LinkHtml("", lambda label, _title: f"{shown.open}{escape(label or link.raw, quote=False)}</a>")

    def _file(self, key: LinkKey, path: str, shown: str) -> LinkHtml:
        url = self.urls.file(self.collection.name, path)
        if key.image:
            return LinkHtml("", lambda label, title: media_html(url, path, label or shown, title), url=url)
        return LinkHtml(f'<a class="file" href="{escape(url)}">', url=url)


class _Elements:
    """The `id` of the element that a fragment of a link names. Each target is parsed once.

    Args:
        collection: The collection of the page with the links.
        document: This page.
    """

    def __init__(self, collection: Collection, document: Document) -> None:
        self._fragments = {(collection.name, document.address): Fragments(document)}

    def __call__(self, target: LinkTarget, fragment: str) -> str:
        fragments = self._of(target)
        return fragments.element_id(fragment) if fragments else slug_of_fragment(fragment)

    def has(self, target: LinkTarget, fragment: str) -> bool:
        """Whether a page has the heading or block that a fragment names; True for a page that is not parsed."""
        fragments = self._of(target)
        return fragments is None or fragment in fragments

    def _of(self, target: LinkTarget) -> Fragments | None:
        key = target.collection.name, target.address
        if key not in self._fragments and len(self._fragments) <= MAX_TARGETS:
            with suppress(KnowledgeError):  # deleted meanwhile, or unreadable
                self._fragments[key] = Fragments(parsed_document(target.collection, target.address))
        return self._fragments.get(key)


def labelled(html: LinkHtml, link: Link, key: LinkKey) -> LinkHtml:
    """A link with a derived label: the side of `[[a|b]]` that is not the page, or the heading path of `[[a#b]]`."""
    if link.page_last:
        return replace(html, label=link.label)
    if key.wiki and not (key.image or key.inside) and "#" in key.destination:
        name = f"{link.collection}:{link.target}" if link.collection else link.target
        parts = [part.strip() for part in (name, *link.fragment.split("#"))]
        label = " > ".join(part for part in parts if part and not part.startswith("^"))
        return replace(html, label=label) if label else html
    return html


def page_link(url: str, dead: str = "", words: MessageCatalogue = ENGLISH_WORDS) -> LinkHtml:
    """A link to a page of this server.

    Args:
        url: The page's URL.
        dead: The fragment of the link if the page has no such heading or block, so that the link is marked as broken.
        words: The words of the page with the link.
    """
    title = f' title="{words.text("This page has no heading or block “{name}”", name=dead)}"' if dead else ""
    return LinkHtml(f'<a class="page-link{" wanted" if dead else ""}" href="{escape(url)}"{title}>', url=url)


def external_link(key: LinkKey) -> LinkHtml:
    """A link to another server. External images become links and are never loaded.

    A link without a destination leads nowhere and is shown as it is written: `[=]()` may be a lambda of C++.
    """
    opening, close = f'<a class="external" href="{escape(key.destination)}">', "</a>"
    if not key.destination:
        opening, close = '<span class="unresolved">[', "]()</span>"
    if not key.image:
        return LinkHtml(opening, close=close)

    def link(label: str, title: str) -> str:
        return f"{opening}{escape(label or title or key.destination, quote=False)}{close}"

    return LinkHtml("", link)


def _missing(link: Link, name: str, urls: Urls, collection: str, words: MessageCatalogue) -> LinkHtml:
    url = f"/wanted/{urls.path(collection, name)}"
    title = words.text("There is no such file" if is_attachment_name(link.target) else "This page does not exist yet")
    opening = f'<a class="wanted" href="{escape(url)}" title="{title}">'
    shown = escape(link.label or link.raw, quote=False)
    return LinkHtml(opening, lambda label, _title: f"{opening}{escape(label, quote=False) or shown}</a>")
