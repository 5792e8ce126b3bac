"""The index: built from nothing, started unchanged, queried, and updated."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.measuring import Row, Spent, Work, median_spent, milliseconds, peak_memory, percentile, spent
from benchmarks.trees import CORPORA, Tree, generated_tree, real_tree
from commonplace.domain.addresses import Address
from commonplace.domain.ports import Index
from commonplace.domain.query import Filter, ListQuery, SearchQuery
from commonplace.index import open_index
from commonplace.store import open_store

PART = "index"
SECTIONS_EACH = 10
ROUNDS = 3
"""Number of times that every query is run."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    # The smaller corpus comes first, in a new process: its peak memory is lower than that of the larger one.
    other = real_tree(work.folder, CORPORA[1])
    if other:
        yield next(_building(other, work))
    real = real_tree(work.folder)
    if real:
        yield from _all_of(real, work)
    large = generated_tree(work.folder, work.sections // SECTIONS_EACH, SECTIONS_EACH)
    yield from _all_of(large, work)
    yield from _growth(work)


def _all_of(tree: Tree, work: Work) -> Iterator[Row]:
    yield from _building(tree, work)
    index = _opened(tree, work)
    index.sync()
    yield _unchanged(tree, index, work)
    yield from _searching(tree, index)
    yield from _asking(tree, index)
    yield from _updating(tree, index)
    index.close()


def _building(tree: Tree, work: Work) -> Iterator[Row]:
    costs: list[Spent] = []
    for _ in range(work.runs):
        shutil.rmtree(work.folder / "cache", ignore_errors=True)
        index = _opened(tree, work)
        costs.append(spent(index.sync))
        index.close()
    best = sorted(costs, key=lambda cost: cost.cpu)[len(costs) // 2]
    rate = tree.files / best.cpu
    detail = f"{best.cpu:.1f} CPU s, {best.wall:.1f} s wall, {tree.files / best.wall:,.0f} files a second"
    yield Row(PART, f"index from nothing, {tree.name}", rate, "files per CPU second", "≥ 900", detail)
    yield Row(PART, f"peak memory of indexing, {tree.name}", peak_memory(), "MB", "< 200 at 10,000 files")


def _unchanged(tree: Tree, index: Index, work: Work) -> Row:
    cost = median_spent(work.runs, index.sync)
    detail = f"{cost.wall * 1000:.0f} ms wall"
    return Row(PART, f"sync with nothing changed, {tree.name}", 1000 * cost.cpu, "CPU ms", "< 150 at 10,000", detail)


def _searching(tree: Tree, index: Index) -> Iterator[Row]:
    for snippet, name in ((200, "search, ten hits with snippets"), (0, "search, ten hits without snippets")):
        queries = [SearchQuery(text=text, limit=10, snippet=snippet) for text in tree.questions] * ROUNDS
        times = milliseconds([partial(index.search, query) for query in queries])
        detail = f"p90 {percentile(times, 90):.1f}, p99 {percentile(times, 99):.1f} ms"
        yield Row(PART, f"{name}, {tree.name}", percentile(times, 50), "ms", "p50 1, p99 4 (150,000 sections)", detail)


def _asking(tree: Tree, index: Index) -> Iterator[Row]:
    chance = random.Random(2)
    records = index.list(ListQuery(limit=2000)).records
    some = [record.address for record in chance.sample(records, min(200, len(records)))]
    folder = some[0].folder + "/"
    kinds: dict[str, list[Callable[[], object]]] = {
        "list 50 by title": [partial(index.list, ListQuery(sort="title"))] * 30,
        "list 50 of a folder by date": [partial(index.list, ListQuery(filter=Filter(prefix=folder), sort="date"))] * 30,
        "list 50 of a type": [partial(index.list, ListQuery(filter=Filter(types=("guide",))))] * 30,
        "list 50 by a field": [partial(index.list, ListQuery(filter=Filter(fields=(("owner", "person 7"),))))] * 30,
        "links of a document": [partial(index.links_from, address) for address in some],
        "backlinks with sentences": [partial(index.links_to, address) for address in some],
        "orphans": [index.orphans] * 10,
        "broken links": [index.broken] * 5,
        "tags": [partial(index.tags, Filter())] * 10,
        "nearest ids": [partial(index.nearest, f"{address.id}x") for address in some[:20]],
    }
    for name, pieces in kinds.items():
        times = milliseconds(pieces)
        detail = f"p99 {percentile(times, 99):.1f} ms"
        yield Row(PART, f"{name}, {tree.name}", percentile(times, 50), "ms", "< 5", detail)


def _updating(tree: Tree, index: Index) -> Iterator[Row]:
    chance = random.Random(3)
    records = index.list(ListQuery(limit=2000)).records
    costs: list[Spent] = []
    for number in range(150):
        address = chance.choice(records).address
        file = tree.folder / address.path
        original = file.read_bytes()
        file.write_bytes(original + f"\nchange {number} of the benchmark\n".encode())
        costs.append(spent(partial(index.update, [Address(address.path)])))
        file.write_bytes(original)
    index.sync()
    cpu = sorted(1000 * cost.cpu for cost in costs)
    wall = sorted(1000 * cost.wall for cost in costs)
    detail = (
        f"mean {sum(cpu) / len(cpu):.1f} CPU ms; wall p50 {percentile(wall, 50):.1f}, p99 {percentile(wall, 99):.1f} ms"
    )
    yield Row(PART, f"one changed file taken in, {tree.name}", percentile(cpu, 50), "CPU ms", "≤ 12", detail)


def _growth(work: Work) -> Iterator[Row]:
    medians: list[str] = []
    for files in (1_000, 10_000):
        tree = generated_tree(work.folder, files, SECTIONS_EACH)
        index = _opened(tree, work)
        index.sync()
        partials = [partial(index.search, SearchQuery(text=text, limit=10)) for text in tree.questions]
        medians.append(f"{percentile(milliseconds(partials * ROUNDS), 50):.2f} ms at {files:,} files")
        index.close()
        shutil.rmtree(tree.folder)
    first, last = (float(text.split()[0]) for text in (medians[0], medians[-1]))
    yield Row(PART, "search cost at ten times the files", last / first, "times", "< 10", "; ".join(medians))


def _opened(tree: Tree, work: Work) -> Index:
    store = open_store(tree.folder, commit="manual", state_dir=work.folder / "state")
    return open_index(store, Path(work.folder / "cache"))
