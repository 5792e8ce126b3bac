"""A page as a compare-and-swap register: whether what its clients were told can be true, given what Git has.

The commits of a branch are the order in which a page's states followed each other. A history is linearizable if each
write can be given a moment between its request and its answer so that the moments are in that order, each
acknowledged write is among the states, each refused one is not, and each state was written on top of what its writer
expected. The contents of all writes differ, so that a state tells which write made it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Outcome = Literal["acknowledged", "conflict", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Write:
    """One request to replace a page, from `began` to `ended` in seconds of one clock."""

    expected: str
    """The revision that the writer had seen."""
    revision: str
    """The revision of what it sent."""
    began: float
    ended: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Read:
    """One answer with a page's revision."""

    revision: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Register:
    """The known history of one page."""

    states: Sequence[str]
    """Revisions of the page in the order of the branch; the first was there before all writes."""
    writes: Sequence[Write]
    reads: Sequence[Read] = ()


def problems(register: Register) -> list[str]:
    """The violations in sentences; [] for a linearizable history."""
    return [
        *_of_states(register),
        *_of_outcomes(register),
        *_of_moments(register),
        *_of_conflicts(register),
        *_of_reads(register),
    ]


def _of_states(register: Register) -> Iterator[str]:
    made = {write.revision: write for write in register.writes}
    for state, times in Counter(register.states).items():
        if times > 1:
            yield f"{state} was made {times} times"
    for before, after in pairwise(register.states):
        write = made.get(after)
        if write is None:
            yield f"{after} was written by nobody"
        elif write.expected != before:
            yield f"{after} replaced {before}, and its writer had seen {write.expected}"


def _of_outcomes(register: Register) -> Iterator[str]:
    states = set(register.states)
    for write in register.writes:
        if write.outcome == "acknowledged" and write.revision not in states:
            yield f"{write.revision} was acknowledged and is lost"
        if write.outcome in {"conflict", "refused"} and write.revision in states:
            yield f"{write.revision} was refused ({write.outcome}) and is there"


def _moments(register: Register) -> list[tuple[float, float]]:
    """The earliest and the latest time at which each state can have been created, independent of the other states."""
    made = {write.revision: write for write in register.writes}
    spans = [
        (write.began, write.ended if write.outcome == "acknowledged" else math.inf)
        if (write := made.get(state))
        else (-math.inf, math.inf)
        for state in register.states
    ]
    earliest, latest = -math.inf, math.inf
    first: list[float] = []
    last: list[float] = []
    for began, _ in spans:
        earliest = max(earliest, began)
        first.append(earliest)
    for _, ended in reversed(spans):
        latest = min(latest, ended)
        last.append(latest)
    return list(zip(first, reversed(last), strict=True))


def _of_moments(register: Register) -> Iterator[str]:
    for state, (first, last) in zip(register.states, _moments(register), strict=True):
        if first > last:
            yield f"{state} is out of order: it cannot have been made before {first:.3f} nor after {last:.3f}"


def _of_conflicts(register: Register) -> Iterator[str]:
    """A conflict is false if what the writer had seen was certainly the page's state all the time."""
    moments = _moments(register)
    place = {state: number for number, state in enumerate(register.states)}
    for write in register.writes:
        if write.outcome != "conflict" or (number := place.get(write.expected)) is None:
            continue
        since = moments[number][1] if number else -math.inf
        until = moments[number + 1][0] if number + 1 < len(moments) else math.inf
        if since <= write.began and write.ended <= until:
            yield f"{write.revision} was refused as a conflict while the page was at {write.expected}"


def _of_reads(register: Register) -> Iterator[str]:
    """An answer may be old, but is of a state that the page had, and not before it can have been made."""
    moments = _moments(register)
    place = {state: number for number, state in enumerate(register.states)}
    for read in register.reads:
        number = place.get(read.revision)
        if number is None:
            yield f"{read.revision} was read and never was a state of the page"
        elif read.ended < moments[number][0]:
            yield f"{read.revision} was read before it was written"


def stale_reads(register: Register) -> Iterator[str]:
    """Answers of a state that an acknowledged write had replaced before the answer was asked for; none on one disk."""
    place = {state: number for number, state in enumerate(register.states)}
    acknowledged = sorted(
        (write.ended, place[write.revision])
        for write in register.writes
        if write.outcome == "acknowledged" and write.revision in place
    )
    latest, at = -1, 0
    for read in sorted(register.reads, key=lambda read: read.began):
        while at < len(acknowledged) and acknowledged[at][0] < read.began:
            latest = max(latest, acknowledged[at][1])
            at += 1
        if place.get(read.revision, latest) < latest:
            yield f"{read.revision} was read after {register.states[latest]} was acknowledged"
