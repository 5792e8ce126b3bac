"""Links between concepts: outgoing from the effective text, incoming from each layer's stored text."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import Link
from commonplace.domain.links import NamedDocument, link_key, name_keys, readings, resolve_target
from commonplace.domain.markdown.link_sides import PageSide, in_order, readers
from commonplace.domain.sites import SiteTree
from commonplace.domain.snippets import PIPED_LINK
from commonplace.toolsets.cascade.rules.concepts import CONCEPT_SUFFIX, body_links, concept_address, id_at
from commonplace.toolsets.cascade.rules.output import to_body
from commonplace.toolsets.cascade.rules.values import ConceptSection, ResolvedConcept
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptOverview
from commonplace.toolsets.cascade.service.layers import StoredLink


@dataclass(frozen=True, slots=True)
class OutgoingLink:
    """A link of the effective text."""

    raw: str
    """The whole link as written."""
    target: str
    """The link's target as written, without label."""
    id: str | None
    """The target concept."""
    layers: tuple[str, ...]
    """The layers that contain the target, from the top."""


@dataclass(frozen=True, slots=True)
class IncomingLink:
    """A link in the stored text of another concept."""

    id: str
    """The concept that contains the link."""
    layer: str
    raw: str


def outgoing(cascade: Cascade, resolved: ResolvedConcept) -> list[OutgoingLink]:
    """Links of the effective text, each distinct one once: Markdown links, then wikilinks."""
    overview = cascade.overview()
    links: dict[str, OutgoingLink] = {}
    for raw, written in body_links(to_body(resolved), overview.by_layer):
        if raw not in links:
            link, target, layers = followed(overview, written, resolved.id, cascade.page_side)
            links[raw] = OutgoingLink(raw, link.raw, target, layers)
    return list(links.values())


def incoming(cascade: Cascade, identifier: str) -> list[IncomingLink]:
    """Links of other concepts to this one, at most one per concept and layer, sorted by concept."""
    links: dict[tuple[str, str], IncomingLink] = {}
    for _, layer, stored in _links_to(cascade, {identifier}):
        if (stored.source, layer) not in links:
            links[stored.source, layer] = IncomingLink(stored.source, layer, stored.written())
    return sorted(links.values(), key=lambda link: link.id)


def inbound(cascade: Cascade, identifiers: Collection[str]) -> dict[str, int]:
    """The number of other concepts that link to each of these concepts in any layer."""
    sources: dict[str, set[str]] = {identifier: set() for identifier in identifiers}
    for identifier, _, stored in _links_to(cascade, identifiers):
        sources[identifier].add(stored.source)
    return {identifier: len(linking) for identifier, linking in sources.items()}


def _links_to(cascade: Cascade, identifiers: Collection[str]) -> Iterator[tuple[str, str, StoredLink]]:
    """Links of other concepts to these: the target, the layer and the link, layers from the top."""
    overview = cascade.overview()
    targets = overview.rows.keys() & identifiers
    keys = set[str]().union(*(name_keys(overview.rows[identifier].named) for identifier in targets))
    requested_keys = sorted(keys | {link_key(f"{layer.rank.name}:{key}") for layer in cascade.layers for key in keys})
    for layer in sorted(cascade.layers, key=lambda layer: -layer.rank.level):
        for stored in layer.links(requested_keys) if requested_keys else ():
            target = followed(overview, stored.link, stored.source, cascade.page_side)[1]
            if target in identifiers and target is not None and target != stored.source:
                yield target, layer.rank.name, stored


def with_labels(cascade: Cascade, identifier: str, sections: Iterable[ConceptSection]) -> Iterator[ConceptSection]:
    """Sections with the label in place of each `[[label|concept]]`, since a snippet shows the last side."""
    for section in sections:
        text = section.text
        if PIPED_LINK.search(text):
            for raw, written in body_links(text):
                link, _, _ = followed(cascade.overview(), written, identifier, cascade.page_side)
                if link.page_last and link.label:
                    text = text.replace(raw, link.label)
        yield section if text is section.text else replace(section, text=text)


def followed(
    overview: ConceptOverview, link: Link, source: str, side: PageSide
) -> tuple[Link, str | None, tuple[str, ...]]:
    """The side of a link that is the concept, the concept's id, and the layers that contain the concept.

    If the link names a layer, only that layer is returned.

    Args:
        overview: Every concept.
        link: The link.
        source: Id of the concept that contains the link.
        side: The side of `[[a|b]]` that is the concept.
    """
    both = in_order(link)
    if both is None:
        return (link, *_target(overview, link, source))
    first, last = (_target(overview, link, source) for link in both)
    of_first, _ = readers(first[0] is not None, last[0] is not None)
    return (both[0], *first) if side in of_first else (both[1], *last)


def _target(overview: ConceptOverview, link: Link, source: str) -> tuple[str | None, tuple[str, ...]]:
    """The concept of a link, in the first of its readings that leads to one: a name may have a `#`."""
    found_pairs = (_target_as(overview, reading, source) for reading in readings(link))
    return next((found_pair for found_pair in found_pairs if found_pair[0] is not None), (None, ()))


def _target_as(overview: ConceptOverview, link: Link, source: str) -> tuple[str | None, tuple[str, ...]]:
    target = f"{link.collection}:{link.target}" if link.collection else link.target
    layer, path = _split_layer(overview, target)
    if layer:
        found_text = _found(overview, path, source, layer)
        return (found_text, (layer,)) if found_text else (None, ())
    found_source = _found(overview, target, source, None) if target else source
    row = overview.rows.get(found_source or "")
    return (row.id, row.layers) if row else (None, ())


def _split_layer(overview: ConceptOverview, target: str) -> tuple[str, str]:
    """The layer that a target names before a colon, and the rest; ("", target) if it names none.

    People write `Team:` for `team`: the name matches case-insensitively if exactly one layer matches.
    """
    prefix, colon, path = target.partition(":")
    name = prefix.strip()
    if not colon or not path.strip():
        return "", target
    if name in overview.by_layer:
        return name, path.strip()
    alike = [layer for layer in overview.by_layer if fold(layer) == fold(name)]
    return (alike[0], path.strip()) if len(alike) == 1 else ("", target)


@dataclass(frozen=True, slots=True)
class _ConceptNames:
    """The names of the concepts of all layers, or of one, for the rules of `domain.links`."""

    overview: ConceptOverview
    ids: Container[str]
    sites: Sequence[SiteTree] = ()
    own_names: Collection[str] = ()
    has_names: bool = True

    def at(self, path: str) -> Address | None:
        """The concept at exactly this path."""
        is_concept = path.endswith(CONCEPT_SUFFIX) and path.removesuffix(CONCEPT_SUFFIX) in self.ids
        return Address(path) if is_concept else None

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every concept with this key among its names."""
        return [self.overview.rows[element].named for element in self.overview.keys.get(key, ()) if element in self.ids]

    def files(self, key: str) -> Sequence[Address]:
        """No files: links connect concepts only."""
        del key
        return ()


def _found(overview: ConceptOverview, target: str, source: str, layer: str | None) -> str | None:
    ids = overview.by_layer[layer] if layer else overview.rows
    address = resolve_target(target, concept_address(source), _ConceptNames(overview, ids))
    return id_at(address) if address else None
