"""JSON of a concept: the resolved form, whose order of keys is part of the contract, and the raw form."""

from __future__ import annotations

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.markdown_output import to_markdown
from commonplace.toolsets.cascade.rules.values import Concept, Contributor, EffectiveSection, ResolvedConcept


def resolved_json(resolved: ResolvedConcept) -> dict[str, Json]:
    """The effective concept, with the source of each part and the dissents of layers."""
    shown: dict[str, Json] = {
        "id": resolved.id,
        "contributors": [_contributor(one) for one in resolved.contributors],
        "frontmatter": resolved.frontmatter,
        "frontmatterProvenance": resolved.provenance,
        "sections": [_section(one) for one in resolved.sections],
        "markdown": to_markdown(resolved),
    }
    if resolved.value_conflicts:
        shown["frontmatterConflicts"] = {
            key: [{"layer": one.layer, "updated": one.updated, "value": one.value} for one in said]
            for key, said in resolved.value_conflicts.items()
        }
    return shown


def raw_json(concept: Concept, layer: str) -> dict[str, Json]:
    """The concept as in one layer."""
    shown: dict[str, Json] = {
        "id": concept.id,
        "layer": layer,
        "raw": True,
        "frontmatter": concept.frontmatter,
        "sections": [
            {
                "key": one.key,
                "heading": one.heading,
                "content": one.content,
                "updated": one.updated,
                "override": one.override,
            }
            for one in concept.sections
        ],
    }
    if concept.findings:
        shown["findings"] = _findings(concept.findings)
    return shown


def _contributor(one: Contributor) -> dict[str, Json]:
    shown: dict[str, Json] = {"layer": one.layer, "level": one.level, "updated": one.updated}
    if one.findings:
        shown["findings"] = _findings(one.findings)
    return shown


def _section(one: EffectiveSection) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "key": one.section.key,
        "heading": one.section.heading,
        "content": one.section.stated,
        "sourceLayer": one.layer,
        "sourceUpdated": one.section.updated,
    }
    if one.suppressed:
        shown["suppressed"] = True
    if one.conflicts:
        shown["conflicts"] = [
            {"layer": dissent.layer, "updated": dissent.updated, "content": dissent.content}
            for dissent in one.conflicts
        ]
    if one.fresher_dissent:
        shown["fresherDissent"] = True
    return shown


def _findings(findings: tuple[Finding, ...]) -> list[Json]:
    return [
        {"rule": one.rule, "severity": one.severity.value, "message": one.message, "line": one.line} for one in findings
    ]
