"""Reads a concept from a document's bytes or a foreign graph's node, and a concept's id from an argument."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from posixpath import normpath
from typing import Protocol

from commonplace.domain.addresses import MAX_SHOWN_ADDRESS, Address, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Finding, Link, LinkKind
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.findings import finding_of, merge_conflicts
from commonplace.domain.frontmatter import read_frontmatter
from commonplace.domain.json import Json
from commonplace.domain.words.text_decoder import decoded
from commonplace.toolsets.cascade.rules.values import Attributes, Concept, ConceptSection, date_sort_key

CONCEPT_SUFFIX = ".md"
CAPTURES = "captures/"
"""Beginning of the ids of captures."""
RESERVED = frozenset({"index.md", "log.md"})
"""File names that OKF reserves for lists and logs, at every level."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"\r\n?")
_LINE_END_BYTES = re.compile(rb"\r\n|\r|\n")
_DRIVE = re.compile(r"[A-Za-z]:")


def concept_id(text: str) -> str:
    r"""The concept id of an argument: without `#` or `?` and what follows, with `\` as `/`, without `.md`.

    Raises:
        InvalidInputError: kind "concept": the argument is empty, absolute, leads out of the layer or is not a path.
    """
    path = re.split(r"[#?]", text, maxsplit=1)[0].strip().replace("\\", "/")
    if path.startswith("/") or _DRIVE.match(path):
        raise _bad_id(text, "it is absolute")
    normal = normpath(path).removesuffix(CONCEPT_SUFFIX) if path else ""
    if normal in {"", ".", ".."} or normal.startswith("../"):
        raise _bad_id(text, "it leads out of the layer" if normal.startswith("..") else "it is empty")
    try:
        parse_address(normal + CONCEPT_SUFFIX)
    except InvalidInputError as error:
        raise _bad_id(text, str(error).rpartition(": ")[2].removesuffix(".")) from None
    return normal


def literal_id(text: str, identifier: str) -> str | None:
    """The id that an argument writes with its suffix, such as `notes.md` for `notes.md.md`; None if it has no suffix.

    Args:
        text: The argument.
        identifier: The result of `concept_id` for this argument.
    """
    path = re.split(r"[#?]", text, maxsplit=1)[0].strip()
    return identifier + CONCEPT_SUFFIX if path.endswith(CONCEPT_SUFFIX) else None


def concept_address(identifier: str) -> Address:
    """The address in a layer of a concept id from `concept_id`."""
    return Address(identifier + CONCEPT_SUFFIX)


def id_at(address: Address) -> str | None:
    """The id of the concept at an address; None if the suffix is not `.md` or the name is reserved."""
    if not address.path.endswith(CONCEPT_SUFFIX) or address.name in RESERVED or address.name == CONCEPT_SUFFIX:
        return None
    return address.path.removesuffix(CONCEPT_SUFFIX)


def masked_paths(masks: Sequence[str]) -> re.Pattern[str]:
    """A pattern of the paths that one of these masks names: `*` and `?` within a part, `**` over any parts."""
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = (re.split(r"(\*\*/|\*\*|[*?])", mask) for mask in masks)
    return re.compile("|".join("".join(marks.get(part) or re.escape(part) for part in mask) for mask in parts))


def read_concept(identifier: str, raw: bytes) -> Concept:
    """Parse a document. Problems become findings, never exceptions."""
    source = raw.removeprefix(_BOM)
    findings: tuple[Finding, ...] = ()
    try:
        source.decode()
    except UnicodeDecodeError as error:
        message = "The file is not UTF-8 text; it is read as CP1252 there."
        findings = (finding_of("not_utf8", message, line=raw.count(b"\n", 0, error.start) + 1),)
        source = decoded(source).encode()
    frontmatter = read_frontmatter(source)
    body = _LINE_END.sub("\n", source[frontmatter.span.end :].decode())
    if b"<<<<<<<" in source:
        findings += tuple(merge_conflicts(_LINE_END.sub("\n", source.decode())))
    concept = Concept(identifier, frontmatter.values, (), (*findings, *frontmatter.findings))
    return Concept(identifier, concept.frontmatter, flat_sections(body, concept.updated), concept.findings)


