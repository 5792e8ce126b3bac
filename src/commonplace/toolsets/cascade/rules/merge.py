"""The merge of layers: the highest layer wins per section and per frontmatter key; differing values are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.dates import date_sort_key
from commonplace.toolsets.cascade.rules.values import (
    OVERRIDE_FULL,
    Contribution,
    Contributor,
    Dissent,
    EffectiveSection,
    LayerRank,
    ResolvedConcept,
    ValueDissent,
    scalar_as_text,
)

MERGE_KEYS = frozenset({"updated", "override"})
"""The frontmatter keys that say how layers are merged; their values may differ without being a disagreement."""


def resolve(identifier: str, contributions: Iterable[Contribution]) -> ResolvedConcept:
    """Merge the contributions of the layers into the effective concept.

    Args:
        identifier: Id of the concept.
        contributions: The concept in each layer that contains it, in any order.
    """
    ordered = by_precedence(contributions)
    counting = ordered[: contributor_cutoff([contribution.concept.frontmatter for contribution in ordered])]
    frontmatter, provenance = merged_values(
        [(contribution.layer.name, contribution.concept.frontmatter) for contribution in counting]
    )
    return ResolvedConcept(
        id=identifier,
        contributors=tuple(
            Contributor(
                contribution.layer.name,
                contribution.layer.level,
                contribution.concept.updated,
                contribution.concept.findings,
            )
            for contribution in ordered
        ),
        frontmatter=frontmatter,
        excluded=frozenset(contribution.layer.name for contribution in ordered[len(counting) :]),
        provenance=provenance,
        sections=_sections(counting),
        value_conflicts=_value_conflicts(counting),
    )


def by_precedence(contributions: Iterable[Contribution]) -> list[Contribution]:
    """The contributions sorted by level, highest first; then by date, newest first; then in the manifest's order."""
    return sorted(
        contributions,
        key=lambda contribution: precedence(contribution.layer, contribution.concept.updated),
        reverse=True,
    )


def precedence(layer: LayerRank, updated: str | None) -> tuple[int, str, int]:
    """Sort key of the layers that contain a concept; the greatest takes precedence."""
    return layer.level, date_sort_key(updated), -layer.order


def contributor_cutoff(frontmatters: Sequence[Mapping[str, Json]]) -> int:
    """Number of contributors that count, from the top, up to and including the first with `override: full`."""
    for place, values in enumerate(frontmatters, 1):
        if (scalar_as_text(values.get("override")) or "").lower() == OVERRIDE_FULL:
            return place
    return len(frontmatters)


def merged_values(layers: Iterable[tuple[str, Mapping[str, Json]]]) -> tuple[dict[str, Json], dict[str, str]]:
    """The value of each frontmatter key in the first layer that sets the key, and the name of that layer."""
    values: dict[str, Json] = {}
    provenance: dict[str, str] = {}
    for layer, own in layers:
        for key, value in own.items():
            if key not in provenance:
                values[key], provenance[key] = value, layer
    return values, provenance


def _sections(counting: Sequence[Contribution]) -> tuple[EffectiveSection, ...]:
    holders: dict[str, list[EffectiveSection]] = {}
    for contribution in counting:
        for section in contribution.concept.sections:
            holders.setdefault(section.key, []).append(EffectiveSection(section, contribution.layer.name))
    return tuple(EffectiveSection(won.section, won.layer, _dissents(won, lost)) for won, *lost in holders.values())


def _dissents(won: EffectiveSection, lost: Sequence[EffectiveSection]) -> tuple[Dissent, ...]:
    if won.suppressed:
        return ()
    return tuple(
        Dissent(section.layer, section.section.updated, section.section.stated, section.section.dated_by)
        for section in lost
        if without_trailing_blanks(section.section.stated) != without_trailing_blanks(won.section.content)
    )


def _value_conflicts(counting: Sequence[Contribution]) -> dict[str, tuple[ValueDissent, ...]]:
    said: dict[str, list[ValueDissent]] = {}
    for contribution in counting:
        for key, value in contribution.concept.frontmatter.items():
            if key in MERGE_KEYS:
                continue
            said.setdefault(key, []).append(ValueDissent(contribution.layer.name, contribution.concept.updated, value))
    return {key: tuple(all_) for key, all_ in said.items() if any(_differ(item.value, all_[0].value) for item in all_)}


def _differ(element: Json, other: Json) -> bool:
    """Whether two values differ. Types count (in Python `1 == True`); blanks at the ends of lines do not."""
    first, second = (without_trailing_blanks(value) if isinstance(value, str) else value for value in (element, other))
    return repr(first) != repr(second)


def without_trailing_blanks(text: str) -> str:
    """The text with uniform line ends and without trailing blanks, so that only differences in meaning remain."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()
