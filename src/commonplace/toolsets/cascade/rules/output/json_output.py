"""JSON of a concept: the resolved form, whose order of keys is part of the contract, and the raw form."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.output.look_alikes import escaped, looks_like
from commonplace.toolsets.cascade.rules.output.markdown_output import to_markdown
from commonplace.toolsets.cascade.rules.values import (
    Concept,
    ConceptSection,
    Contributor,
    Dissent,
    EffectiveSection,
    ResolvedConcept,
    ValueDissent,
)


def resolved_json(resolved: ResolvedConcept) -> dict[str, Json]:
    """The effective concept, with the source of each part and the dissents of layers."""
    shown: dict[str, Json] = {
        "id": resolved.id,
        "contributors": [contributor_json(one) for one in resolved.contributors],
        "frontmatter": resolved.frontmatter,
        "frontmatterProvenance": resolved.provenance,
        "sections": [_section(one) for one in resolved.sections],
        "markdown": to_markdown(resolved),
    }
    if resolved.value_conflicts:
        shown["frontmatterConflicts"] = [
            _value_conflict(resolved, key, values) for key, values in resolved.value_conflicts.items()
        ]
    return shown


def raw_json(concept: Concept, layer: str, suppressed: Collection[str] = ()) -> dict[str, Json]:
    """The concept as one layer contains it.

    Args:
        concept: The layer's concept.
        layer: Name of the layer.
        suppressed: Keys of the sections that the effective concept omits; each is marked.
    """
    shown: dict[str, Json] = {
        "id": concept.id,
        "layer": layer,
        "raw": True,
        "frontmatter": concept.frontmatter,
        "sections": [_raw_section(one, suppressed=one.key in suppressed) for one in concept.sections],
    }
    if concept.findings:
        shown["findings"] = _findings(concept.findings)
    return shown


def contributor_json(one: Contributor) -> dict[str, Json]:
    """JSON of a layer that contains the concept."""
    shown: dict[str, Json] = {"layer": one.layer, "level": one.level, "updated": one.updated}
    if one.findings:
        shown["findings"] = _findings(one.findings)
    return shown


def _raw_section(one: ConceptSection, *, suppressed: bool) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "key": one.key,
        "heading": one.heading,
        "content": one.content,
        "updated": one.updated,
        "override": one.override,
    }
    if one.dated_by:
        shown["updatedFrom"] = one.dated_by
    if suppressed:
        shown["suppressed"] = True
    return shown


def _dissent(one: Dissent, against: str) -> dict[str, Json]:
    shown: dict[str, Json] = {"layer": one.layer, "updated": one.updated, "content": one.content}
    if one.dated_by:
        shown["updatedFrom"] = one.dated_by
    if looks_like(one.content, against):
        shown["escaped"] = escaped(one.content)
        shown["winnerEscaped"] = escaped(against)
    return shown


def _value_conflict(resolved: ResolvedConcept, key: str, values: Sequence[ValueDissent]) -> dict[str, Json]:
    """The values of a key: first the effective one, then that of each layer, highest first."""
    levels = {contributor.layer: contributor.level for contributor in resolved.contributors}
    contributions = [_contribution(value, levels[value.layer], values) for value in values]
    return {"key": key, "winner": contributions[0], "contributions": list[Json](contributions)}


def _contribution(own: ValueDissent, level: int, values: Sequence[ValueDissent]) -> dict[str, Json]:
    shown: dict[str, Json] = {"layer": own.layer, "level": level, "updated": own.updated, "value": own.value}
    text = own.value
    if isinstance(text, str) and any(isinstance(o.value, str) and looks_like(text, o.value) for o in values):
        shown["escaped"] = escaped(text)
    return shown


def _section(one: EffectiveSection) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "key": one.section.key,
        "heading": one.section.heading,
        "content": one.section.stated,
        "sourceLayer": one.layer,
        "sourceUpdated": one.section.updated,
    }
    if one.section.dated_by:
        shown["updatedFrom"] = one.section.dated_by
    if one.suppressed:
        shown["suppressed"] = True
    if one.conflicts:
        shown["conflicts"] = [_dissent(dissent, one.section.content) for dissent in one.conflicts]
    if one.fresher_dissent:
        shown["fresherDissent"] = True
    return shown


def _findings(findings: tuple[Finding, ...]) -> list[Json]:
    return [
        {"rule": one.rule, "severity": one.severity.value, "message": one.message, "line": one.line} for one in findings
    ]