def flat_sections(body: str, updated: str | None) -> tuple[ConceptSection, ...]:
    r"""The flat sections of a body whose line ends are `\n`.

    Args:
        body: Markdown without frontmatter.
        updated: The document's own `updated`, for sections without a date.
    """
    taken: dict[str, int] = {}
    sections: list[ConceptSection] = []
    for line, heading, text in _pieces(body):
        attributes = heading_attributes(heading) if heading else Attributes()
        key = unique_key(heading_key(heading) if heading is not None else "", taken)
        override = attributes.override.lower() if attributes.override else None
        sections.append(ConceptSection(key, line, text, attributes.updated or updated, override))
    return tuple(sections)


def section_spans(source: bytes, body_start: int) -> list[tuple[str, int, int]]:
    """Key, first byte and end of each flat section in order, including its heading line.

    Args:
        source: A document in UTF-8.
        body_start: Offset of the first byte after the frontmatter.
    """
    body = source[body_start:]
    ends = [*(match.end() for match in _LINE_END_BYTES.finditer(body)), len(body)]
    starts = [body_start, *(body_start + end for end in ends)]
    lines = list(scan_lines(_LINE_END.sub("\n", body.decode())))
    headings = [(heading_key(line.heading), starts[at]) for at, line in enumerate(lines) if line.heading is not None]
    lead = takewhile(lambda line: line.heading is None, lines)
    sections = [("", body_start), *headings] if any(line.text.strip() for line in lead) else headings
    bounds = pairwise([*(start for _, start in sections), len(source)])
    taken: dict[str, int] = {}
    return [(unique_key(key, taken), *bound) for (key, _), bound in zip(sections, bounds, strict=True)]


def unique_key(key: str, taken: dict[str, int]) -> str:
    """The key, or the first free one of `key-2`, `key-3`, …; it is added to `taken`."""
    found_key, number = key, taken.get(key, 1)
    while found_key in taken:
        number += 1
        found_key = f"{key}-{number}"
    taken[key] = number
    taken.setdefault(found_key, 1)
    return found_key


def _pieces(body: str) -> Iterator[tuple[str | None, str | None, str]]:
    """Line, heading text and body text of each heading; the text before the first heading if it is not blank."""
    line: str | None = None
    heading: str | None = None
    under: list[str] = []
    for scanned_line in scan_lines(body):
        if scanned_line.heading is None:
            under.append(scanned_line.text)
            continue
        text = _trimmed(under)
        if line is not None or text.strip():
            yield line, heading, text
        line, heading, under = scanned_line.text.rstrip(), scanned_line.heading, []
    text = _trimmed(under)
    if line is not None or text.strip():
        yield line, heading, text


def _trimmed(lines: list[str]) -> str:
    """The lines without blank ones at both ends. The first keeps its indentation, which can make it a code block."""
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:]).rstrip(" \t\n")


def _bad_id(text: str, reason: str) -> InvalidInputError:
    shown = text if len(text) <= MAX_SHOWN_ADDRESS else f"{text[: MAX_SHOWN_ADDRESS - 3]}..."
    return InvalidInputError(
        f"Invalid concept id {ascii(shown) if not shown.isprintable() else repr(shown)}: {reason}.",
        kind="concept",
        hint="Give an id as searches and lists show it, such as 'systems/auth-service'.",
    )


# The lines of a document that begin a section: ATX headings of any level outside code fences.
#
# The open fence is the scanner's only state, so a text has the same sections wherever it is placed. A fence that
# begins on the line of a list item ends with the item, as in CommonMark.


_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_FENCE = re.compile(r"( {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})*)(`{3,}(?=[^`]*\Z)|~{3,})")
_BRACES = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(
    r"""([\w:][\w:.-]*)=(?:"([^"]*)"|'([^']*)'|([^\s"']*))"""
    r"""|\#(?:"([^"]*)"|([^\s"]+(?:\s+[^\s=."'\#][^\s="'\#]*(?=\s|\Z))*))"""
    r"""|\S+"""
)
"""Groups 1 to 4: an attribute. Groups 5 and 6: a key. No group: a class or word, which layers ignore."""
_EQUALS = re.compile(r"\s*=\s*")
_OWN_ATTRIBUTES = frozenset({"override", "updated"})


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence."""

    mark: str
    """The characters of the opening fence. The closing fence needs at least as many."""
    column: int
    """Column of the text of the list item around the fence; 0 outside of lists."""

    def closing(self) -> str:
        """The line that closes the fence."""
        return " " * self.column + self.mark

    def after(self, line: str) -> tuple[Fence | None, bool]:
        """The fence that is open after a line (None if closed), and whether the line belongs to this fence."""
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if self.column and bare.strip() and indent < self.column:
            return None, False
        run = bare.rstrip(" \t")
        closes = indent <= self.column + 3 and len(run) >= len(self.mark) and run == self.mark[0] * len(run)
        return (None, True) if closes else (self, True)


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line with its classification."""

    text: str
    heading: str | None
    """The heading's text without markers; None for any other line."""
    fence: Fence | None
    """The fence that is open after the line."""


