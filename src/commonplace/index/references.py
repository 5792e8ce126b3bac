"""Resolves references from people to documents, and suggests similar ones."""

from __future__ import annotations

import re
import sqlite3
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from operator import add
from typing import cast

from commonplace.domain.addresses import Address, fold
from commonplace.domain.links import link_key, resolve_target
from commonplace.domain.markdown.paths import without_suffix
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.domain.words.scripts import any_accents
from commonplace.index.catalogue.database import read_number
from commonplace.index.catalogue.document_rows import record_at, records_where
from commonplace.index.catalogue.links import NAMED, CatalogueLookup
from commonplace.index.catalogue.listing import MAX_CODE_POINT

MAX_COMPARED_NAMES = 40
"""Maximum number of names, by shared bigrams, that are compared letter by letter."""
CHANGED_SHARE = 32
"""The bigram index is rebuilt if more than 1/`CHANGED_SHARE` of the documents have changed names."""
_DATE = re.compile(r"(?<!\d)(\d{4})[-_]?([01]\d)[-_]?([0-3]\d)(?!\d)")
MIN_SIMILARITY = 0.5
"""Minimum similarity of a suggested name, 0 to 1."""
SHORT_NAME = 5
"""Number of characters of a reference up to which names that do not contain it must be more similar."""
MIN_SHORT_SIMILARITY = 0.6


def find(connection: sqlite3.Connection, store: Store, reference: str, source: Address | None) -> Record | None:
    """The document that a path, id, title or alias names; None if there is none or several."""
    if not reference.strip():
        return None
    address = resolve_target(reference.strip(), source, CatalogueLookup(connection, store, None))
    return record_at(connection, address.path) if address and address.is_document else None


class NameIndex:
    """A bigram index of the names in one open catalogue, for finding similar names.

    Several processes write to a catalogue, so each query checks whether names have changed. A few changed names are
    compared one by one; if there are many, the index is rebuilt.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = -1
        self._rows: dict[str, _Row] = {}
        """Rows by path, as of the last rebuild."""
        self._likeness = NameSimilarity(())
        self._now = _ChangedNames(self._likeness.without(()), ())

    def nearest(self, connection: sqlite3.Connection, reference: str, limit: int) -> list[str]:
        """Ids of the documents whose id, path or title is most similar to a reference, best first."""
        wanted_reference = fold(reference.strip())
        likeness, now = self._at(connection)
        rough = likeness.most_similar(wanted_reference, MAX_COMPARED_NAMES, now.among)
        rough += [(-_alike(wanted_reference, name), ident, name) for ident, name in now.added]
        rough.sort()
        return _best(wanted_reference, [(ident, name) for _, ident, name in rough[:MAX_COMPARED_NAMES]], limit)

    def _at(self, connection: sqlite3.Connection) -> tuple[NameSimilarity, _ChangedNames]:
        """All names in this transaction of the catalogue."""
        seen = read_number(connection, NAMED)
        with self._lock:
            if seen != self._seen:
                gone, come = _differing(connection, self._rows)
                if len(gone) + len(come) > max(len(self._rows) // CHANGED_SHARE, MAX_COMPARED_NAMES):
                    for _, path, _ in gone:
                        del self._rows[path]
                    self._rows |= {row[1]: row for row in come}
                    gone = come = []
                    self._likeness = NameSimilarity(_entries(self._rows.values()))
                self._now = _ChangedNames(self._likeness.without(_entries(gone)), tuple(_entries(come)))
                self._seen = seen
            return self._likeness, self._now


@dataclass(frozen=True, slots=True)
class _ChangedNames:
    """The changes since the last rebuild."""

    among: int
    """The bit set of the unchanged names."""
    added: Sequence[NameEntry]


_Row = tuple[str, str, str]
"""A document's id, path and title."""


def _differing(connection: sqlite3.Connection, rows: Mapping[str, _Row]) -> tuple[list[_Row], list[_Row]]:
    """Rows that are outdated, and their replacements and additions.

    The rows are compared one by one. Loading all rows after every change would fragment the memory for hours.
    """
    same: set[str] = set()
    come: list[_Row] = []
    for row in cast("Iterator[_Row]", connection.execute("SELECT ident, path, title FROM files")):
        there = rows.get(row[1])
        if there and there == row:
            same.add(there[1])
        else:
            come.append(row)
    return [row for path, row in rows.items() if path not in same], come


def _entries(rows: Iterable[_Row]) -> Iterator[NameEntry]:
    for ident, path, title in rows:
        address = Address(path)
        for name in {ident, address.id, address.stem, title}:
            yield ident, fold(name)


def same_name(connection: sqlite3.Connection, address: Address) -> list[Address]:
    """Other documents whose path differs only in case or Unicode form, by path."""
    rows = connection.execute(
        "SELECT f.path FROM names n JOIN files f ON f.id = n.file WHERE n.key = ? AND f.path <> ? ORDER BY f.path",
        (link_key(address.path), address.path),
    )
    folded = fold(address.path)
    return [Address(path) for (path,) in rows if fold(path) == folded]


