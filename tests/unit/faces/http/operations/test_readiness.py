"""Readiness of a server, and the state of the collections that each caller may see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from asgi import asked
from commonplace.domain.addresses import Address
from commonplace.domain.cluster import EngineStatus, RemoteStatus, ReplicaStatus, WriterStatus
from commonplace.domain.errors import StorageError
from commonplace.domain.ports import Store
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.http.health import Health, can_read, is_ready
from commonplace.index import open_index
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import Services
from commonplace.store import open_store
from indexed import Indexed
from remotes.fixed import COMMIT, FixedReplica
from support import no_more_files

WRITABLE = {"writable": True, "write_problem": None}


class UnreadableStore:
    """The files of a disk that fails."""

    read_only_reason = ""

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


def state(served: Health, method: str = "GET") -> tuple[int, object]:
    probe, *_ = served.parts()
    answer = asked(probe.app, method, probe.prefix)
    return answer.status, answer.json if answer.body else None


def of(*collections: Collection) -> Health:
    found_collections = Collections(lambda: collections)
    assert found_collections.members
    return Health(Services(collections=found_collections))


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
    assert listed(of(failing), None) == {"notes": {"ready": False, **WRITABLE}}


def test_a_server_that_ends_says_so_though_it_is_ready(ready: Collection) -> None:
    probed = of(ready)
    probed.end()
    assert state(probed) == (503, {"status": "ending"})


def test_a_folder_that_cannot_be_opened_is_no_failure_of_the_probe() -> None:
    def fails() -> list[Collection]:
        raise StorageError("The disk is gone.")

    assert state(Health(Services(collections=Collections(fails)))) == (503, {"status": "starting"})


def test_a_head_request_gets_the_status_alone(ready: Collection) -> None:
    assert state(of(ready), "HEAD") == (200, None)


def listed(served: Health, names: frozenset[str] | None) -> object:
    *_, part = served.parts()
    return asked(part.app, "GET", part.prefix, scope={SCOPE_KEY: Caller("k", "read", names)}).json["collections"]


def test_callers_learn_of_their_collections_alone(ready: Collection, starting: Collection) -> None:
    probed = of(ready, starting)
    assert listed(probed, None) == {"notes": {"ready": True, **WRITABLE}, "new": {"ready": False, **WRITABLE}}
    assert listed(probed, frozenset({"new", "gone"})) == {"new": {"ready": False, **WRITABLE}}
    assert listed(probed, frozenset()) == {}


def test_a_replica_names_its_commit_and_what_is_wrong(ready: Collection) -> None:
    following = FixedReplica()
    probed = of(replace(ready, replica=following))
    remote = {"answered_seconds": None, "pushed_seconds": None, "silent_seconds": None}
    assert listed(probed, None) == {
        "notes": {"ready": True, "commit": COMMIT, "age_seconds": 2.2, "problem": None, "remote": remote},
    }
    following.now = ReplicaStatus(
        "",
        ready=True,
        age=None,
        problem="The remote does not answer.",
        shared_index="The search cluster does not answer.",
        engine=EngineStatus(3.0, {}, "The search cluster does not answer.", 1.52),
        writer=WriterStatus(2, True, (), 7.25, "The remote does not answer.", "node-2:8090", 90.0, "node-3:8090"),
        remote=RemoteStatus(61.0, 90.0, 30.04),
        free=5_000_000_000,
        packs=3,
    )
    assert listed(probed, None) == {
        "notes": {
            "ready": True,
            "writable": False,
            "write_problem": "The remote does not answer.",
            "commit": None,
            "age_seconds": None,
            "problem": "The remote does not answer.",
            "remote": {"answered_seconds": 61.0, "pushed_seconds": 90.0, "silent_seconds": 30.0},
            "queue": {"waiting": 2, "oldest_seconds": 7.2},
            "lease": {
                "owner": "node-2:8090",
                "owner_seconds": 90.0,
                "is_current": True,
                "next_writer": "node-3:8090",
            },
            "packs": 3,
            "free_bytes": 5_000_000_000,
            "shared_index": "The search cluster does not answer.",
            "search_failed_seconds": 1.5,
        },
    }


def test_what_was_not_opened_yet_is_not_opened_for_a_list() -> None:
    def never() -> list[Collection]:
        raise AssertionError

    assert listed(Health(Services(collections=Collections(never))), None) == {}


def test_probes_need_no_key_and_the_list_does() -> None:
    probe, _, list_ = Health(Services(collections=Collections(list))).parts()
    scope = {"type": "http", "method": "GET", "path": "/"}
    assert probe.rules.is_open(scope)
    assert not list_.rules.is_open(scope)
