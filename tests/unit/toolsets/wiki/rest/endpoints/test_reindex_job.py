"""An index is brought up to date on request: once at a time, and its state is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.errors import NotFoundError, StorageError, UnavailableError
from commonplace.domain.proposals import Proposer
from commonplace.domain.revisions import UNCONDITIONAL
from commonplace.faces.access.callers import Caller
from commonplace.faces.rest.endpoint import NoQueryParameters, RestRequest
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import ServiceProvider, Services
from commonplace.toolsets.wiki.rest.endpoints import ReindexJob
from commonplace.toolsets.wiki.service import WIKI_KEY
from indexed import Indexed, eventually


class Watched:
    """An index whose sync is held, or fails, before it does what it is for."""

    def __init__(self, index: Any, before: Callable[[], None]) -> None:
        self._index = index
        self._before = before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def sync(self) -> Any:
        self._before()
        return self._index.sync()


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"a.md": "# A\n\n## B\n"}) as made:
        yield made


def asked(*members: Collection) -> RestRequest:
    services = Services(collections=Collections(lambda: members))
    return RestRequest(
        services=services,
        served=services,
        caller=Caller("x", "admin"),
        proposer=Proposer(),
        path="",
        filename="",
        query=NoQueryParameters(),
        body=None,
        conditions=UNCONDITIONAL,
    )


def state(job: ReindexJob, request: RestRequest) -> tuple[str, int, int]:
    shown: Any = job.status(request).value
    return shown.status, shown.pages_indexed, shown.chunks_created


def test_a_file_that_nobody_told_of_is_indexed_in_the_background(base: Indexed) -> None:
    job, request = ReindexJob(), asked(base.collection)
    assert state(job, request) == ("idle", 1, 3)
    base.write("b.md", "# New\n")
    answer = job.start(request)
    assert answer.status == 202
    assert eventually(lambda: state(job, request)[:2] == ("idle", 2))


def test_a_second_request_starts_no_second_run(base: Indexed) -> None:
    begun: list[int] = []
    release = threading.Event()

    def hold() -> None:
        begun.append(1)
        release.wait(20)

    held = Collection("base", base.store, Watched(base.index, hold))
    job, request = ReindexJob(), asked(held)
    for _ in range(3):
        assert job.start(request).status == 202
    assert state(job, request)[0] == "running"
    release.set()
    assert eventually(lambda: state(job, request)[0] == "idle")
    assert begun == [1]


def test_a_run_that_failed_is_told_until_one_succeeds(base: Indexed) -> None:
    fails = [True]

    def fail() -> None:
        if fails:
            raise StorageError("The disk is full.")

    job, request = ReindexJob(), asked(Collection("base", base.store, Watched(base.index, fail)))
    job.start(request)
    assert eventually(lambda: state(job, request)[0] == "failed")
    fails.clear()
    job.start(request)
    assert eventually(lambda: state(job, request)[0] == "idle")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_that_ended_in_an_unexpected_way_has_failed_too(base: Indexed) -> None:
    def fail() -> None:
        raise MemoryError

    job, request = ReindexJob(), asked(Collection("base", base.store, Watched(base.index, fail)))
    job.start(request)
    assert eventually(lambda: state(job, request)[0] != "running")
    assert state(job, request)[0] == "failed"
    # The thread's end is reported to pytest, which takes it for the test that runs then.
    assert eventually(lambda: all(thread.name != "reindex" for thread in threading.enumerate()))


def test_a_server_without_pages_of_its_own_has_no_index() -> None:
    job = ReindexJob()
    with pytest.raises(NotFoundError):
        job.start(asked())
    remote: ServiceProvider[Any] = ServiceProvider(WIKI_KEY, lambda _: None)
    request = asked()
    services = Services(collections=Collections(list), providers=(remote,))
    with pytest.raises(UnavailableError) as refused:
        job.status(RestRequest(**{name: getattr(request, name) for name in request.__slots__} | {"services": services}))
    assert refused.value.hint
