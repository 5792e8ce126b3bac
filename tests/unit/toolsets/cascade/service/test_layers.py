"""A folder as a layer: its concepts as the files are now, and what is told of a folder that is gone or unreadable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.cluster import ReplicaStatus
from commonplace.domain.links import link_key
from commonplace.replication import Follower
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.toolsets.cascade.rules.values import LayerRank
from commonplace.toolsets.cascade.service.layers import FolderLayer, StateLog, is_settled
from indexed import PERMISSIONS, Indexed, permissions_hold

RANK = LayerRank("team", 2, 0)
FILES = {
    "systems/auth.md": "---\ntitle: Auth\n---\n# Owner\n\nMilan Okafor, see [[systems/db]] and [db](db.md).\n",
    "systems/db.md": "---\ntitle: Database\n---\nWalrus storage. [[other|systems/auth]]\n",
    "index.md": "# Walrus index, no concept\n",
    "systems/x.markdown": "walrus\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


@pytest.fixture
def layer(base: Indexed) -> FolderLayer:
    return FolderLayer(RANK, base.folder, lambda: base.collection)


def test_concepts_are_the_files_that_are_no_index(layer: FolderLayer) -> None:
    assert {element: values["title"] for element, values in layer.summaries().items()} == {
        "systems/auth": "Auth",
        "systems/db": "Database",
    }
    concept = layer.concept("systems/auth")
    assert concept is not None
    assert [section.key for section in concept.sections] == ["owner"]
    assert layer.concept("index") is None
    assert layer.concept("none") is None


def test_a_concept_is_read_as_its_file_is_now_before_the_index_knows(layer: FolderLayer, base: Indexed) -> None:
    base.write_settled("systems/auth.md", "# Owner\n\nold\n", seconds_ago=500)
    assert "old" in owner(layer)
    base.write_settled("systems/auth.md", "# Owner\n\nnew\n", seconds_ago=400)
    assert "new" in owner(layer)
    (base.folder / "systems/auth.md").unlink()
    assert layer.concept("systems/auth") is None


def owner(layer: FolderLayer) -> str:
    concept = layer.concept("systems/auth")
    assert concept is not None
    return concept.sections[0].text


@PERMISSIONS
def test_a_concept_that_cannot_be_read_is_there_and_says_so(layer: FolderLayer, base: Indexed) -> None:
    (base.folder / "systems/db.md").chmod(0)
    with permissions_hold():
        concept = layer.concept("systems/db")
    assert concept is not None
    assert (concept.sections, [finding.rule for finding in concept.findings]) == ((), ["unreadable"])


def test_a_search_finds_concepts_and_no_other_document_takes_their_place(layer: FolderLayer) -> None:
    assert [match.id for match in layer.search("walrus", 1)] == ["systems/db"]
    assert list(layer.search("nothing", 5)) == []


def test_hundreds_of_better_documents_that_are_no_concepts_hide_no_concept(tmp_path: Path) -> None:
    files = {f"f{number}/index.md": "# Harbour\n\nharbour harbour\n" for number in range(300)}
    files["pilot.md"] = "# Pilot\n\n" + "some other words " * 40 + "harbour\n"
    with Indexed(tmp_path, files) as base:
        layer = FolderLayer(RANK, base.folder, lambda: base.collection)
        assert [match.id for match in layer.search("harbour", 1)] == ["pilot"]
        base.update("f1/index.md", "# Harbour\n\nharbour\n")
        assert [match.id for match in layer.search("harbour", 5)] == ["pilot"]


def test_links_are_found_by_either_side_and_shown_as_they_are_written(layer: FolderLayer) -> None:
    sources = {
        (link.source, link.written()) for link in layer.links([link_key("systems/db"), link_key("systems/auth")])
    }
    assert sources == {
        ("systems/auth", "[[systems/db]]"),
        ("systems/auth", "[db](db.md)"),
        ("systems/db", "[[other|systems/auth]]"),
    }


def test_a_link_of_a_file_that_has_changed_since_is_shown_by_its_target(layer: FolderLayer, base: Indexed) -> None:
    link = next(
        stored_link
        for stored_link in layer.links([link_key("systems/db")])
        if stored_link.link.kind.value != "markdown"
    )
    base.write("systems/auth.md", "short\n")
    assert link.written() == link.link.raw


def test_a_layer_without_its_folder_is_empty_and_missing(tmp_path: Path) -> None:
    layer = FolderLayer(RANK, tmp_path / "gone", lambda: None)
    assert (dict(layer.summaries()), list(layer.search("x", 1)), list(layer.links(["x"]))) == ({}, [], [])
    assert (layer.concept("a"), layer.collection) == (None, None)
    health = layer.health()
    assert (health.state, health.was_asked) == ("missing", False)
    assert "'gone'" in health.reason
    assert layer.health() is health, "since when does not move"


def test_a_folder_that_has_lost_everything_is_missing_and_an_empty_one_is_not(
    layer: FolderLayer, base: Indexed
) -> None:
    assert layer.health().state == "ok"
    layer.summaries()
    for path in sorted(base.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert layer.health().state == "missing"
    empty = FolderLayer(RANK, base.folder, lambda: None)
    assert empty.health().state == "ok"


@pytest.mark.parametrize(
    "spoil", [lambda place: place.write_text("x"), lambda place: place.symlink_to(place.parent / "none")]
)
def test_what_is_no_folder_is_broken_or_missing(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    spoil(tmp_path / "layer")
    health = FolderLayer(RANK, tmp_path / "layer", lambda: None).health()
    assert health.state in {"broken", "missing"}
    assert health.since.endswith("Z")


def test_a_layer_that_comes_back_is_well_without_a_date() -> None:
    log = StateLog(RANK)
    first = log.now("missing", "gone")
    assert first.since
    assert log.now("ok", "").since == ""
    assert log.now("broken", "no folder").since >= first.since


def test_a_file_is_settled_when_a_further_change_would_be_seen(base: Indexed) -> None:
    address = base.write_settled("systems/db.md", "x\n")
    stat = base.store.stat(address)
    assert stat is not None
    assert is_settled(stat._replace(ctime_ns=stat.mtime_ns))
    os.utime(base.folder / "systems/db.md")
    fresh = base.store.stat(address)
    assert fresh is not None
    assert not is_settled(fresh._replace(mtime_ns=fresh.mtime_ns + 60_000_000_000))


def test_a_remote_is_missing_until_it_was_read_and_then_stale_while_it_cannot_be(
    base: Indexed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("clones")
    follower = _FixedFollower(ReplicaClone(folder, parse_source(f"file://{folder}/none.git")), 3600)
    collection = replace(base.collection, replica=follower)
    layer = FolderLayer(RANK, None, lambda: collection)
    unread = ReplicaStatus("", ready=False, age=None)
    states: list[tuple[str, str]] = []

    def look(status: ReplicaStatus) -> None:
        follower.fixed = status
        health = layer.health()
        states.append((health.state, health.reason))

    look(unread)
    assert states == [("ok", "")], "a clone of an earlier run counts"
    look(ReplicaStatus("1" * 40, ready=True, age=1.0, problem="The remote of x cannot be read: gone."))
    assert states[-1] == ("stale", "The remote of x cannot be read: gone")
    layer.summaries()
    for path in FILES:
        (base.folder / path).unlink()
    collection.index.sync()
    look(ReplicaStatus("2" * 40, ready=True, age=1.0))
    assert states[-1] == ("missing", "its remote has lost everything that it held")
    look(unread)
    assert states[-1] == ("missing", "its remote has not been read yet")
    assert FolderLayer(RANK, None, lambda: None).health().state == "missing"


class _FixedFollower(Follower):
    """A follower in a state that a test chooses."""

    fixed = ReplicaStatus("", ready=False, age=None)

    def status(self) -> ReplicaStatus:
        return self.fixed