def scan_lines(text: str) -> Iterator[ScannedLine]:
    r"""The lines of a text whose line ends are `\n`, in order."""
    fence: Fence | None = None
    for line in text.split("\n"):
        if fence:
            fence, inside = fence.after(line)
            if inside:
                yield ScannedLine(line, None, fence)
                continue
        opening = _FENCE.match(line)
        if opening:
            prefix = opening[1]
            fence = Fence(opening[2], len(prefix) if prefix.strip() else 0)
            yield ScannedLine(line, None, fence)
            continue
        match = _HEADING.fullmatch(line)
        yield ScannedLine(line, _unclosed(match[2] or "") if match else None, None)


def heading_key(heading: str) -> str:
    """The key of a heading's text: `{#key}` in lower case, else the words in lower case without the braces."""
    braces = _read_braces(heading)
    if braces.key:
        return " ".join(braces.key.lower().split())
    return " ".join((braces.outside(heading) or heading).lower().split())


def heading_attributes(heading: str) -> Attributes:
    """The attributes in the braces of a heading's text, in any order."""
    found_values = _read_braces(heading).values
    return Attributes(updated=found_values.get("updated") or None, override=found_values.get("override") or None)


def shown_heading(line: str) -> tuple[int, str]:
    """Level and text of a heading's line, without markers, key and attributes; level 0 for any other line."""
    match = _HEADING.fullmatch(line)
    if match is None:
        return 0, line.strip()
    text = _unclosed(match[2] or "")
    return len(match[1]), _read_braces(text).outside(text) or text


def with_key(line: str, key: str) -> str:
    """A heading's line with this key in place of any other."""
    bare = _unclosed(line)
    braces = _read_braces(bare)
    rest = " ".join(braces.others)
    start = braces.outside(bare) or line.strip()
    shown = f'#"{key}"' if re.search(r"\s", key) else f"#{key}"
    return f"{start} {{{shown}{' ' if rest else ''}{rest}}}"


@dataclass(frozen=True, slots=True)
class _Braces:
    """The `{...}` of a heading that contains its attributes."""

    start: int = 0
    end: int = 0
    key: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    """Attributes by name in lower case. If a name occurs several times, the first counts."""
    others: tuple[str, ...] = ()
    """All tokens except the key, as written."""

    def outside(self, heading: str) -> str:
        """The heading without the braces."""
        return f"{heading[: self.start].rstrip()} {heading[self.end :].lstrip()}".strip()


def _read_braces(heading: str) -> _Braces:
    """The last braces in a heading that name a key or an attribute of layers, else the braces at its end.

    Words may follow braces that suppress a section, so the position of braces does not decide whether text is hidden.
    """
    read = [_read_tokens(match) for match in _BRACES.finditer(heading)]
    for braces in reversed(read):
        if braces.key or not _OWN_ATTRIBUTES.isdisjoint(braces.values):
            return braces
    return read[-1] if read and not heading[read[-1].end :].strip() else _Braces()


def _read_tokens(braces: re.Match[str]) -> _Braces:
    key = ""
    values: dict[str, str] = {}
    others: list[str] = []
    for token in _TOKEN.finditer(_EQUALS.sub("=", braces[1])):
        named = token[5] or token[6]
        if named and not key:
            key = named
            continue
        others.append(token[0])
        if token[1]:
            values.setdefault(token[1].lower(), token[2] or token[3] or token[4] or "")
    return _Braces(braces.start(), braces.end(), key, values, tuple(others))


def _unclosed(heading: str) -> str:
    """A heading's text without the closing `##`."""
    text = heading.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in {"", " ", "\t"} else text


