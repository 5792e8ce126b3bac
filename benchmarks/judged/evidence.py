"""Whether the right section is in the evidence for a budget: part of `make eval`.

A set's documents are written as the sections of fewer, longer pages (six to a page, each under its title), so that the
page alone is no answer. A question counts as answered when the section that is judged right is among the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.domain.query import SearchQuery
from commonplace.domain.similarity import SearchMode
from commonplace.services.collections import Collection
from commonplace.services.evidence import CHARACTERS_PER_TOKEN, EvidenceSection, fit, gather

BUDGETS = (500, 1000, 2000)
"""Tokens."""
EACH = 6
"""Sections of a page."""
ENVELOPE = 120
"""Characters that an answer takes beside its sections."""

Places = Mapping[tuple[str, str], str]
"""The documents' ids by the path of the page and the anchor of the section."""


def write_pages(documents: Sequence[Mapping[str, str]], vault: Path) -> Places:
    """Write a set's documents as sections of pages; where each is."""
    vault.mkdir(parents=True, exist_ok=True)
    places: dict[tuple[str, str], str] = {}
    for number in range(0, len(documents), EACH):
        path = f"{number // EACH:05}.md"
        parts = [f"# Volume {number // EACH}\n"]
        for at, document in enumerate(documents[number : number + EACH]):
            parts.append(f"## {document['title'] or 'Untitled'} {{#part-{at}}}\n\n{document['text']}\n")
            places[path, f"part-{at}"] = document["_id"]
        text = "\n".join(parts)
        if not (vault / path).exists() or (vault / path).read_text(encoding="utf-8") != text:
            (vault / path).write_text(text, encoding="utf-8")
    return places


def recalls(
    collections: Sequence[Collection],
    mode: SearchMode,
    questions: Mapping[str, str],
    judgements: Mapping[str, Mapping[str, int]],
    places: Places,
) -> list[float]:
    """For each budget, in how many of the questions, 0 to 1, a right section is in the evidence."""
    answered = [0] * len(BUDGETS)
    for question, text in questions.items():
        found = gather(collections, SearchQuery(text=text), mode)
        for at, budget in enumerate(BUDGETS):
            shown = fit(found, text, CHARACTERS_PER_TOKEN * budget - ENVELOPE, _shown)
            right = {places.get((one.record.address.path, anchor)) for one in shown for anchor in one.anchors}
            answered[at] += any(judgements[question].get(document or "", 0) > 0 for document in right)
    return [count / len(questions) for count in answered]


def _shown(one: EvidenceSection, text: str) -> tuple[EvidenceSection, int]:
    row = {"id": one.record.id, "kb_name": one.collection.name, "title": one.record.title, "section": one.path}
    return one, len(json.dumps({**row, "text": text}, ensure_ascii=False))
