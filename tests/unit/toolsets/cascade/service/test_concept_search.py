"""Search over layers: each concept once, with text that counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.cascade.rules.values import LayerRank
from commonplace.toolsets.cascade.service.cascade import Cascade
from commonplace.toolsets.cascade.service.concept_search import search
from commonplace.toolsets.cascade.service.layers import FolderLayer
from indexed import Indexed

LAYERS: Mapping[str, Mapping[str, str]] = {
    "own": {
        "auth.md": "---\ntitle: Auth\n---\n# Owner\n\nThe walrus team.\n",
        "gone.md": "---\noverride: full\n---\n",
        "tide.md": "---\naliases: [Ebb and flow]\n---\n# Tide\n\nWater rises.\n",
        "leaf.md": "# Leaf\n\nPapaya words. [[hub]] [[hub]]\n",
    },
    "team": {
        "auth.md": "# Owner\n\nThe kiwi team.\n\n# Limits\n\nTen walrus requests.\n",
        "gone.md": "# Secret\n\nA heron.\n",
        "hub.md": "# Hub\n\nPapaya words. [[hub]] [[papaya]] [[auth]]\n",
        **{f"filler{n}.md": f"# Filler {n}\n\nwater water water, ebb, flow.\n" for n in range(12)},
    },
}


@pytest.fixture(scope="module")
def cascade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cascade]:
    with ExitStack() as stack:
        layers: list[FolderLayer] = []
        for order, (name, files) in enumerate(LAYERS.items()):
            base = stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files))
            collection = base.collection
            layers.append(
                FolderLayer(
                    LayerRank(name, 2 - order, order), base.folder, lambda other_collection=collection: other_collection
                )
            )
        yield Cascade(layers)


def ids(cascade: Cascade, query: str, limit: int = 10, layer: str | None = None) -> list[str]:
    return [hit.row.id for hit in search(cascade, query, limit, layer)]


def test_a_concept_of_two_layers_is_one_hit(cascade: Cascade) -> None:
    (hit,) = search(cascade, "walrus", 10)
    assert hit.row.id == "auth"
    assert "walrus" in hit.snippet
    assert not hit.suppressed


def test_a_text_that_lost_is_found_and_shown_as_a_dissent(cascade: Cascade) -> None:
    (hit,) = search(cascade, "kiwi", 10)
    assert "kiwi" in hit.snippet


def test_suppressed_text_is_shown_only_in_a_search_of_its_layer_and_marked(cascade: Cascade) -> None:
    assert all("heron" not in hit.snippet for hit in search(cascade, "heron", 10))
    (hit,) = search(cascade, "heron", 10, "team")
    assert (hit.row.id, hit.suppressed) == ("gone", True)
    assert "heron" in hit.snippet


def test_a_concept_whose_name_is_the_query_is_among_the_first(cascade: Cascade) -> None:
    assert ids(cascade, "ebb and flow", 3)[0] == "tide"
    assert ids(cascade, "tide")[0] == "tide"


def test_concepts_of_a_layer_have_the_order_of_its_own_search(cascade: Cascade) -> None:
    for query in ("water ebb filler 7", "kiwi walrus requests", "flow in filler 11"):
        own = [match.id for match in cascade.layer("team").search(query, 20)]
        assert ids(cascade, query, 20, "team") == own


def test_a_concept_with_the_words_is_before_those_that_match_by_correction_in_another_layer(cascade: Cascade) -> None:
    assert ids(cascade, "heronn rises")[0] == "tide", "only `heron` of the other layer is like a word"


def test_a_hit_names_its_section_the_links_to_it_and_whether_layers_differ_there(cascade: Cascade) -> None:
    first, second = search(cascade, "papaya", 10)
    assert [(hit.row.id, hit.inbound) for hit in (first, second)] == [("hub", 1), ("leaf", 0)], "links count"
    assert first.section is not None
    assert (first.section.key, first.section.heading, first.contested) == ("hub", "# Hub", False)
    (owner,) = search(cascade, "walrus team", 1)
    assert owner.section is not None
    assert (owner.section.key, owner.contested, owner.inbound) == ("owner", True, 1)
    (limits,) = search(cascade, "requests", 1)
    assert limits.section is not None
    assert (limits.section.key, limits.contested) == ("limits", False)
    (named,) = search(cascade, "ebb", 1)
    assert (named.row.id, named.section) == ("tide", None)


def test_one_layer_is_searched_alone(cascade: Cascade) -> None:
    assert ids(cascade, "kiwi", layer="own") == []
    assert ids(cascade, "kiwi", layer="team") == ["auth"]
    with pytest.raises(NotFoundError):
        search(cascade, "kiwi", 5, "none")


def test_as_many_hits_as_were_asked_for_and_never_more(cascade: Cascade) -> None:
    assert len(ids(cascade, "water", 4)) == 4
    assert len(ids(cascade, "water", 100)) == 13
    assert len(ids(cascade, "water", 10**300)) == 13


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query_is_refused(cascade: Cascade, query: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        search(cascade, query, 5)
    assert refused.value.kind == "query"
