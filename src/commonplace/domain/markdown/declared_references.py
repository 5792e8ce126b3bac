"""References that a page declares without the syntax of a link: what replaces it or a section, and its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from commonplace.domain.citations import COPY_KEYS, SOURCES_KEY, TARGET_KEYS, read_citation
from commonplace.domain.documents import LinkKind, Section
from commonplace.domain.json import JsonObject
from commonplace.domain.status import REPLACED_KEYS, replacement_in
from commonplace.domain.yaml_edits import YamlNode

_BY = re.compile(
    rb"(?i)(?<![\w-])(?:by|superseded[_-]by|replaced[_-]by|obsoleted[_-]by)=(?:\"([^\"]*)\"|'([^']*)'|([^\s}]+))"
)


class Reference(NamedTuple):
    """A reference to a page or file, with the scalar that has it."""

    kind: LinkKind
    """The kind of link by whose rules it is resolved."""
    text: str
    place: YamlNode


def declares_references(values: JsonObject) -> bool:
    """Whether a front matter may have references."""
    return any(values.get(key) for key in (*REPLACED_KEYS, "status", SOURCES_KEY))


def references_of(key: str, value: YamlNode) -> list[Reference]:
    """The references in a value of a front matter, without wikilinks, which are links themselves."""
    if key == SOURCES_KEY:
        return [each for item in _items(value) for each in _source(item)]
    place = next(iter(_items(value)), value)
    if "[[" in place.text:
        return []
    reference = replacement_in(key, place.text) if place.kind == "scalar" else ""
    return [Reference(LinkKind.FRONTMATTER, reference, place)] if reference and "://" not in reference else []


def _items(value: YamlNode) -> Sequence[YamlNode]:
    return value.children if value.kind == "list" else [value]


def _source(item: YamlNode) -> list[Reference]:
    """The references in an item of `sources`: that to the source, and that to its saved copy."""
    if item.kind != "mapping":
        return list(_cited(item, whole=False))
    fields = {name.text: value for name, value in item.entries}
    targets = [fields[key] for key in TARGET_KEYS if key in fields and fields[key].text.strip()]
    copies = [fields[key] for key in COPY_KEYS if key in fields]
    return [reference for place in (*targets[:1], *copies) for reference in _cited(place, whole=True)]


def _cited(place: YamlNode, *, whole: bool) -> Iterator[Reference]:
    citation = read_citation(place.text, whole=whole) if "[[" not in place.text else None
    if citation is None or citation.is_url or not citation.target:
        return
    written = next((form for form in (citation.target, quote(citation.target)) if form in place.text), "")
    if written:
        yield Reference(LinkKind.MARKDOWN, written, place)


def heading_references(source: bytes, sections: Sequence[Section]) -> Iterator[tuple[str, int]]:
    """The references to replacements in the headings of sections, each with its byte offset."""
    for section in sections:
        match = _BY.search(source, section.start, section.content) if "=" in section.attributes else None
        number = match.lastindex if match else None
        if match and number and b"://" not in match[number] and b"[[" not in match[number]:
            yield match[number].decode("utf-8", "replace"), match.start(number)
