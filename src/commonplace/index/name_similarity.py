"""Finds the names of a collection that share most letter bigrams with a text, without comparing them one by one.

Every bigram has a bit set of the names that contain it, as one integer; a second set has the names that contain the
bigram twice, and so on. The number of sets that contain a name is counted for all names at once by adding the sets in
binary: the n-th integer of the sum contains the n-th binary digit of every name's count. Thus a few hundred operations
on large integers replace a comparison with every name.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import add

MAX_SETS = 2000
"""Maximum number of cached bit sets; each takes a bit per name."""

NameEntry = tuple[str, str]
"""A document's id and one of its names, folded."""


class NameSimilarity:
    """An immutable set of names that can be compared with texts.

    Args:
        entries: Every name; duplicates count.
    """

    def __init__(self, entries: Iterable[NameEntry]) -> None:
        # Sorted in the order of ties, so that the lowest bits are the first names.
        self._entries = sorted(entries)
        self._every = (1 << len(self._entries)) - 1
        self._holders: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        for number, (_, name) in enumerate(self._entries):
            for pair in set(map(add, name, name[1:])):
                self._holders[pair].append(number)
        lengths: defaultdict[int, list[int]] = defaultdict(list)
        for number, (_, name) in enumerate(self._entries):
            lengths[len(name)].append(number)
        self._lengths = {length: _set_of(lengths[length]) for length in sorted(lengths)}
        self._sets: dict[tuple[str, int], int] = {}

    def without(self, gone: Iterable[NameEntry]) -> int:
        """The bit set of all names except these, each excluded once per occurrence; for `most_similar`."""
        taken = Counter(gone)
        numbers: list[int] = []
        for number, entry in enumerate(self._entries if taken else ()):
            if taken[entry] > 0:
                taken[entry] -= 1
                numbers.append(number)
        return self._every ^ _set_of(numbers)

    def most_similar(self, wanted: str, limit: int, among: int) -> list[tuple[float, str, str]]:
        """The names that share most bigrams with a text, each with its negative similarity.

        Args:
            wanted: The text, folded.
            limit: Maximum number of names; ties are in the order of ids, then names.
            among: The bit set of names to consider.
        """
        # A text too short for bigrams only matches an equal name.
        same = [number for number, (_, name) in enumerate(self._entries if len(wanted) <= 1 else ())
                if name == wanted and among >> number & 1]  # fmt: skip
        found = [(-1.0, number) for number in same]
        digits = self._shared(wanted)
        for count, group in _by_count(digits, len(digits), among ^ _set_of(same)):
            self._take(found, count, group, len(wanted), limit)
        return [(likeness, *self._entries[number]) for likeness, number in found[:limit]]

    def _take(self, found: list[tuple[float, int]], count: int, group: int, length: int, limit: int) -> None:
        """Add the names of a group, which all share the same number of bigrams, that may be among the best.

        Args:
            found: The best names so far, with their negative similarities; cut to the limit.
            count: Number of bigrams that each name of the group shares with the text.
            group: The bit set of names.
            length: Length of the text.
            limit: Maximum number of names.
        """
        for own, names in self._lengths.items():
            likeness = -dice_similarity(count, length, own)
            if len(found) >= limit and likeness > found[-1][0]:
                return  # all further names are longer
            some = names & group
            if some:
                found += [(likeness, number) for number in _first(some, limit)]
                found.sort()
                del found[limit:]

    def _shared(self, wanted: str) -> list[int]:
        """Number of bigrams that each name shares with a text, as bit sets; the n-th set has the n-th binary digits."""
        digits: list[int] = []
        for pair, count in Counter(pairs_of(wanted)).items():
            for nth in range(1, count + 1):
                carry = self._set(pair, nth)
                if not carry:
                    break
                for place, digit in enumerate(digits):
                    digits[place], carry = digit ^ carry, digit & carry
                    if not carry:
                        break
                if carry:
                    digits.append(carry)
        return digits

    def _set(self, pair: str, nth: int) -> int:
        """The bit set of the names that contain a bigram at least `nth` times."""
        known = self._sets.get((pair, nth))
        if known is None:
            numbers: Sequence[int] = self._holders.get(pair, ())
            if nth > 1:
                numbers = [number for number in numbers if self._entries[number][1].count(pair) >= nth]
            known = _set_of(numbers)
            if len(self._sets) < MAX_SETS:
                self._sets[pair, nth] = known
        return known


def pairs_of(text: str) -> list[str]:
    """The bigrams of a text, in order."""
    return [text[at : at + 2] for at in range(len(text) - 1)]


def dice_similarity(shared: int, length: int, other: int) -> float:
    """Dice coefficient of two texts' bigrams, 0 to 1.

    Args:
        shared: Number of shared bigrams.
        length: Length of one text.
        other: Length of the other.
    """
    total = length + other - 2
    return 2 * shared / total if total > 0 else 0.0


def occurrences(name: str) -> dict[str, int]:
    """Number of occurrences of each bigram in a name; overlapping occurrences (`aaa`) count once."""
    return {pair: name.count(pair) for pair in pairs_of(name)}


def _by_count(digits: Sequence[int], level: int, group: int) -> Iterator[tuple[int, int]]:
    """The names of a group by count (the lowest `level` binary digits), highest count first."""
    if not group:
        return
    if level == 0:
        yield 0, group
        return
    ones = group & digits[level - 1]
    for count, names in _by_count(digits, level - 1, ones):
        yield count + (1 << level - 1), names
    yield from _by_count(digits, level - 1, group ^ ones)


def _set_of(numbers: Sequence[int]) -> int:
    """The bit set of these numbers."""
    bits = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def _first(names: int, limit: int) -> Iterator[int]:
    """The lowest numbers in a bit set."""
    while names and limit:
        lowest = names & -names
        yield lowest.bit_length() - 1
        names ^= lowest
        limit -= 1
