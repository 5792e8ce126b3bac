"""Completion of what a person types: pages and headings for links, tags, and keys of the front matter."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.domain.addresses import Address, fold
from commonplace.domain.document_reader import Fragments
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery
from commonplace.domain.words.grams import WORD_CHAR
from commonplace.domain.words.scripts import fold_accents
from commonplace.services.collections import Collection
from commonplace.services.typed_entries import current_schema

LIMIT = 50
"""Maximum number of candidates."""
MAX_SEARCHED = 20
"""Maximum number of pages found by full-text search that are added to the pages found by name."""
_NOT_IN_WIKI = re.compile(r"[\[\]|#^]")
_COMMON_KEYS = ("title", "tags", "aliases", "type", "date", "description")


def page_candidates(index: Index, typed: str, here: Address) -> Sequence[Record]:
    """The pages that match the typed text: by a name that begins with it, by path, by words. Without: the newest.

    Accents do not matter, as in a search.

    Args:
        index: The index of the collection.
        typed: The typed text.
        here: The page that is being written, which is no candidate.
    """
    if not typed.strip():
        listed = index.list(ListQuery(sort="updated", descending=True, limit=LIMIT)).records
        return [record for record in listed if record.address != here]
    records: dict[str, Record] = {}
    if exact := index.find(typed, here):
        records[exact.address.path] = exact
    for record in index.beginning_with(typed, LIMIT):
        records.setdefault(record.address.path, record)
    if "/" in typed:
        for record in index.list(ListQuery(filter=Filter(prefix=typed.lstrip("/")), limit=LIMIT)).records:
            records.setdefault(record.address.path, record)
    try:
        hits = index.search(SearchQuery(text=typed, limit=MAX_SEARCHED, sections=0, demand=False)).hits
    except InvalidInputError:  # only punctuation
        hits = ()
    words = fold_accents(typed).split()
    beginning = re.compile("|".join(rf"(?<!{WORD_CHAR}){re.escape(word)}" for word in words) or "(?!)")
    named = [hit.record for hit in hits if all(word in _names(hit.record) for word in words)]
    named.sort(key=lambda record: not beginning.search(_names(record)))
    for record in (*named, *(hit.record for hit in hits)):
        records.setdefault(record.address.path, record)
    return [record for record in records.values() if record.address != here][:LIMIT]


def _names(record: Record) -> str:
    return fold_accents(" ".join((record.title, record.address.path, *record.aliases)))


def wiki_name(index: Index, record: Record, here: Address) -> str:
    """The shortest name by which a wiki link from a page finds a document; "" if there is none."""
    for name in (record.address.stem, record.address.id, record.address.path, record.title, *record.aliases):
        if _NOT_IN_WIKI.search(name):
            continue
        position = index.find(name, here)
        if position is not None and position.address == record.address:
            return name
    return ""


def heading_names(document: Document, typed: str) -> list[str]:
    """The fragments by which wiki links name the headings that contain the typed text."""
    fragments = Fragments(document)
    names: list[str] = []
    for section in document.sections[1:]:
        name = fragments.naming(section)
        by_text = name != section.anchor or fold(name) == fold(section.heading)  # not by anchor, as equal headings are
        if by_text and fold_accents(typed) in fold_accents(section.heading):
            names.append(name)
    return names


def frontmatter_keys(collection: Collection, kind: str) -> list[str]:
    """The keys that the front matter of a page of this type can have: declared ones first, then common ones."""
    declared = current_schema(collection).types.get(kind)
    return list(dict.fromkeys((*(declared.fields if declared else ()), *_COMMON_KEYS)))
