"""Relations of typed links, and their inverses."""

from __future__ import annotations

RELATIONS: tuple[tuple[str, str], ...] = (
    ("owns", "owned_by"),
    ("part_of", "has_part"),
    ("supports", "supported_by"),
    ("contradicts", "contradicted_by"),
    ("depends_on", "dependency_of"),
    ("precedes", "follows"),
    ("parent_of", "child_of"),
    ("causes", "caused_by"),
    ("references", "referenced_by"),
    ("mentions", "mentioned_by"),
    ("extends", "extended_by"),
    ("implements", "implemented_by"),
    ("supersedes", "superseded_by"),
    ("created", "created_by"),
    ("employs", "employed_by"),
    ("funds", "funded_by"),
    ("leads", "led_by"),
    ("member_of", "has_member"),
    ("located_in", "location_of"),
    ("located_at", "location_of"),
    ("controls", "controlled_by"),
    ("directs", "directed_by"),
    ("advises", "advised_by"),
    ("authored", "authored_by"),
    ("involves", "involved_in"),
    ("produces", "produced_by"),
    ("subtask_of", "has_subtask"),
    ("refines", "refined_by"),
    ("is_part_of", "contains_part"),
    ("is_example_of", "has_example"),
    ("causally_precedes", "causally_follows"),
    ("asks_question", "answers_question"),
    ("wikilink", "wikilinked_by"),
    ("instance_of", "has_instance"),
    ("answers", "answered_by"),
    ("related_to", "related_to"),
    ("similar_to", "similar_to"),
    ("opposite_of", "opposite_of"),
)
"""Relations and their inverses, each pair once. A symmetric relation is paired with itself.

`located_in` and `located_at` have the same inverse, whose own inverse is `located_at`.
"""

_INVERSES = {**dict(RELATIONS), **{inverse: relation for relation, inverse in RELATIONS}}


def inverse(relation: str) -> str:
    """The inverse relation; `related_to` for a relation without a known inverse."""
    return _INVERSES.get(relation, "related_to")
