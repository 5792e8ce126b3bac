"""A node of a foreign graph, and the concept that it is here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from commonplace.domain.cascade.concepts import unique_key
from commonplace.domain.cascade.values import Concept, ConceptSection, date_sort_key
from commonplace.domain.json import Json

UNNAMED = "Note"
"""The topic of a fact that has none."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a node says."""

    topic: str
    text: str
    touched: str | None
    """When it was last touched, as written."""


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node as the foreign server describes it."""

    title: str
    kind: str
    facts: tuple[Fact, ...]
    see_also: tuple[str, ...]


def concept_of(identifier: str, node: ForeignNode) -> Concept:
    """The node as a concept: facts become sections, and what it points to becomes the section `related`."""
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
    """A graph of nodes behind another server. Every call has its own time limit, after which the server is ended."""

    def node_ids(self) -> list[str]:
        """The ids of all nodes.

        Raises:
            UnavailableError: the server does not start, does not answer in time, or answers something else.
        """
        ...

    def node(self, identifier: str) -> ForeignNode | None:
        """One node, None when there is none of that id; raises as `node_ids` does."""
        ...

    def close(self) -> None:
        """End the server, if it runs."""
        ...
