"""Relations of typed links."""

from __future__ import annotations

from commonplace.domain.relations import RELATIONS, inverse


def test_relations_come_in_pairs() -> None:
    for relation, other in RELATIONS:
        assert inverse(relation) == other
        assert inverse(other) == ("located_at" if other == "location_of" else relation)
    assert inverse("related_to") == "related_to"
    assert inverse("owns") == "owned_by"
    assert inverse("something else") == "related_to"
    assert inverse("subtask_of") == "has_subtask"
    names = [name for pair in RELATIONS for name in set(pair) if pair[0] != "located_in"]
    assert len(names) == len(set(names))
