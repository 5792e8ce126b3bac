"""Links between documents: outgoing, incoming, orphans and broken links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold, is_attachment_name
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.links import ambiguous_targets, readings
from commonplace.domain.markdown.paths import is_fixed, joined, slashed, without_suffix
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.schema import declared_schema
from commonplace.services.collections import Collection, Collections, FoundDocument

DEFAULT_RELATION = "related_to"
"""Relation of a link that has no relation."""


WIKILINK, WIKILINKED_BY = "wikilink", "wikilinked_by"
"""Relation of a wikilink that states none, as the toolset `kb` and plugins see it, and its inverse."""


@dataclass(frozen=True, slots=True)
class LinkedDocument:
    """The document or file at the other end of a link of a document."""

    found: FoundDocument | None
    """The document at the other end; None if the link leads to another file, or is broken."""
    resolved: ResolvedLink
    relation: str
    """The relation from the document to the other end; inverted for an incoming link."""


def shown_relation(neighbour: LinkedDocument, *, is_incoming: bool) -> str:
    """The relation of a link in a typed base, where a plain wikilink has one of its own."""
    is_plain = neighbour.resolved.link.kind is LinkKind.WIKI and not neighbour.resolved.link.relation
    return (WIKILINKED_BY if is_incoming else WIKILINK) if is_plain else neighbour.relation


def outgoing(
    collections: Collections, collection: Collection, address: Address, limit: int | None = None
) -> list[LinkedDocument]:
    """Links of a document in order, of many the first ones; `[[kb:id]]` may lead into another collection."""
    neighbours: list[LinkedDocument] = []
    for resolved in collection.index.links_from(address, limit=limit):
        document = _target(collections, collection, resolved)
        neighbours.append(LinkedDocument(document, resolved, resolved.link.relation or DEFAULT_RELATION))
    return neighbours


def incoming(collections: Collections, collection: Collection, address: Address) -> list[LinkedDocument]:
    """Links of other documents to this one, those of other collections last; relations are inverted."""
    invert = _inverter(collection)
    neighbours = [_incoming(collection, resolved, invert) for resolved in collection.index.links_to(address)]
    for other, links in by_name(collections, collection, address):
        invert = _inverter(other)
        neighbours += [_incoming(other, resolved, invert) for resolved in links]
    return neighbours


def by_name(
    collections: Collections, collection: Collection, address: Address
) -> Iterator[tuple[Collection, list[ResolvedLink]]]:
    """The links to a document that the index of their own collection does not follow (`[[kb:id]]`), by collection."""
    if collection.index.record(address) is None:
        return
    names = sorted({collection.name, *collection.other_names})
    for other in collections:
        targets = [(link, target_by_name(collections, other, link)) for link in other.index.links_into(names)]
        links = [
            link for link, to in targets if to and (to.collection.name, to.record.address) == (collection.name, address)
        ]
        if links:
            yield other, links


def distinct(neighbours: Sequence[LinkedDocument]) -> list[LinkedDocument]:
    """The links to documents, without duplicates of the same relation and document."""
    seen: set[tuple[str, Address, str]] = set()
    documents: list[LinkedDocument] = []
    for neighbour in neighbours:
        if neighbour.found is None:
            continue
        key = (neighbour.found.collection.name, neighbour.found.record.address, neighbour.relation)
        if key not in seen:
            seen.add(key)
            documents.append(neighbour)
    return documents


def dead_fragments(
    collection: Collection, neighbours: Sequence[LinkedDocument]
) -> Mapping[tuple[Address, Address | None], Sequence[str]]:
    """The fragments of links of a collection that name no part of their targets, by source and target."""
    resolved = [neighbour.resolved for neighbour in neighbours if neighbour.resolved.link.fragment]
    parts = collection.index.fragments({link.target for link in resolved if link.target})
    dead: dict[tuple[Address, Address | None], dict[str, None]] = {}
    for link in resolved:
        if link.target in parts and link.link.fragment not in parts[link.target]:
            dead.setdefault((link.source, link.target), {})[link.link.fragment] = None
    return {ends: list(fragments) for ends, fragments in dead.items()}


def orphans(collection: Collection) -> list[Record]:
    """Documents that no other document links to, by path."""
    return collection.index.orphans()


def broken(collections: Collections, collection: Collection, address: Address | None = None) -> list[ResolvedLink]:
    """Broken links of one document, or of all; by source, then order."""
    return broken_among(collections, collection, collection.index.broken(address))


def broken_among(
    collections: Collections, collection: Collection, resolved: Sequence[ResolvedLink]
) -> list[ResolvedLink]:
    """The resolved links of a collection that lead nowhere, nor into another collection."""
    return [link for link in resolved if link.target is None and _target(collections, collection, link) is None]


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A missing page or file that links name."""

    name: str
    """The `wanted_name` of the first link to it."""
    places: Mapping[Address, tuple[int, ...]]
    """The documents that link to it, by path, each with the byte offsets of its links; -1 for one in frontmatter."""

    @property
    def sources(self) -> tuple[Address, ...]:
        """The documents that link to it, by path."""
        return tuple(self.places)

    @property
    def links(self) -> int:
        """Number of links to it."""
        return sum(map(len, self.places.values()))

    @property
    def is_file(self) -> bool:
        """Whether the name is that of a picture or another file, not of a page."""
        return is_attachment_name(self.name)


