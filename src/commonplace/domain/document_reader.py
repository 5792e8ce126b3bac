"""Parses a file's bytes into a `Document`. Reading never raises."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, cached_property
from itertools import combinations
from typing import Generic, NamedTuple, Protocol, TypeVar

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import Document, Finding, Frontmatter, LazyLinks, Link, Section, caching_large
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.findings import finding_of, merge_conflicts
from commonplace.domain.frontmatter import text_items
from commonplace.domain.graphs import BLOCK_IDS, block_around
from commonplace.domain.json import Json
from commonplace.domain.markdown.link_syntax import (
    read_block_references,
    read_directive_links,
    read_frontmatter_links,
    read_heading_links,
    read_html_links,
    read_link,
    read_unused_definitions,
)
from commonplace.domain.markdown.mdx import readable_source
from commonplace.domain.markdown.structure import (
    MAX_HEADINGS,
    LinkEvent,
    Structure,
    body_tags,
    link_definitions,
    read_sections,
    scan,
    unclosed_block,
)
from commonplace.domain.markdown.wikitext import is_wikitext, read_head, scan_below, to_tiddler
from commonplace.domain.revisions import is_pointer
from commonplace.domain.slugs import anchor, comparable_heading, heading_in_link
from commonplace.domain.words.text_decoder import decoded

_ELEMENT = re.compile(rb"""<[A-Za-z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)'|([^\s"'<>]+))""")
"""A tag of HTML up to its first `id` or `name`, with the value in one of the groups."""
_AROUND_HEADINGS = b"# \t\r\n=-"
"""Characters around the text of a heading in its source."""
_TERM = re.compile(rb"(?m)^(?=[^\s:#>|-])([^\n]{1,200})\n(?:\r?\n)?:[ \t]+\S")  # Hugo gives it an `id`
_INCLUDE = re.compile(rb"\{\{%(?![ \t]*(?:/|(?:rel)?ref\b))")
"""A shortcode of Hugo whose result is Markdown, possibly with headings that are not known here."""
_ANY_ELEMENT = ""  # among the elements of a document: not all are known; no `id` is empty
_MARKERS = re.compile(r"^\s*#{1,6}\s+")
_BLANK_OR_X = bytes(ord(" " if chr(code).isspace() else "x") for code in range(256))
"""Translation table of bytes: white space to a blank, everything else to `x`."""
# The pattern begins with the `^` of the text, because `re` finds a literal first character ten times as fast.
_MARKED = re.compile(rb"(?m)(\^(?:(?<=[ \t\n]\^)|(?<=\A\^))[A-Za-z0-9-]+)[ \t]*\r?$")
_ATTRIBUTES_BELOW = re.compile(r"\n {0,3}\{:[^{}\n]*\}\s*\Z")
_BLOCK_ID = re.compile(r"\s\^[A-Za-z0-9-]+\s*$")
_ITEM = re.compile(rb"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BLANK = re.compile(rb"(?m)^[ \t]*\r?\n")
_MAX_NEAREST = 3
_MAX_COMPARED = 500
"""Maximum number of headings, and of characters of one, that are compared to find the nearest."""


@caching_large
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
    frontmatter = read_head(address, source, bom)
    base = frontmatter.span.end
    written = source
    readable = readable_source(address, source[base:], frontmatter)
    source, below = source[:base] + readable.text, readable.text
    body = text if base == bom and source == written else below.decode()
    structure = scan_below(frontmatter, body, written[base:])
    sections = read_sections(source, base, structure.headings)

    def links() -> tuple[Link, ...]:
        html = _html_links(source, written, base, structure, readable.tags)
        own = _links(source, base, body, structure.links, html)
        if frontmatter.is_fields and not is_wikitext(frontmatter):
            own = map(to_tiddler, own)
        return (*read_frontmatter_links(source, frontmatter), *read_heading_links(source, sections), *own)

    return Document(
        address=address,
        raw=raw,
        text=text,
        decodable=not findings,
        newline="\r\n" if b"\r" in source and source.count(b"\r\n") * 2 > source.count(b"\n") else "\n",
        frontmatter=frontmatter,
        sections=sections,
        links=LazyLinks(links),
        tags=_tags(below, body, frontmatter, structure),
        findings=(*findings, *frontmatter.findings, *_of_text(raw, source, base, structure)),
        title=_title(address, frontmatter.values, sections, structure),
        words=_words(below, body),
        readable=None if source == written else source,
    )


def read_again(document: Document, raw: bytes) -> Document:
    """Parse the changed bytes of a document, whose frontmatter keeps its form."""
    return read_document(document.address, raw).in_form_of(document)


def _of_text(raw: bytes, source: bytes, base: int, structure: Structure) -> Iterator[Finding]:
    if is_pointer(raw):
        message = "The file is a pointer of Git LFS; its text is not here. Run git lfs pull."
        yield finding_of("lfs_pointer", message, line=1)
    yield from _unclosed(source, base, structure)
    if structure.has_more_headings:
        yield finding_of("too_many_headings", f"Only the first {MAX_HEADINGS:,} headings of the page begin a section.")
    if b"<<<<<<<" in source:
        yield from merge_conflicts(source.decode("utf-8", "replace"))


def _unclosed(source: bytes, base: int, structure: Structure) -> Sequence[Finding]:
    """A finding for a code fence or a comment that only the end of the text closes."""
    block = unclosed_block(source[base:], structure)
    if block is None:
        return ()
    line = source.count(b"\n", 0, base + block.start) + 1
    message = f"The {block.name} that begins in line {line} is not closed: everything below is part of it. Close it."
    return (finding_of("unclosed_block", message, line=line),)


MAX_OPEN_BLOCKS = 50
"""Maximum number of unclosed blocks of one document, one behind the other, in which headings are looked for."""


def hidden_headings(document: Document) -> list[tuple[int, str]]:
    """The headings inside of a block that nothing closes, which would be sections without it.

    Returns:
        Offset in the document's encoded text and text of each, in order.
    """
    if not any(finding.rule == "unclosed_block" for finding in document.findings):
        return []
    source, start, hidden = document.encoded, document.body_start, list[tuple[int, str]]()
    for number in range(MAX_OPEN_BLOCKS):
        text = source[start:]
        structure = scan(text.decode("utf-8", "replace"))
        if number:
            hidden += (
                (start + event.start, "".join(piece for _, piece in event.pieces)) for event in structure.headings
            )
        block = unclosed_block(text, structure)
        if block is None:
            break
        start += block.content
    return hidden


def find_section(document: Document, path: Sequence[str]) -> Section:
    """Find the section that a caller names by a heading, a path of headings or an anchor.

    Args:
        document: The document to search.
        path: Headings from the outermost to the section's own; those between may be omitted. Markers (`## `) are
            ignored. Case, width, punctuation and marks matter only between several matches. A single `#anchor` is an
            anchor. An empty path means the text before the first heading.

    Raises:
        NotFoundError: kind "section"; context holds `nearest`.
        InvalidInputError: kind "section": several sections match; context holds their anchors as `nearest`.
    """
    sections = Fragments(document).sections(path)
    if len(sections) == 1:
        return sections[0]
    whole = " > ".join(_headings(path))
    if sections:
        raise InvalidInputError(
            f"The document has {len(sections)} sections {whole[:80]!r}.",
            kind="section",
            hint="Give the headings above it as well ('Outer > Inner'), or its anchor ('#usage-1').",
            nearest=[f"#{section.anchor}" for section in sections[:_MAX_NEAREST]],
        )
    raise NotFoundError(
        f"The document has no section {whole[:80]!r}.",
        kind="section",
        hint="Give a heading of it, a path of headings ('Outer > Inner') or an anchor; read it whole to see them.",
        nearest=_nearest(document.sections[1:], _headings(path)[-1]),
    )


def find_fragment(document: Document, fragment: str) -> tuple[int, int, Section | None]:
    """Resolve a link's fragment to start, end and section (None for a block other than a heading).

    Args:
        document: The document to search.
        fragment: `Heading`, `Heading#Sub`, an anchor, the id or name of an HTML element, or `^block`. If several
            sections match, the first of them.

    Raises:
        NotFoundError: kind "section" or "block"; context holds `nearest`.
    """
    fragments = Fragments(document)
    row = fragments.find(fragment)
    if row is not None:
        return row
    if not fragment.startswith("^"):
        section = find_section(document, fragment.split("#"))
        return section.start, section.tree_end, section
    raise NotFoundError(
        f"The document has no block {fragment[:80]!r}.",
        kind="block",
        hint="Give one of its blocks, or a heading.",
        nearest=get_close_matches(fragment, fragments.block_ids[:_MAX_COMPARED], n=_MAX_NEAREST, cutoff=0.6),
    )


class FragmentMarks(NamedTuple):
    """The names of a document's parts beside its headings and their anchors."""

    sources: Mapping[str, str]
    """The compared form of a heading's text by that of its source with its markup, if they differ."""
    elements: Collection[str]
    """The `id` or `name` of each HTML element."""
    blocks: Collection[str]
    """The block ids in lower case, with their `^`."""


