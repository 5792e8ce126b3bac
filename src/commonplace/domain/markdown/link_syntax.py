"""Parses links of Markdown, HTML and frontmatter: the meaning of each, and the byte range of its path."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from operator import itemgetter
from urllib.parse import unquote

from commonplace.domain.documents import Frontmatter, Link, LinkKind, Section, Span
from commonplace.domain.frontmatter import block_range, property_texts
from commonplace.domain.graphs import BLOCK_REFERENCE
from commonplace.domain.link_brackets import definition_key
from commonplace.domain.markdown.code import code_pieces
from commonplace.domain.markdown.declared_references import (
    Reference,
    declares_references,
    heading_references,
    kind_of,
    references_of,
    replacement_reference,
)
from commonplace.domain.markdown.structure import LinkDefinition, LinkEvent
from commonplace.domain.yaml_edits import YamlNode, layout

# Parses links of Markdown and HTML: the meaning of each, and the byte range of its path, which a rename rewrites.


NOWHERE = Span(0, 0)
"""The `target_span` of a link whose path does not occur verbatim in the document."""

_SCHEMES = frozenset(
    {"about", "data", "file", "ftp", "ftps", "git", "http", "https", "irc", "javascript", "mailto", "news", "obsidian"}
    | {"sms", "ssh", "tel", "urn", "vbscript"}
)
"""URL schemes, which are never collection names before a colon, even without slashes after it."""
_BLOCK_REFERENCE = re.compile(
    rb"(\{\{embed[ \t]+)?(?<!\]\()(\(\([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\)\))(?(1)[ \t]*\}\})"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//|\\\\")
_COLLECTION = re.compile(r"([^\s:/\\#|][^:/\\#|]*):(?![\s:/\\])")

# The gap between a link's text and its destination: blanks and one line end, with the markers of a block quote.
_GAP = rb"[ \t]*+(?>(?:(?:\r\n?|\n)[ \t>]*+)?)"
_INLINE = re.compile(rb"\]\(" + _GAP)
_DEFINITION = re.compile(rb"\[(?>(?:[^\[\]\\]|\\.)*)\]:" + _GAP, re.DOTALL)
_SIMPLE_INLINE = re.compile(rb"\]\(([^\x00-\x20\x7f()<>\\&]++)[ )]")
_ANGLED = re.compile(rb"<((?>(?:[^<>\\\r\n]|\\.)*))>")
_BARE_PIECE = re.compile(rb"\\[!-/:-@\[-`{-~]|[()]|[^\x00-\x20\x7f()\\]++|\\")

_TOKEN = re.compile(
    r"\\([!-/:-@\[-`{-~])|(&(?:\#[xX][0-9a-fA-F]{1,6}|\#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{0,31});)|([?\#])"
)

# Possessive and anchored, so that a text of tags takes linear time.
_ELEMENT = re.compile(rb"<!--|<([A-Za-z][A-Za-z0-9-]*+)(?=[\s/>])")
_ATTRIBUTE = re.compile(
    rb"""([^\s"'<>/=]++)(?:\s*+=\s*+(?:"([^"]*+)(?:"|(\Z))|'([^']*+)(?:'|(\Z))|([^\s"'<>]++)))?+|(>)|[\s/"'<=]"""
)
_CANDIDATE = re.compile(rb"[\s,]*+(\S++)")
_PATH_END = re.compile(r"&(?:\#?\w+);|([?\#])")
_TEMPLATES = ("{", "<%")
"""Beginnings of expressions of template languages; a URL with one is computed and is not a link."""
_COMPUTED = ("{{", "{%", "<%")
"""The same in Markdown, where a file's name may contain a single `{`."""
_LINK_ATTRIBUTES: Mapping[bytes, Mapping[bytes, LinkKind]] = {
    b"a": {b"href": LinkKind.MARKDOWN},
    b"area": {b"href": LinkKind.MARKDOWN},
    b"img": {b"src": LinkKind.IMAGE, b"srcset": LinkKind.IMAGE},
    b"source": {b"src": LinkKind.IMAGE, b"srcset": LinkKind.IMAGE},
    b"video": {b"src": LinkKind.IMAGE, b"poster": LinkKind.IMAGE},
    b"audio": {b"src": LinkKind.IMAGE},
    b"track": {b"src": LinkKind.IMAGE},
    b"embed": {b"src": LinkKind.IMAGE},
    b"iframe": {b"src": LinkKind.IMAGE},
    b"object": {b"data": LinkKind.IMAGE},
}
"""The attributes of HTML elements that are links, as Markdown links or images."""
DOCFX_DIRECTIVE = re.compile(rb"[ \t]*+:::([a-z-]{1,20})((?>[^\r\n:]|:(?!::))*+):::[ \t]*+\r?$", re.MULTILINE)
"""A line of docfx such as `:::image source="a.png" alt-text="A":::`, in groups its name and its attributes."""
_RAW_TEXT = frozenset({b"script", b"style", b"textarea", b"title"})
"""Elements whose content has no tags."""


