"""References that a page declares without the syntax of a link: what replaces it or a section, and its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from commonplace.domain.addresses import is_document_path
from commonplace.domain.citations import COPY_KEYS, SOURCES_KEY, TARGET_KEYS, read_citation
from commonplace.domain.documents import LinkKind, Section
from commonplace.domain.json import JsonObject
from commonplace.domain.status import REPLACED_KEYS, is_replacement_key, plain_key, replacement_in
from commonplace.domain.yaml_edits import YamlNode

_BY_KEYS = "|".join(("by", *(key.replace("_", "[_-]?") for key in REPLACED_KEYS)))
_BY = re.compile(rf"(?i)(?<![\w-])(?:{_BY_KEYS})=(?:\"([^\"]*)\"|'([^']*)'|([^\s}}]+))".encode())


class Reference(NamedTuple):
    """A reference to a page or file, with the scalar that has it."""

    kind: LinkKind
    """The kind of link by whose rules it is resolved."""
    text: str
    place: YamlNode


def declares_references(values: JsonObject) -> bool:
    """Whether a front matter may have references."""
    return any(
        value and (key == SOURCES_KEY or plain_key(key) == "status" or is_replacement_key(key))
        for key, value in values.items()
    )


def references_of(key: str, value: YamlNode) -> list[Reference]:
    """The references in a value of a front matter, without wikilinks, which are links themselves."""
    if key == SOURCES_KEY:
        return [each for item in _items(value) for each in _source(item)]
    place = next(iter(_items(value)), value)
    if "[[" in place.text:
        return []
    reference = replacement_reference(key, place.text) if place.kind == "scalar" else ""
    return [Reference(kind_of(reference), reference, place)] if reference else []


def kind_of(reference: str) -> LinkKind:
    """The kind of link whose rules a reference follows: a path with its suffix counts from its page first, as links do.

    Any other one is a name, as in a wikilink.
    """
    return LinkKind.MARKDOWN if is_document_path(reference.partition("#")[0]) else LinkKind.FRONTMATTER


def replacement_reference(key: str, text: str) -> str:
    """The reference to the page that replaces this one in a value of its front matter; "" for a URL or a sentence."""
    reference = replacement_in(key, text)
    return reference if _names_page(reference) else ""


def _names_page(reference: str) -> bool:
    """Whether a reference may be the path or id of a page. Words may be a title, which no move changes, or no page."""
    if not reference or "://" in reference or "[[" in reference:
        return False
    return len(reference.split()) == 1 or "/" in reference or "#" in reference or reference.endswith((".md", ".mdx"))


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
        number = match.lastindex or 0 if match else 0
        if match and _names_page(text := match[number].decode("utf-8", "replace")):
            yield text, match.start(number)