class NamedPart(Protocol):
    """A section, or what the index stores of one."""

    @property
    def path(self) -> tuple[str, ...]:
        """The headings above this one, outermost first, this one last; empty before the first heading."""
        ...

    @property
    def anchor(self) -> str:
        """The slug that links use."""
        ...


Part = TypeVar("Part", bound=NamedPart)


class FragmentNames(Generic[Part]):
    """Decides which part of a document a fragment of a link names, without its text. Linear in the number of parts.

    A heading is compared by these rules in order; the first that matches any section decides. A path of several
    headings may omit some of them; the whole path counts more than its end, and this more than the rest.

    1. The text as written, without markup.
    2. The text regardless of case, width and Unicode normalization.
    3. The anchor, as written or regardless of case.
    4. In links, the id or name of an HTML element, which names the section around the element.
    5. Obsidian's comparison (`comparable_heading`), of the text or of the heading's source with its markup.

    Args:
        parts: The sections of the document, including the one before the first heading.
        marks: The other names.
    """

    def __init__(self, parts: Sequence[Part], marks: FragmentMarks) -> None:
        self._parts = parts
        self._marks = marks
        self._paths: dict[tuple[Callable[[str], str], int], Mapping[tuple[str, ...], Sequence[Part]]] = {}

    def __contains__(self, fragment: str) -> bool:
        if fragment.startswith("^"):
            return fragment.lower() in self._marks.blocks
        elements = self._marks.elements  # first, because the question is cheap
        if _ANY_ELEMENT in elements or fragment.removeprefix("#") in elements:
            return True
        return ("#" not in fragment and bool(self._by_anchor(fragment))) or bool(self.linked(fragment))

    def linked(self, fragment: str) -> Sequence[Part]:
        """The sections whose headings a link's fragment names equally well, in order; a link leads to the first.

        In `#id`, the id of an element of the web page, the anchor counts first.
        """
        if fragment.startswith("#") and (named := self._by_anchor(fragment)):
            return named
        path = fragment.split("#")
        is_element = fragment.removeprefix("#") in self._marks.elements
        return self._as_headings(path) or (() if is_element else self._compared(path))

    def named(self, path: Sequence[str]) -> Sequence[Part]:
        """The sections that a path of headings names equally well, in order."""
        return self._as_headings(path) or self._compared(path)

    def _as_headings(self, path: Sequence[str]) -> Sequence[Part]:
        """The sections that match by rules 1 to 3."""
        headings = _headings(path)
        if not headings:
            return self._parts[:1]
        whole = " > ".join(headings)
        if whole.startswith("#"):
            return self._by_anchor(whole)
        folded = tuple(map(fold, headings))
        return (
            self._by_text(tuple(headings), whole, _as_written)
            or self._by_text(folded, fold(whole), fold)
            or self._by_anchor(whole)
        )

    def _compared(self, path: Sequence[str]) -> Sequence[Part]:
        """The sections that match by rule 5."""
        headings = _headings(path)
        whole = " > ".join(headings)
        forms = tuple(self._compared_form(part) for part in headings)
        if whole.startswith("#") or not all(forms):
            return ()
        return self._by_text(forms, self._compared_form(whole), comparable_heading)

    def _by_text(self, parts: tuple[str, ...], whole: str, form: Callable[[str], str]) -> Sequence[Part]:
        """The sections whose heading path, or whose heading as a whole, is this in a form."""
        sections = self._with_path(form, len(parts)).get(parts, ())
        return sections or (self._with_path(form, 1).get((whole,), ()) if len(parts) > 1 else ())

    def _by_anchor(self, name: str) -> Sequence[Part]:
        wanted_name = name.removeprefix("#")
        exact = self._anchors.get(wanted_name)
        return [exact] if exact else self._folded_anchors.get(fold(wanted_name), ())

    def _with_path(self, form: Callable[[str], str], count: int) -> Mapping[tuple[str, ...], Sequence[Part]]:
        """The best sections for each path of `count` headings."""
        if (form, count) not in self._paths:
            ranked: dict[tuple[str, ...], tuple[int, list[Part]]] = {}
            for section in self._parts[1:]:
                path = tuple(map(form, section.path))
                for above in combinations(path[:-1], count - 1):
                    key = (*above, path[-1])
                    rank = 0 if key == path else 1 if key == path[-count:] else 2
                    best, sections = ranked.get(key, (3, []))
                    if rank < best:
                        ranked[key] = rank, [section]
                    elif rank == best and sections[-1] is not section:
                        sections.append(section)
            self._paths[form, count] = {key: sections for key, (_, sections) in ranked.items()}
        return self._paths[form, count]

    def _compared_form(self, heading: str) -> str:
        """The compared form of a heading's text, given that of its text or of its source with its markup."""
        compared = comparable_heading(heading)
        return self._marks.sources.get(compared, compared)

    @cached_property
    def _anchors(self) -> Mapping[str, Part]:
        return {section.anchor: section for section in self._parts[1:]}

    @cached_property
    def _folded_anchors(self) -> Mapping[str, Sequence[Part]]:
        folded: dict[str, list[Part]] = {}
        for section in self._parts[1:]:
            folded.setdefault(fold(section.anchor), []).append(section)
        return folded


