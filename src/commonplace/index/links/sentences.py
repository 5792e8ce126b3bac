"""Reads the sentences around links from the files; the index does not store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Link
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.markdown.set_aside import readable_source
from commonplace.domain.ports import Store
from commonplace.domain.query import ResolvedLink
from commonplace.domain.snippets import sentence_round
from commonplace.domain.words.text_decoder import as_utf8


def with_sentences(store: Store, links: Sequence[ResolvedLink]) -> list[ResolvedLink]:
    """The same links, each with its sentence; "" if the file has changed since it was indexed."""
    texts: dict[Address, bytes] = {}
    told: list[ResolvedLink] = []
    for one in links:
        if one.source not in texts:
            try:
                texts[one.source] = readable_source(one.source, as_utf8(store.read(one.source))).text
            except (NotFoundError, StorageError):
                texts[one.source] = b""
        told.append(replace(one, sentence=_sentence(texts[one.source], one.link)))
    return told


def _sentence(raw: bytes, link: Link) -> str:
    start, end = link.span.start, link.span.end
    if start == end:
        return link.note
    if link.raw.encode() not in raw[start:end]:
        return ""
    return sentence_round(raw, start, end, shown=link.label if link.page_last else None)
