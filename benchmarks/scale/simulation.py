"""A billion sections over fifty shards, calculated: `python -m benchmarks.scale.simulation [--rate 20]`.

A search queries one copy of each shard, and is answered when the slowest shard has answered. Each machine serves its
shards' requests in order of arrival, on all of its cores. Of a shard's copies, the one on the machine that is free
first is queried. Service times are drawn from measured ones (`MEASURED`), separately for each shard, and scaled to the
size of a shard by the growth between the two measured sizes. Arrivals and draws come from a fixed seed, so the figures
are reproducible.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.measuring import percentile

SHARDS = 50
COPIES = 2
SECTIONS = 1_000_000_000
SEARCHES = 2_000
"""Number of simulated searches."""
WARMING = 200
"""Number of first searches that are ignored, because their queues are empty."""
_SEED = 23


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured cost of searches in a cluster at one size."""

    sections: int
    """Number of sections in one shard."""
    cpu: float
    """Mean CPU milliseconds of the engine per search."""
    spread: Sequence[tuple[float, float]]
    """Pairs of a share of all searches and their maximum time, as a multiple of the median; sorted, from 0 to 1."""


_SMALL = (
    (0.0, 0.67), (0.1, 0.81), (0.2, 0.85), (0.3, 0.91), (0.4, 0.96), (0.5, 1.0), (0.6, 1.05), (0.7, 1.11), (0.8, 1.19),
    (0.9, 1.34), (0.99, 1.83), (1.0, 2.08),
)  # fmt: skip
_LARGE = (
    (0.0, 0.52), (0.1, 0.67), (0.2, 0.74), (0.3, 0.83), (0.4, 0.9), (0.5, 1.0), (0.6, 1.08), (0.7, 1.16), (0.8, 1.29),
    (0.9, 1.41), (0.99, 2.11), (1.0, 2.3),
)  # fmt: skip
MEASURED: tuple[Measured, Measured] = (Measured(11_000, 13.7, _SMALL), Measured(1_000_000, 18.5, _LARGE))
"""Measured on the generated sections of `python -m benchmarks cluster_engine`, as in docs/cluster.md."""


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a cluster."""

    count: int
    cores: int

    def copies(self, shards: int) -> int:
        """Number of copies of each shard: two, or more if there are more machines than two copies occupy."""
        return max(COPIES, math.ceil(self.count / shards))


@dataclass(frozen=True, slots=True)
class Simulated:
    """The times of searches with a number of machines."""

    machines: Machines
    half: float
    """The p50 in milliseconds."""
    most: float
    """The p99 in milliseconds."""
    busy: float
    """Share of the cores' time that is used, 0 to 1."""


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """Milliseconds of a search on one shard: the mean, and the distribution around it."""

    mean: float
    spread: Sequence[tuple[float, float]]

    def at(self, share: float) -> float:
        """The time that this share of all searches does not exceed, by linear interpolation."""
        for (low, below), (high, above) in pairwise(self.spread):
            if share <= high:
                return self.median * (below + (above - below) * (share - low) / (high - low))
        return self.median * self.spread[-1][1]

    @property
    def median(self) -> float:
        """The median for which the mean of the distribution is `mean`."""
        parts = ((high - low) * (below + above) / 2 for (low, below), (high, above) in pairwise(self.spread))
        return self.mean / sum(parts)


def carried_over(measured: tuple[Measured, Measured], sections: int, *, in_proportion: bool = False) -> ServiceTimes:
    """Service times of a shard of another size.

    Args:
        measured: Measurements at two sizes, the smaller one first.
        sections: Number of sections of the shard.
        in_proportion: Whether the time grows linearly with the sections above the larger size, the worst case. By
            default it grows by the same factor per doubling as between the two sizes.
    """
    small, large = measured
    if in_proportion:
        slope = (large.cpu - small.cpu) / (large.sections - small.sections)
        mean = large.cpu + slope * (sections - large.sections)
    else:
        growth = math.log(large.cpu / small.cpu) / math.log(large.sections / small.sections)
        mean = large.cpu * (sections / large.sections) ** growth
    return ServiceTimes(mean, large.spread)


