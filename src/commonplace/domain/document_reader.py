"""Parses a file's bytes into a `Document`. Reading never raises."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import Document, Finding, Frontmatter, Link, Section, Severity
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.frontmatter import read_any_frontmatter, text_items
from commonplace.domain.json import Json
from commonplace.domain.markdown.frontmatter_links import read_frontmatter_links
from commonplace.domain.markdown.link_syntax import read_link
from commonplace.domain.markdown.sections import read_sections
from commonplace.domain.markdown.set_aside import readable_source
from commonplace.domain.markdown.structure import LinkEvent, Structure, definition_spans, scan
from commonplace.domain.markdown.tags import body_tags
from commonplace.domain.revisions import is_pointer
from commonplace.domain.words.text_decoder import decoded

_ELEMENT = re.compile(rb"""<[A-Za-z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)'|([^\s"'<>]+))""")
"""A tag of HTML up to its first `id` or `name`, with the value in one of the groups."""
_MARKERS = re.compile(r"^\s*#{1,6}\s+")
_BLANK_OR_X = bytes(ord(" " if chr(code).isspace() else "x") for code in range(256))
"""Translation table of bytes: white space to a blank, everything else to `x`."""
_MARKED = re.compile(rb"(?m)(?:(?<=[ \t])|^)(\^[A-Za-z0-9-]+)[ \t]*\r?$")
_ITEM = re.compile(rb"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BLANK = re.compile(rb"(?m)^[ \t]*\r?\n")
_MAX_NEAREST = 3
_MAX_COMPARED = 500
"""Maximum number of headings, and of characters of one, that are compared to find the nearest."""


def read_document(address: Address, raw: bytes) -> Document:
    """Parse the bytes of a file. Every problem becomes a finding, never an exception."""
    bom = len(codecs.BOM_UTF8) if raw.startswith(codecs.BOM_UTF8) else 0
    source, findings = raw, ()
    try:
        text = raw[bom:].decode()
    except UnicodeDecodeError as error:
        findings = (_not_utf8(raw, bom + error.start),)
        text = decoded(raw[bom:])
        source, bom = text.encode(), 0
    frontmatter = read_any_frontmatter(source, bom)
    base = frontmatter.span.end
    written = source
    source = source[:base] + readable_source(address, source[base:])
    below = source[base:]
    body = text if base == bom and source == written else below.decode()
    found = scan(body)
    sections = read_sections(source, base, found.headings)
    return Document(
        address=address,
        raw=raw,
        text=text,
        decodable=not findings,
        newline="\r\n" if b"\r" in source and source.count(b"\r\n") * 2 > source.count(b"\n") else "\n",
        frontmatter=frontmatter,
        sections=sections,
        links=(*read_frontmatter_links(source, frontmatter), *_links(source, base, body, found.links)),
        tags=_tags(below, body, frontmatter, found),
        findings=(*findings, *frontmatter.findings, *_pointer(raw)),
        title=_title(address, frontmatter.values, sections),
        words=_words(below, body),
        readable=None if source == written else source,
    )


def _pointer(raw: bytes) -> Sequence[Finding]:
    """A finding for a Git LFS pointer: the file's real content was not fetched."""
    if not is_pointer(raw):
        return ()
    message = "The file is a pointer of Git LFS; its text is not here. Run git lfs pull."
    return (Finding("lfs_pointer", Severity.WARNING, message, line=1),)


def find_section(document: Document, path: Sequence[str]) -> Section:
    """Find the section that a caller names by a heading, a path of headings or an anchor.

    Args:
        document: The document to search.
        path: Headings from the outermost to the section's own; those between may be omitted. Markers (`## `) are
            ignored. Case and width matter only between several matches. A single `#anchor` is an anchor. An empty path
            means the text before the first heading.

    Raises:
        NotFoundError: kind "section"; context holds `nearest`.
        InvalidInputError: kind "section": several sections match; context holds their anchors as `nearest`.
    """
    wanted = _headings(path)
    whole = " > ".join(wanted)
    found = _sections(document, wanted)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInputError(
            f"The document has {len(found)} sections {whole[:80]!r}.",
            kind="section",
            hint="Give the headings above it as well ('Outer > Inner'), or its anchor ('#usage-1').",
            nearest=[f"#{section.anchor}" for section in found[:_MAX_NEAREST]],
        )
    raise NotFoundError(
        f"The document has no section {whole[:80]!r}.",
        kind="section",
        hint="Give a heading of it, a path of headings ('Outer > Inner') or an anchor; read it whole to see them.",
        nearest=_nearest(document.sections[1:], wanted[-1]),
    )


