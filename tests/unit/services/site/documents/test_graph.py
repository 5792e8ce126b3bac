"""Documents as nodes and links as edges."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.services.site.documents import ADJACENCY, GRAPHS, MAX_NEIGHBOURS, NearLinks, adjacency, neighbours
from indexed import Indexed

FILES = {
    "a.md": "[[b]] [[b]] [[c]] [[a]] [[gone]]\n",
    "b.md": "[[a]]\n",
    "c.md": "# C\n",
    "d.md": "[[a]] [[c]] [[b]]\n",
    "alone.md": "[[alone]]\n",
}


def test_neighbours_linked_both_ways_come_with_those_that_have_most_links(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        found_values = {
            neighbour.record.address.path: (neighbour.outgoing, neighbour.incoming)
            for neighbour in neighbours(base.collection, Address("a.md"))
        }
        assert found_values == {"b.md": (True, True), "c.md": (True, False), "d.md": (False, True)}
        assert neighbours(base.collection, Address("alone.md")) == []
        assert neighbours(base.collection, Address("never.md")) == []


def test_a_graph_has_every_document_and_each_link_once_without_those_to_itself(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        graph = GRAPHS.of(base.collection)
        names = [record.address.path for record in graph.nodes]
        assert names == sorted(FILES)
        edges = {(names[source], names[target]) for source, target in graph.edges}
        assert len(edges) == len(graph.edges)
        assert edges == {("a.md", "b.md"), ("a.md", "c.md"), ("b.md", "a.md"), *(("d.md", f"{x}.md") for x in "abc")}


def test_links_to_itself_make_no_neighbour_and_an_empty_collection_has_no_graph(tmp_path: Path) -> None:
    with Indexed(tmp_path / "one", FILES) as base:
        assert Address("alone.md") not in ADJACENCY.of(base.collection)
    with Indexed(tmp_path / "none") as empty:
        assert (GRAPHS.of(empty.collection).nodes, dict(ADJACENCY.of(empty.collection))) == ((), {})


def test_of_many_neighbours_those_linked_both_ways_are_drawn_first(tmp_path: Path) -> None:
    many = {f"n{number:03}.md": "# N\n" for number in range(MAX_NEIGHBOURS + 20)}
    many["n040.md"] = "[[hub]]\n"
    many["popular.md"] = "[[hub]] [[n001]] [[n002]] [[n003]]\n"
    hub = "".join(f"[[n{number:03}]] " for number in range(MAX_NEIGHBOURS + 20))
    with Indexed(tmp_path, {**many, "hub.md": hub}) as base:
        paths = {neighbour.record.address.path for neighbour in neighbours(base.collection, Address("hub.md"))}
    assert len(paths) == MAX_NEIGHBOURS
    assert {"n040.md", "popular.md", "n001.md"} <= paths


def test_the_links_of_some_pages_are_those_that_all_pages_have(tmp_path: Path) -> None:
    chain = {f"x{number}.md": f"[[x{number + 1}]] [[a]]\n" for number in range(6)}
    with Indexed(tmp_path, {**FILES, **chain}) as base:
        every = adjacency(base.collection)
        none: frozenset[Address] = frozenset()
        near = NearLinks(base.collection)
        for path in (*FILES, *chain):
            links = near.around([path])
            own = links[Address(path)]
            assert own == every.get(Address(path), (none, none)), path
            for neighbour in own[0] | own[1]:
                assert links[neighbour] == every[neighbour], (path, neighbour)
        assert {**NearLinks(base.collection).around(FILES)}.items() >= {
            Address(path): every.get(Address(path), (none, none)) for path in FILES
        }.items()
