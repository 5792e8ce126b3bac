"""The effective concept as one Markdown document, which parses to the same frontmatter and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from commonplace.domain.json import Json
from commonplace.domain.yaml_loader import scalar_text
from commonplace.toolsets.cascade.rules.concepts import unique_key
from commonplace.toolsets.cascade.rules.headings import heading_key, scan_lines, with_key
from commonplace.toolsets.cascade.rules.output.look_alikes import escaped, looks_like
from commonplace.toolsets.cascade.rules.values import Dissent, EffectiveSection, ResolvedConcept

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
    shown = [one for one in sections if not one.suppressed]
    shown.sort(key=lambda one: one.section.heading is not None)
    for place, one in enumerate(shown):
        section = one.section
        if section.heading is not None:
            yield _heading(section.heading, section.key, taken)
        else:
            unique_key(section.key, taken)
        dissents = one.conflicts if with_conflicts else ()
        below = [later.section.heading or "" for later in shown[place + 1 : place + 2]]
        text = _contained(section.text, [">", *below] if dissents else below)
        if text.strip():
            yield text
        if dissents:
            yield "\n".join(_dissent_line(dissent, section.content) for dissent in dissents)


def _heading(line: str, key: str, taken: dict[str, int]) -> str:
    """The line as written; with the key in braces if the line alone would have another key here."""
    heading = next(scan_lines(line)).heading
    if heading is not None:
        meant = heading_key(heading)
        before = taken.get(meant)
        found = unique_key(meant, taken)
        if found == key:
            return line
        del taken[found]
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