# The links of a body that connect concepts.


_PREFIXED = r"(?i)(\]\([ \t]*<?(?:{})):(?!//)"
"""Matches the beginning of a Markdown link to a layer whose name is put in."""
_FILES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".bmp", ".pdf", ".mp3", ".mp4", ".webm", ".wav")


def body_links(body: str, layers: Iterable[str] = ()) -> list[tuple[str, Link]]:
    """Each link of a body as written and as parsed: Markdown links, then wikilinks. Images are omitted.

    Args:
        body: Markdown without frontmatter.
        layers: Names of layers: `[x](team:a.md)` is a link to a concept of the layer `team`, and otherwise a URL.
    """
    raw = f"\n{body}".encode()  # so that a thematic break at the beginning does not open a frontmatter
    names = "|".join(map(re.escape, layers))
    # A mark of the same length in place of the colon makes a URL a path for the parser; offsets stay as they are.
    marked = re.sub(_PREFIXED.format(names).encode(), rb"\1|", raw) if names else raw
    document = read_document(Address("body.md"), marked)
    links = [_with_layer(link, raw, marked) for link in document.links if is_concept_link(link)]
    links.sort(key=lambda link: link.kind is not LinkKind.MARKDOWN)
    return [(raw[link.span.start : link.span.end].decode("utf-8", "replace"), link) for link in links]


def _with_layer(link: Link, raw: bytes, marked: bytes) -> Link:
    """The link with its layer as the collection, if the layer's name was marked."""
    start, end = link.span
    if link.kind is not LinkKind.MARKDOWN or raw[start:end] == marked[start:end]:
        return link
    layer, _, target = link.target.partition("|")
    return link._replace(collection=layer, target=target, raw=link.raw.replace("|", ":", 1))


def is_concept_link(link: Link) -> bool:
    """Whether a link connects concepts: not an image and not a frontmatter link."""
    if link.kind is LinkKind.EMBED:
        return not link.target.lower().endswith(_FILES)
    return link.kind in {LinkKind.MARKDOWN, LinkKind.WIKI}


# A node of a foreign graph, and its conversion to a concept.


UNNAMED = "Note"
"""Topic of a fact that has none."""


BROKEN = "broken"
"""The `kind` of the error if a retry would fail in the same way."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a node."""

    topic: str
    text: str
    touched: str | None
    """Time of the last change, as written."""


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node as described by the foreign server."""

    title: str
    kind: str
    facts: tuple[Fact, ...]
    see_also: tuple[str, ...]


def concept_of(identifier: str, node: ForeignNode) -> Concept:
    """The node as a concept: facts become sections, and its links become the section `related`."""
    updated = max((fact.touched for fact in node.facts if fact.touched), key=date_sort_key, default=None)
    frontmatter: dict[str, Json] = {"type": node.kind or "concept", "title": node.title or identifier}
    if updated:
        frontmatter["updated"] = updated
    return Concept(identifier, frontmatter, tuple(_sections(node, updated)))


def _sections(node: ForeignNode, updated: str | None) -> Iterator[ConceptSection]:
    taken: dict[str, int] = {}
    for fact in node.facts:
        topic = " ".join(fact.topic.split()) or UNNAMED
        key = unique_key(topic.lower(), taken)
        yield ConceptSection(key, f"## {topic} {{#{key}}}", fact.text.strip(), fact.touched or updated)
    if node.see_also:
        links = ", ".join(f"[[{target}]]" for target in node.see_also)
        yield ConceptSection(unique_key("related", taken), "## Related {#related}", links, updated)


class ForeignGraph(Protocol):
    """A graph of nodes behind another server. Every call has a time limit; on timeout the server is terminated."""

    def node_ids(self) -> list[str]:
        """The ids of all nodes.

        Raises:
            UnavailableError: the server does not start, times out, or gives an invalid answer. The kind is "broken" if
                the server cannot be started, lacks a tool, or answers in another form. The message is one sentence
                without a full stop; secrets and folders of the server's output are removed.
        """
        ...

    def node(self, identifier: str) -> ForeignNode | None:
        """The node with an id; None if there is none. Raises the same errors as `node_ids`."""
        ...

    def close(self) -> None:
        """Terminate the server if it is running."""
        ...
