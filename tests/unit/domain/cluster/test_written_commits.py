"""The commits of a call's writes."""

from __future__ import annotations

from commonplace.domain.cluster import record_written, recording_written


def test_the_last_commit_of_each_store_is_collected() -> None:
    record_written("one", "0")
    with recording_written() as written:
        for store, commit in (("one", "1"), ("two", "2"), ("one", "3")):
            record_written(store, commit)
    record_written("two", "4")
    assert written == {"one": "3", "two": "2"}


def test_a_block_around_another_gets_its_commits_too() -> None:
    with recording_written() as outer:
        record_written("one", "1")
        with recording_written() as inner:
            record_written("two", "2")
        assert inner == {"two": "2"}
    assert outer == {"one": "1", "two": "2"}
