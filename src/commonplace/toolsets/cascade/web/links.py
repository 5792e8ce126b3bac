"""URLs of concepts, and rendering of the links in a concept's text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from urllib.parse import quote

from commonplace.domain.documents import Link
from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.slugs import anchor
from commonplace.faces.web.exchange import PageRequest
from commonplace.faces.web.markup.html import LinkHtml
from commonplace.faces.web.markup.links import LinkSource, labelled, page_link
from commonplace.faces.web.markup.parser import LinkKey
from commonplace.faces.web.markup.sanitizer import Rebase, no_rebase
from commonplace.faces.web.shown import renderer_for
from commonplace.faces.web.urls import with_query
from commonplace.toolsets.cascade.rules.concepts import concept_address, is_concept_link
from commonplace.toolsets.cascade.service import CASCADE_KEY
from commonplace.toolsets.cascade.service.cascade import Cascade
from commonplace.toolsets.cascade.service.concept_links import followed
from commonplace.toolsets.cascade.service.layers import FolderLayer

CONCEPTS = "/concepts/"
"""Prefix of the URL of a concept."""


def cascade_of(request: PageRequest) -> Cascade:
    """The served layers.

    Raises:
        ConfigError: no layers are served.
    """
    cascade = request.services.of(CASCADE_KEY)
    if cascade is None:
        raise ConfigError("No layers are open.", kind="manifest", hint="Start the server with --manifest FILE.")
    return cascade


def concept_url(identifier: str, section: str = "", layer: str = "") -> str:
    """The URL of a concept, of one of its sections, or of its version in one layer."""
    fragment = f"#{quote(section_anchor(section))}" if section else ""
    return with_query(CONCEPTS + quote(identifier, safe="/"), layer=layer) + fragment


def section_anchor(key: str) -> str:
    """The `id` of a section's element."""
    return f"section-{anchor(key) or 'text'}"


@dataclass(frozen=True, slots=True)
class ConceptLinks:
    """Links in a concept's text.

    The layers resolve links to concepts, the collection of the text's layer links to files.
    """

    cascade: Cascade
    identifier: str
    files: LinkSource | None
    """Renders links to files; None if the layer has no files."""

    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        """The HTML of every link to a concept, and of links to files if the layer is a served folder."""
        others = {key: link for key, link in links.items() if not is_concept_link(link)}
        shown = dict(self.files.shown(others)) if self.files and others else {}
        overview = self.cascade.overview()
        for key, written in links.items():
            if key not in others:
                link, target, _ = followed(overview, written, self.identifier, self.cascade.page_side)
                shown[key] = labelled(self._link(link, target), link, key)
        return shown

    def _link(self, link: Link, target: str | None) -> LinkHtml:
        if target is not None:
            return page_link(concept_url(target, link.fragment))
        url = concept_url(link.target or self.identifier)
        return LinkHtml(f'<a class="wanted" href="{escape(url)}" title="No layer has this concept">')


def links_of(request: PageRequest, identifier: str, layer: str) -> tuple[LinkSource, Rebase]:
    """The source of link HTML, and the rebasing of relative URLs, for a concept's text in one layer."""
    cascade = cascade_of(request)
    found = cascade.layer(layer)
    collection = found.collection if isinstance(found, FolderLayer) else None
    if collection is not None:
        with suppress(KnowledgeError):
            address = concept_address(identifier)
            document = collection.index.document(address)
            renderer = renderer_for(request, collection)
            return ConceptLinks(cascade, identifier, renderer.links(document)), renderer.rebase(address)
    return ConceptLinks(cascade, identifier, None), no_rebase
