"""References as people give them: what document they mean, and which ones they nearly do."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import cast

from commonplace.domain.addresses import Address, fold
from commonplace.domain.links import link_key, resolve_target
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.index.catalogue.entries import record_at
from commonplace.index.catalogue.linking import CatalogueLookup

COMPARED = 40
"""How many names are compared letter by letter, of those that share most pairs of letters."""
LEAST_LIKE = 0.5
"""Names less alike than this (0 to 1) are not suggested."""


def find(connection: sqlite3.Connection, store: Store, reference: str, source: Address | None) -> Record | None:
    """The document that a path, id, title or alias means, None when there is none or it is unclear."""
    if not reference.strip():
        return None
    found = resolve_target(reference.strip(), source, CatalogueLookup(connection, store))
    return record_at(connection, found.path) if found and found.is_document else None


def nearest(connection: sqlite3.Connection, reference: str, limit: int) -> list[str]:
    """Ids of the documents whose id, path or title is most like a reference, best first."""
    wanted = fold(reference.strip())
    pairs = _pairs(wanted)
    rows = cast("Iterable[tuple[str, str, str]]", connection.execute("SELECT ident, path, title FROM files"))
    rough: list[tuple[float, str, str]] = []
    for ident, path, title in rows:
        for name in {ident, Address(path).id, Address(path).stem, title}:
            folded = fold(name)
            rough.append((-_alike(pairs, wanted, folded), ident, folded))
    rough.sort()
    scores: dict[str, float] = {}
    for _, ident, name in rough[:COMPARED]:
        likeness = max(
            SequenceMatcher(None, wanted, name, autojunk=False).ratio(),
            SequenceMatcher(None, link_key(wanted), name, autojunk=False).ratio(),
        )
        scores[ident] = max(scores.get(ident, 0.0), likeness)
    best = sorted(scores, key=lambda ident: (-scores[ident], ident))
    return [ident for ident in best if scores[ident] >= LEAST_LIKE][:limit]


def same_name(connection: sqlite3.Connection, address: Address) -> Address | None:
    """Another document whose path differs only in case or in the form of its characters."""
    rows = connection.execute(
        "SELECT f.path FROM names n JOIN files f ON f.id = n.file WHERE n.key = ? AND f.path <> ? ORDER BY f.path",
        (link_key(address.path), address.path),
    )
    folded = fold(address.path)
    return next((Address(path) for (path,) in rows if fold(path) == folded), None)


def _pairs(text: str) -> Counter[str]:
    return Counter(text[at : at + 2] for at in range(len(text) - 1))


def _alike(pairs: Counter[str], wanted: str, name: str) -> float:
    """The part of both names' pairs of letters that they share."""
    total = len(wanted) + len(name) - 2
    if total <= 0:
        return float(wanted == name)
    return 2 * sum(min(count, name.count(pair)) for pair, count in pairs.items()) / total
