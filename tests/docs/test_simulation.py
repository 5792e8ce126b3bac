"""The simulation of docs/cluster.md: what can be known without it holds in it, and its figures are always the same."""

from __future__ import annotations

import pytest
from benchmarks.scale.simulation import Machines, Measured, ServiceTimes, carried_over, fewest, simulated

SAME = ((0.0, 1.0), (1.0, 1.0))
SMALL, LARGE = Measured(10_000, 10.0, SAME), Measured(40_000, 20.0, SAME)
WIDE = ServiceTimes(100.0, ((0.0, 0.5), (0.5, 1.0), (1.0, 3.0)))


def test_a_search_that_waits_for_nothing_takes_as_long_as_one_shard() -> None:
    found_simulated = simulated(ServiceTimes(100.0, SAME), Machines(10, 1000), 5.0, 50)
    assert (found_simulated.half, found_simulated.most) == (pytest.approx(100), pytest.approx(100))
    assert found_simulated.busy == pytest.approx(5 * 50 * 0.1 / 10_000, rel=0.1)


def test_the_slowest_of_many_shards_decides() -> None:
    other_simulated, fifty = (simulated(WIDE, Machines(10, 1000), 5.0, shards) for shards in (1, 50))
    assert other_simulated.half == pytest.approx(WIDE.median, rel=0.1)
    assert fifty.half == pytest.approx(WIDE.at(0.5 ** (1 / 50)), rel=0.02)


def test_the_times_have_the_mean_that_was_measured() -> None:
    times = [WIDE.at((number + 0.5) / 1000) for number in range(1000)]
    assert sum(times) / 1000 == pytest.approx(WIDE.mean, rel=0.001)
    assert WIDE.at(1.0) == pytest.approx(3 * WIDE.median)


def test_half_of_all_searches_find_a_machine_busy_that_is_busy_half_of_the_time() -> None:
    found_simulated = simulated(ServiceTimes(10.0, SAME), Machines(1, 1), 50.0, 1)
    assert found_simulated.busy == pytest.approx(0.5, rel=0.05)
    assert 10 <= found_simulated.half < 12
    assert 35 < found_simulated.most < 52, "theory (M/D/1) says about 43"


def test_the_same_figures_come_out_each_time() -> None:
    assert simulated(WIDE, Machines(4, 8), 5.0) == simulated(WIDE, Machines(4, 8), 5.0)


def test_the_time_of_a_larger_shard_grows_as_between_the_measured_sizes_or_at_most_in_proportion() -> None:
    assert carried_over((SMALL, LARGE), 40_000).mean == pytest.approx(20)
    assert carried_over((SMALL, LARGE), 160_000).mean == pytest.approx(40)
    assert carried_over((SMALL, LARGE), 160_000, in_proportion=True).mean == pytest.approx(60)


@pytest.mark.soak
def test_one_machine_fewer_than_the_fewest_is_too_slow() -> None:
    found_simulated = fewest(WIDE, 4, 5.0, 450.0)
    assert found_simulated is not None
    assert found_simulated.most <= 450
    assert simulated(WIDE, Machines(found_simulated.machines.count - 1, 4), 5.0).most > 450
    assert fewest(WIDE, 4, 5.0, WIDE.mean) is None, "the slowest of fifty shards takes longer on any number of machines"


def test_more_machines_than_two_copies_occupy_hold_further_copies() -> None:
    assert [Machines(count, 1).copies(50) for count in (1, 100, 101, 500)] == [2, 2, 3, 10]
