"""Links in frontmatter: typed links under `links:`, and wikilinks in any other value."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.domain.documents import Frontmatter, Link, LinkKind, Span
from commonplace.domain.frontmatter import block_range
from commonplace.domain.markdown.link_syntax import NOWHERE, parse_wiki, path_range, split_sides, with_last_side
from commonplace.domain.yaml_edits import YamlNode, layout

LINKS_KEY = "links"
"""The key of typed links: a list of targets, or of mappings with a target and further fields of the link."""

_TARGET_KEYS = ("target", "target_id", "id", "to")
_COLLECTION_KEYS = ("kb", "target_kb", "collection")
_RELATION_KEYS = ("relation", "rel", "type")
_WIKILINK = re.compile(r"\[\[([^\[\]]++)\]\]")


def read_frontmatter_links(source: bytes, frontmatter: Frontmatter) -> tuple[Link, ...]:
    """The links of a frontmatter in order; none if the block is broken.

    Args:
        source: The whole document.
        frontmatter: The document's parsed frontmatter.
    """
    if frontmatter.is_toml:
        return ()
    whole = source[frontmatter.span.start : frontmatter.span.end]
    if LINKS_KEY not in frontmatter.values and b"[[" not in whole:
        return ()
    if any(finding.rule == "bad_yaml" for finding in frontmatter.findings):
        return ()
    inner = block_range(source, frontmatter)
    text = source[inner.start : inner.end].decode()
    root = layout(text)
    return tuple(_Block(text, inner.start).links(root)) if root and root.kind == "mapping" else ()


class ScalarStyles:
    """The styles of the scalars in a document's frontmatter.

    Args:
        source: The whole document.
        frontmatter: The document's parsed frontmatter.
    """

    def __init__(self, source: bytes, frontmatter: Frontmatter) -> None:
        inner = block_range(source, frontmatter)
        root = layout(source[inner.start : inner.end].decode())
        self._source = source
        self._first = inner.start
        self._scalars = [node for node in root.walk() if node.kind == "scalar"] if root else []
        self._starts = [node.start for node in self._scalars]

    def at(self, offset: int) -> str:
        """The quotation mark of the scalar at a byte offset, or `|` or `>` for a block scalar; "" for a plain one."""
        character = len(self._source[self._first : offset].decode())
        position = bisect_right(self._starts, character) - 1
        return self._scalars[position].style if position >= 0 and character < self._scalars[position].end else ""


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of a frontmatter, and their byte offset in the document."""

    text: str
    start: int

    def links(self, root: YamlNode) -> Iterator[Link]:
        for key, value in root.entries:
            if key.text == LINKS_KEY and value.kind == "list":
                for item in value.children:
                    yield from self._typed(item)
            else:
                for place in value.walk():
                    yield from self._wikilinks(place)

    def _typed(self, item: YamlNode) -> Iterator[Link]:
        """Parse an entry of `links:`: `id`, `kb:id`, `[[id]]`, or a mapping with one of these as its target."""
        fields = {key.text: value for key, value in item.entries} if item.kind == "mapping" else {}
        target = _first(fields, _TARGET_KEYS) if fields else item
        if target is None or target.kind != "scalar":
            return
        begin = self.text.find(target.text, target.start, target.end)
        whole = self._link(target.text, begin)
        for link in list(self._wikilinks(target)) or ([whole] if whole else []):
            typed = _with_fields(link, fields)
            yield typed._replace(other=_with_fields(typed.other, fields)) if typed.other else typed

    def _wikilinks(self, place: YamlNode) -> Iterator[Link]:
        at = place.start
        for found in _WIKILINK.finditer(place.text if place.kind == "scalar" else ""):
            begin = self.text.find(found[0], at, place.end)
            at = max(at, begin + len(found[0]))
            first, last, skipped = split_sides(found[1])
            link = self._link(first, begin + 2 if begin >= 0 else -1, last)
            other = self._link(last, begin + 2 + skipped if begin >= 0 else -1, first) if last else None
            both = with_last_side(link, other and other._replace(page_last=True))
            if both:
                yield both

    def _link(self, inner: str, begin: int, label: str = "") -> Link | None:
        """Parse one side of a wikilink; `begin` is its offset, or -1 if it is not in the text."""
        parsed = parse_wiki(inner)
        if not parsed or not parsed[1]:
            return None
        collection, target, fragment = parsed
        first, last = path_range(inner, collection)
        span = self._span(begin + first, begin + last) if begin >= 0 else NOWHERE
        return Link(LinkKind.FRONTMATTER, target, inner.strip(), fragment, label.strip(), collection, target_span=span)

    def _span(self, first: int, last: int) -> Span:
        start = self.start + len(self.text[:first].encode())
        return Span(start, start + len(self.text[first:last].encode()))


def _with_fields(link: Link, fields: dict[str, YamlNode]) -> Link:
    return link._replace(
        collection=link.collection or _text(fields, _COLLECTION_KEYS),
        relation=_text(fields, _RELATION_KEYS),
        note=_text(fields, ("note",)),
    )


def _first(fields: dict[str, YamlNode], keys: tuple[str, ...]) -> YamlNode | None:
    return next((fields[key] for key in keys if key in fields), None)


def _text(fields: dict[str, YamlNode], keys: tuple[str, ...]) -> str:
    place = _first(fields, keys)
    return place.text.strip() if place and place.kind == "scalar" else ""
