"""Changes single keys of a YAML block: replaces their lines; all other bytes are unchanged.

A mapping in block style is changed key by key as well, at any depth.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, equal_json
from commonplace.domain.yaml_loader import MAX_DEPTH, MAX_INTEGER, events, scalar_text


@dataclass(frozen=True, slots=True)
class _Entry:
    """A top-level key of the block, and its lines."""

    key: YamlNode
    value: YamlNode
    start: int
    """Start of the key's line."""
    end: int
    """End of the last line of the value; comments and blank lines after it are not included."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of one mapping in block style."""

    entries: list[_Entry]
    indent: int
    """Number of blanks before each key."""
    end: int
    """Offset at which new keys are inserted."""


_Piece = tuple[int, int, str]
"""An edit: start and end of the replaced text, and the new text."""


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
    keys, has_aliases = _Keys([], 0, len(text)), False
    if text.strip() and (root := layout(text)):
        if root.kind != "mapping" or root.flow:
            _refuse("its keys are not on separate lines")
        indent = root.start - _line_start(text, root.start)
        keys = _Keys(_entries(text, root, len(text)), indent, len(text))
        has_aliases = any(place.kind == "alias" for place in root.walk())
    new_values = {key: value for key, value in changes.items() if value is not None}
    removed = changes.keys() - new_values.keys()
    pieces = _Block(text, newline, has_aliases=has_aliases).edits(keys, old, new_values, removed)
    return _assembled(text, pieces)


def _refuse(reason: str) -> None:
    raise InvalidInputError(
        f"The front matter cannot be changed by key: {reason}.",
        kind="frontmatter",
        hint="Replace the document's whole text instead.",
    )


def _entries(text: str, root: YamlNode, end: int) -> list[_Entry]:
    starts = [_line_start(text, key.start) for key, _ in root.entries]
    ends = [*starts[1:], end]
    return [
        _Entry(key, value, start, _trimmed_end(text, start, end, _comment_indent(value, key.start - start)))
        for (key, value), start, end in zip(root.entries, starts, ends, strict=True)
    ]


def _comment_indent(value: YamlNode, indent: int) -> int:
    """Maximum indent of a comment below a value that is not part of the value; unlimited for a value on one line."""
    on_one_line = value.kind in {"scalar", "alias"} and value.style not in {"|", ">"}
    return sys.maxsize if on_one_line else indent


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


@dataclass(frozen=True, slots=True)
class _Block:
    """A text that is edited."""

    text: str
    newline: str
    has_aliases: bool

    def edits(
        self, keys: _Keys, old: Mapping[str, Json], changes: Mapping[str, Json], removed: AbstractSet[str]
    ) -> list[_Piece]:
        """The edits that set and remove keys of one mapping; new keys are appended."""
        pieces: list[_Piece] = []
        added: list[str] = []
        for key in [*changes, *removed]:
            own = [entry for entry in keys.entries if entry.key.text == key]
            if key in removed:
                pieces += [(entry.start, entry.end, "") for entry in own if self._is_replaceable(entry)]
            elif own:
                pieces += self._changed(own[-1], old.get(key), changes[key])
            else:
                added += [line + self.newline for line in entry_lines(key, changes[key], keys.indent)]
        return [*pieces, (keys.end, keys.end, "".join(added))] if added else pieces

    def _changed(self, entry: _Entry, old: Json, value: Json) -> list[_Piece]:
        place = entry.value
        if isinstance(old, Mapping) and isinstance(value, Mapping) and value and _is_block_mapping(place):
            changes = {key: item for key, item in value.items() if key not in old or not equal_json(old[key], item)}
            entries = _entries(self.text, place, entry.end)
            within = _Keys(entries, entries[0].key.start - entries[0].start, entries[-1].end)
            return self.edits(within, old, changes, old.keys() - value.keys())
        self._is_replaceable(entry)
        return [(entry.start, entry.end, _rewritten(self.text, entry, old, value, self.newline))]

    def _is_replaceable(self, entry: _Entry) -> bool:
        """Return true if an entry can be replaced.

        Raises:
            InvalidInputError: the entry cannot be replaced.
        """
        _require_replaceable(self.text, entry, has_aliases=self.has_aliases)
        return True


def _is_block_mapping(place: YamlNode) -> bool:
    return place.kind == "mapping" and not place.flow and bool(place.children)


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
    """The lines of a block list. The lines of unchanged items are preserved."""
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
        kept_texts = written.get(_canonical(item))
        lines += [kept_texts.pop(0)] if kept_texts else item_lines(item, indent if indent >= 0 else INDENT)
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


# Emits values as lines of block YAML.


INDENT = 2

