"""Removal of repeated text from sections that match a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.domain.ranking import paragraphs
from commonplace.services.evidence import EvidenceSection


def without_repeats(sections: Sequence[EvidenceSection]) -> list[EvidenceSection]:
    """The sections, best first, with each text once.

    A section that contains a better one is shown without that text.
    """
    evidence_sections: list[EvidenceSection] = []
    for section in sections:
        better = [
            two
            for two in evidence_sections
            if two.record.address == section.record.address and two.collection is section.collection
        ]
        if any(section.anchor in two.anchors for two in better):
            continue
        text = section.text
        for two in better:
            if two.anchor in section.anchors:
                text = _without(text, two.text)
        if text or not section.text:
            changed = section if text is section.text else replace(section, text=text, spans=paragraphs(text))
            evidence_sections.append(changed)
    return evidence_sections


def _without(text: str, inner: str) -> str:
    """The text without an inner section and its heading."""
    before, found_text, after = text.partition(inner) if inner else (text, "", "")
    if not found_text:
        return text
    lines = before.rstrip().split("\n")
    if lines[-1].startswith("#"):
        lines.pop()
    above = "\n".join(lines).rstrip()
    return f"{above}\n\n{after.lstrip()}".strip()
