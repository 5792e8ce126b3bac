"""The parts of a call are counted as one number that only grows."""

from __future__ import annotations

from commonplace.faces.mcp.peers import ProgressCounter


def test_a_part_that_begins_anew_is_counted_behind_those_before() -> None:
    meter = ProgressCounter()
    counts = [meter.counted(*step) for step in ((0, 3), (2, 3), (3, 3), (0, 10), (4, 10), (4, 10), (1, 2), (2, 2))]
    assert counts == [(0, 3), (2, 3), (3, 3), None, (7, 13), None, (8, 9), (9, 9)]


def test_a_total_that_nobody_knows_stays_unknown() -> None:
    meter = ProgressCounter()
    assert meter.counted(0, 0) == (0, 0)
    assert meter.counted(5, 0) == (5, 0)


def test_what_counts_fast_is_told_at_its_beginning_and_at_its_end() -> None:
    meter = ProgressCounter()
    reported_pairs = [meter.sampled(done, 1000) for done in range(1001)]
    assert reported_pairs[0] == (0, 1000)
    assert reported_pairs[-1] == (1000, 1000)
    assert reported_pairs[1:-1].count(None) > 900
    assert meter.sampled(0, 5) is None
    assert meter.sampled(5, 5) == (1005, 1005)