class Fragments:
    """The parts of a document that fragments of links name, by the rules of `FragmentNames`."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._elements = _element_offsets(document)
        self._blocks = _block_offsets(document)
        self._names = FragmentNames(
            document.sections, FragmentMarks(_heading_sources(document), self._elements, self._blocks)
        )

    def __contains__(self, fragment: str) -> bool:
        return fragment in self._names

    def linked_sections(self, fragment: str) -> Sequence[Section]:
        """The sections whose headings a link's fragment names equally well, in order; a link leads to the first."""
        return self._names.linked(fragment)

    def sections(self, path: Sequence[str]) -> Sequence[Section]:
        """The sections that a path of headings names equally well, in order."""
        return self._names.named(path)

    def find(self, fragment: str) -> tuple[int, int, Section | None] | None:
        """Start, end and section (None for a block) of the part that a fragment names; None if there is none."""
        if fragment.startswith("^"):
            mark = self._blocks.get(fragment.lower())
            return None if mark is None else self._block(mark)
        section = next(iter(self.linked_sections(fragment)), None) or self._around_element(fragment)
        return None if section is None else (section.start, section.tree_end, section)

    def element_id(self, fragment: str) -> str:
        """The `id` of the element of the web page that a fragment names; a slug of it if there is no such part."""
        section = None if fragment.startswith("^") else next(iter(self.linked_sections(fragment)), None)
        if section is not None:
            return section.anchor
        if fragment.startswith("^") or fragment in self._elements:
            return fragment
        return slug_of_fragment(fragment)

    def naming(self, section: Section, *, by_anchor: bool = False, above: str = "") -> str:
        """A fragment that leads to a section, without characters that end a wikilink.

        Args:
            section: A section of the document.
            by_anchor: Whether the anchor is preferred to the heading's text.
            above: Headings above, joined by `#`, that are written before the text if the result leads to the section.
        """
        text = self._link_text(section)
        path = "#".join(self._link_text(other_section) for other_section in self._above(section))
        texts = [f"{above}#{text}" if above else text, text, f"{path}#{text}"]
        names = [section.anchor, *texts] if by_anchor else [*texts, section.anchor]
        return next((name for name in names if self._leads(name, section)), section.anchor)

    def _leads(self, fragment: str, section: Section) -> bool:
        return next(iter(self.linked_sections(fragment)), None) == section

    def _above(self, section: Section) -> list[Section]:
        """The sections above a section, outermost first."""
        above: list[Section] = []
        level = section.level
        for other_section in reversed(self._document.sections[1 : section.ordinal]):
            if other_section.level < level:
                above.append(other_section)
                level = other_section.level
        return above[::-1]

    def _link_text(self, section: Section) -> str:
        """The heading as Obsidian writes it in a link; with its markup if Obsidian would not find the plain text."""
        source = heading_source(self._document, section)
        same = comparable_heading(source) == comparable_heading(section.heading)
        return heading_in_link(section.heading if same or "[" in source else source)

    @cached_property
    def block_ids(self) -> Sequence[str]:
        """The block ids with their `^`, as written, in order."""
        marks = _MARKED.findall(self._document.encoded, self._document.body_start)
        return [mark.decode("utf-8", "replace") for mark in marks]

    def _around_element(self, fragment: str) -> Section | None:
        """The section with the HTML element that has this `id` or `name`; None if there is no such element."""
        at = self._elements.get(fragment.removeprefix("#"))
        return None if at is None else self._section_at(at)

    def _section_at(self, offset: int) -> Section:
        sections = self._document.sections
        return sections[max(bisect_right(sections, offset, key=lambda section: section.start) - 1, 0)]

    def _block(self, mark: int) -> tuple[int, int, Section | None]:
        """The block that the block id at an offset marks; for an id in a heading line, the section."""
        if BLOCK_IDS.match(self._document.encoded, mark):
            return *block_around(self._document.encoded, mark), None
        section = self._section_at(mark)
        if section.level and mark < section.content:
            return section.start, section.tree_end, section
        return *_block(self._document.encoded, section.content, mark), None


