"""What a link's target means, how it is written after a move, and the relations of typed links.

A target `T` in a document of the folder `F` is looked up by these rules in their order; the first that fits decides.
docs/links.md has the same table with examples, and says where Obsidian does otherwise.

1. Nothing but a fragment is the document itself.
2. A path: in a wikilink, embed or frontmatter link from the root, then from `F`; in a Markdown link or image from `F`,
   then from the root. `/T` is from the root only, `./T` and `../T` from `F` only, and of these only this rule holds,
   but that an alias may be `/T`: where a site publishes the document.
3. A document's id.
4. Rule 2 without regard to case, width and the encoding of accents.
5. The end of a document's path (`idea` or `notes/idea` for `old/notes/idea.md`), without regard to case; of several,
   the shortest path; of several as long, the one that is written so.
6. A document's title or alias.
7. Rules 3 and 6 without regard to case, width and the encoding of accents.
8. The end of another file's path (`plan.png` for `files/2024/plan.png`); of several, the shortest.

A path fits as it is, with `.md` or `.markdown` added, with `.md` in place of `.html`, and, naming a folder, as the
`index.md` or `README.md` in it. It never leads above the root. Where a rule fits several documents alike the link is
unclear and leads nowhere. `[[kb:id]]` leads into the collection `kb`; in a collection without such a neighbour `kb:id`
is a target like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from commonplace.domain.addresses import MARKDOWN_SUFFIXES, Address, fold
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.markdown.paths import (
    INDEX_NAMES,
    ends_path,
    is_fixed,
    joined,
    place_files,
    slashed,
    without_suffix,
)

Target = TypeVar("Target")

MARKDOWN_KINDS = (LinkKind.MARKDOWN, LinkKind.IMAGE)
"""Kinds whose paths begin at their document's folder; those of the others begin at the root."""


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document and the names that it answers to."""

    address: Address
    id: str
    title: str
    aliases: tuple[str, ...] = ()


class LinkLookup(Protocol):
    """What the rules need to know of a collection."""

    def at(self, path: str) -> Address | None:
        """The document or other file at exactly this path.

        The path is relative and without `.` and `..` parts, but comes from a document: whoever looks into the file
        system with it parses it as an address first.
        """
        ...

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every document that has this key among its `name_keys`."""
        ...

    def files(self, key: str) -> Sequence[Address]:
        """Every file that is no document and has this `link_key`."""
        ...


def link_key(target: str) -> str:
    """The key under which a target is looked up: its last part without suffix, folded; "" when it has none."""
    path = without_suffix(slashed(target).rstrip("/"))
    name = path.rpartition("/")[2]
    return "" if name in {".", ".."} else fold(name)


def name_keys(named: NamedDocument) -> frozenset[str]:
    """Every key under which a document must be found for each rule to see it."""
    address = named.address
    names = [address.path, named.id, named.title, *named.aliases]
    if address.name in INDEX_NAMES:
        names.append(address.folder)
    return frozenset(key for key in map(link_key, names) if key)


def resolve(link: Link, source: Address, lookup: LinkLookup, *, collection: str = "") -> Address | None:
    """Where a link leads inside its own collection, None when it is broken or unclear.

    Args:
        link: As it was read.
        source: The document that holds it.
        lookup: The collection.
        collection: The collection's name, with which its own links may begin.
    """
    target = link.target
    if link.collection and link.collection != collection:
        target = f"{link.collection}:{target}"
    elif not target:
        return source
    return resolve_target(target, source, lookup, markdown=link.kind in MARKDOWN_KINDS)


def resolve_target(
    target: str, source: Address | None, lookup: LinkLookup, *, markdown: bool = False
) -> Address | None:
    """Where a target leads, None when nowhere or unclear.

    Args:
        target: A path, id, title or alias, without fragment.
        source: The document that names it, None for the root.
        lookup: The collection.
        markdown: Whether it stands in a Markdown link or image.
    """
    path = slashed(target).strip()
    if not path:
        return None
    places: list[str] = []
    for place in _places(path, source.folder if source else "", markdown=markdown):
        places.append(place)
        for form in place_files(place):
            found = lookup.at(form)
            if found:
                return found
    named = lookup.named(link_key(path)) if places else ()
    if not named:
        return _other_file(path, lookup) if places and not is_fixed(path) else None
    if is_fixed(path):
        fitting = _by_path(places, named) or (_by_title(path.rstrip("/"), named, fold) if path.startswith("/") else [])
        return fitting[0].address if len(fitting) == 1 else None
    fitting = _by_id(path, named, _as_written) or _by_path(places, named) or _by_end(path, named)
    fitting = (
        fitting or _by_title(path, named, _as_written) or _by_id(path, named, fold) or _by_title(path, named, fold)
    )
    if fitting:
        return fitting[0].address if len(fitting) == 1 else None
    return _other_file(path, lookup)


def inverse(relation: str) -> str:
    """The relation as seen from the other end; one without a known inverse stays as it is."""
    return _INVERSES.get(relation, relation)


def _as_written(text: str) -> str:
    return text


def _places(path: str, folder: str, *, markdown: bool) -> Iterator[str]:
    """The paths from the root that a target can mean by rule 2, in their order; mostly the first is it."""
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
    """Rule 2 without regard to case."""
    for place in places:
        forms = {fold(form) for form in place_files(place)}
        fitting = [one for one in named if fold(one.address.path) in forms]
        if fitting:
            return fitting
    return []


def _by_id(path: str, named: Sequence[NamedDocument], form: Callable[[str], str]) -> list[NamedDocument]:
    """Rule 3."""
    wanted = {form(path), form(without_suffix(path.rstrip("/")))}
    return [one for one in named if form(one.id) in wanted]


def _by_end(path: str, named: Sequence[NamedDocument]) -> list[NamedDocument]:
    """Rule 5."""
    bare = without_suffix(path.rstrip("/"))
    folded = fold(bare)
    shortest = _shortest([one for one in named if ends_path(folded, one.address, fold)], lambda one: one.address)
    if len(shortest) > 1:
        return [one for one in shortest if ends_path(bare, one.address, _as_written)] or shortest
    return shortest


def _by_title(path: str, named: Sequence[NamedDocument], form: Callable[[str], str]) -> list[NamedDocument]:
    """Rule 6."""
    whole = form(path)
    return [one for one in named if whole in {form(one.title), *map(form, one.aliases)}]


def _other_file(path: str, lookup: LinkLookup) -> Address | None:
    """Rule 8. What has no suffix is meant as a document."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if "." not in path.rpartition("/")[2] or f".{suffix}" in MARKDOWN_SUFFIXES:
        return None
    folded = f"/{fold(path)}"
    ends = [file for file in lookup.files(link_key(path)) if f"/{fold(file.path)}".endswith(folded)]
    shortest = _shortest(ends, lambda file: file)
    return shortest[0] if len(shortest) == 1 else None


def _shortest(found: Sequence[Target], address: Callable[[Target], Address]) -> list[Target]:
    """Those with the shortest path of all."""
    length = min((len(address(one).path) for one in found), default=0)
    return [one for one in found if len(address(one).path) == length]


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
    ("instance_of", "has_instance"),
    ("answers", "answered_by"),
    ("related_to", "related_to"),
    ("similar_to", "similar_to"),
    ("opposite_of", "opposite_of"),
)
"""Relations and their inverses, each pair once; a relation of its own inverse stands with itself."""

_INVERSES = {**dict(RELATIONS), **{inverse: relation for relation, inverse in RELATIONS}}
