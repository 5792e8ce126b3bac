"""Resolution of link targets.

A target `T` in a document of the folder `F` is resolved by these rules in order; the first that matches decides.
docs/links.md has the same table with examples, and lists the differences from Obsidian.

1. A fragment without a path is the document itself.
2. A path: in a wikilink, embed or frontmatter link from the root, then from `F`; in a Markdown link or image from `F`,
   then from the root. `/T` is from the root only, `./T` and `../T` from `F` only. For these three, no other rule
   applies, except that an alias may be `/T` (the path at which a site publishes the document).
3. A document's id.
4. Rule 2 regardless of case, width and Unicode normalization.
5. The end of a document's path (`idea` or `notes/idea` for `old/notes/idea.md`), regardless of case. Of several
   matches, the shortest path; of several equally short ones, the one with the same case.
6. A document's title or alias.
7. Rules 3 and 6 regardless of case, width and Unicode normalization.
8. The end of another file's path (`plan.png` for `files/2024/plan.png`); of several, the shortest.

The path of a link ends at the first `#`, in a Markdown link also at the first `?`, unless a file's name goes on there:
the longest path that leads somewhere decides (`[[Lang/C#]]`, `[[C##Usage]]`, `[x](What?.md)`).

In a docs tree (`domain.sites`) a Markdown link is first resolved by the rules of the site's generator.

A path matches as it is, with `.md` or `.markdown` added, with `.md` in place of `.html`, and, if it names a folder, as
the `index.md` or `README.md` in it. It never leads above the root. If a rule matches several documents equally, the
link is ambiguous and resolves to nothing. `[[kb:id]]` names a document of the collection `kb`, also inside `kb` itself;
in any other collection it is first an ordinary target, and then one of the neighbour `kb`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import unquote

from commonplace.domain.addresses import Address, fold, is_document_path
from commonplace.domain.documents import Link, LinkKind, Span
from commonplace.domain.graphs import BLOCK_REFERENCE, Graph
from commonplace.domain.markdown.paths import (
    HTML_SUFFIXES,
    INDEX_NAMES,
    ends_path,
    is_fixed,
    joined,
    place_files,
    slashed,
    without_suffix,
)
from commonplace.domain.sites import SiteTree, mounted, name_without_number, published_form, site_of
from commonplace.domain.sites import places as site_places

Target = TypeVar("Target")

MARKDOWN_KINDS = (LinkKind.MARKDOWN, LinkKind.IMAGE)
"""Kinds whose paths are relative to their document's folder first. Other kinds are relative to the root first."""


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document with all names that links can use."""

    address: Address
    id: str
    title: str
    aliases: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    """References to its blocks that have an `id::`, as Logseq writes them: `((uuid))`."""
    states_title: bool = field(default=True, compare=False)
    """Whether its frontmatter states the title; in a graph, no other title names a page."""


class Way(Enum):
    """The way in which a link found its target. A move rewrites the links whose way changes."""

    NONE = "none"
    """The link is broken."""
    SEVERAL = "several"
    """The link is ambiguous."""
    PATH = "path"
    """The path, or the end of the path, of its target (rules 1, 2, 4, 5 and 8)."""
    ID = "id"
    NAME = "name"
    """A title or alias."""
    URL = "url"
    """The address under which a site publishes the page: of its frontmatter, or by the rules of the generator."""


LASTING_WAYS = frozenset({Way.ID, Way.NAME, Way.URL})
"""Ways that can lead to a page in any folder."""


class Resolution(NamedTuple):
    """The target of a link, how it was found, and the link as it was read for that."""

    target: Address | None
    way: Way
    link: Link


class LinkLookup(Protocol):
    """The lookups in a collection that the rules require."""

    def at(self, path: str) -> Address | None:
        """The document or other file at exactly this path.

        The path is relative and without `.` and `..` parts, but comes from a document: an implementation that accesses
        the file system must parse it as an address first.
        """
        ...

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every document with this key among its `name_keys`."""
        ...

    def files(self, key: str) -> Sequence[Address]:
        """Every file that is not a document and has this `link_key`."""
        ...

    @property
    def has_names(self) -> bool:
        """Whether `named` knows all documents; false during a first sync."""
        ...

    @property
    def sites(self) -> Sequence[SiteTree]:
        """The docs trees of the collection."""
        ...

    @property
    def own_names(self) -> Collection[str]:
        """The collection's names, each of which its links may use as a prefix."""
        ...