def fragment_marks(document: Document) -> FragmentMarks:
    """The names of a document's parts beside its headings and their anchors."""
    return FragmentMarks(_heading_sources(document), _element_offsets(document), _block_offsets(document))


def _heading_sources(document: Document) -> Mapping[str, str]:
    """The compared form of each heading's text, by that of its source, and of its source without a block id."""
    source = document.source
    marked = [
        section
        for section in document.sections[1:]
        # Most headings have no markup, and their source is their text.
        if "^" in section.heading
        or source[section.start : section.content].strip(_AROUND_HEADINGS) != section.heading.encode()
    ]
    if not marked:
        return {}
    texts = {comparable_heading(section.heading) for section in document.sections[1:]}
    forms: dict[str, str] = {}
    for section in marked:
        written = heading_source(document, section)
        for heading in (written, _BLOCK_ID.sub("", written)):
            form = comparable_heading(heading)
            if form not in texts:
                forms.setdefault(form, comparable_heading(section.heading))
    return forms


def _element_offsets(document: Document) -> Mapping[str, int]:
    """The byte offset of each HTML element by its `id` or `name`; of several with one name, of the first."""
    offsets: dict[str, int] = {}
    for element in _ELEMENT.finditer(document.encoded, document.body_start):
        name = next(filter(None, element.groups())).decode("utf-8", "replace")
        offsets.setdefault(name, element.start())
    for term in _TERM.finditer(document.source, document.body_start):
        if name := anchor(term[1].decode("utf-8", "replace")):
            offsets.setdefault(name, term.start())
    if _INCLUDE.search(document.encoded, document.body_start):
        offsets[_ANY_ELEMENT] = document.body_start
    return offsets