def find_fragment(document: Document, fragment: str) -> tuple[int, int, Section | None]:
    """Resolve a link's fragment to start, end and section (None for a block).

    Args:
        document: The document to search.
        fragment: `Heading`, `Heading#Sub`, an anchor, the id or name of an HTML element, or `^block`.

    Raises:
        NotFoundError, InvalidInputError: as for `find_section`; kind "block" if there is no such block.
    """
    if not fragment.startswith("^"):
        section = None if named_sections(document, fragment) else _around_element(document, fragment)
        section = section or find_section(document, fragment.split("#"))
        return section.start, section.tree_end, section
    raw = document.encoded
    mark = _mark(document, raw, fragment)
    if mark < 0:
        blocks = [text.decode("utf-8", "replace") for text in _MARKED.findall(raw, document.body_start)]
        raise NotFoundError(
            f"The document has no block {fragment[:80]!r}.",
            kind="block",
            hint="Give one of its blocks, or a heading.",
            nearest=get_close_matches(fragment, blocks[:_MAX_COMPARED], n=_MAX_NEAREST, cutoff=0.6),
        )
    first = max(section.content for section in document.sections if section.content <= mark)
    return *_block(raw, first, mark), None


class Fragments:
    """The fragments of a document that `find_fragment` finds. Cheaper, because it searches no similar names.

    The elements of HTML are read once, for the first fragment that names no section.
    """

    def __init__(self, document: Document) -> None:
        self._document = document

    def __contains__(self, fragment: str) -> bool:
        if fragment.startswith("^"):
            return _mark(self._document, self._document.encoded, fragment) >= 0
        return bool(named_sections(self._document, fragment)) or fragment.removeprefix("#") in self._elements

    @cached_property
    def _elements(self) -> Mapping[str, int]:
        return _elements_of(self._document)


def named_sections(document: Document, fragment: str) -> Sequence[Section]:
    """The sections that match a fragment equally well, in order; several if their headings are equal."""
    return _sections(document, _headings(fragment.split("#")))


def _around_element(document: Document, fragment: str) -> Section | None:
    """The section with the HTML element that has this `id` or `name`; None if there is no such element."""
    at = _elements_of(document).get(fragment.removeprefix("#"))
    return None if at is None else [one for one in document.sections if one.start <= at][-1]


def _elements_of(document: Document) -> Mapping[str, int]:
    """The byte offset of each HTML element by its `id` or `name`; of several with one name, of the first."""
    found: dict[str, int] = {}
    for one in _ELEMENT.finditer(document.encoded, document.body_start):
        name = next(filter(None, one.groups())).decode("utf-8", "replace")
        found.setdefault(name, one.start())
    return found


def _headings(path: Sequence[str]) -> list[str]:
    """The headings of a path without markers, repeated blanks and empty parts."""
    return [" ".join(_MARKERS.sub("", part).split()) for part in path if part.strip()]


def _sections(document: Document, wanted: Sequence[str]) -> Sequence[Section]:
    """The sections that match a path of headings equally well."""
    if not wanted:
        return document.sections[:1]
    sections = document.sections[1:]
    whole = " > ".join(wanted)
    return _by_anchor(sections, whole) if whole.startswith("#") else _by_heading(sections, wanted, whole)


def _mark(document: Document, raw: bytes, fragment: str) -> int:
    """Offset of a block id outside of heading lines; -1 if there is none."""
    marked = re.compile(rb"(?m)(?:(?<=[ \t])|^)" + re.escape(fragment.encode()) + rb"[ \t]*\r?$")
    found = (one.start() for one in marked.finditer(raw, document.body_start) if _is_text(document, one.start()))
    return next(found, -1)


def _is_text(document: Document, at: int) -> bool:
    """Whether an offset is outside of heading lines. A block id in a heading line marks the section."""
    return not any(section.start <= at < section.content for section in document.sections[1:])


