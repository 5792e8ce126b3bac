"""Reads a concept from a document's bytes, and a concept's id from an argument."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import normpath

from commonplace.domain.addresses import MAX_SHOWN_ADDRESS, Address, parse_address
from commonplace.domain.document_reader import merge_conflicts
from commonplace.domain.documents import Finding
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.findings import finding_of
from commonplace.domain.frontmatter import read_frontmatter
from commonplace.domain.words.text_decoder import decoded
from commonplace.toolsets.cascade.rules.headings import heading_attributes, heading_key, scan_lines
from commonplace.toolsets.cascade.rules.values import Attributes, Concept, ConceptSection

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
    ends = [*(found.end() for found in _LINE_END_BYTES.finditer(body)), len(body)]
    starts = [body_start, *(body_start + end for end in ends)]
    taken: dict[str, int] = {}
    spans: list[tuple[str, int, int]] = []
    begin, heading, blank = body_start, None, True
    for number, found in enumerate(scan_lines(_LINE_END.sub("\n", body.decode()))):
        if found.heading is None:
            blank = blank and not found.text.strip()
            continue
        if heading is not None or not blank:
            spans.append((unique_key(heading or "", taken), begin, starts[number]))
        begin, heading = starts[number], heading_key(found.heading)
    if heading is not None or not blank:
        spans.append((unique_key(heading or "", taken), begin, len(source)))
    return spans


def unique_key(key: str, taken: dict[str, int]) -> str:
    """The key, or the first free one of `key-2`, `key-3`, …; it is added to `taken`."""
    found, number = key, taken.get(key, 1)
    while found in taken:
        number += 1
        found = f"{key}-{number}"
    taken[key] = number
    taken.setdefault(found, 1)
    return found


def _pieces(body: str) -> Iterator[tuple[str | None, str | None, str]]:
    """Line, heading text and body text of each heading; the text before the first heading if it is not blank."""
    line: str | None = None
    heading: str | None = None
    under: list[str] = []
    for found in scan_lines(body):
        if found.heading is None:
            under.append(found.text)
            continue
        text = _trimmed(under)
        if line is not None or text.strip():
            yield line, heading, text
        line, heading, under = found.text.rstrip(), found.heading, []
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