def _block_offsets(document: Document) -> Mapping[str, int]:
    """The byte offset of each block id, by the id in lower case with its `^`; of equal ids, of the first."""
    offsets: dict[str, int] = {}
    for mark in _MARKED.finditer(document.encoded, document.body_start):
        offsets.setdefault(mark[1].decode("utf-8", "replace").lower(), mark.start())
    for mark in BLOCK_IDS.finditer(document.encoded) if b"id:: " in document.raw else ():
        offsets.setdefault(f"^{mark[2].decode().lower()}", mark.start())
    return offsets


def slug_of_fragment(fragment: str) -> str:
    """The `id` of the element that a fragment names in a page that is not known."""
    return fragment if fragment.startswith("^") else anchor(fragment.rpartition("#")[2]) or fragment


def heading_source(document: Document, section: Section) -> str:
    """The source of a section's heading with its markup, without the lines below a setext heading."""
    lines = document.source[section.start : section.content].decode("utf-8", "replace")
    source = _ATTRIBUTES_BELOW.sub("", lines).strip()
    return _MARKERS.sub("", source) if section.atx else source.rpartition("\n")[0]


def _headings(path: Sequence[str]) -> list[str]:
    """The headings of a path without markers, repeated blanks and empty parts."""
    return [" ".join(_MARKERS.sub("", part).split()) for part in path if part.strip()]


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