_Found = tuple[Address | None, Way]
_NOWHERE: _Found = None, Way.NONE
_SEVERAL: _Found = None, Way.SEVERAL
USUAL_FORMS = 2
"""Number of files that a path is tried as, itself and with the usual suffix, before its key is looked up."""
MAX_CUTS = 8
"""Maximum number of `#` and `?` in a link of which each may belong to a file's name."""


def link_key(target: str) -> str:
    """The lookup key of a target: its last part without suffix, folded; "" if there is none."""
    path = without_suffix(slashed(target).rstrip("/"))
    name = path.rpartition("/")[2]
    return "" if name in {".", ".."} else fold(name)


def lookup_keys(name: str) -> frozenset[str]:
    """The lookup keys under which links look for a name: its own, and that of its part before a `#` or `?`."""
    cuts = (next((at for at, letter in enumerate(name) if letter in marks), len(name)) for marks in ("#", "#?"))
    return frozenset(key for cut in {len(name), *cuts} if (key := link_key(name[:cut].rstrip())))


def name_keys(named: NamedDocument, sites: Sequence[SiteTree] = ()) -> frozenset[str]:
    """All lookup keys of a document. Every rule must find the document under one of them.

    Args:
        named: The document.
        sites: The docs trees of the collection, of which a graph gives the document further names.
    """
    address = named.address
    names = [address.path, named.id, named.title, *named.aliases, name_without_number(address.stem)]
    if address.name in INDEX_NAMES:
        names += [address.folder, name_without_number(address.folder.rpartition("/")[2]), "index"]
    return frozenset[str](named.blocks).union(*map(lookup_keys, names), graph_keys(address, sites))


def graph_keys(address: Address, sites: Sequence[SiteTree]) -> frozenset[str]:
    """The lookup keys of the names that a graph gives a document for its file's name."""
    site = site_of(sites, address) if sites else None
    if site is None or site.graph is None:
        return frozenset()
    names = [*site.graph.names_like(site.graph.page_name(address)), *site.graph.stubs(address)]
    return frozenset[str]().union(*map(lookup_keys, names))


def is_stub(link: Link, source: Address, lookup: LinkLookup) -> bool:
    """Whether a link names what needs no page of its own.

    In Dendron these are the pages below a name, `[[a]]` beside `a.b.md`; in TiddlyWiki tiddlers of the program and its
    plugins, `[[$:/ControlPanel]]`.
    """
    site = site_of(lookup.sites, source) if lookup.sites else None
    if site is None or site.graph is None or link.kind in MARKDOWN_KINDS:
        return False
    if site.graph.names == "title":
        return link.target.startswith("$:/")
    name = fold(link.target.removesuffix(".*"))
    below = lookup.named(link_key(name))
    return any(name in map(fold, site.graph.stubs(document.address)) for document in below)


def resolve(link: Link, source: Address, lookup: LinkLookup) -> Address | None:
    """The target of a link inside its own collection; None if the link is broken or ambiguous.

    Args:
        link: The link as parsed.
        source: The document that contains the link.
        lookup: The collection.
    """
    return resolution(link, source, lookup).target


