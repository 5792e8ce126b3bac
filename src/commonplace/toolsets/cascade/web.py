"""Web pages of cascade: concepts, lists of them, and one layer alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from threading import Lock
from typing import TypeVar
from urllib.parse import quote

from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.domain.slugs import anchor
from commonplace.domain.tokens import tokens_of
from commonplace.faces.web.exchange import CardRow, HomeCard, PageRequest, PageResponse, ToolsetPages
from commonplace.faces.web.markup.html import LinkHtml
from commonplace.faces.web.markup.links import LinkSource, labelled, page_link
from commonplace.faces.web.markup.page import TextRenderer
from commonplace.faces.web.markup.parser import LinkKey
from commonplace.faces.web.markup.sanitizer import Rebase, no_rebase
from commonplace.faces.web.pages import page
from commonplace.faces.web.shown import renderer_for
from commonplace.faces.web.urls import with_query
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.site.changes import DiffRow, differences
from commonplace.toolsets.cascade.rules.concepts import (
    concept_address,
    concept_id,
    id_at,
    is_concept_link,
    section_spans,
    shown_heading,
)
from commonplace.toolsets.cascade.rules.output import to_markdown
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection, EffectiveSection, ResolvedConcept
from commonplace.toolsets.cascade.service import CASCADE_KEY, concept_search
from commonplace.toolsets.cascade.service.cascade import (
    EMPTY_OVERVIEW,
    Cascade,
    ConceptOverview,
    ConceptRow,
    Disagreement,
)
from commonplace.toolsets.cascade.service.cascade import conflicts as find_conflicts
from commonplace.toolsets.cascade.service.concept_search import followed
from commonplace.toolsets.cascade.service.layers import FolderLayer

# URLs of concepts, and rendering of the links in a concept's text.


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
    found_layer = cascade.layer(layer)
    collection = found_layer.collection if isinstance(found_layer, FolderLayer) else None
    if collection is not None:
        with suppress(KnowledgeError):
            address = concept_address(identifier)
            document = collection.index.document(address)
            renderer = renderer_for(request, collection)
            return ConceptLinks(cascade, identifier, renderer.links(document)), renderer.rebase(address)
    return ConceptLinks(cascade, identifier, None), no_rebase


# Additions to the pages of one layer's document: a card about the concept, and the omission of suppressed text.


MAX_NAMED = 10
"""Maximum number of suppressed sections that a note names."""


def notes(request: PageRequest, document: FoundDocument) -> Sequence[CardRow]:
    """Links to the effective concept, and the sections of this document that a higher layer suppresses."""
    cascade = request.services.of(CASCADE_KEY)
    identifier = id_at(document.record.address)
    layer = _layer_of(cascade, document.collection) if cascade else None
    if cascade is None or identifier is None or layer is None:
        return ()
    row = cascade.overview().rows.get(identifier)
    others = len(row.layers) - 1 if row else 0
    if not others:
        return ()
    about = f"is what {others + 1} layers together say; this is one layer's page."
    return (CardRow("The whole concept", concept_url(identifier), about), *_suppression(cascade, identifier, layer))


def _suppression(cascade: Cascade, identifier: str, layer: str) -> Sequence[CardRow]:
    keys = sorted(_suppressed(cascade, identifier, layer))
    if not keys:
        return ()
    named = ", ".join(f"\u201c{key}\u201d" if key else "the beginning" for key in keys[:MAX_NAMED])
    more = f" and {len(keys) - MAX_NAMED} more" if len(keys) > MAX_NAMED else ""
    return (CardRow("", "", f"Suppressed: the whole concept leaves out what this layer says under {named}{more}."),)


def withheld(request: PageRequest, collection: Collection, document: Document) -> Sequence[tuple[int, int]]:
    """The byte ranges of a layer's document that the effective concept omits; all bytes if the document is excluded.

    All bytes of a past state are withheld, too, because it is unknown which sections were suppressed then.
    """
    cascade = request.services.of(CASCADE_KEY)
    identifier = id_at(document.address)
    layer = _layer_of(cascade, collection) if cascade else None
    if cascade is None or identifier is None or layer is None:
        return ()
    source = document.encoded
    if collection.is_past:
        return ((0, len(source)),)
    keys = _suppressed(cascade, identifier, layer)
    if not keys:
        return ()
    if layer in cascade.resolve(identifier, dated=False).excluded:
        return ((0, len(source)),)
    return [(start, end) for key, start, end in section_spans(source, document.body_start) if key in keys]


def agent_url(request: PageRequest, document: FoundDocument) -> str:
    """The URL of the concept's page, which shows what an agent receives; "" if the document is not a concept."""
    cascade = request.services.of(CASCADE_KEY)
    identifier = id_at(document.record.address)
    known_flag = cascade is not None and identifier is not None and _layer_of(cascade, document.collection) is not None
    return concept_url(identifier) if known_flag and identifier else ""


