"""From a document's bytes to a concept, and from an argument to a concept's id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from commonplace.domain.addresses import MAX_SHOWN_ADDRESS, Address, parse_address
from commonplace.domain.cascade.headings import heading_attributes, heading_key, scan_lines
from commonplace.domain.cascade.values import Attributes, Concept, ConceptSection
from commonplace.domain.documents import Finding, Severity
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import read_frontmatter

CONCEPT_SUFFIX = ".md"
RESERVED = frozenset({"index.md", "log.md"})
"""Names that OKF keeps for lists and histories, at every level."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(r"\r\n?")
_DRIVE = re.compile(r"[A-Za-z]:")


def concept_id(text: str) -> str:
    r"""The id that an argument means; what stands behind `#` or `?` is dropped, `\` is `/`, `.md` goes.

    Raises:
        InvalidInputError: kind "concept": it is empty, absolute, leads out of the layer or is no path.
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


def concept_address(identifier: str) -> Address:
    """Where a layer keeps the concept of an id that `concept_id` gave."""
    return Address(identifier + CONCEPT_SUFFIX)


def id_at(address: Address) -> str | None:
    """The id of the concept at an address, None where it is none: another suffix or a reserved name."""
    if not address.path.endswith(CONCEPT_SUFFIX) or address.name in RESERVED or address.name == CONCEPT_SUFFIX:
        return None
    return address.path.removesuffix(CONCEPT_SUFFIX)


def read_concept(identifier: str, raw: bytes) -> Concept:
    """Read a document; what is wrong with it becomes a finding, never an exception."""
    source = raw.removeprefix(_BOM)
    findings: tuple[Finding, ...] = ()
    try:
        source.decode()
    except UnicodeDecodeError as error:
        message = "The file is no UTF-8 text; it is shown with replacements."
        findings = (Finding("not_utf8", Severity.ERROR, message, line=raw.count(b"\n", 0, error.start) + 1),)
        source = source.decode("utf-8", "replace").encode()
    frontmatter = read_frontmatter(source)
    body = _LINE_END.sub("\n", source[frontmatter.span.end :].decode())
    concept = Concept(identifier, frontmatter.values, (), (*findings, *frontmatter.findings))
    return Concept(identifier, concept.frontmatter, flat_sections(body, concept.updated), concept.findings)


def flat_sections(body: str, updated: str | None) -> tuple[ConceptSection, ...]:
    r"""The flat sections of a body whose line ends are `\n`.

    Args:
        body: Markdown without frontmatter.
        updated: What the document's frontmatter says, for sections without a date of their own.
    """
    taken: dict[str, int] = {}
    sections: list[ConceptSection] = []
    for line, heading, text in _pieces(body):
        attributes = heading_attributes(heading) if heading else Attributes()
        key = unique_key(heading_key(heading) if heading is not None else "", taken)
        override = attributes.override.lower() if attributes.override else None
        sections.append(ConceptSection(key, line, text, attributes.updated or updated, override))
    return tuple(sections)


def unique_key(key: str, taken: dict[str, int]) -> str:
    """The key, or the first of `key-2`, `key-3`, … that is free; it is taken from then on."""
    found, number = key, taken.get(key, 1)
    while found in taken:
        number += 1
        found = f"{key}-{number}"
    taken[key] = number
    taken.setdefault(found, 1)
    return found


def _pieces(body: str) -> Iterator[tuple[str | None, str | None, str]]:
    """Each heading's line and text with what stands under it; the text before the first, where it is not blank."""
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
    """The lines without blank ones at both ends; the first keeps its indentation, which can be what makes it code."""
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:]).rstrip(" \t\n")


def _bad_id(text: str, reason: str) -> InvalidInputError:
    shown = text if len(text) <= MAX_SHOWN_ADDRESS else f"{text[: MAX_SHOWN_ADDRESS - 3]}..."
    return InvalidInputError(
        f"Invalid concept id {ascii(shown) if not shown.isprintable() else repr(shown)}: {reason}.",
        kind="concept",
        hint="Give an id as search and list_concepts show it, such as 'systems/auth-service'.",
    )