def is_text(link: Link, source: Address, sites: Sequence[SiteTree]) -> bool:
    """Whether a link that leads to no page is no link in its docs tree, so that no page is missing for it.

    Hugo and Jekyll have no wikilinks; a site's own template may give a destination a meaning; an absolute path may be
    another site's. `((uuid))` is a link in a graph of Logseq alone.
    """
    site = site_of(sites, source)
    if BLOCK_REFERENCE.fullmatch(link.target):
        return site is None or site.graph is None
    if site is None:
        return False
    if link.kind in MARKDOWN_KINDS:
        return link.target in site.special or bool(url_elsewhere(link, site))
    return link.kind is not LinkKind.FRONTMATTER and not site.wikilinks


def url_elsewhere(link: Link, site: SiteTree | None) -> str:
    """The URL of an absolute path that leads to no page of the base but belongs to another site; "" for none."""
    if site is None or link.kind not in MARKDOWN_KINDS or not link.raw.startswith("/") or link.raw.startswith("//"):
        return ""
    fitting = [pair for pair in site.elsewhere if link.raw.startswith(pair[0])]
    path, url = max(fitting, key=lambda pair: len(pair[0]), default=("", ""))
    return f"{url}{link.raw.removeprefix(path)}" if url else ""


def resolution(link: Link, source: Address, lookup: LinkLookup) -> Resolution:
    """The target of a link as `resolve` finds it, with the way and the reading of the link."""
    is_own = not link.collection or link.collection in lookup.own_names
    if is_own and not link.target:
        return Resolution(source, Way.PATH, link)
    ways = list(readings(link))
    for reading in ways:
        target = reading.target if is_own else f"{link.collection}:{reading.target}"
        found_resolution = _resolution(target, source, lookup, markdown=link.kind in MARKDOWN_KINDS)
        if found_resolution != _NOWHERE:
            return Resolution(*found_resolution, reading)
    return Resolution(*_NOWHERE, ways[0] if link.raw.endswith("#") else ways[-1])


def readings(link: Link) -> Iterator[Link]:
    """The links that a link can be read as, the longest path first; the last one ends at the first `#` or `?`.

    A path with escapes or entities is read in one way only.
    """
    text = cut_text(link)
    marks = "#?" if link.kind in MARKDOWN_KINDS else "#"
    cuts = [at for at, letter in enumerate(text) if letter in marks]
    if not cuts or not cuts[0] or len(cuts) > MAX_CUTS or not _VERBATIM.isdisjoint(text):
        yield link
        return
    for cut in (len(text), *reversed(cuts)):
        reading = _cut_at(link, text, cut)
        yield link if reading.target == link.target else reading


_VERBATIM = frozenset("\\&\n\r")
"""Characters that a link's text need not have in the document as they are."""


def cut_text(link: Link) -> str:
    """The text of a link behind its collection if it has a `#` or `?`, which may belong to a file's name; else ""."""
    if not link.target or not ("#" in link.raw or "?" in link.raw):
        return ""
    return link.raw.removeprefix(f"{link.collection}:") if link.collection else link.raw


def read_as(link: Link, path: str) -> Link:
    """The reading of a link that has this path; the link itself if none has it."""
    return (
        link if path == link.target else next((reading for reading in readings(link) if reading.target == path), link)
    )


def _cut_at(link: Link, text: str, cut: int) -> Link:
    """A link of which this many characters of its text are the path."""
    path, fragment = text[:cut].rstrip(), text[cut:].partition("#")[2].strip()
    start, end = link.target_span
    span = Span(start, start + len(path.encode())) if end else link.target_span
    if link.kind in MARKDOWN_KINDS:
        path, fragment = unquote(path), unquote(fragment)
    return link._replace(target=path, fragment=fragment, target_span=span)


def ambiguous_targets(link: Link, source: Address, lookup: LinkLookup) -> list[Address]:
    """The documents between which a link without a target does not decide; empty if none fits."""
    if link.collection and link.collection not in lookup.own_names:
        return []
    targets = ((reading.target, reading.kind in MARKDOWN_KINDS) for reading in readings(link))
    fitting = (documents_named(target, source, lookup, markdown=markdown) for target, markdown in targets)
    return next(filter(None, fitting), list[Address]())


