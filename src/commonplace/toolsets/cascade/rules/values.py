"""Concepts: as written in one layer, and as merged over all layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.dates import date_sort_key, is_later

DatedBy: TypeAlias = Literal["git"]
"""The source of the date of a section whose document states no date."""
OVERRIDE_NONE = "none"
"""The `override` of a section that suppresses it."""
OVERRIDE_FULL = "full"
"""The `override` of a document that excludes all lower layers."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes in the braces after a heading, as written."""

    updated: str | None = None
    override: str | None = None


@dataclass(frozen=True, slots=True)
class ConceptSection:
    """A heading with the text up to the next heading, or (key "", no heading) the text before the first."""

    key: str
    """Unique in the document."""
    heading: str | None
    """The heading line as written."""
    text: str
    """Text without blank lines at its ends; the first line keeps its indentation."""
    updated: str | None = None
    """The section's attribute, else the document's `updated`, else the date of the last commit of its lines."""
    override: str | None = None
    dated_by: DatedBy | None = None
    """`git` if `updated` is the date of a commit; None if the document states the date, or there is none."""

    @property
    def content(self) -> str:
        """The text, trimmed at both ends."""
        return self.text.strip()

    @property
    def stated(self) -> str:
        """The content of the section; "" for a tombstone."""
        return "" if self.override == OVERRIDE_NONE else self.content


@dataclass(frozen=True, slots=True)
class Concept:
    """One document of one layer."""

    id: str
    frontmatter: Mapping[str, Json]
    sections: tuple[ConceptSection, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def updated(self) -> str | None:
        """The frontmatter's `updated`, as written."""
        return scalar_as_text(self.frontmatter.get("updated"))


@dataclass(frozen=True, slots=True)
class LayerRank:
    """A layer's name and rank."""

    name: str
    level: int
    order: int
    """Position in the manifest, from 0."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """A concept in one layer."""

    layer: LayerRank
    concept: Concept


@dataclass(frozen=True, slots=True)
class Contributor:
    """A layer that contains the concept."""

    layer: str
    level: int
    updated: str | None
    findings: tuple[Finding, ...] = ()
    """Findings of the layer's document."""


@dataclass(frozen=True, slots=True)
class Dissent:
    """A different version of a section in another layer."""

    layer: str
    updated: str | None
    content: str
    dated_by: DatedBy | None = None


@dataclass(frozen=True, slots=True)
class EffectiveSection:
    """A section of the highest layer that has it."""

    section: ConceptSection
    layer: str
    conflicts: tuple[Dissent, ...] = ()
    """Different versions in lower layers, highest first."""

    @property
    def suppressed(self) -> bool:
        """Whether the winning layer suppresses the section."""
        return self.section.override == OVERRIDE_NONE

    @property
    def fresher_dissent(self) -> bool:
        """Whether a dissent has a later date than the winning section."""
        return any(is_later(dissent.updated, self.section.updated) for dissent in self.conflicts)


@dataclass(frozen=True, slots=True)
class ValueDissent:
    """The value of a frontmatter key in one layer."""

    layer: str
    updated: str | None
    value: Json


@dataclass(frozen=True, slots=True)
class ResolvedConcept:
    """A concept merged from all layers."""

    id: str
    contributors: tuple[Contributor, ...]
    """Every layer that contains the concept, highest first, including excluded ones."""
    frontmatter: Mapping[str, Json]
    excluded: frozenset[str]
    """Contributors that `override: full` in a higher layer excludes."""
    provenance: Mapping[str, str]
    """Source layer of each key."""
    sections: tuple[EffectiveSection, ...]
    value_conflicts: Mapping[str, tuple[ValueDissent, ...]]
    """The value in each layer, highest first, for each key on which layers differ."""

    @property
    def title(self) -> str | None:
        """The effective title; None if there is none."""
        return scalar_as_text(self.frontmatter.get("title"))

    @property
    def type(self) -> str | None:
        """The effective type; None if there is none."""
        return scalar_as_text(self.frontmatter.get("type"))


def scalar_as_text(value: Json) -> str | None:
    """A scalar as text; None for null, blank text, lists and mappings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


# The merge of layers: the highest layer wins per section and per frontmatter key; differing values are recorded.


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