def wanted_pages(collections: Collections, collection: Collection, address: Address | None = None) -> list[WantedPage]:
    """The missing pages and files to which one document links, or any; those with most linking documents first.

    A link into another collection that has its page wants none, nor does one that leads out of the folder, or that
    names several pages.
    """
    lookup = collection.index.lookup()
    several: dict[str, bool] = {}
    wanting: dict[str, tuple[str, dict[Address, list[int]]]] = {}
    for link in broken(collections, collection, address):
        name, span = wanted_name(link.link, link.source), link.link.span
        if name not in several:
            several[name] = bool(ambiguous_targets(link.link, link.source, lookup))
        if several[name] or name.startswith("../"):
            continue
        places = wanting.setdefault(fold(name), (name, {}))[1]
        places.setdefault(link.source, []).append(span.start if span.end else -1)
    pages = [
        WantedPage(name, {source: tuple(offsets) for source, offsets in places.items()})
        for name, places in wanting.values()
    ]
    return sorted(pages, key=lambda page: (-len(page.places), page.name))


def ambiguous(collections: Collections, collection: Collection, address: Address) -> dict[str, Sequence[Address]]:
    """The pages between which links of a document do not decide, by `wanted_name`."""
    lookup = collection.index.lookup()
    names = {wanted_name(link.link, link.source): link for link in broken(collections, collection, address)}
    pages = {name: ambiguous_targets(link.link, link.source, lookup) for name, link in names.items()}
    return {name: addresses for name, addresses in pages.items() if addresses}


def wanted_name(link: Link, source: Address) -> str:
    """The page or file that a broken link names, without the suffix of a document.

    A path that states its base (`./a`, `../a`, `/a`) is one from the root, so that equal texts in two folders differ.
    """
    path = slashed(link.target).strip()
    if is_fixed(path):
        path = joined("" if path.startswith("/") else source.folder, path) or path
    name = without_suffix(path) or link.raw
    return f"{link.collection}:{name}" if link.collection else name


def distinct_targets(links: Iterable[ResolvedLink]) -> Iterator[ResolvedLink]:
    """The first link to each target of a document."""
    seen: set[tuple[Address, str]] = set()
    for link in links:
        key = target_key(link)
        if key not in seen:
            seen.add(key)
            yield link


def target_key(resolved: ResolvedLink) -> tuple[Address, str]:
    """Equal for all links of a document to one target: what counts as one finding, in every face."""
    return resolved.source, fold(f"{resolved.link.collection}:{resolved.link.target}")


