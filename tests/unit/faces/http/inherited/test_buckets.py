"""Buckets that several processes share."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.domain.errors import RateLimitedError
from commonplace.faces.access.callers import Bucket, RateLimiter
from commonplace.faces.http.inherited import BUCKETS_BYTES, GROUPS, ROWS, SharedBuckets

OFFSET = mmap.ALLOCATIONGRANULARITY


@pytest.fixture
def file() -> Iterator[int]:
    with tempfile.TemporaryFile() as made:
        made.truncate(OFFSET + BUCKETS_BYTES)
        yield made.fileno()


def test_two_limiters_share_what_a_caller_has_left(file: int) -> None:
    now = [0.0]
    first, second = (RateLimiter(60, lambda: now[0], SharedBuckets(file, OFFSET)) for _ in range(2))
    for _ in range(30):
        first.take("a")
        second.take("a")
    for limiter in (first, second):
        with pytest.raises(RateLimitedError) as caught:
            limiter.take("a")
        assert caught.value.context["retry_after"] == 1
    second.take("b")
    now[0] = 1.0
    second.take("a")
    with pytest.raises(RateLimitedError):
        first.take("a")


def test_processes_and_threads_lose_no_call(file: int) -> None:
    taken, workers = 200, 3

    def take(buckets: SharedBuckets) -> None:
        for _ in range(taken):
            buckets.change("a", lambda bucket: Bucket((bucket.left if bucket else 0.0) + 1.0, 1.0))

    children: list[int] = []
    for _ in range(workers):
        child = os.fork()
        if not child:
            take(SharedBuckets(file, OFFSET))
            os._exit(0)
        children.append(child)
    shared = SharedBuckets(file, OFFSET)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(take, [shared, shared]))
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * workers
    buckets: list[Bucket | None] = []

    def look(bucket: Bucket | None) -> Bucket:
        buckets.append(bucket)
        return Bucket(0.0, 0.0)

    shared.change("a", look)
    assert buckets == [Bucket(float(taken * (workers + 2)), 1.0)]


def test_of_too_many_callers_the_one_that_was_away_longest_is_forgotten(file: int) -> None:
    buckets = SharedBuckets(file, OFFSET)
    callers = [f"caller {number}" for number in range(GROUPS * ROWS * 2)]
    for at, caller in enumerate(callers):
        buckets.change(caller, lambda _, at=at: Bucket(1.0, float(at + 1)))
    known_buckets: list[Bucket | None] = []

    def look(bucket: Bucket | None) -> Bucket:
        known_buckets.append(bucket)
        return bucket or Bucket(0.0, 0.0)

    buckets.change(callers[-1], look)
    buckets.change(callers[0], look)
    assert known_buckets[0] == Bucket(1.0, float(len(callers)))
    assert known_buckets[1] is None
    buckets.close()
