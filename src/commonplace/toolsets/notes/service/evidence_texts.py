"""Removal of repeated text from sections that match a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.services.evidence import EvidenceSection


def without_repeats(found: Sequence[EvidenceSection]) -> list[EvidenceSection]:
    """The sections, best first, with each text once.

    A section that contains a better one is shown without that text.
    """
    kept: list[EvidenceSection] = []
    for one in found:
        better = [two for two in kept if two.record.address == one.record.address and two.collection is one.collection]
        if any(one.anchor in two.anchors for two in better):
            continue
        text = one.text
        for two in better:
            if two.anchor in one.anchors:
                text = _without(text, two.text)
        if text or not one.text:
            kept.append(replace(one, text=text))
    return kept


def _without(text: str, inner: str) -> str:
    """The text without an inner section and its heading."""
    before, found, after = text.partition(inner) if inner else (text, "", "")
    if not found:
        return text
    lines = before.rstrip().split("\n")
    if lines[-1].startswith("#"):
        lines.pop()
    above = "\n".join(lines).rstrip()
    return f"{above}\n\n{after.lstrip()}".strip()