def documents_named(
    target: str, source: Address | None, lookup: LinkLookup, *, markdown: bool = False
) -> list[Address]:
    """The documents between which a target does not decide; empty if it names one or none.

    Args:
        target: A path, id, title or alias, without fragment.
        source: The document that contains it; None for the root.
        lookup: The collection.
        markdown: Whether the target is from a Markdown link or image.
    """
    path = slashed(target).strip()
    if not path:
        return []
    site = site_of(lookup.sites, source) if source and markdown and lookup.sites else None
    places = list(_places(path, source, site, markdown=markdown))
    named = lookup.named(link_key(path)) if places else ()
    fitting = next((some for _, some in _named(path, places, named, site) if some), None) if named else None
    return sorted((document.address for document in fitting), key=str) if fitting and len(fitting) > 1 else []


def resolve_target(
    target: str, source: Address | None, lookup: LinkLookup, *, markdown: bool = False
) -> Address | None:
    """The document or file that a target names; None if there is none or several.

    Args:
        target: A path, id, title or alias, without fragment.
        source: The document that contains the target; None for the root.
        lookup: The collection.
        markdown: Whether the target is from a Markdown link or image.
    """
    return _resolution(target, source, lookup, markdown=markdown)[0]


def _resolution(target: str, source: Address | None, lookup: LinkLookup, *, markdown: bool) -> _Found:
    path = slashed(target).strip()
    if not path:
        return _NOWHERE
    if BLOCK_REFERENCE.fullmatch(path):
        return _only(lookup.named(path.lower()), Way.ID)
    if source is None:
        return _of_reference(path, lookup, markdown=markdown)
    site = site_of(lookup.sites, source) if lookup.sites else None
    if site and site.graph and not markdown:
        return _in_graph(site, site.graph, target.strip(), source, lookup)
    return _by_rules(path, source, lookup, site if markdown else None, markdown=markdown)


def _of_reference(path: str, lookup: LinkLookup, *, markdown: bool) -> _Found:
    """The target of a text that stands in no document: by the usual rules, else in a graph."""
    named = _by_rules(path, None, lookup, None, markdown=markdown)
    graphs = [(site, site.graph) for site in lookup.sites if site.graph] if named == _NOWHERE else ()
    every = (_in_graph(site, graph, path, None, lookup) for site, graph in graphs)
    return next(filter(_NOWHERE.__ne__, every), named)


def _in_graph(site: SiteTree, graph: Graph, name: str, source: Address | None, lookup: LinkLookup) -> _Found:
    """The target of a wikilink in a graph, which names a page, whatever its folder."""
    name = name if graph.names == "title" else slashed(name).strip()
    for way, fitting in _named_in_graph(graph, name, source, _pages_like(site, graph, name, lookup)):
        if fitting:
            return _only(fitting, way)
    file = next(filter(None, map(lookup.at, graph.other_files(name, site.folder))), None)
    if file is None and is_document_path(path := slashed(name).strip()):  # after names: `a.markdown` of `a.markdown.md`
        return _by_rules(path, source, lookup, None, markdown=False)
    return (file, Way.PATH) if file else _NOWHERE


def _named_in_graph(
    graph: Graph, name: str, source: Address | None, pages: Sequence[NamedDocument]
) -> Iterator[tuple[Way, list[NamedDocument]]]:
    """The pages that a name means by each of the graph's rules, in order."""
    if graph.names == "title":
        yield Way.NAME, [page for page in pages if name == _title_in(graph, page)]
        return
    if graph.names == "path":
        yield Way.PATH, _by_end(name, pages)
        return
    by_file = [page for page in pages if graph.key(name) == graph.key(graph.page_name(page.address))]
    if graph.slashes:
        titled = [page for page in pages if page.states_title]
        yield Way.PATH, [page for page in by_file if not page.states_title]
        yield Way.NAME, _by_title(name, [replace(page, aliases=()) for page in titled], graph.key)
        yield Way.NAME, _by_title(name, [replace(page, title="") for page in pages], graph.key)
    else:
        yield Way.PATH, [page for page in by_file if source and page.address.folder == source.folder]
        yield Way.PATH, by_file