def _as_written(text: str) -> str:
    return text


def _nearest(sections: Sequence[Section], heading: str) -> list[str]:
    names = {fold(section.heading): section.heading for section in sections[:_MAX_COMPARED]}
    close = get_close_matches(fold(heading[:_MAX_COMPARED]), names, n=_MAX_NEAREST, cutoff=0.5)
    return [names[name] for name in close]


def _not_utf8(raw: bytes, at: int) -> Finding:
    line = raw.count(b"\n", 0, at) + 1
    message = f"The file is no UTF-8 text (first in line {line}); it is read as CP1252 there, and never changed."
    return finding_of("not_utf8", message, line=line)


def _title(address: Address, values: Mapping[str, Json], sections: Sequence[Section], structure: Structure) -> str:
    given_title = values.get("title")
    if isinstance(given_title, (str, int, float)):
        title = " ".join(str(given_title).split())
        if title:
            return title
    headings = () if structure.is_outline else sections  # a heading in an item is that of a block
    return next((section.heading for section in headings if section.level == 1 and section.heading), address.stem)


def _links(source: bytes, base: int, body: str, events: Sequence[LinkEvent], html: Sequence[Link]) -> Sequence[Link]:
    definitions = cache(lambda: link_definitions(body))
    found_links = [read_link(source, base, event, definitions) for event in events]
    links = [link for link in found_links if link]
    unused = list(read_unused_definitions(source, base, events, definitions())) if b"]:" in source[base:] else []
    return sorted([*links, *html, *unused], key=lambda link: link.span) if html or unused else links


def _html_links(
    source: bytes, written: bytes, base: int, structure: Structure, tags: Sequence[tuple[int, int]]
) -> list[Link]:
    """The links in HTML, references to blocks and docfx's directives, and in tags that only `written` has."""
    links = [link for start, end in structure.html for link in read_html_links(source, base + start, base + end)]
    links += [link for start, end in tags for link in read_html_links(written, base + start, base + end)]
    links += read_block_references(source, base, structure.opaque) if b"((" in source else ()
    return [*links, *read_directive_links(source, base, structure.opaque)] if b":::" in source else links


def _words(source: bytes, text: str) -> int:
    """Number of words of a text. For ASCII, the words are counted without splitting, in a third of the time."""
    return (b" " + source.translate(_BLANK_OR_X)).count(b" x") if source.isascii() else len(text.split())


def _tags(body: bytes, text: str, frontmatter: Frontmatter, structure: Structure) -> tuple[str, ...]:
    tags: dict[str, str] = {}
    for tag in text_items(frontmatter.values.get("tags")):
        tags.setdefault(fold(tag.lstrip("#")), tag.lstrip("#"))
    for tag in body_tags(body, structure.opaque, lambda: [link[:2] for link in link_definitions(text).values()]):
        tags.setdefault(fold(tag), tag)
    tags.pop("", None)
    return tuple(tags.values())
