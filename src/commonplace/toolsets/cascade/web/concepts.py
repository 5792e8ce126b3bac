"""Pages of one concept: the effective concept with the source of each section, or one layer's version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.json import Json
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.markup.page import TextRenderer
from commonplace.faces.web.pages import page
from commonplace.services.evidence import CHARACTERS_PER_TOKEN
from commonplace.services.site.changes import DiffRow, differences
from commonplace.toolsets.cascade.rules.concepts import concept_id, shown_heading
from commonplace.toolsets.cascade.rules.output import to_markdown
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection, EffectiveSection, ResolvedConcept
from commonplace.toolsets.cascade.service import concept_links
from commonplace.toolsets.cascade.web.links import CONCEPTS, cascade_of, concept_url, links_of, section_anchor
from commonplace.toolsets.cascade.web.lists import concept_list

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
    incoming = concept_links.incoming(cascade, identifier)
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
        tokens=-(-len(text) // CHARACTERS_PER_TOKEN),
    )


def _sections(request: PageRequest, resolved: ResolvedConcept) -> tuple[list[ShownSection], list[str]]:
    """Each section, and the footnotes of each layer's text."""
    texts: dict[str, TextRenderer] = {}

    def text_of(layer: str) -> TextRenderer:
        if layer not in texts:
            texts[layer] = _text(request, resolved.id, layer)
        return texts[layer]

    def dissents(one: EffectiveSection) -> tuple[ShownDissent, ...]:
        return tuple(
            ShownDissent(
                layer=other.layer,
                url=concept_url(resolved.id, layer=other.layer),
                updated=other.updated or "",
                html=text_of(other.layer).html(other.content),
                differences=differences(one.section.stated, other.content),
            )
            for other in one.conflicts
        )

    shown = [
        ShownSection(
            anchor=section_anchor(one.section.key),
            html=text_of(one.layer).html(_markdown(one.section, resolved.title, with_text=not one.suppressed)),
            heading=shown_heading(one.section.heading)[1] if one.section.heading else "",
            layer=one.layer,
            url=concept_url(resolved.id, layer=one.layer),
            updated=one.section.updated or "",
            suppressed=one.suppressed,
            fresher=one.fresher_dissent,
            dissents=dissents(one),
        )
        for one in resolved.sections
        if one.section.heading is not None or one.section.content or one.conflicts
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
    whole = "\n\n".join(one.text for one in concept.sections if one.key not in left_out) if concept else ""
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
                    one.layer, concept_url(resolved.id, layer=one.layer), one.updated or "", value_text(one.value)
                )
                for one in resolved.value_conflicts.get(key, ())[1:]
                if repr(one.value) != repr(value)
            ),
        )
        for key, value in resolved.frontmatter.items()
        if key != "title"
    ]


def value_text(value: Json) -> str:
    """A frontmatter value in readable form."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
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
            (section_anchor(one.key), text.html(_markdown(one, title)), one.override or "", one.key in keys)
            for one in concept.sections
        ],
        footnotes=text.footnotes(),
        values=[(key, value_text(value)) for key, value in concept.frontmatter.items()],
        url=concept_url,
    )