def _title_in(graph: Graph, page: NamedDocument) -> str:
    """The title by which TiddlyWiki knows a page; "" if it has none."""
    return graph.titles.get(page.address.path, page.title if page.states_title else "")


def _pages_like(site: SiteTree, graph: Graph, name: str, lookup: LinkLookup) -> list[NamedDocument]:
    """The pages of a graph that may have a name, each once."""
    every = [lookup.named(link_key(spelling)) for spelling in graph.names_like(name)]
    pages = {document.address: document for documents in every for document in documents}
    inside = (address for address in pages if site_of(lookup.sites, address) == site)
    return [pages[address] for address in inside if not graph.hides(address, site.folder)]


def _only(named: Sequence[NamedDocument], way: Way) -> _Found:
    """The only one of some documents, as found in a way."""
    if not named:
        return _NOWHERE
    return (named[0].address, way) if len(named) == 1 else _SEVERAL


def _by_rules(
    path: str, source: Address | None, lookup: LinkLookup, site: SiteTree | None, *, markdown: bool
) -> _Found:
    """The target of a path or name by the rules of this module."""
    places: list[str] = []
    key = link_key(path)
    for place in _places(path, source, site, markdown=markdown):
        places.append(place)
        if address := _at_place(place, path, key, site, lookup):
            return address, Way.PATH
    named = lookup.named(key) if places else ()
    for way, fitting in _named(path, places, named, site) if named else ():
        if fitting:
            return _only(fitting, way)
    file = _other_file(path, lookup) if places and not is_fixed(path) else None
    return (file, Way.PATH) if file else _NOWHERE


def _at_place(place: str, path: str, key: str, site: SiteTree | None, lookup: LinkLookup) -> Address | None:
    """The file that a place can mean."""
    for number, form in enumerate(place_files(place)):
        if number == USUAL_FORMS and site is None and _is_unnamed(path, key, lookup):
            return None
        if address := lookup.at(form):
            return address
    return None


def _is_unnamed(path: str, key: str, lookup: LinkLookup) -> bool:
    """Whether no document has the key of a path, so that none is at any of its forms."""
    return bool(key) and lookup.has_names and not path.endswith(HTML_SUFFIXES) and not lookup.named(key)


def _named(
    path: str, places: Sequence[str], named: Sequence[NamedDocument], site: SiteTree | None
) -> Iterator[tuple[Way, list[NamedDocument]]]:
    """The documents with the target's key that the target means by each of the rules 3 to 7, in order. Lazy."""
    if site and (path.startswith("/") or (site.from_top and not is_fixed(path))):
        yield Way.URL, _by_url(site, path, named)
    if is_fixed(path):
        yield Way.PATH, _by_path(places, named)
        if path.startswith("/"):
            wanted_path = fold(path.rstrip("/"))
            yield (
                Way.URL,
                [
                    document
                    for document in named
                    if wanted_path in {fold(name.rstrip("/")) for name in document.aliases}
                ],
            )
        return
    yield Way.ID, _by_id(path, named, _as_written)
    yield Way.PATH, _by_path(places, named)
    yield Way.PATH, _by_end(path, named)
    yield Way.NAME, _by_title(path, named, _as_written)
    yield Way.ID, _by_id(path, named, fold)
    yield Way.NAME, _by_title(path, named, fold)


def _as_written(text: str) -> str:
    return text


def meaning_scope(link: Link, source: Address, sites: Sequence[SiteTree]) -> str:
    """The part of a link's source that its target depends on: "" for none, a folder, or the document itself.

    A path from the root has the same target in every folder; a link without a target means its own document. Links in
    docs trees depend on the place where their document is published.
    """
    return target_scope(link.target, link.collection, source, sites, markdown=link.kind in MARKDOWN_KINDS)


