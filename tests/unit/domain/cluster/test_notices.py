"""Notices of one call: collected once each, and only where somebody listens."""

from __future__ import annotations

from contextvars import copy_context

import pytest

from commonplace.domain.cluster import note, recording_notices


def test_notices_are_collected_in_order_without_repetitions() -> None:
    with recording_notices() as said:
        for text in ("First.", "Second.", "First."):
            note(text)
    assert said == ["First.", "Second."]
    note("After the block.")
    assert said == ["First.", "Second."]


def test_an_inner_block_keeps_its_notices_from_the_outer_one() -> None:
    with recording_notices() as outer:
        with recording_notices() as inner:
            note("Inner.")
        note("Outer.")
    assert (outer, inner) == (["Outer."], ["Inner."])


def test_another_call_hears_nothing() -> None:
    elsewhere = copy_context()
    with recording_notices() as said:
        elsewhere.run(note, "Of another call.")
    assert said == []


def test_a_failing_call_leaves_no_listener_behind() -> None:
    with pytest.raises(ZeroDivisionError), recording_notices() as said:
        assert 1 / len(said)
    note("Afterwards.")
    assert said == []
