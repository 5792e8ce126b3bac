"""What a concept is: in one layer as it is written, and over all layers as it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json
from commonplace.domain.records import normal_timestamp

OVERRIDE_NONE = "none"
"""The `override` of a section that takes it out."""
OVERRIDE_FULL = "full"
"""The `override` of a document that takes all lower layers out."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What the braces behind a heading say of its section, as written."""

    updated: str | None = None
    override: str | None = None


@dataclass(frozen=True, slots=True)
class ConceptSection:
    """A heading with the text up to the next heading, or (key "", no heading) the text before the first."""

    key: str
    """Unique in its document."""
    heading: str | None
    """The line as written."""
    text: str
    """Without blank lines at its ends, but with the indentation of its first line."""
    updated: str | None = None
    """Its attribute, else the document's `updated`."""
    override: str | None = None

    @property
    def content(self) -> str:
        """The text, trimmed at both ends."""
        return self.text.strip()

    @property
    def stated(self) -> str:
        """What the section says: nothing where it is a tombstone."""
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
        """The frontmatter's `updated` as written."""
        return scalar_as_text(self.frontmatter.get("updated"))


@dataclass(frozen=True, slots=True)
class LayerRank:
    """A layer's name, and where it stands among the others."""

    name: str
    level: int
    order: int
    """Its place in the manifest, from 0."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one layer says of a concept."""

    layer: LayerRank
    concept: Concept


@dataclass(frozen=True, slots=True)
class Contributor:
    """A layer that holds the concept."""

    layer: str
    level: int
    updated: str | None
    findings: tuple[Finding, ...] = ()
    """What is wrong with its document."""


@dataclass(frozen=True, slots=True)
class Dissent:
    """A section that another layer has otherwise."""

    layer: str
    updated: str | None
    content: str


@dataclass(frozen=True, slots=True)
class EffectiveSection:
    """A section as the highest layer that has it says it."""

    section: ConceptSection
    layer: str
    conflicts: tuple[Dissent, ...] = ()
    """What lower layers say otherwise, top down."""

    @property
    def suppressed(self) -> bool:
        """Whether the winner took the section out."""
        return self.section.override == OVERRIDE_NONE

    @property
    def fresher_dissent(self) -> bool:
        """Whether a dissent is dated later than what won."""
        ours = self.section.updated
        return ours is not None and any(
            date_sort_key(d.updated) > date_sort_key(ours) for d in self.conflicts if d.updated
        )


@dataclass(frozen=True, slots=True)
class ValueDissent:
    """A frontmatter key that a layer sets, with its value."""

    layer: str
    updated: str | None
    value: Json


@dataclass(frozen=True, slots=True)
class ResolvedConcept:
    """A concept as it counts."""

    id: str
    contributors: tuple[Contributor, ...]
    """Every layer that holds it, from the top; those that are cut off too."""
    frontmatter: Mapping[str, Json]
    provenance: Mapping[str, str]
    """The layer that each key comes from."""
    sections: tuple[EffectiveSection, ...]
    value_conflicts: Mapping[str, tuple[ValueDissent, ...]]
    """For each key on which layers differ, what each of them says, from the top."""

    @property
    def title(self) -> str | None:
        """The effective title, None where there is none."""
        return scalar_as_text(self.frontmatter.get("title"))

    @property
    def type(self) -> str | None:
        """The effective type, None where there is none."""
        return scalar_as_text(self.frontmatter.get("type"))


def scalar_as_text(value: Json) -> str | None:
    """A scalar as a person writes it; None for null, blank texts, lists and mappings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


def date_sort_key(date: str | None) -> str:
    """What dates are compared by: later ones are greater, and every one is greater than none."""
    return (normal_timestamp(date) or (date if date[:1].isdigit() else f"!{date}")) if date else ""
