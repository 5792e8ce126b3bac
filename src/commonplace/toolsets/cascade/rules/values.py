"""Values of cascade: ranks and states of layers, dates, sections, concepts, and what differs between layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json

Precision: TypeAlias = Literal["year", "month", "day", "time"]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_NUMBERS = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?")
_TIME = re.compile(
    r"[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(?:([Zz]|UTC|GMT)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?"
)
_DAY_FIRST = re.compile(r"(?:(\d{1,2})(?:st|nd|rd|th)?\.?\s+)?([A-Za-z]+)\.?,?\s+(\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date with its precision."""

    written: tuple[int, int, int]
    """Year, month and day as written, in the writer's zone; 1 for a part that is not written."""
    instant: datetime
    """The beginning of the period, in UTC."""
    precision: Precision


def partial_date_of(text: str | None) -> PartialDate | None:
    """The date that a text states; None if it states none."""
    words = (text or "").strip()
    try:
        return _numeric(words) or _named(words)
    except (ValueError, OverflowError):  # such as June 31, or a zone that leads beyond year 9999
        return None


def is_later(element: str | None, other: str | None) -> bool:
    """Whether one date is later than another, compared at the coarser precision of the two.

    False if either is no date.
    """
    first, second = partial_date_of(element), partial_date_of(other)
    if first is None or second is None:
        return False
    if first.precision == second.precision == "time":
        return first.instant > second.instant
    parts = min(_PARTS[first.precision], _PARTS[second.precision])
    return first.written[:parts] > second.written[:parts]


def date_sort_key(date: str | None) -> str:
    """Sort key of dates: a later date has a greater key; a text that is not a date has the key ""."""
    partial_date = partial_date_of(date)
    return partial_date.instant.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) if partial_date else ""


_PARTS: dict[Precision, int] = {"year": 1, "month": 2, "day": 3, "time": 3}
"""Leading parts of `PartialDate.written` that a precision states."""


def _numeric(words: str) -> PartialDate | None:
    match = _NUMBERS.match(words)
    if not match:
        return None
    year, _, month, day = match.groups("0")
    rest = words[match.end() :]
    if not rest:
        return _moment(int(year), int(month), int(day))
    time = _TIME.fullmatch(rest)
    if not time or not match[4]:
        return None
    hour, minute, second, _, sign, hours, minutes = time.groups("0")
    local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    instant = local + offset if sign == "-" else local - offset
    return PartialDate((local.year, local.month, local.day), instant, "time")


def _named(words: str) -> PartialDate | None:
    match = _MONTH_FIRST.fullmatch(words)
    name, day, year = (match[1], match[2], match[3]) if match else ("", None, "")
    if not match:
        other = _DAY_FIRST.fullmatch(words)
        if not other:
            return None
        day, name, year = other[1], other[2], other[3]
    month = _MONTHS.get(name.lower())
    return _moment(int(year), month, int(day or 0)) if month else None


def _moment(year: int, month: int, day: int) -> PartialDate:
    """The beginning of a year, month or day; 0 for a part that is not written."""
    instant = datetime(year, month or 1, day or 1, tzinfo=UTC)
    precision: Precision = "day" if day else "month" if month else "year"
    return PartialDate((year, month or 1, day or 1), instant, precision)


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


LayerState: TypeAlias = Literal["ok", "stale", "missing", "left_out", "broken"]
"""Whether the content of a layer counts, and the reason if it does not.

`ok`: the content counts. `stale`: the earlier content counts. No content counts if the layer is `missing` (there is no
folder), `left_out` (a server does not answer) or `broken` (it cannot be read).
"""

MAX_SHOWN_LINE = 200
"""Maximum number of characters of another program's output in a message."""
_SECRET = re.compile(
    r"(?i)\b((?:[\w-]*(?:key|token|secret|passw(?:or)?d|credential)[\w-]*|authorization)[\"']?\s*[:=]\s*)(?:(?:bearer|basic|token|digest)\s+)?"
    r"[^\s,;]+|\b(bearer\s+)\S+|(://)[^/\s@]+@|(?<!\S)(--?[\w-]*(?:key|token|secret|passw(?:or)?d|credential)[\w-]*\s+)\S+"
)
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\'\"]+)+[/\\](?=[^\s/\\])|~/")


@dataclass(frozen=True, slots=True)
class LayerHealth:
    """The state of one layer."""

    rank: LayerRank
    state: LayerState = "ok"
    reason: str = ""
    """One sentence without a full stop; "" if the state is `ok`."""
    since: str = ""
    """Time at which the state was first seen, ISO 8601 UTC; "" if the state is `ok`."""

    @property
    def was_asked(self) -> bool:
        """Whether the layer's concepts count in an answer."""
        return self.state in {"ok", "stale"}

    def sentence(self) -> str:
        """The state for a message."""
        return f"{self.rank.name} ({self.state.replace('_', ' ')} since {self.since}: {self.reason})"


def health_json(layers: Sequence[LayerHealth]) -> list[Json]:
    """The state of every layer, highest level first; [] if all are `ok`."""
    if all(health.state == "ok" for health in layers):
        return []
    return [_shown(health) for health in sorted(layers, key=lambda health: (-health.rank.level, health.rank.order))]


def not_asked(layers: Sequence[LayerHealth]) -> list[LayerHealth]:
    """The layers whose content does not count, highest first."""
    return sorted(
        (layer for layer in layers if not layer.was_asked), key=lambda health: (-health.rank.level, health.rank.order)
    )


def outside_line(text: str) -> str:
    """A line of another program's output for a message, without folders, secrets and control characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * MAX_SHOWN_LINE])
    line = _SECRET.sub(lambda match: f"{match[1] or match[2] or match[3] or match[4]}[hidden]", line)
    line = _LONG_WORD.sub("[hidden]", _FOLDERS.sub("", line))
    line = " ".join(line.split())
    return line if len(line) <= MAX_SHOWN_LINE else f"{line[: MAX_SHOWN_LINE - 3]}..."


def _shown(health: LayerHealth) -> dict[str, Json]:
    shown: dict[str, Json] = {"layer": health.rank.name, "level": health.rank.level, "state": health.state}
    if health.state != "ok":
        shown |= {"reason": health.reason, "since": health.since}
    return shown
