"""Generations of a base on the embedded index; the port's contract is tested beside that of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.cluster.shared_index import BranchPosition
from commonplace.domain.errors import NotFoundError
from commonplace.domain.query import SearchQuery
from commonplace.index.shared.embedded import EmbeddedBases, EmbeddedReader, EmbeddedWriter
from opensearch_cluster.engines import COMMIT, Engine, new_base, pages

TEXTS = {
    "a.md": "---\ntype: Guide\ntags: [x, y]\n---\n# A\n\nalpha\n",
    "b.md": "---\ntype: note\ntags: [x]\n---\n# B\n\nalpha\n",
    "c.md": "# C\n",
}


@pytest.fixture
def bases(tmp_path: Path) -> EmbeddedBases:
    return EmbeddedBases(tmp_path / "bases")


@pytest.fixture
def engine(bases: EmbeddedBases) -> Engine:
    return Engine(EmbeddedReader(bases), EmbeddedWriter(bases))


def test_a_generation_that_is_published_replaces_the_one_before_and_its_folder_goes(
    engine: Engine, tmp_path: Path
) -> None:
    base = engine.filled(new_base(), TEXTS)
    (first,) = (tmp_path / "bases").iterdir()
    second = engine.writer.begin(base)
    engine.writer.put(base, 2, pages({"z.md": "# Z\n\nomega\n"}), second)
    engine.writer.advance(base, BranchPosition(2, COMMIT), second)
    assert engine.paths(base, "omega") == []
    engine.writer.publish(base, second)
    assert engine.paths(base, "omega") == ["z.md"]
    assert engine.paths(base, "alpha") == []
    assert not first.exists()
    assert engine.writer.begin(base) == second + 1


def test_a_base_that_was_dropped_is_not_searched_and_leaves_no_file(engine: Engine, tmp_path: Path) -> None:
    base = engine.filled(new_base(), TEXTS)
    engine.writer.drop(base)
    engine.writer.drop(base)
    with pytest.raises(NotFoundError):
        engine.search(base, "alpha")
    assert engine.reader.through(base) is None
    assert list((tmp_path / "bases").iterdir()) == []


def test_what_was_written_is_searched_after_the_position_was_advanced(engine: Engine) -> None:
    base = engine.filled(new_base(), TEXTS)
    engine.writer.put(base, 2, pages({"d.md": "# D\n\nalpha\n"}))
    assert "d.md" not in engine.paths(base, "alpha")
    engine.writer.advance(base, BranchPosition(2, COMMIT))
    assert "d.md" in engine.paths(base, "alpha")
    assert engine.reader.wait_for(base, 2, 0.0)
    assert not engine.reader.wait_for(base, 3, 0.0)


def test_an_older_write_changes_nothing_that_a_newer_one_has_written_or_removed(engine: Engine) -> None:
    base = engine.filled(new_base(), TEXTS, number=5)
    engine.put(base, {"a.md": "# Old\n\nomega\n"}, 4)
    engine.remove(base, ["b.md"], 6)
    engine.put(base, {"b.md": "# B\n\nomega\n"}, 5)
    assert engine.paths(base, "omega") == []
    position = engine.reader.through(base)
    assert position is not None
    assert position.number == 6


def test_differences_from_the_pages_of_a_base_are_named(engine: Engine) -> None:
    base = engine.filled(new_base(), TEXTS)
    revisions = {one.record.address: one.record.revision for one in pages(TEXTS)}
    assert not engine.writer.verify(base, revisions)
    expected = {**revisions, Address("new.md"): "1" * 40, Address("a.md"): "2" * 40}
    del expected[Address("c.md")]
    found = engine.writer.verify(base, expected)
    assert found.missing == {Address("new.md")}
    assert found.outdated == {Address("a.md")}
    assert found.surplus == {Address("c.md")}


def test_bases_are_searched_apart(engine: Engine) -> None:
    one, two = engine.filled(new_base(), TEXTS), engine.filled(new_base(), {"z.md": "# Z\n\nalpha\n"})
    found = engine.reader.search([two, one], SearchQuery(text="alpha")).results
    assert [(base, result.total) for base, result in found.items()] == [(two, 1), (one, 2)]