def read_html_links(source: bytes, start: int, end: int) -> Iterator[Link]:
    """The links in the tags of a range of HTML, in order; without external URLs. Takes time linear in the length."""
    at = start
    while element := _ELEMENT.search(source, at, end):
        name = (element[1] or b"").lower()
        at = element.end()
        if not name:
            close = source.find(b"-->", at, end)
            at = close if close >= 0 else end
            continue
        links: list[Link] = []
        for attribute in _ATTRIBUTE.finditer(source, at, end):
            at = attribute.end()
            if attribute[7]:
                break
            links += _attribute_links(source, name, attribute)
        else:
            return  # the tag does not end
        yield from (link._replace(span=Span(element.start(), at)) for link in links)
        if name in _RAW_TEXT:
            close = source.find(b"</" + name, at, end)
            at = close if close >= 0 else end


def _value_span(attribute: re.Match[bytes]) -> tuple[int, int] | None:
    """The range of an attribute's value, without quotes; None if it has none."""
    return next((attribute.span(group) for group in (2, 4, 6) if attribute[group]), None)


def _attribute_links(source: bytes, element: bytes, attribute: re.Match[bytes]) -> Iterator[Link]:
    """The links in the value of an attribute of an element; none if it has no value or an unclosed one."""
    name = (attribute[1] or b"").lower()
    kind = _LINK_ATTRIBUTES.get(element, {}).get(name)
    span = _value_span(attribute)
    if not kind or not span or attribute[3] is not None or attribute[5] is not None:
        return
    for place in _candidates(source, *span) if name == b"srcset" else [span]:
        if link := _html_link(source, kind, *place):
            yield link


def read_directive_links(source: bytes, base: int, opaque: Sequence[tuple[int, int]]) -> Iterator[Link]:
    """The pictures and files in the directives of docfx in a body, in order.

    Args:
        source: The document.
        base: Start of the body.
        opaque: Ranges of code and HTML in the body, in order and without overlaps; directives there are none.
    """
    for directive in DOCFX_DIRECTIVE.finditer(source, base):
        if _is_opaque(directive.start() - base, opaque):
            continue
        kind = LinkKind.IMAGE if directive[1] == b"image" else LinkKind.MARKDOWN
        for attribute in _ATTRIBUTE.finditer(source, *directive.span(2)):
            span = _value_span(attribute)
            if span and attribute[1] in {b"source", b"lightbox"}:
                link = _html_link(source, kind, *span)
                if link and not link.target.startswith("~"):  # the root of a repository that is not told
                    yield link._replace(span=Span(*directive.span()))


def _is_opaque(at: int, opaque: Sequence[tuple[int, int]]) -> bool:
    after = bisect_right(opaque, at, key=itemgetter(1))
    return after < len(opaque) and opaque[after][0] <= at


def read_block_references(source: bytes, base: int, opaque: Sequence[tuple[int, int]]) -> Iterator[Link]:
    """The references `((uuid))` to blocks of Logseq in the text of a body, in order; not those in code.

    One that is the destination of a Markdown link is not among them.
    """
    for reference in _BLOCK_REFERENCE.finditer(source, base):
        if not _is_opaque(reference.start() - base, opaque):
            kind = LinkKind.EMBED if reference[1] else LinkKind.WIKI
            yield _block_link(kind, reference[2].decode(), Span(*reference.span()))


def _block_link(kind: LinkKind, raw: str, span: Span, label: str = "") -> Link:
    """A reference to a block, which no move rewrites: the block keeps its id in any page."""
    name = raw.lower()
    return Link(kind, name, raw, f"^{name.strip('()')}", label, span=span, target_span=NOWHERE)


def directive_attributes(directive: re.Match[bytes]) -> dict[str, str]:
    """The attributes of a match of `DOCFX_DIRECTIVE`, such as `source`, by their names."""
    return {
        attribute[1].decode(): unescape(
            (attribute[2] or attribute[4] or attribute[6] or b"").decode("utf-8", "replace")
        )
        for attribute in _ATTRIBUTE.finditer(directive[2])
        if attribute[1]
    }


