"""A node of a foreign graph, and its conversion to a concept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.concepts import unique_key
from commonplace.toolsets.cascade.rules.dates import date_sort_key
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection

UNNAMED = "Note"
"""Topic of a fact that has none."""


BROKEN = "broken"
"""The `kind` of the error if a retry would fail in the same way."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact of a node."""

    topic: str
    text: str
    touched: str | None
    """Time of the last change, as written."""


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node as described by the foreign server."""

    title: str
    kind: str
    facts: tuple[Fact, ...]
    see_also: tuple[str, ...]


def concept_of(identifier: str, node: ForeignNode) -> Concept:
    """The node as a concept: facts become sections, and its links become the section `related`."""
    updated = max((fact.touched for fact in node.facts if fact.touched), key=date_sort_key, default=None)
    frontmatter: dict[str, Json] = {"type": node.kind or "concept", "title": node.title or identifier}
    if updated:
        frontmatter["updated"] = updated
    return Concept(identifier, frontmatter, tuple(_sections(node, updated)))


def _sections(node: ForeignNode, updated: str | None) -> Iterator[ConceptSection]:
    taken: dict[str, int] = {}
    for fact in node.facts:
        topic = " ".join(fact.topic.split()) or UNNAMED
        key = unique_key(topic.lower(), taken)
        yield ConceptSection(key, f"## {topic} {{#{key}}}", fact.text.strip(), fact.touched or updated)
    if node.see_also:
        links = ", ".join(f"[[{target}]]" for target in node.see_also)
        yield ConceptSection(unique_key("related", taken), "## Related {#related}", links, updated)


class ForeignGraph(Protocol):
    """A graph of nodes behind another server. Every call has a time limit; on timeout the server is terminated."""

    def node_ids(self) -> list[str]:
        """The ids of all nodes.

        Raises:
            UnavailableError: the server does not start, times out, or gives an invalid answer. The kind is "broken" if
                the server cannot be started, lacks a tool, or answers in another form. The message is one sentence
                without a full stop; secrets and folders of the server's output are removed.
        """
        ...

    def node(self, identifier: str) -> ForeignNode | None:
        """The node with an id; None if there is none. Raises the same errors as `node_ids`."""
        ...

    def close(self) -> None:
        """Terminate the server if it is running."""
        ...
