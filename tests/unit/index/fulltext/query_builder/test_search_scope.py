"""A filter as the full text applies it selects what the list of the same filter has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter
from commonplace.index.fulltext.query_builder import SearchScope
from indexed import Indexed

WORD = "common words here"
FILES = {
    "a.md": f"---\ntype: Task\ntags: [x, Proj/One]\ndate: 2024-02-29\nstatus: Open\n---\n{WORD}\n",
    "in/b.md": f"---\ntype: task\ntags: [proj]\nupdated: 2026-01-02\nstatus: [open, late]\n---\n{WORD}\n",
    "in/deep/c.md": f"---\ncategory: straße\ncreated: 2020-05-05\n---\n{WORD}\n",
    "In.md": f"# 文\n\n{WORD}\n",
}
FILTERS = [
    Filter(),
    Filter(prefix="in/"),
    Filter(prefix="in/d"),
    Filter(prefix="/in/"),
    Filter(prefix="IN", prefix_any_case=True),
    Filter(types=("TASK", "STRASSE")),
    Filter(tags=("proj",)),
    Filter(tags=("#x", "proj/one")),
    Filter(any_tags=("proj", "x")),
    Filter(date_from="2024-01-01"),
    Filter(date_to="2024-02-28"),
    Filter(created_to="2020-05-05"),
    Filter(updated_from="2026-01-02", updated_to="2026-01-02"),
    Filter(fields=(("status", "OPEN"),)),
    Filter(fields=(("status", "late"), ("status", "open"))),
    Filter(fields=(("none", "x"),)),
    Filter(among=()),
    Filter(among=(Address("a.md"), Address("In.md")), prefix="I"),
    Filter(without=(Address("a.md"),)),
    Filter(prefix="in/", types=("task",), without=(Address("in/b.md"),)),
]


@pytest.fixture(scope="module", params=["flushed", "recent"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    files = FILES if request.param == "flushed" else {}
    with Indexed(tmp_path_factory.mktemp("scope"), files) as indexed:
        for path, text in FILES.items() if not files else ():
            indexed.update(path, text)
        yield indexed


@pytest.mark.parametrize("filter_", FILTERS)
def test_a_search_within_a_filter_finds_what_a_list_of_it_has(base: Indexed, filter_: Filter) -> None:
    assert sorted(base.found("common words", filter_)) == sorted(base.listed(filter_))


def test_every_part_of_a_scope_must_hold() -> None:
    scope = SearchScope(
        groups=(frozenset({"a", "b"}), frozenset({"c"})),
        ranges=(("day", 5, None), ("day", None, 7)),
        keys=frozenset({1, 2}),
        without=frozenset({2}),
    )
    terms = frozenset({"b", "c", "d"})
    assert scope.holds(1, terms, {"day": 5})
    assert scope.holds(1, terms, {"day": 7})
    assert not scope.holds(2, terms, {"day": 6}), "it is excluded"
    assert not scope.holds(3, terms, {"day": 6}), "it is not among the keys"
    assert not scope.holds(1, frozenset({"b"}), {"day": 6}), "a group is missing"
    assert not any(scope.holds(1, terms, numbers) for numbers in ({"day": 4}, {"day": 8}, {}))
    assert SearchScope().holds(9, frozenset(), {})
