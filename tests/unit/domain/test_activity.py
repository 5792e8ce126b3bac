"""The watch of a call: it is asked about each write, and without one everything is allowed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from commonplace.domain.activity import (
    NO_LIMITS,
    PlannedWrite,
    WriteLimits,
    attached_page,
    attached_to,
    current_watch,
    record_read,
    require_decision,
    session_id,
    watched_by,
    watching_write,
)
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ForbiddenError

WRITE = PlannedWrite("base", "id", {Address("a.md"): None}, {Address("a.md"): b"a"})


class Watch:
    """Remembers what it is told; forbids what others propose."""

    def __init__(self) -> None:
        self.told: list[object] = []

    @contextmanager
    def writing(self, write: PlannedWrite) -> Generator[Callable[[str], None]]:
        self.told.append(write.name)
        yield self.told.append

    def deciding(self, write: PlannedWrite) -> None:
        raise ForbiddenError(f"Not {write.name}.", kind="key")

    def reading(self, base: str, path: str) -> None:
        self.told.append((base, path))


def test_a_watch_is_told_of_the_block_alone() -> None:
    watch = Watch()
    with watched_by(watch):
        assert current_watch() is watch
        record_read("id", "a.md")
        with watching_write(lambda: WRITE) as done:
            done("c1")
        with pytest.raises(ForbiddenError, match="Not base"):
            require_decision(lambda: WRITE)
    record_read("id", "b.md")
    assert watch.told == [("id", "a.md"), "base", "c1"]


def test_without_a_watch_no_write_is_even_described() -> None:
    def described() -> PlannedWrite:
        raise AssertionError

    assert current_watch() is None
    require_decision(described)
    with watching_write(described) as done:
        done("c1")


def test_a_page_of_attachments_is_known_in_its_block_alone() -> None:
    with attached_to(Address("a.md"), b"# A"):
        assert attached_page() == (Address("a.md"), b"# A")
    assert attached_page() is None


def test_only_pages_and_bytes_are_counted_by_the_hour() -> None:
    assert not NO_LIMITS.is_hourly
    assert not WriteLimits(folders=("inbox",), types=("note",)).is_hourly
    assert WriteLimits(pages=0).is_hourly
    assert WriteLimits(size=1).is_hourly


def test_the_id_of_a_session_tells_nothing_of_it() -> None:
    assert session_id("key:1", "s") == session_id("key:1", "s") != session_id("key:1", "t")
    assert len(session_id("\ud800")) == 16
