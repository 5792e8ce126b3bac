"""Differences between layers, over the whole cascade."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.domain.errors import NotFoundError
from commonplace.toolsets.cascade.rules.dates import date_sort_key
from commonplace.toolsets.cascade.rules.values import ValueDissent
from commonplace.toolsets.cascade.service.cascade import Cascade


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A section or a frontmatter key on which layers differ."""

    id: str
    kind: str
    """`section` or `frontmatter`."""
    key: str
    winner: ValueDissent
    """The effective value and its layer; a section's value is its content."""
    dissents: tuple[ValueDissent, ...]
    """The other values, highest layer first."""

    @property
    def newest(self) -> str:
        """The date of the newest dissent; "" if none has a date."""
        return max((dissent.updated or "" for dissent in self.dissents), key=date_sort_key)


def conflicts(cascade: Cascade) -> list[Disagreement]:
    """Every disagreement, newest dissent first, then by concept and key."""
    disagreements: list[Disagreement] = []
    for identifier in cascade.overview().rows:
        try:
            disagreements += _of_concept(cascade, identifier)
        except NotFoundError:  # deleted since it was listed
            continue
    disagreements.sort(key=lambda disagreement: (disagreement.id, disagreement.kind, disagreement.key))
    return sorted(disagreements, key=lambda disagreement: date_sort_key(disagreement.newest), reverse=True)


def _of_concept(cascade: Cascade, identifier: str) -> Iterator[Disagreement]:
    resolved = cascade.resolve(identifier, dated=False)
    if any(
        section.conflicts for section in resolved.sections
    ):  # only these need the dates of commits, which are slow to read
        resolved = cascade.resolve(identifier)
    for section in resolved.sections:
        if section.conflicts:
            winner = ValueDissent(section.layer, section.section.updated, section.section.content)
            dissents = tuple(ValueDissent(d.layer, d.updated, d.content) for d in section.conflicts)
            yield Disagreement(resolved.id, "section", section.section.key, winner, dissents)
    for key, values in resolved.value_conflicts.items():
        others = tuple(dissent for dissent in values[1:] if repr(dissent.value) != repr(values[0].value))
        yield Disagreement(resolved.id, "frontmatter", key, values[0], others)
