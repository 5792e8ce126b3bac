"""The share of questions whose right section is in the evidence for a budget; part of `make eval`.

A set's documents are written as the sections of fewer, longer pages (six per page, each under its title), so that the
page alone is no answer. A question counts as answered if the section that is judged right is in the evidence. The
documents of a set with scopes are long chats, which stay separate pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.judged.sets import JudgedSet, Question, write, write_vault
from commonplace.domain.query import Filter, SearchMode, SearchQuery
from commonplace.domain.tokens import QUARTERS, size_of
from commonplace.services.collections import Collection
from commonplace.services.evidence import EvidenceSection, fit, gather

BUDGETS = (500, 1000, 2000)
"""Budgets in tokens."""
EACH = 6
"""Number of sections per page."""
ENVELOPE = 120
"""Quarters of a token of an answer besides its sections."""
MAX_QUESTIONS = 300
"""Maximum number of questions of a set, spread over the set, because each question reads a dozen pages."""

Places = Mapping[tuple[str, str], str]
"""The documents' ids by the path of the page and the anchor of the section; "" for any section."""


def write_pages(judged: JudgedSet, vault: Path) -> Places:
    """Write a set's documents as sections of pages, or as pages; return the place of each."""
    if judged.is_scoped:
        return {(path, ""): document for path, document in write_vault(judged.documents, vault).items()}
    places: dict[tuple[str, str], str] = {}
    for number in range(0, len(judged.documents), EACH):
        path = f"{number // EACH:05}.md"
        parts = [f"# Volume {number // EACH}\n"]
        for at, document in enumerate(judged.documents[number : number + EACH]):
            parts.append(f"## {document['title'] or 'Untitled'} {{#part-{at}}}\n\n{document['text']}\n")
            places[path, f"part-{at}"] = document["_id"]
        write(vault / path, "\n".join(parts))
    return places


def recalls(
    collections: Sequence[Collection], mode: SearchMode, questions: Sequence[Question], places: Places
) -> list[float]:
    """The share of questions, 0 to 1, with a right section in the evidence, for each budget."""
    chosen = questions[:: max(1, len(questions) // MAX_QUESTIONS)]
    answered = [0] * len(BUDGETS)
    for question in chosen:
        within = Filter(prefix=f"{question.scope}/" if question.scope else "")
        sections = gather(collections, SearchQuery(text=question.text, filter=within), mode)
        for at, budget in enumerate(BUDGETS):
            shown = fit(sections, QUARTERS * budget - ENVELOPE, _shown)
            evidence_sections = [section for section, text in shown if any(map(str.isalnum, text))]
            answered[at] += any(
                question.grades.get(document, 0) > 0 for document in _documents(evidence_sections, places)
            )
    return [count / len(chosen) for count in answered]


def _documents(shown: Sequence[EvidenceSection], places: Places) -> set[str]:
    """The documents whose text is shown."""
    keys = {(section.record.address.path, anchor) for section in shown for anchor in ("", *section.anchors)}
    return {places[key] for key in keys if key in places}


def _shown(section: EvidenceSection, text: str) -> tuple[tuple[EvidenceSection, str], int]:
    row = {
        "id": section.record.id,
        "kb_name": section.collection.name,
        "title": section.record.title,
        "section": section.path,
    }
    return (section, text), size_of(json.dumps({**row, "text": text}, ensure_ascii=False))