def _suppressed(cascade: Cascade, identifier: str, layer: str) -> frozenset[str]:
    try:
        return cascade.suppressed_keys(identifier, layer)
    except KnowledgeError:  # the concept was deleted meanwhile
        return frozenset()


def _layer_of(cascade: Cascade, collection: Collection) -> str | None:
    """The name of the layer whose collection this is, now or in the past; None if there is no such layer."""
    folders = ((layer.rank.name, layer.collection) for layer in cascade.layers if isinstance(layer, FolderLayer))
    return next((rank for rank, folder in folders if folder and folder.name == collection.name), None)


# Lists over all layers: concepts, disagreements, and the card of layers on the home page.


T = TypeVar("T")
PAGE_SIZE = 100
CONFLICTS_SIZE = 30
"""Number of conflicts on one page."""
MAX_FOUND = 50
"""Maximum number of concepts that a search shows."""


def concept_list(request: PageRequest) -> PageResponse:
    """Every concept, the concepts of a `layer` or `type`, or those that match the query `q`."""
    cascade = cascade_of(request)
    overview = cascade.overview()
    query, layer, kind = (request.query.get(name, "").strip()[:500] for name in ("q", "layer", "type"))
    hits: Sequence[concept_search.ConceptHit] = ()
    concept_rows = list(overview.rows.values())
    if query:
        hits = concept_search.search(cascade, query, MAX_FOUND)
        concept_rows = [hit.row for hit in hits]
    found_rows = [row for row in concept_rows if layer in ("", *row.layers) and kind in ("", row.type)]
    rows, number, last = _page_of(request, found_rows, PAGE_SIZE)
    return page(
        request,
        "concepts.html",
        rows=rows,
        total=len(found_rows),
        number=number,
        last=last,
        snippets={hit.row.id: hit.snippet for hit in hits},
        query=query,
        layer=layer,
        kind=kind,
        layers=[(layer.rank.name, len(overview.by_layer[layer.rank.name])) for layer in cascade.layers],
        types=sorted(filter(None, {row.type for row in overview.rows.values()})),
        url=concept_url,
    )


@dataclass(frozen=True, slots=True)
class ShownConflict:
    """A disagreement, with the differences between each dissent and the effective value."""

    found: Disagreement
    url: str
    title: str
    dissents: tuple[tuple[str, str, list[DiffRow]], ...]
    """Layer, date and differences of each dissent."""


def conflicts(request: PageRequest) -> PageResponse:
    """Every disagreement between layers, newest dissent first."""
    cascade = cascade_of(request)
    every = _CONFLICTS.of(cascade)
    layer = request.query.get("layer", "")
    chosen = [
        disagreement
        for disagreement in every
        if not layer or layer in (disagreement.winner.layer, *(d.layer for d in disagreement.dissents))
    ]
    rows, number, last = _page_of(request, chosen, CONFLICTS_SIZE)
    titles = cascade.overview().rows
    return page(
        request,
        "conflicts.html",
        rows=[_shown(disagreement, titles.get(disagreement.id)) for disagreement in rows],
        total=len(chosen),
        number=number,
        last=last,
        layer=layer,
        layers=[layer.rank.name for layer in cascade.layers],
    )


