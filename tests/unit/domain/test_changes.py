"""Copies retained by writes are collected for the caller that requested them, and for no other."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

from commonplace.domain.addresses import Address
from commonplace.domain.changes import (
    FileStat,
    Receipt,
    RetainedCopy,
    record_retained,
    recording_retained,
    split_trailers,
)

ONE = RetainedCopy(Address("a.md"), "1" * 40, "trash", until=9)
OTHER = RetainedCopy(Address("b.md"), "2" * 40, "commit", commit="3" * 40)


def test_copies_are_collected_in_the_order_of_the_writes() -> None:
    with recording_retained() as copies:
        record_retained([ONE])
        record_retained([])
        record_retained(iter([OTHER]))
    assert copies == [ONE, OTHER]


def test_nothing_is_collected_outside_of_a_block() -> None:
    record_retained([ONE])
    with recording_retained() as copies:
        pass
    record_retained([OTHER])
    assert copies == []


def test_an_inner_block_takes_its_own_copies_and_the_outer_one_continues() -> None:
    with recording_retained() as outer:
        with recording_retained() as inner:
            record_retained([ONE])
        record_retained([OTHER])
    assert (inner, outer) == ([ONE], [OTHER])


def test_a_block_that_fails_stops_collecting() -> None:
    with suppress(ValueError), recording_retained() as copies:
        record_retained([ONE])
        raise ValueError
    record_retained([OTHER])
    assert copies == [ONE]


def test_writes_of_another_thread_are_not_collected() -> None:
    with recording_retained() as copies:
        other = Thread(target=record_retained, args=([ONE],))
        other.start()
        other.join(10)
    assert copies == []


def test_a_file_is_unchanged_when_all_its_numbers_are() -> None:
    stat = FileStat(5, 10, 20, 30)
    assert stat == FileStat(5, 10, 20, 30)
    assert all(stat != stat._replace(**{name: 99}) for name in FileStat._fields)


def test_receipts_share_no_mapping() -> None:
    first, second = Receipt(""), Receipt("")
    first.revisions[ONE.address] = ONE.revision
    assert second.revisions == {}


def test_trailers_are_a_last_paragraph_of_nothing_else() -> None:
    assert split_trailers("Fix\n\nBody\n\nA: 1\nB-c: 2\n") == ("Fix\n\nBody", ("A: 1", "B-c: 2"))
    for message in ("Fix: it", "Fix\n\nBody", "Fix\n\nA: 1\nBody", ""):
        assert split_trailers(message) == (message, ())
