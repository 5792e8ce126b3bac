"""An implementation of the port of a shared engine on the embedded index, for one process.

Generations are in memory and in temporary folders. The contract tests of the port run on this implementation and on a
cluster.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster import (
    BranchPosition,
    IndexDifferences,
    LinkLabels,
    SharedBase,
    SharedPage,
    SharedResult,
    no_labels,
)
from commonplace.domain.errors import NotFoundError
from commonplace.domain.query import QuestionVector, SearchQuery, SearchResult
from commonplace.index.local import LocalIndex
from page_store import PageStore


@dataclass(slots=True)
class Generation:
    """A generation of a base."""

    store: PageStore
    folder: Path
    index: LocalIndex
    numbers: dict[Address, int] = field(default_factory=dict[Address, int])
    """Position on the branch of the last write or deletion of each page."""
    through: BranchPosition | None = None


class EmbeddedBases:
    """The bases of one process. Thread-safe.

    Args:
        folder: Folder of the indexes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._generations: dict[SharedBase, dict[int, Generation]] = {}
        self._published: dict[SharedBase, int] = {}
        self._made = 0

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation; returns its number."""
        with self._lock:
            held = self._generations.setdefault(base, {})
            number = max(held, default=0) + 1
            self._made += 1
            store = PageStore(base.name, f"{self._made:06d}")
            folder = self._folder / store.identity
            index = LocalIndex(store, folder, language="")
            index.sync()
            held[number] = Generation(store, folder, index)
            return number

    def publish(self, base: SharedBase, generation: int) -> None:
        """Make a generation the searched one, and delete the generations before it."""
        with self._lock:
            held = self._generations[base]
            self._published[base] = generation
            for number in [number for number in held if number < generation]:
                _delete(held.pop(number))

    def drop(self, base: SharedBase) -> None:
        """Delete all generations."""
        with self._lock:
            self._published.pop(base, None)
            for generation in self._generations.pop(base, {}).values():
                _delete(generation)

    @contextmanager
    def used(self, base: SharedBase, number: int | None = None) -> Generator[Generation]:
        """A generation (None: the published one), which is not deleted during the `with` block.

        Raises:
            NotFoundError: kind "engine": there is no such generation.
        """
        with self._lock:
            wanted_number = self._published.get(base) if number is None else number
            generation = self._generations.get(base, {}).get(wanted_number) if wanted_number is not None else None
            if generation is None:
                raise NotFoundError(f"There is no index of {base.name!r}.", kind="engine", hint="It was dropped.")
            yield generation


class EmbeddedReader:
    """`domain.cluster.SharedIndexReader`."""

    def __init__(self, bases: EmbeddedBases) -> None:
        self._bases = bases

    def search(
        self,
        bases: Sequence[SharedBase],
        query: SearchQuery,
        labels: LinkLabels = no_labels,
        question: QuestionVector | None = None,
    ) -> SharedResult:
        """Ranked pages of each base, by words."""
        del labels, question  # the index has the links of its pages, and no vectors
        results: dict[SharedBase, SearchResult] = {}
        for base in bases:
            with self._bases.used(base) as generation:
                results[base] = generation.index.search(query)
        return SharedResult(results)

    def through(self, base: SharedBase) -> BranchPosition | None:
        """The branch position that the published index has reached; None if there is none."""
        try:
            with self._bases.used(base) as generation:
                return generation.through
        except NotFoundError:
            return None

    def wait_for(self, base: SharedBase, number: int, timeout: float) -> bool:
        """Wait until `through` is at least `number`."""
        deadline = time.monotonic() + timeout
        while (position := self.through(base)) is None or position.number < number:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True


class EmbeddedWriter:
    """`domain.cluster.SharedIndexWriter`."""

    def __init__(self, bases: EmbeddedBases) -> None:
        self._bases = bases

    def begin(self, base: SharedBase) -> int:
        """A new, empty generation."""
        return self._bases.begin(base)

    def publish(self, base: SharedBase, generation: int) -> None:
        """Make a generation the searched one."""
        self._bases.publish(base, generation)

    def put(self, base: SharedBase, number: int, pages: Iterable[SharedPage], generation: int | None = None) -> None:
        """Add pages; `advance` indexes them."""
        with self._bases.used(base, generation) as held:
            for page in pages:
                if number >= held.numbers.get(page.record.address, 0):
                    held.numbers[page.record.address] = number
                    held.store.pages[page.record.address] = page
                    held.store.changes += 1

    def remove(
        self, base: SharedBase, addresses: Iterable[Address], number: int, generation: int | None = None
    ) -> None:
        """Remove pages; `advance` removes them from the index."""
        with self._bases.used(base, generation) as held:
            for address in addresses:
                if number >= held.numbers.get(address, 0):
                    held.numbers[address] = number
                    held.store.pages.pop(address, None)
                    held.store.changes += 1

    def advance(self, base: SharedBase, position: BranchPosition, generation: int | None = None) -> None:
        """Index the written pages, then set the position."""
        with self._bases.used(base, generation) as held:
            held.index.sync()
            if held.through is None or position.number >= held.through.number:
                held.through = position

    def drop(self, base: SharedBase) -> None:
        """Delete all generations."""
        self._bases.drop(base)

    def count(self, base: SharedBase) -> int:
        """Number of pages in the published index."""
        with self._bases.used(base) as held:
            return len(held.index.revisions())

    def verify(
        self, base: SharedBase, expected: Mapping[Address, Revision], generation: int | None = None
    ) -> IndexDifferences:
        """Compare the index with the pages of a base."""
        with self._bases.used(base, generation) as held:
            held.index.sync()
            revisions = held.index.revisions()
        return IndexDifferences(
            missing=frozenset(expected.keys() - revisions.keys()),
            outdated=frozenset(key for key in expected.keys() & revisions.keys() if expected[key] != revisions[key]),
            surplus=frozenset(revisions.keys() - expected.keys()),
        )


def _delete(generation: Generation) -> None:
    generation.index.close()
    shutil.rmtree(generation.folder, ignore_errors=True)
