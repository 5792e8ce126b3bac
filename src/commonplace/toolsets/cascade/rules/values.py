"""Concepts: as written in one layer, and as resolved over all layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.dates import is_later

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
