"""Links between documents of one collection and of several, from both ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from commonplace.domain.addresses import Address
from commonplace.services import links
from commonplace.services.collections import Collection, Collections
from commonplace.services.links import RELATIONS, LinkedDocument, inverse
from indexed import Indexed

ONE = {
    "a.md": "---\nlinks:\n  - {target: b, relation: supports}\n---\n[[b]] [[b]] [[two:c]] [[gone]] ![](p.png)\n",
    "b.md": "# B\n\n[[two:none]] and [[three:x]].\n",
    "p.png": b"\x89PNG",
}
TWO = {"c.md": "# C\n\nBack to [[one:a]], again [[one:a]] and [[one:lost]].\n", "d.md": "[[c]] [[d]]\n"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    with ExitStack() as stack:
        made = [
            replace(stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files)).collection, name=name)
            for name, files in (("one", ONE), ("two", TWO))
        ]
        yield Collections(lambda: made)


def ends(documents: list[LinkedDocument]) -> list[tuple[str, str, str]]:
    return [
        (document.found.collection.name, document.found.record.address.path, document.relation)
        if document.found
        else ("", "", document.relation)
        for document in documents
    ]


def test_outgoing_links_come_in_order_and_lead_into_other_collections(both: Collections) -> None:
    assert ends(links.outgoing(both, both.get("one"), Address("a.md"))) == [
        ("one", "b.md", "supports"),
        ("one", "b.md", "related_to"),
        ("one", "b.md", "related_to"),
        ("two", "c.md", "related_to"),
        ("", "", "related_to"),
        ("", "", "related_to"),
    ]


def test_incoming_links_have_the_inverse_relation_and_those_of_other_collections_come_last(both: Collections) -> None:
    assert ends(links.incoming(both, both.get("one"), Address("b.md"))) == [
        ("one", "a.md", "supported_by"),
        ("one", "a.md", "related_to"),
        ("one", "a.md", "related_to"),
    ]
    assert ends(links.incoming(both, both.get("one"), Address("a.md"))) == [("two", "c.md", "related_to")] * 2
    assert links.incoming(both, both.get("one"), Address("none.md")) == []


def test_documents_are_distinct_by_relation_and_what_is_no_document_is_left_out(both: Collections) -> None:
    documents = links.distinct(links.outgoing(both, both.get("one"), Address("a.md")))
    assert ends(documents) == [
        ("one", "b.md", "supports"),
        ("one", "b.md", "related_to"),
        ("two", "c.md", "related_to"),
    ]
    assert links.distinct([]) == []


def test_a_link_into_another_collection_is_broken_only_where_nothing_is_there(both: Collections) -> None:
    assert [(link.source.path, link.link.raw) for link in links.broken(both, both.get("one"))] == [
        ("a.md", "gone"),
        ("b.md", "two:none"),
        ("b.md", "three:x"),
    ]
    assert [link.link.target for link in links.broken(both, both.get("two"))] == ["lost"]
    assert links.broken(both, both.get("one"), Address("none.md")) == []


def test_a_reader_who_may_see_one_collection_only_learns_nothing_of_the_other(both: Collections) -> None:
    alone = both.only(frozenset({"one"}))
    collection = alone.get("one")
    assert ("two", "c.md", "related_to") not in ends(links.outgoing(alone, collection, Address("a.md")))
    assert links.incoming(alone, collection, Address("a.md")) == []


def test_a_document_that_only_itself_links_to_is_an_orphan(both: Collections) -> None:
    assert [record.address.path for record in links.orphans(both.get("two"))] == ["d.md"]
    made: list[Collection] = [both.get("one")]
    assert [record.address.path for record in links.orphans(made[0])] == ["a.md"]


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