def _block(raw: bytes, first: int, at: int) -> tuple[int, int]:
    """The lines of the block that a block id marks: a single list item, otherwise all lines between blank lines."""
    line = raw.rfind(b"\n", first, at) + 1 or first
    end = raw.find(b"\n", at) + 1 or len(raw)
    if not raw[line:at].strip():  # the block id is on its own line and marks the block above
        line = max(first, len(raw[first:line].rstrip()) + first)
        line = raw.rfind(b"\n", first, line) + 1 or first
    elif _ITEM.match(raw, line):
        return line, end
    blank = list(_BLANK.finditer(raw, first, line))
    return (blank[-1].end() if blank else first), end


def _by_heading(sections: Sequence[Section], wanted: Sequence[str], whole: str) -> list[Section]:
    return (
        _fitting(sections, wanted, whole, _as_written)
        or _fitting(sections, wanted, whole, fold)
        or _by_anchor(sections, whole)
    )


def _by_anchor(sections: Sequence[Section], name: str) -> list[Section]:
    wanted = name.removeprefix("#")
    return [s for s in sections if s.anchor == wanted] or [s for s in sections if fold(s.anchor) == fold(wanted)]


def _fitting(
    sections: Sequence[Section], wanted: Sequence[str], whole: str, form: Callable[[str], str]
) -> list[Section]:
    """The best-matching sections: by the whole path, by its end, or by some of its headings in order; in this order."""
    parts, name = [form(part) for part in wanted], form(whole)
    ends = [(s, [form(heading) for heading in s.path]) for s in sections if form(s.heading) in {parts[-1], name}]
    return (
        [s for s, path in ends if path == parts]
        or [s for s, path in ends if path[-len(parts) :] == parts or path[-1] == name]
        or [s for s, path in ends if _is_within(parts, path)]
    )


def _as_written(text: str) -> str:
    return text


def _is_within(parts: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the parts occur in the path in this order, possibly with others between."""
    rest = iter(path)
    return all(part in rest for part in parts)


def _nearest(sections: Sequence[Section], heading: str) -> list[str]:
    names = {fold(section.heading): section.heading for section in sections[:_MAX_COMPARED]}
    close = get_close_matches(fold(heading[:_MAX_COMPARED]), names, n=_MAX_NEAREST, cutoff=0.5)
    return [names[name] for name in close]


def _not_utf8(raw: bytes, at: int) -> Finding:
    line = raw.count(b"\n", 0, at) + 1
    message = f"The file is no UTF-8 text (first in line {line}); it is read as CP1252 there, and never changed."
    return Finding("not_utf8", Severity.ERROR, message, line=line)


def _title(address: Address, values: Mapping[str, Json], sections: Sequence[Section]) -> str:
    given = values.get("title")
    if isinstance(given, (str, int, float)):
        title = " ".join(str(given).split())
        if title:
            return title
    return next((section.heading for section in sections if section.level == 1 and section.heading), address.stem)


def _links(source: bytes, base: int, body: str, events: Sequence[LinkEvent]) -> tuple[Link, ...]:
    if not events:
        return ()
    definitions = _Definitions(body)
    found = [read_link(source, base, event, definitions) for event in events]
    return tuple([link for link in found if link])


class _Definitions:
    """The link reference definitions of a body. Parsed on the first call."""

    __slots__ = ("_body", "_spans")

    def __init__(self, body: str) -> None:
        self._body = body
        self._spans: Mapping[str, tuple[int, int]] | None = None

    def __call__(self) -> Mapping[str, tuple[int, int]]:
        if self._spans is None:
            self._spans = definition_spans(self._body)
        return self._spans


def _words(source: bytes, text: str) -> int:
    """Number of words of a text. For ASCII, the words are counted without splitting, in a third of the time."""
    return (b" " + source.translate(_BLANK_OR_X)).count(b" x") if source.isascii() else len(text.split())


def _tags(body: bytes, text: str, frontmatter: Frontmatter, found: Structure) -> tuple[str, ...]:
    tags: dict[str, str] = {}
    for tag in text_items(frontmatter.values.get("tags")):
        tags.setdefault(fold(tag.lstrip("#")), tag.lstrip("#"))
    for tag in body_tags(body, found.opaque, lambda: definition_spans(text).values()):
        tags.setdefault(fold(tag), tag)
    tags.pop("", None)
    return tuple(tags.values())