def _shown(disagreement: Disagreement, row: ConceptRow | None) -> ShownConflict:
    effective = str(disagreement.winner.value)
    return ShownConflict(
        disagreement,
        concept_url(disagreement.id, disagreement.key if disagreement.kind == "section" else ""),
        row.title or disagreement.id if row else disagreement.id,
        tuple((d.layer, d.updated or "", differences(effective, str(d.value))) for d in disagreement.dissents),
    )


def card(request: PageRequest) -> HomeCard | None:
    """The card of the layers on the home page."""
    cascade = request.services.of(CASCADE_KEY)
    if cascade is None:
        return None
    overview = cascade.overview()
    ranked = sorted(cascade.layers, key=lambda layer: (-layer.rank.level, layer.rank.order))
    rows = tuple(
        CardRow(layer.rank.name, f"/concepts?layer={layer.rank.name}", f"{len(overview.by_layer[layer.rank.name]):,}")
        for layer in ranked
    )
    differing = sum(len(row.layers) > 1 for row in overview.rows.values())
    about = f"{len(overview.rows):,} concepts from {len(rows)} layers, the highest first; {differing:,} in several."
    return HomeCard("Concepts", "/concepts", about, (*rows, CardRow("Conflicts", "/conflicts", "where layers differ")))


def _page_of(request: PageRequest, every: Sequence[T], size: int) -> tuple[Sequence[T], int, int]:
    """One page of a list, its number and the number of the last one."""
    last = max(1, -(-len(every) // size))
    number = min(request.number("page"), last)
    return every[(number - 1) * size : number * size], number, last


class _Conflicts:
    """The conflicts of the layers, cached until the layers change."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: ConceptOverview = EMPTY_OVERVIEW
        self._found: list[Disagreement] = []

    def of(self, cascade: Cascade) -> list[Disagreement]:
        overview = cascade.overview()
        with self._lock:
            if overview is not self._seen:
                self._found, self._seen = find_conflicts(cascade), overview
            return self._found


_CONFLICTS = _Conflicts()


# Pages of one concept: the effective concept with the source of each section, or one layer's version.


MAX_INCOMING = 50
"""Maximum number of shown links from other concepts."""


@dataclass(frozen=True, slots=True)
class ShownDissent:
    """Another version of a section or value."""

    layer: str
    url: str
    updated: str
    html: str
    """Sanitized HTML; for a value, its text."""
    differences: Sequence[DiffRow] = ()
    """The differences from the effective version to this one."""


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section with its source."""

    anchor: str
    html: str
    """Sanitized HTML including the heading."""
    heading: str
    layer: str
    url: str
    """URL of the concept in that layer."""
    updated: str
    suppressed: bool = False
    fresher: bool = False
    """Whether a dissent has a later date."""
    dissents: tuple[ShownDissent, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A frontmatter key with the source of its value."""

    key: str
    value: str
    layer: str
    dissents: tuple[ShownDissent, ...]


def concepts(request: PageRequest) -> PageResponse:
    """The page of a concept; the list of all concepts if the path is empty."""
    if not request.path:
        return concept_list(request)
    identifier = concept_id(request.path)
    layer = request.query.get("layer", "")
    return _one_layer(request, identifier, layer) if layer else _effective(request, identifier)


def _effective(request: PageRequest, identifier: str) -> PageResponse:
    cascade = cascade_of(request)
    resolved = cascade.resolve(identifier)
    sections, notes = _sections(request, resolved)
    incoming = concept_search.incoming(cascade, identifier)
    text = to_markdown(resolved)
    return page(
        request,
        "concept.html",
        concept=resolved,
        title=resolved.title or identifier,
        sections=sections,
        footnotes=notes,
        values=_values(resolved),
        url=concept_url,
        incoming=incoming[:MAX_INCOMING],
        incoming_count=len(incoming),
        agent_text=text,
        tokens=tokens_of(text),
    )


def _sections(request: PageRequest, resolved: ResolvedConcept) -> tuple[list[ShownSection], list[str]]:
    """Each section, and the footnotes of each layer's text."""
    texts: dict[str, TextRenderer] = {}

    def text_of(layer: str) -> TextRenderer:
        if layer not in texts:
            texts[layer] = _text(request, resolved.id, layer)
        return texts[layer]

    def dissents(section: EffectiveSection) -> tuple[ShownDissent, ...]:
        return tuple(
            ShownDissent(
                layer=other.layer,
                url=concept_url(resolved.id, layer=other.layer),
                updated=other.updated or "",
                html=text_of(other.layer).html(other.content),
                differences=differences(section.section.stated, other.content),
            )
            for other in section.conflicts
        )

    shown = [
        ShownSection(
            anchor=section_anchor(section.section.key),
            html=text_of(section.layer).html(
                _markdown(section.section, resolved.title, with_text=not section.suppressed)
            ),
            heading=shown_heading(section.section.heading)[1] if section.section.heading else "",
            layer=section.layer,
            url=concept_url(resolved.id, layer=section.layer),
            updated=section.section.updated or "",
            suppressed=section.suppressed,
            fresher=section.fresher_dissent,
            dissents=dissents(section),
        )
        for section in resolved.sections
        if section.section.heading is not None or section.section.content or section.conflicts
    ]
    return shown, [text.footnotes() for text in texts.values()]


def _text(request: PageRequest, identifier: str, layer: str, *, alone: bool = False) -> TextRenderer:
    """The renderer for parts of a concept's text in one layer.

    Footnotes of suppressed sections are rendered only if the layer is shown alone.
    """
    links, rebase = links_of(request, identifier, layer)
    cascade = cascade_of(request)
    concept = cascade.layer(layer).concept(identifier)
    left_out = frozenset[str]() if alone or concept is None else cascade.suppressed_keys(identifier, layer)
    whole = "\n\n".join(section.text for section in concept.sections if section.key not in left_out) if concept else ""
    return TextRenderer(links, (CONCEPTS,), rebase, whole)


def _markdown(section: ConceptSection, title: str | None, *, with_text: bool = True) -> str:
    """A section's Markdown, its heading without key and attributes. A heading equal to the page's title is omitted."""
    level, heading = shown_heading(section.heading) if section.heading is not None else (0, "")
    shown = f"{'#' * level} {heading}" if level > 1 or (level and heading != title) else ""
    return "\n\n".join(filter(None, [shown, section.text if with_text else ""]))


def _values(resolved: ResolvedConcept) -> list[ShownValue]:
    return [
        ShownValue(
            key=key,
            value=value_text(value),
            layer=resolved.provenance.get(key, ""),
            dissents=tuple(
                ShownDissent(
                    dissent.layer,
                    concept_url(resolved.id, layer=dissent.layer),
                    dissent.updated or "",
                    value_text(dissent.value),
                )
                for dissent in resolved.value_conflicts.get(key, ())[1:]
                if repr(dissent.value) != repr(value)
            ),
        )
        for key, value in resolved.frontmatter.items()
        if key != "title"
    ]


def value_text(value: Json) -> str:
    """A frontmatter value in readable form."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(element, str) for element in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str)


def _one_layer(request: PageRequest, identifier: str, layer: str) -> PageResponse:
    cascade = cascade_of(request)
    concept: Concept = cascade.raw(identifier, layer)
    text = _text(request, identifier, layer, alone=True)
    keys = cascade.suppressed_keys(identifier, layer)
    title = str(concept.frontmatter.get("title") or identifier)
    row = cascade.overview().rows.get(identifier)
    return page(
        request,
        "one_layer.html",
        concept=concept,
        title=title,
        layer=layer,
        layers=row.layers if row else (layer,),
        parts=[
            (
                section_anchor(section.key),
                text.html(_markdown(section, title)),
                section.override or "",
                section.key in keys,
            )
            for section in concept.sections
        ],
        footnotes=text.footnotes(),
        values=[(key, value_text(value)) for key, value in concept.frontmatter.items()],
        url=concept_url,
    )


CASCADE_PAGES = ToolsetPages(
    views={"concepts": concepts, "conflicts": conflicts},
    templates=Path(__file__).parent / "templates",
    menu=(("Concepts", "/concepts"), ("Conflicts", "/conflicts")),
    card=card,
    notes=notes,
    withheld=withheld,
    agent_url=agent_url,
)
"""The pages that a server of layers adds to the pages of each layer."""
