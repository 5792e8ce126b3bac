"""Readiness of a server, and the state of the collections that each caller may see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from asgi import asked
from commonplace.domain.addresses import Address
from commonplace.domain.cluster import ReplicaStatus
from commonplace.domain.errors import StorageError
from commonplace.domain.ports import Store
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.http.operations import Readiness, can_read, is_ready
from commonplace.index import open_index
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import Services
from commonplace.store import open_store
from indexed import Indexed
from remotes.fixed import COMMIT, FixedReplica
from support import no_more_files


class UnreadableStore:
    """The files of a disk that fails."""

    def read(self, address: Address) -> bytes:
        raise StorageError(f"{address.path} cannot be read.")


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[Collection]:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        yield Collection("notes", base.store, base.index)


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Collection]:
    """A collection whose index has not been built yet."""
    (tmp_path / "new").mkdir()
    store = open_store(tmp_path / "new", commit="manual", state_dir=tmp_path / "other-state")
    index = open_index(store, tmp_path / "other-cache")
    yield Collection("new", store, index)
    index.close()


def state(served: Readiness, method: str = "GET") -> tuple[int, object]:
    probe, _ = served.parts()
    answer = asked(probe.app, method, probe.prefix)
    return answer.status, answer.json if answer.body else None


def of(*collections: Collection) -> Readiness:
    found_collections = Collections(lambda: collections)
    assert found_collections.members
    return Readiness(Services(collections=found_collections))


def test_a_server_is_ready_when_every_collection_can_be_searched(ready: Collection, starting: Collection) -> None:
    assert is_ready(ready)
    assert not is_ready(starting)
    assert state(of(ready)) == (200, {"status": "ready"})
    assert state(of(ready, starting)) == (503, {"status": "starting"})
    starting.index.sync()
    assert state(of(ready, starting)) == (200, {"status": "ready"})


def test_a_server_whose_reads_fail_is_not_ready(ready: Collection, tmp_path: Path) -> None:
    with no_more_files():
        assert not can_read(ready)
    assert can_read(ready)
    for page in tmp_path.rglob("a.md"):
        page.unlink()
    assert can_read(ready)  # a page that was deleted since is no failure
    failing = replace(ready, store=cast("Store", UnreadableStore()))
    assert state(of(failing)) == (503, {"status": "failing"})
    assert listed(of(failing), None) == {"notes": {"ready": False}}


def test_a_server_that_ends_says_so_though_it_is_ready(ready: Collection) -> None:
    probed = of(ready)
    probed.end()
    assert state(probed) == (503, {"status": "ending"})


def test_a_folder_that_cannot_be_opened_is_no_failure_of_the_probe() -> None:
    def fails() -> list[Collection]:
        raise StorageError("The disk is gone.")

    assert state(Readiness(Services(collections=Collections(fails)))) == (503, {"status": "starting"})


def test_a_head_request_gets_the_status_alone(ready: Collection) -> None:
    assert state(of(ready), "HEAD") == (200, None)


def listed(served: Readiness, names: frozenset[str] | None) -> object:
    _, part = served.parts()
    return asked(part.app, "GET", part.prefix, scope={SCOPE_KEY: Caller("k", "read", names)}).json["collections"]


def test_callers_learn_of_their_collections_alone(ready: Collection, starting: Collection) -> None:
    probed = of(ready, starting)
    assert listed(probed, None) == {"notes": {"ready": True}, "new": {"ready": False}}
    assert listed(probed, frozenset({"new", "gone"})) == {"new": {"ready": False}}
    assert listed(probed, frozenset()) == {}


def test_a_replica_names_its_commit_and_what_is_wrong(ready: Collection) -> None:
    following = FixedReplica()
    probed = of(replace(ready, replica=following))
    assert listed(probed, None) == {
        "notes": {"ready": True, "commit": COMMIT, "age_seconds": 2.2, "problem": None},
    }
    following.now = ReplicaStatus("", ready=True, age=None, problem="The remote does not answer.", packs=3)
    assert listed(probed, None) == {
        "notes": {
            "ready": True,
            "commit": None,
            "age_seconds": None,
            "problem": "The remote does not answer.",
            "packs": 3,
        },
    }


def test_what_was_not_opened_yet_is_not_opened_for_a_list() -> None:
    def never() -> list[Collection]:
        raise AssertionError

    assert listed(Readiness(Services(collections=Collections(never))), None) == {}


def test_probes_need_no_key_and_the_list_does() -> None:
    probe, list_ = Readiness(Services(collections=Collections(list))).parts()
    scope = {"type": "http", "method": "GET", "path": "/"}
    assert probe.rules.is_open(scope)
    assert not list_.rules.is_open(scope)
