"""The answers of the toolset as JSON and as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence

from commonplace.domain.documents import Finding
from commonplace.domain.json import Json
from commonplace.domain.yaml_loader import scalar_text
from commonplace.toolsets.cascade.rules.concepts import heading_key, scan_lines, unique_key, with_key
from commonplace.toolsets.cascade.rules.values import (
    Concept,
    ConceptSection,
    Contributor,
    Dissent,
    EffectiveSection,
    ResolvedConcept,
    ValueDissent,
)

# JSON of a concept: the resolved form, whose order of keys is part of the contract, and the raw form.


def resolved_json(resolved: ResolvedConcept) -> dict[str, Json]:
    """The effective concept, with the source of each part and the dissents of layers."""
    shown: dict[str, Json] = {
        "id": resolved.id,
        "contributors": [contributor_json(contributor) for contributor in resolved.contributors],
        "frontmatter": resolved.frontmatter,
        "frontmatterProvenance": resolved.provenance,
        "sections": [_section(section) for section in resolved.sections],
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
        "sections": [_raw_section(section, suppressed=section.key in suppressed) for section in concept.sections],
    }
    if concept.findings:
        shown["findings"] = _findings(concept.findings)
    return shown


def contributor_json(contributor: Contributor) -> dict[str, Json]:
    """JSON of a layer that contains the concept."""
    shown: dict[str, Json] = {"layer": contributor.layer, "level": contributor.level, "updated": contributor.updated}
    if contributor.findings:
        shown["findings"] = _findings(contributor.findings)
    return shown


def _raw_section(section: ConceptSection, *, suppressed: bool) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "key": section.key,
        "heading": section.heading,
        "content": section.content,
        "updated": section.updated,
        "override": section.override,
    }
    if section.dated_by:
        shown["updatedFrom"] = section.dated_by
    if suppressed:
        shown["suppressed"] = True
    return shown


def _dissent(dissent: Dissent, against: str) -> dict[str, Json]:
    shown: dict[str, Json] = {"layer": dissent.layer, "updated": dissent.updated, "content": dissent.content}
    if dissent.dated_by:
        shown["updatedFrom"] = dissent.dated_by
    if looks_like(dissent.content, against):
        shown["escaped"] = escaped(dissent.content)
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


def _section(section: EffectiveSection) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "key": section.section.key,
        "heading": section.section.heading,
        "content": section.section.stated,
        "sourceLayer": section.layer,
        "sourceUpdated": section.section.updated,
    }
    if section.section.dated_by:
        shown["updatedFrom"] = section.section.dated_by
    if section.suppressed:
        shown["suppressed"] = True
    if section.conflicts:
        shown["conflicts"] = [_dissent(dissent, section.section.content) for dissent in section.conflicts]
    if section.fresher_dissent:
        shown["fresherDissent"] = True
    return shown


def _findings(findings: tuple[Finding, ...]) -> list[Json]:
    return [
        {"rule": finding.rule, "severity": finding.severity.value, "message": finding.message, "line": finding.line}
        for finding in findings
    ]


# The effective concept as one Markdown document, which parses to the same frontmatter and sections.


_NEEDS_QUOTES = re.compile(r"\d")
"""Matches the beginning of a text that some YAML readers would parse as a date or a number."""


def to_markdown(resolved: ResolvedConcept) -> str:
    """Frontmatter, the text before the first heading, then each section in order.

    Suppressed sections are omitted. Each dissent is one line below its section. A code fence that a section leaves open
    is closed if text follows it.
    """
    body = "\n\n".join(_body(resolved.sections, with_conflicts=True))
    block = frontmatter_text(resolved.frontmatter) if resolved.frontmatter or body.startswith("---") else ""
    return f"{block}\n{body}\n" if block and body else block or (f"{body}\n" if body else "")


def to_body(resolved: ResolvedConcept) -> str:
    """The effective text alone, without frontmatter and dissents."""
    return "\n\n".join(_body(resolved.sections, with_conflicts=False))


def frontmatter_text(values: Mapping[str, Json]) -> str:
    """A YAML block between its fences; every YAML reader parses the same values."""
    return "".join(f"{line}\n" for line in ["---", *_mapping(values, ""), "---"])


def _body(sections: Sequence[EffectiveSection], *, with_conflicts: bool) -> Iterator[str]:
    taken: dict[str, int] = {}
    shown = [section for section in sections if not section.suppressed]
    shown.sort(key=lambda section: section.section.heading is not None)
    for place, effective_section in enumerate(shown):
        section = effective_section.section
        dissents = effective_section.conflicts if with_conflicts else ()
        below = [later.section.heading or "" for later in shown[place + 1 : place + 2]]
        parts = (
            _heading(section, taken),
            _contained(section.text, [">", *below] if dissents else below),
            "\n".join(_dissent_line(dissent, section.content) for dissent in dissents),
        )
        yield from filter(str.strip, parts)


def _heading(section: ConceptSection, taken: dict[str, int]) -> str:
    """The line as written, with the key in braces if the line alone would have another key here; "" without a line.

    The key is added to `taken`.
    """
    line, key = section.heading, section.key
    if line is None:
        unique_key(key, taken)
        return ""
    heading = next(scan_lines(line)).heading
    if heading is not None:
        meant = heading_key(heading)
        before = taken.get(meant)
        found_unique_key = unique_key(meant, taken)
        if found_unique_key == key:
            return line
        del taken[found_unique_key]
        if before is not None:
            taken[meant] = before
    unique_key(key, taken)
    return with_key(line, key)


def _contained(text: str, below: Sequence[str]) -> str:
    """A section's text with headings escaped (a foreign layer's text may have some) and an open fence closed.

    Args:
        text: The section's text.
        below: The lines that may follow, with and without the lines of dissents.
    """
    lines = list(scan_lines(text))
    if any(line.heading is not None for line in lines):
        text = "\n".join(line.text.replace("#", "\\#", 1) if line.heading is not None else line.text for line in lines)
    fence = lines[-1].fence
    return f"{text}\n{fence.closing()}" if fence and any(fence.after(line)[1] for line in below) else text


def _dissent_line(dissent: Dissent, against: str) -> str:
    text = escaped(dissent.content) if looks_like(dissent.content, against) else dissent.content
    text = text.replace("\n", " ")
    return f"> ⚠ {dissent.layer} disagrees (updated {dissent.updated or '?'}): {text}"


def _mapping(values: Mapping[str, Json], pad: str) -> Iterator[str]:
    for key, value in values.items():
        yield from _entry(f"{pad}{_scalar(key)}:", value, pad)


def _entry(lead: str, value: Json, pad: str) -> Iterator[str]:
    """A value after its key or dash: on the same line, or in lines below."""
    if isinstance(value, Mapping) and value:
        yield lead
        yield from _mapping(value, f"{pad}  ")
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        yield lead
        for item in value:
            yield from _entry(f"{pad}  -", item, f"{pad}  ")
    else:
        yield f"{lead} {_scalar(value)}"


def _scalar(value: Json) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, str):
        return scalar_text(value, quote='"' if _NEEDS_QUOTES.match(value) else "")
    return "[]" if isinstance(value, Sequence) else scalar_text(value)


# Different texts that look the same: composed characters, invisible characters, letters of other scripts.


_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u0410\u0412\u0415\u041a\u041c\u041d\u041e"
    "\u0420\u0421\u0422\u0425\u0406\u0408\u0405\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f"
    "\u03a1\u03a4\u03a5\u03a7\u2010\u2011\u2012\u2013\u2212\u2018\u2019\u201c\u201d",
    "aeopcyxijsdqABEKMHOPCTXIJSovABEZHIKMNOPTYX-----''\"\"",
)
"""Cyrillic and Greek letters, dashes and quotes that fonts draw like ASCII; from the confusables of Unicode (UTS 39).
"""
_INVISIBLE = frozenset({"Cf", "Mn", "Cc"})


def looks_like(content: str, other: str) -> bool:
    """Whether two different texts look the same."""
    return content != other and _appearance(content) == _appearance(other)


def escaped(text: str) -> str:
    """The text with every character outside printable ASCII escaped, except line ends."""
    return "".join(c if c == "\n" or (c.isascii() and c.isprintable()) else ascii(c)[1:-1] for c in text)


def _appearance(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_LATIN)
    return " ".join("".join(c for c in folded if unicodedata.category(c) not in _INVISIBLE or c.isspace()).split())
