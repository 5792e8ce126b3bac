"""Changes single keys of a YAML block: their lines are replaced, every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.yamlblock.emitter import INDENT, entry_lines, flow_list, item_lines, value_lines
from commonplace.domain.yamlblock.layout import YamlNode, layout
from commonplace.domain.yamlblock.scalars import scalar_text


@dataclass(frozen=True, slots=True)
class _Entry:
    """A top-level key of the block, and its lines."""

    key: YamlNode
    value: YamlNode
    start: int
    """Start of the key's line."""
    end: int
    """End of the last line of the value; comments and blank lines after it are not included."""


def change_keys(text: str, old: Mapping[str, Json], changes: Mapping[str, Json], newline: str) -> str:
    """Set, add and remove top-level keys of a block.

    Args:
        text: The block without its fences: a valid mapping, or comments only.
        old: The current values of the block.
        changes: New values as returned by `as_json_types`; None removes the key.
        newline: The line end to write.

    Raises:
        InvalidInputError: the keys are not on separate lines, or an anchor would be lost.
    """
    root = layout(text) if text.strip() else None
    if root and (root.kind != "mapping" or root.flow):
        _refuse("its keys are not on separate lines")
    entries = _entries(text, root) if root else []
    has_aliases = root is not None and any(place.kind == "alias" for place in root.walk())
    pieces: list[tuple[int, int, str]] = []
    added: list[str] = []
    indent = root.start - _line_start(text, root.start) if root else 0
    for key, value in changes.items():
        own = [entry for entry in entries if entry.key.text == key]
        for entry in own:
            _require_replaceable(text, entry, has_aliases=has_aliases)
        if value is None:
            pieces += [(entry.start, entry.end, "") for entry in own]
        elif not own:
            added += [line + newline for line in entry_lines(key, value, indent)]
        else:
            pieces.append((own[-1].start, own[-1].end, _rewritten(text, own[-1], old.get(key), value, newline)))
    return _assembled(text, pieces) + "".join(added)


def _refuse(reason: str) -> None:
    raise InvalidInputError(
        f"The front matter cannot be changed by key: {reason}.",
        kind="frontmatter",
        hint="Replace the document's whole text instead.",
    )


def _entries(text: str, root: YamlNode) -> list[_Entry]:
    starts = [_line_start(text, key.start) for key, _ in root.entries]
    ends = [*starts[1:], len(text)]
    return [
        _Entry(key, value, start, _trimmed_end(text, start, end, key.start - start))
        for (key, value), start, end in zip(root.entries, starts, ends, strict=True)
    ]


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """End of the line's text, before its line end."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[at:end].endswith("\r") else end


def _trimmed_end(text: str, start: int, end: int, indent: int) -> int:
    """The end without trailing blank lines and comments that are indented no deeper than the key."""
    while end > start:
        line_start = _line_start(text, end - 1)
        line = text[line_start:end].strip()
        if line and not (line.startswith("#") and text[line_start:end].index("#") <= indent):
            break
        end = line_start
    return end


def _require_replaceable(text: str, entry: _Entry, *, has_aliases: bool) -> None:
    if text[entry.start : entry.key.start].strip():
        _refuse("a key is written with '?'")
    if has_aliases and any(place.anchored for place in (*entry.key.walk(), *entry.value.walk())):
        _refuse("another value refers to the one that would change")


def _rewritten(text: str, entry: _Entry, old: Json, value: Json, newline: str) -> str:
    """The entry's lines with a new value, in the style of the old one if possible."""
    key = text[entry.start : entry.key.end]
    indent = entry.key.start - entry.start
    first, rest = _styled(text, entry, old, value, indent)
    lines = [f"{key}:{first}{_comment(text, entry)}", *rest]
    return "".join([line if line.endswith("\n") else line + newline for line in lines])


def _styled(text: str, entry: _Entry, old: Json, value: Json, indent: int) -> tuple[str, list[str]]:
    place = entry.value
    if isinstance(value, str) and "\n" not in value and place.style in {'"', "'"}:
        return f" {scalar_text(value, quote=place.style)}", []
    if isinstance(value, list) and isinstance(old, list) and value and place.kind == "list":
        if not place.flow:
            return "", _items(text, entry, old, value)
        flow = flow_list(value)
        if flow:
            return f" {flow}", []
    return value_lines(value, indent)


def _items(text: str, entry: _Entry, old: Sequence[Json], value: Sequence[Json]) -> list[str]:
    """The lines of a block list. Unchanged items keep their lines."""
    items = entry.value.children
    starts = [_line_start(text, item.start) for item in items]
    dashes = {text[start : item.start].rstrip() for start, item in zip(starts, items, strict=True)}
    dash = dashes.pop() if len(dashes) == 1 else ""
    indent = len(dash) - 1 if dash.lstrip() == "-" else -1
    written: dict[str, list[str]] = {}
    if indent >= 0:
        for item, start, end in zip(old, starts, [*starts[1:], entry.end], strict=True):
            written.setdefault(_canonical(item), []).append(text[start:end])
    lines: list[str] = []
    for item in value:
        kept = written.get(_canonical(item))
        lines += [kept.pop(0)] if kept else item_lines(item, indent if indent >= 0 else INDENT)
    return lines


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _comment(text: str, entry: _Entry) -> str:
    """The comment at the end of the key's line, with the blanks before it."""
    if entry.value.style in {"|", ">"}:
        return ""
    end = _line_end(text, entry.key.end)
    colon = text.find(":", entry.key.end) + 1
    if not colon:
        return ""  # a key written as `? key`, without a value
    tail = text[entry.value.end if colon <= entry.value.end <= end else colon : end]
    return tail if tail[:1].isspace() and tail.lstrip().startswith("#") else ""


def _assembled(text: str, pieces: Sequence[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, content in sorted(pieces):
        parts += [text[at:start], content]
        at = end
    return "".join([*parts, text[at:]])
