"""Positions of the values in a YAML text, for edits that change nothing else."""

from __future__ import annotations

from collections.abc import Iterator
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

from commonplace.domain.yamlblock.loader import events


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