def _candidates(source: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges of the URLs in a `srcset`: `a.png 1x, b.png 2x`."""
    while match := _CANDIDATE.match(source, start, end):
        url = match[1].rstrip(b",")
        yield match.start(1), match.start(1) + len(url)
        comma = match.end() if url != match[1] else source.find(b",", match.end(), end)
        start = comma if comma >= 0 else end


def _html_link(source: bytes, kind: LinkKind, start: int, end: int) -> Link | None:
    """The link of an attribute's value, with the span of its path; None for external URLs and computed values."""
    written = source[start:end].decode("utf-8", "replace")
    raw = written.strip()
    start += len(written[: len(written) - len(written.lstrip())].encode())
    cut = next((match.start() for match in _PATH_END.finditer(raw) if match[1]), len(raw))
    path, url = unescape(raw[:cut]), unescape(raw)
    fragment = unquote(url.partition("#")[2])
    fragment = "" if fragment.lower() == "top" else fragment  # in browsers the start of the page, with or without an id
    if not (path or fragment) or _URL.match(url) or any(mark in url for mark in _TEMPLATES):
        return None
    span = Span(start, start + len(raw[:cut].encode()))
    return Link(kind, unquote(path), raw, fragment, target_span=span)


def read_link(
    source: bytes, base: int, event: LinkEvent, definitions: Callable[[], Mapping[str, LinkDefinition]]
) -> Link | None:
    """Parse a link of a body; None for external URLs and for links without a destination.

    Args:
        source: The whole document.
        base: Offset of the body; the offsets of the event and of the definitions are relative to it.
        event: An event of the same body.
        definitions: Returns the body's link reference definitions by `definition_key`; called only when needed.
    """
    if event.kind == "WikiLink":
        return _wiki_link(source, base, event)
    if event.kind in {"Autolink", "Email"} or not event.destination or _URL.match(event.destination):
        return None
    end = base + event.end
    if event.kind == "Inline":
        written = _inline_destination(source, base + event.label_end, end)
    else:
        end += 2 if event.kind == "Collapsed" and source.startswith(b"[]", end) else 0
        written = _defined_destination(source, base, definitions().get(definition_key(event.reference)))
    return _markdown_link(source, event, Span(base + event.start, end), written)


def read_unused_definitions(
    source: bytes, base: int, events: Iterable[LinkEvent], definitions: Mapping[str, LinkDefinition]
) -> Iterator[Link]:
    """The links of the reference definitions that no link uses, in order: a move keeps these right, too.

    Args:
        source: The whole document.
        base: Offset of the body.
        events: The links of the body.
        definitions: Its definitions by `definition_key`.
    """
    used = {definition_key(event.reference) for event in events if event.reference}
    for key, definition in definitions.items():
        if key not in used and definition.destination and not _URL.match(definition.destination):
            event = LinkEvent("Reference", False, definition.destination, key, definition.start, definition.end)
            span = Span(base + definition.start, base + definition.end)
            link = _markdown_link(source, event, span, _defined_destination(source, base, definition))
            if link:
                yield link


def parse_wiki(text: str) -> tuple[str, str, str] | None:
    """Collection, path and fragment of the text between `[[` and `|` or `]]`; None for a URL or empty text.

    `kb:id` names a collection unless a blank, another colon (`std::vector`) or a slash follows the colon. Whether the
    collection exists is not checked.
    """
    path, _, fragment = text.partition("#")
    path, fragment = " ".join(path.split()) if "\n" in path else path.strip(), fragment.strip()
    prefix = _COLLECTION.match(path)
    if "://" in path or (prefix and prefix[1].lower() in _SCHEMES) or not (path or fragment):
        return None
    return (prefix[1].strip(), path[prefix.end() :], fragment) if prefix else ("", path, fragment)


def split_sides(inside: str) -> tuple[str, str, int]:
    """Both sides of a wikilink's inside, and the offset of the second one in characters; "" if there is no second."""
    first, pipe, last = inside.partition("|")
    return (first.removesuffix("\\"), last, len(first) + 1) if pipe else (first, "", len(first))  # a table escapes |


def with_last_side(first: Link | None, last: Link | None) -> Link | None:
    """`[[a|b]]` as one link with two sides; a link with one side if the other cannot be a target.

    Args:
        first: The link to `a`; None if `a` is not a target.
        last: The link to `b`, with `page_last`; None if `b` is not a target.
    """
    if first is None or last is None or not last.target or last.target == first.target:
        return first
    return first._replace(other=last)


def _wiki_link(source: bytes, base: int, event: LinkEvent) -> Link | None:
    start = base + event.start + (3 if event.image else 2)
    if not event.piped:
        return _wiki_side(source, base, event, start, event.destination, "")
    first = event.destination.removesuffix("\\")  # in a table, the | is escaped
    link = _wiki_side(source, base, event, start, first, event.label.strip())
    if link is None or event.image:
        return link
    inside = source[start : base + event.end - 2].decode("utf-8", "replace")
    _, last, skipped = split_sides(inside)
    other = _wiki_side(source, base, event, start + len(inside[:skipped].encode()), last, first.strip())
    return with_last_side(link, other and other._replace(page_last=True))


def _wiki_side(source: bytes, base: int, event: LinkEvent, start: int, inner: str, label: str) -> Link | None:
    """The link to one side of a wikilink, which begins at the byte `start`; None if the side cannot be a target."""
    parsed = parse_wiki(inner)
    if not parsed:
        return None
    collection, target, fragment = parsed
    return Link(
        LinkKind.EMBED if event.image else LinkKind.WIKI,
        target,
        inner.strip(),
        fragment,
        label,
        collection,
        span=Span(base + event.start, base + event.end),
        target_span=_wiki_span(source, start, inner, collection),
    )


def path_range(inner: str, collection: str) -> tuple[int, int]:
    """The range of the path in a wikilink's inside: after the collection, before the fragment, without blanks."""
    path = inner.partition("#")[0]
    start = path.index(":") + 1 if collection else 0
    rest = path[start:]
    start += len(rest) - len(rest.lstrip())
    return start, start + len(rest.strip())


def _wiki_span(source: bytes, start: int, inner: str, collection: str) -> Span:
    if not source.startswith(inner.encode(), start):
        return NOWHERE
    first, last = path_range(inner, collection)
    start += len(inner[:first].encode())
    return Span(start, start + len(inner[first:last].encode()))


def _markdown_link(source: bytes, event: LinkEvent, span: Span, written: tuple[int, int]) -> Link | None:
    start, end = written
    raw = destination = event.destination
    path, _, fragment = destination.partition("#")
    target = path.partition("?")[0]
    if link := _logseq_link(source, event, span, written):
        return link
    if not (target or fragment) or any(mark in destination for mark in _COMPUTED):
        return None
    if source[start:end] == destination.encode():
        target_span = Span(start, start + len(target.encode()))
    else:
        raw, target_span = _escaped_destination(source, start, end, destination)
    return Link(
        LinkKind.IMAGE if event.image else LinkKind.MARKDOWN,
        unquote(target) if "%" in target else target,
        raw,
        unquote(fragment) if "%" in fragment else fragment,
        event.label.strip(),
        "",
        "",
        "",
        span,
        target_span,
    )


def _logseq_link(source: bytes, event: LinkEvent, span: Span, written: tuple[int, int]) -> Link | None:
    """The link of `[text](((uuid)))` or `[text]([[page]])`; None for any other destination."""
    destination, label = event.destination, event.label.strip()
    if not destination.startswith(("((", "[[")):
        return None
    if BLOCK_REFERENCE.fullmatch(destination):
        return _block_link(LinkKind.MARKDOWN, destination, span, label)
    start, end = written
    name = source[start + 2 : end - 2].decode("utf-8", "replace")
    parsed = parse_wiki(name) if destination.endswith("]]") and f"[[{name}]]" == destination else None
    if parsed is None:
        return None
    collection, target, fragment = parsed
    span_of_path = _wiki_span(source, start + 2, name, collection)
    return Link(LinkKind.WIKI, target, name, fragment, label, collection, span=span, target_span=span_of_path)


def _escaped_destination(source: bytes, start: int, end: int, destination: str) -> tuple[str, Span]:
    """The destination as written and the span of its path. Unescaped if the raw text does not match."""
    raw = source[start:end].decode("utf-8", "replace")
    plain, cut = _unescaped(raw)
    return (raw, Span(start, start + len(raw[:cut].encode()))) if plain == destination else (destination, NOWHERE)


def _unescaped(raw: str) -> tuple[str, int]:
    """A destination without backslashes and entities, and the offset of its query or fragment in the raw text."""
    parts: list[str] = []
    at, cut = 0, len(raw)
    for token in _TOKEN.finditer(raw):
        escaped, entity, ending = token.groups()
        parts.append(raw[at : token.start()])
        parts.append(escaped or (unescape(entity) if entity else ending))
        if (ending or parts[-1] in {"#", "?"}) and cut == len(raw):
            cut = token.start()
        at = token.end()
    return "".join([*parts, raw[at:]]), cut


def _inline_destination(source: bytes, at: int, end: int) -> tuple[int, int]:
    simple = _SIMPLE_INLINE.match(source, at, end)
    if simple:
        return simple.span(1)
    opening = _INLINE.search(source, at, end)
    return _destination(source, opening.end(), end) if opening else (0, 0)


def _defined_destination(source: bytes, base: int, definition: LinkDefinition | None) -> tuple[int, int]:
    opening = _DEFINITION.match(source, base + definition.start, base + definition.end) if definition else None
    return _destination(source, opening.end(), base + definition.end) if opening and definition else (0, 0)


def _destination(source: bytes, start: int, end: int) -> tuple[int, int]:
    """The range of the destination that begins at `start`, without the `<` and `>` around it."""
    angled = _ANGLED.match(source, start, end)
    if angled:
        return angled.span(1)
    depth, at = 0, start
    while piece := _BARE_PIECE.match(source, at, end):
        if piece[0] == b"(":
            depth += 1
        elif piece[0] == b")":
            depth -= 1
            if depth < 0:
                break
        at = piece.end()
    return start, at


# Links in frontmatter: typed links under `links:`, and wikilinks in any other value.


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
    if frontmatter.is_properties:
        return tuple(_property_links(source, frontmatter.span))
    whole = source[frontmatter.span.start : frontmatter.span.end]
    if not (b"[[" in whole or LINKS_KEY in frontmatter.values or declares_references(frontmatter.values)):
        return ()
    if not frontmatter.is_yaml or any(finding.rule == "bad_yaml" for finding in frontmatter.findings):
        return ()
    inner = block_range(source, frontmatter)
    text = source[inner.start : inner.end].decode()
    root = layout(text)
    return tuple(_Block(text, inner.start).links(root)) if root and root.kind == "mapping" else ()


def read_heading_links(source: bytes, sections: Sequence[Section]) -> list[Link]:
    """The links to what replaces sections, as the attributes of their headings name it."""
    links = (_reference_link(text, start) for text, start in heading_references(source, sections))
    return [link for link in links if link]


def _reference_link(reference: str, start: int) -> Link | None:
    """The link of a reference without brackets at a byte offset; None if it names no page."""
    collection, target, fragment = parse_wiki(reference) or ("", "", "")
    first, last = path_range(reference, collection)
    span = Span(start + len(reference[:first].encode()), start + len(reference[:last].encode()))
    if not target:
        return None
    kind = kind_of(reference)
    target = unquote(target) if kind is LinkKind.MARKDOWN else target
    return Link(kind, target, reference, fragment, "", collection, target_span=span)


def _property_links(source: bytes, span: Span) -> Iterator[Link]:
    """The links in properties of Logseq, not those in code: wikilinks, references to blocks, what replaces the page."""
    code: list[tuple[int, int]] = []
    for key, text, start in property_texts(source, span):
        for piece in code_pieces(text):
            before, inside = (len(text[:at].encode()) for at in (piece.start, piece.end))
            code.append((start + before - span.start, start + inside - span.start))
        reference = "" if "[[" in text else replacement_reference(key.lower(), text)
        if reference and (link := _reference_link(reference, start + len(text.partition(reference)[0].encode()))):
            yield link
            continue
        for match in _WIKILINK.finditer(text):
            before = start + len(text[: match.start()].encode())
            whole = Span(before, before + len(match[0].encode()))
            if _is_opaque(before - span.start, code):
                continue
            event = LinkEvent("WikiLink", False, match[1], "", whole.start, whole.end)
            if link := _wiki_side(source, 0, event, whole.start + 2, match[1], ""):
                yield link
    yield from read_block_references(source[: span.end], span.start, code)


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
                yield from filter(None, map(self._declared, references_of(key.text, value)))
                for place in value.walk():
                    yield from self._wikilinks(place)

    def _declared(self, reference: Reference) -> Link | None:
        link = self._link(reference.text, self.text.find(reference.text, reference.place.start, reference.place.end))
        if link is None or reference.kind is LinkKind.FRONTMATTER:
            return link
        return link._replace(kind=reference.kind, target=unquote(link.target))

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
        for match in _WIKILINK.finditer(place.text if place.kind == "scalar" else ""):
            begin = self.text.find(match[0], at, place.end)
            at = max(at, begin + len(match[0]))
            first, last, skipped = split_sides(match[1])
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
