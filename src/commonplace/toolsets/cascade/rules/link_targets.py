"""The ids that a link can resolve to, and the links of a body that connect concepts."""

from __future__ import annotations

from posixpath import normpath

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Link, LinkKind
from commonplace.toolsets.cascade.rules.concepts import CONCEPT_SUFFIX

_FILES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".bmp", ".pdf", ".mp3", ".mp4", ".webm", ".wav")


def body_links(body: str) -> list[tuple[str, Link]]:
    """Each link of a body as written and as parsed: Markdown links, then wikilinks. Images are omitted."""
    raw = f"\n{body}".encode()  # so that a thematic break at the beginning does not open a frontmatter
    document = read_document(Address("body.md"), raw)
    links = [link for link in document.links if is_concept_link(link)]
    links.sort(key=lambda link: link.kind is not LinkKind.MARKDOWN)
    return [(raw[link.span.start : link.span.end].decode("utf-8", "replace"), link) for link in links]


def is_concept_link(link: Link) -> bool:
    """Whether a link connects concepts: not an image and not a frontmatter link."""
    if link.kind is LinkKind.EMBED:
        return not link.target.lower().endswith(_FILES)
    return link.kind in {LinkKind.MARKDOWN, LinkKind.WIKI}


def candidate_ids(target: str, folder: str) -> list[str]:
    """The ids that a target can resolve to, in order: from the layer's root, then from the folder.

    Args:
        target: A path as written, without fragment. With a leading `/` it is resolved from the root only.
        folder: Folder of the concept that contains the link; "" for the root.
    """
    path = target.replace("\\", "/").strip()
    folders = [""] if path.startswith("/") or not folder else ["", f"{folder}/"]
    relative = path.lstrip("/").rstrip("/")
    if not relative:
        return []
    paths = [normpath(start + relative) for start in folders]
    found = [*(path.removesuffix(CONCEPT_SUFFIX) for path in paths), *paths]
    return [one for one in dict.fromkeys(found) if one not in {"", ".", ".."} and not one.startswith("../")]