def beginning_with(connection: sqlite3.Connection, name: str, limit: int) -> list[Record]:
    """Documents of which a name that links use begins with `name`: first those with its accents, short titles first."""
    key = link_key(name)
    condition = "f.id IN (SELECT file FROM names WHERE key >= ? AND key < ? OR key GLOB ?)"
    order = "f.id NOT IN (SELECT file FROM names WHERE key >= ? AND key < ?), length(f.title), f.path LIMIT ?"
    ends = (key, key + MAX_CODE_POINT)
    return records_where(connection, condition, (*ends, f"{any_accents(key)}*", *ends, limit), order) if key else []


def _alike(wanted_reference: str, name: str) -> float:
    """Similarity of two names by their bigrams, 0 to 1."""
    if len(wanted_reference) + len(name) <= 2:  # noqa: PLR2004 -- two names of one letter each, or less
        return float(wanted_reference == name)
    here = occurrences(name)
    shared = sum(min(count, here.get(pair, 0)) for pair, count in Counter(pairs_of(wanted_reference)).items())
    return dice_similarity(shared, len(wanted_reference), len(name))


def _is_of_another_day(name: str, ident: str) -> bool:
    """Whether both names contain dates, and these differ. The page of another day is not a useful suggestion."""
    day, other = _DATE.search(name), _DATE.search(ident)
    return day is not None and other is not None and day.groups() != other.groups()


def _best(wanted_reference: str, entries: Sequence[NameEntry], limit: int) -> list[str]:
    """Ids of the names that are most similar to a text letter by letter, best first, then by id."""
    bare = without_suffix(wanted_reference)  # the letters of a suffix would be half of a short name
    matchers = [SequenceMatcher(None, form, autojunk=False) for form in {bare, link_key(bare)} if form]
    scores: dict[str, float] = {}
    least = MIN_SIMILARITY
    for ident, name in entries:
        for matcher in matchers:
            matcher.set_seq2(name)
            # Two upper bounds, each of which costs a tenth of the exact ratio.
            if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least:
                score = matcher.ratio()
                if len(bare) > SHORT_NAME or score >= MIN_SHORT_SIMILARITY or bare in name:
                    scores[ident] = max(scores.get(ident, 0.0), score)
        if len(scores) >= limit > 0:
            least = max(MIN_SIMILARITY, sorted(scores.values(), reverse=True)[limit - 1])
    scores = {ident: score for ident, score in scores.items() if not _is_of_another_day(wanted_reference, ident)}
    best = sorted(scores, key=lambda ident: (-scores[ident], ident))
    return [ident for ident in best if scores[ident] >= MIN_SIMILARITY][:limit]


# Finds the names of a collection that share most letter bigrams with a text, without comparing them one by one.
#
# Every bigram has a bit set of the names that contain it, as one integer; a second set has the names that contain the
# bigram twice, and so on. The number of sets that contain a name is counted for all names at once by adding the sets
# in binary: the n-th integer of the sum contains the n-th binary digit of every name's count. Thus a few hundred
# operations on large integers replace a comparison with every name.


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

    def most_similar(self, wanted_reference: str, limit: int, among: int) -> list[tuple[float, str, str]]:
        """The names that share most bigrams with a text, each with its negative similarity.

        Args:
            wanted_reference: The text, folded.
            limit: Maximum number of names; ties are in the order of ids, then names.
            among: The bit set of names to consider.
        """
        # A text too short for bigrams only matches an equal name.
        same = [number for number, (_, name) in enumerate(self._entries if len(wanted_reference) <= 1 else ())
                if name == wanted_reference and among >> number & 1]  # fmt: skip
        found_numbers = [(-1.0, number) for number in same]
        digits = self._shared(wanted_reference)
        for count, group in _by_count(digits, len(digits), among ^ _set_of(same)):
            self._take(found_numbers, count, group, len(wanted_reference), limit)
        return [(likeness, *self._entries[number]) for likeness, number in found_numbers[:limit]]

    def _take(self, found_numbers: list[tuple[float, int]], count: int, group: int, length: int, limit: int) -> None:
        """Add the names of a group, which all share the same number of bigrams, that may be among the best.

        Args:
            found_numbers: The best names so far, with their negative similarities; cut to the limit.
            count: Number of bigrams that each name of the group shares with the text.
            group: The bit set of names.
            length: Length of the text.
            limit: Maximum number of names.
        """
        for own, names in self._lengths.items():
            likeness = -dice_similarity(count, length, own)
            if len(found_numbers) >= limit and likeness > found_numbers[-1][0]:
                return  # all further names are longer
            some = names & group
            if some:
                found_numbers += [(likeness, number) for number in _first(some, limit)]
                found_numbers.sort()
                del found_numbers[limit:]

    def _shared(self, wanted_reference: str) -> list[int]:
        """Number of bigrams that each name shares with a text, as bit sets; the n-th set has the n-th binary digits."""
        digits: list[int] = []
        for pair, count in Counter(pairs_of(wanted_reference)).items():
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
        number_set = self._sets.get((pair, nth))
        if number_set is None:
            numbers: Sequence[int] = self._holders.get(pair, ())
            if nth > 1:
                numbers = [number for number in numbers if self._entries[number][1].count(pair) >= nth]
            number_set = _set_of(numbers)
            if len(self._sets) < MAX_SETS:
                self._sets[pair, nth] = number_set
        return number_set


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