_NOT_LITERAL = re.compile(r"[^\S\n](?:\n|\Z)|\A\s|[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def as_json_types(value: Json, depth: int = 0) -> Json:
    """The value with only dicts and lists as containers.

    Raises:
        InvalidInputError: a number is not finite or over 64 bits, a text is not valid Unicode, the nesting is deeper
            than 64 levels, or the value is not JSON.
    """
    if depth > MAX_DEPTH:
        raise _refused(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {_checked_text(key): as_json_types(item, depth + 1) for key, item in value.items()}
    if isinstance(value, str):
        return _checked_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _refused("a number is not finite")
    if isinstance(value, int) and not -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
        raise _refused("a number is over 64 bits")
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [as_json_types(item, depth + 1) for item in value]
    raise _refused("it holds a value that is not JSON")


def entry_lines(key: str, value: Json, indent: int = 0) -> list[str]:
    """A key and its value as lines without line ends."""
    first, rest = value_lines(value, indent)
    return [f"{' ' * indent}{scalar_text(key)}:{first}", *rest]


def value_lines(value: Json, indent: int) -> tuple[str, list[str]]:
    """The text after a key's colon, and the lines below it.

    Args:
        value: A value as returned by `as_json_types`.
        indent: Number of blanks before the key.
    """
    if isinstance(value, Mapping):
        lines = [line for key, item in value.items() for line in entry_lines(key, item, indent + INDENT)]
        return ("", lines) if lines else (" {}", [])
    if isinstance(value, str):
        return _text_lines(value, indent + INDENT)
    if isinstance(value, Sequence):
        lines = [line for item in value for line in item_lines(item, indent + INDENT)]
        return ("", lines) if lines else (" []", [])
    return f" {scalar_text(value)}", []


def item_lines(value: Json, indent: int) -> list[str]:
    """An item of a list as lines, with `indent` blanks before its dash."""
    dash = f"{' ' * indent}-"
    first, rest = value_lines(value, indent)
    if first:
        return [dash + first, *rest]
    return [f"{dash} {rest[0].lstrip()}", *rest[1:]]


def flow_list(values: Sequence[Json]) -> str:
    """A list of scalars in brackets; "" if an item is not a scalar or has several lines."""
    texts: list[str] = []
    for value in values:
        if isinstance(value, (Mapping, list, tuple)) or (isinstance(value, str) and "\n" in value):
            return ""
        if not isinstance(value, (str, int, float, bool)) and value is not None:
            return ""
        texts.append(scalar_text(value, flow=True))
    return f"[{', '.join(texts)}]"


def _text_lines(text: str, indent: int) -> tuple[str, list[str]]:
    """A multi-line text as a literal block if that preserves every character; any other text on one line."""
    body = text.removesuffix("\n")
    if "\n" not in body or body.endswith("\n") or _NOT_LITERAL.search(body):
        return f" {scalar_text(text)}", []
    lines = [f"{' ' * indent}{line}" if line else "" for line in body.split("\n")]
    return " |-" if body == text else " |", lines


def _checked_text(text: Json) -> str:
    if not isinstance(text, str):
        raise _refused("a key is not a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused("a text contains a lone surrogate") from None
    return text


def _refused(reason: str) -> InvalidInputError:
    return InvalidInputError(f"The value cannot be written as YAML: {reason}.", kind="frontmatter")


# Positions of the values in a YAML text, for edits that change nothing else.


@dataclass(slots=True)
class YamlNode:
    """A value with its position. Offsets count characters of the text."""

    kind: Literal["scalar", "alias", "list", "mapping"]
    start: int
    end: int
    """End of the value; for a block, the start of the next token."""
    text: str = ""
    """The content of a scalar."""
    style: str = ""
    """The quotation mark of a scalar, or the `|` or `>` of a block scalar; "" for a plain one."""
    flow: bool = False
    """Whether a list or mapping is in flow style (with brackets)."""
    anchored: bool = False
    children: list[YamlNode] = field(default_factory=list["YamlNode"])
    """The items of a list; the alternating keys and values of a mapping."""

    @property
    def entries(self) -> list[tuple[YamlNode, YamlNode]]:
        """Keys and values of a mapping."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    def walk(self) -> Iterator[YamlNode]:
        """This node and all nodes within it, in text order."""
        waiting: list[YamlNode] = [self]
        while waiting:
            place = waiting.pop()
            yield place
            waiting.extend(reversed(place.children))


def layout(text: str) -> YamlNode | None:
    """The root node of a text that `load` parsed without failure; None for a text without a value."""
    root: YamlNode | None = None
    open_places: list[YamlNode] = []
    for event in events(text):
        if isinstance(event, CollectionEndEvent):
            open_places.pop().end = _offset(event, end=True)
        elif isinstance(event, NodeEvent):
            place = _node(event)
            if open_places:
                open_places[-1].children.append(place)
            else:
                root = place
            if isinstance(event, CollectionStartEvent):
                open_places.append(place)
    return root


def _node(event: NodeEvent) -> YamlNode:
    start, end = _offset(event), _offset(event, end=True)
    anchored = event.anchor is not None and not isinstance(event, AliasEvent)
    if isinstance(event, ScalarEvent):
        return YamlNode("scalar", start, end, event.value, event.style or "", anchored=anchored)
    if isinstance(event, CollectionStartEvent):
        kind = "mapping" if isinstance(event, MappingStartEvent) else "list"
        return YamlNode(kind, start, end, flow=bool(event.flow_style), anchored=anchored)
    return YamlNode("alias", start, end)


def _offset(event: Event, *, end: bool = False) -> int:
    mark = event.end_mark if end else event.start_mark
    return mark.index if mark else 0