def simulated(times: ServiceTimes, machines: Machines, rate: float, shards: int = SHARDS) -> Simulated:
    """Simulate searches that arrive at random, `rate` per second on average.

    Args:
        times: Service times of one shard.
        machines: The machines that have the copies, evenly distributed.
        rate: Searches per second.
        shards: Number of shards.
    """
    chance = random.Random(_SEED)
    free: list[list[float]] = [[0.0] * machines.cores for _ in range(machines.count)]
    """The times at which each machine's cores are free, as a heap."""
    places = [_places(shard, machines, shards) for shard in range(shards)]
    now = used = 0.0
    taken: list[float] = []
    for _ in range(SEARCHES):
        now += chance.expovariate(rate) * 1000
        ended = now
        for copies in places:
            queue = min((free[machine] for machine in copies), key=lambda element: element[0])
            time = times.at(chance.random())
            end = max(queue[0], now) + time
            heapq.heapreplace(queue, end)
            ended = max(ended, end)
            used += time
        taken.append(ended - now)
    ordered = sorted(taken[WARMING:])
    until = max(now, *(max(queue) for queue in free))
    return Simulated(
        machines, percentile(ordered, 50), percentile(ordered, 99), used / (until * machines.count * machines.cores)
    )


def fewest(times: ServiceTimes, cores: int, rate: float, most: float, shards: int = SHARDS) -> Simulated | None:
    """The fewest machines with a p99 of at most `most` milliseconds; None if four times the minimum is not enough.

    Args:
        times: Service times of one shard.
        cores: Number of cores of each machine.
        rate: Searches per second.
        most: Maximum p99 in milliseconds.
        shards: Number of shards.
    """
    needed = max(COPIES, math.ceil(rate * shards * times.mean / 1000 / cores))
    low, above = needed - 1, 4 * needed
    machine = simulated(times, Machines(above, cores), rate, shards)
    if machine.most > most:
        return None
    while above - low > 1:
        between = (low + above) // 2
        tried = simulated(times, Machines(between, cores), rate, shards)
        if tried.most <= most:
            above, machine = between, tried
        else:
            low = between
    return machine


def _places(shard: int, machines: Machines, shards: int) -> list[int]:
    """The machines of a shard's copies, all different. Copies are evenly distributed over the machines."""
    copies = machines.copies(shards)
    return sorted({(shard * copies + copy) % machines.count for copy in range(copies)})


def _alone(times: ServiceTimes) -> tuple[float, float]:
    """p50 and p99 of searches without queues, determined by the slowest of all shards."""
    quantiles = [times.at(share ** (1 / SHARDS)) for share in (0.5, 0.99)]
    return quantiles[0], quantiles[1]


def main() -> None:
    """Print a table for the given rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", type=float, action="append", help="searches a second; may be repeated")
    parser.add_argument("--cores", type=int, default=32, help="of one machine")
    namespace = parser.parse_args()
    for sentence, in_proportion in (("as between the sizes", False), ("in proportion", True)):
        times = carried_over(MEASURED, SECTIONS // SHARDS, in_proportion=in_proportion)
        half, most = _alone(times)
        alone = f"without waiting p50 {half:,.0f}, p99 {most:,.0f} ms"
        print(f"\nGrowth {sentence}: {times.mean:,.0f} CPU ms a shard; {alone}")
        print("| searches a second | machines | copies | p50 | p99 | busy |\n|---|---|---|---|---|---|")
        for rate in namespace.rate or [1.0, 10.0]:
            item = fewest(times, namespace.cores, rate, 1.5 * most)
            if item is None:
                print(f"| {rate:g} | more than four times what the work needs | | | | |")
                continue
            number, copies = item.machines.count, item.machines.copies(SHARDS)
            print(f"| {rate:g} | {number:,} | {copies} | {item.half:,.0f} ms | {item.most:,.0f} ms | {item.busy:.0%} |")


if __name__ == "__main__":
    main()