LinkMeaning = tuple[str, str, str, str, bool]
"""All that the target of a link depends on, beside the files: equal for links with the same target."""


def meaning(link: Link, source: Address, sites: Sequence[SiteTree]) -> LinkMeaning:
    """The meaning of a link in a document."""
    scope = meaning_scope(link, source, sites)
    return link.collection, link.target, cut_text(link), scope, link.kind in MARKDOWN_KINDS


def target_scope(target: str, collection: str, source: Address, sites: Sequence[SiteTree], *, markdown: bool) -> str:
    """The result of `meaning_scope` for a link with this target and collection, and of this kind."""
    if not target or (sites and (markdown or target[0] == "/")):
        return source.path
    return "" if target[0] == "/" and not collection else source.folder


def _places(path: str, source: Address | None, site: SiteTree | None, *, markdown: bool) -> Iterator[str]:
    """The paths from the root that a target can mean by rule 2, in order. Lazy, because the first usually matches."""
    if site and source:
        yield from site_places(site, path, source)
    folder = source.folder if source else ""
    if path.startswith("/"):
        folders = [""]
    elif is_fixed(path):
        folders = [folder]
    else:
        folders = [""] if not folder else [folder, ""] if markdown else ["", folder]
    for base in folders:
        place = joined(base, path)
        if place is not None:
            yield place


def _by_path(places: Sequence[str], named: Sequence[NamedDocument]) -> list[NamedDocument]:
    """The documents that match by rule 2 regardless of case."""
    for place in places:
        forms = {fold(form) for form in place_files(place)}
        fitting = [document for document in named if fold(document.address.path) in forms]
        if fitting:
            return fitting
    return []


def _by_url(site: SiteTree, path: str, named: Sequence[NamedDocument]) -> list[NamedDocument]:
    """The documents that a site publishes under an absolute path."""
    for mount, rest in mounted(site, path):
        fitting = [document for document in named if published_form(mount, rest, document.address, own_names(document))]
        if fitting:
            return fitting
    return []


def own_names(named: NamedDocument) -> list[str]:
    """Aliases of a document, and its id if the id is not its path."""
    return [*named.aliases, *([named.id] if named.id != named.address.id else [])]


def _by_id(path: str, named: Sequence[NamedDocument], form: Callable[[str], str]) -> list[NamedDocument]:
    """The documents that match by rule 3."""
    forms = {form(path), form(without_suffix(path.rstrip("/")))}
    return [document for document in named if form(document.id) in forms]


def _by_end(path: str, named: Sequence[NamedDocument]) -> list[NamedDocument]:
    """The documents that match by rule 5."""
    bare = without_suffix(path.rstrip("/"))
    folded = fold(bare)
    shortest = _shortest(
        [document for document in named if ends_path(folded, document.address, fold)], lambda document: document.address
    )
    if len(shortest) > 1:
        return [document for document in shortest if ends_path(bare, document.address, _as_written)] or shortest
    return shortest


def _by_title(path: str, named: Sequence[NamedDocument], form: Callable[[str], str]) -> list[NamedDocument]:
    """The documents that match by rule 6."""
    whole = form(path)
    return [document for document in named if whole in {form(document.title), *map(form, document.aliases)}]


def _other_file(path: str, lookup: LinkLookup) -> Address | None:
    """The file that matches by rule 8; None for a target without a suffix, which can only be a document."""
    if "." not in path.rpartition("/")[2] or is_document_path(path):
        return None
    folded = f"/{fold(path)}"
    ends = [file for file in lookup.files(link_key(path)) if f"/{fold(file.path)}".endswith(folded)]
    shortest = _shortest(ends, lambda file: file)
    return shortest[0] if len(shortest) == 1 else None


def _shortest(targets: Sequence[Target], address: Callable[[Target], Address]) -> list[Target]:
    """The items with the shortest path."""
    length = min((len(address(target).path) for target in targets), default=0)
    return [target for target in targets if len(address(target).path) == length]
