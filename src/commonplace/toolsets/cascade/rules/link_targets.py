"""The links of a body that connect concepts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Link, LinkKind

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