def _inverter(collection: Collection) -> Callable[[str], str]:
    """A function that returns the inverse of a relation, as declared by `kb.yaml` or a plugin, or the built-in one."""
    declared: dict[str, str] | None = None

    def inverted(relation: str) -> str:
        nonlocal declared
        if relation == DEFAULT_RELATION:
            return relation
        if declared is None:  # `kb.yaml` is read only if there is a link with a relation
            stated = {**dict(collection.extensions.relations), **declared_schema(collection.store).relations}
            pairs = [(name, other) for name, other in stated.items() if other]
            declared = {**{other: name for name, other in pairs}, **dict(pairs)}
        return declared.get(relation) or inverse(relation)

    return inverted


def _incoming(collection: Collection, resolved: ResolvedLink, invert: Callable[[str], str]) -> LinkedDocument:
    record = collection.index.record(resolved.source)
    document = FoundDocument(collection, record) if record else None
    return LinkedDocument(document, resolved, invert(resolved.link.relation or DEFAULT_RELATION))


def _target(collections: Collections, collection: Collection, resolved: ResolvedLink) -> FoundDocument | None:
    if resolved.target is None:
        return target_by_name(collections, collection, resolved)
    record = collection.index.record(resolved.target)
    return FoundDocument(collection, record) if record else None


def target_by_name(collections: Collections, home: Collection, resolved: ResolvedLink) -> FoundDocument | None:
    """The document that a link of `home` names as `[[kb:id]]`, if nothing in `home` has that name; else None."""
    if resolved.target is not None or not resolved.link.collection:
        return None
    named = collections.named(resolved.link.collection, home)
    if named is None:
        return None
    every = (named.index.find(reading.target) for reading in readings(resolved.link))
    record = next((other_record for other_record in every if other_record is not None), None)
    return FoundDocument(named, record) if record else None


# Relations of typed links, and their inverses.


RELATIONS: tuple[tuple[str, str], ...] = (
    ("owns", "owned_by"),
    ("part_of", "has_part"),
    ("supports", "supported_by"),
    ("contradicts", "contradicted_by"),
    ("depends_on", "dependency_of"),
    ("precedes", "follows"),
    ("parent_of", "child_of"),
    ("causes", "caused_by"),
    ("references", "referenced_by"),
    ("mentions", "mentioned_by"),
    ("extends", "extended_by"),
    ("implements", "implemented_by"),
    ("supersedes", "superseded_by"),
    ("created", "created_by"),
    ("employs", "employed_by"),
    ("funds", "funded_by"),
    ("leads", "led_by"),
    ("member_of", "has_member"),
    ("located_in", "location_of"),
    ("located_at", "location_of"),
    ("controls", "controlled_by"),
    ("directs", "directed_by"),
    ("advises", "advised_by"),
    ("authored", "authored_by"),
    ("involves", "involved_in"),
    ("produces", "produced_by"),
    ("subtask_of", "has_subtask"),
    ("refines", "refined_by"),
    ("is_part_of", "contains_part"),
    ("is_example_of", "has_example"),
    ("causally_precedes", "causally_follows"),
    ("asks_question", "answers_question"),
    ("wikilink", "wikilinked_by"),
    ("instance_of", "has_instance"),
    ("answers", "answered_by"),
    ("related_to", "related_to"),
    ("similar_to", "similar_to"),
    ("opposite_of", "opposite_of"),
)
"""Relations and their inverses, each pair once. A symmetric relation is paired with itself.

`located_in` and `located_at` have the same inverse, whose own inverse is `located_at`.
"""

_INVERSES = {**dict(RELATIONS), **{inverse: relation for relation, inverse in RELATIONS}}


def inverse(relation: str) -> str:
    """The inverse relation; `related_to` for a relation without a known inverse."""
    return _INVERSES.get(relation, "related_to")
