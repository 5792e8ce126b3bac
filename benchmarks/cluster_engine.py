"""Search in a cluster: a generated base in the embedded engine and in OpenSearch, loaded and queried side by side.

The cluster is one node as tests start it, with a heap of 1 GiB (2 GiB from half a million sections on), all processors
and both of Java's compilers. The size of the larger base is `--sections`.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measuring import Row, Spent, Work, milliseconds, percentile, spent
from benchmarks.trees import Tree, generated_tree
from commonplace.domain.cluster import SharedBase
from commonplace.domain.query import SearchQuery
from commonplace.index import open_cluster, open_index
from commonplace.index.local import LocalIndex
from commonplace.services.cluster import Tailer
from commonplace.store import open_store

if TYPE_CHECKING:
    from commonplace.index.opensearch.writer import SearchCluster
    from opensearch_cluster.cluster import Cluster

PART = "cluster_engine"
SECTIONS_EACH = 11
SMALL = 11_000
LARGE_HEAP = 500_000
"""Number of sections from which the node has a heap of 2 GiB."""
SEARCHES = 300
WARMING = 600
TESTS = Path(__file__).resolve().parents[1] / "tests"
COMMIT = "c" * 40
_TICKS = os.sysconf("SC_CLK_TCK")


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part; no figures if OpenSearch is not available."""
    sys.path.append(str(TESTS))
    from opensearch_cluster.artifacts import MissingError, fetched  # noqa: PLC0415 - a part of the tests

    try:
        fetched()
    except MissingError as error:
        print(f"no search cluster: {error}", file=sys.stderr)
        return
    for sections in sorted({SMALL, max(work.sections, SMALL)}):
        with _node(2 if sections >= LARGE_HEAP else 1) as nodes:
            yield from _on_both_engines(work, nodes, sections)


@contextmanager
def _node(gibibytes: int) -> Generator[Cluster]:
    from opensearch_cluster.cluster import running  # noqa: PLC0415 - a part of the tests

    options = (f"-Xms{gibibytes}g", f"-Xmx{gibibytes}g", "-XX:TieredStopAtLevel=4", "-XX:ActiveProcessorCount=2")
    with running(1, options) as nodes:
        yield nodes


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of several searches."""

    times: Sequence[float]
    """Time of each search in milliseconds, sorted."""
    own: float
    """CPU milliseconds of this process per search."""
    engine: float
    """CPU milliseconds of the engine per search."""

    @property
    def detail(self) -> str:
        """Percentiles and CPU time as text."""
        cpu = f"{self.own:.1f} CPU ms ours" + (f", {self.engine:.1f} the engine's" if self.engine else "")
        mean = sum(self.times) / len(self.times)
        spread = " ".join(f"{percentile(self.times, 10 * tenth) / mean:.2f}" for tenth in range(11))
        most = f"p90 {percentile(self.times, 90):.1f}, p99 {percentile(self.times, 99):.1f} ms"
        return f"{most}; {cpu}; tenths as multiples of the mean: {spread}"


def _on_both_engines(work: Work, nodes: Cluster, sections: int) -> Iterator[Row]:
    tree = generated_tree(work.folder, sections // SECTIONS_EACH, SECTIONS_EACH)
    index = open_index(
        open_store(tree.folder, commit="manual", state_dir=work.folder / "state"),
        work.folder / f"cache-{sections}",
        language="",
    )
    name = f"{sections:,} sections"
    with (
        closing(index),
        closing(open_cluster(nodes.urls, "bench")) as cluster,
    ):
        built = spent(index.sync)
        yield Row(PART, f"load, embedded, {name}", sections / built.cpu, "sections per CPU second", "", _spent(built))
        yield _loading(index, cluster, nodes, name, sections)
        yield from _searching(tree, index, cluster, nodes, name)


def _loading(index: LocalIndex, cluster: SearchCluster, nodes: Cluster, name: str, sections: int) -> Row:
    tailer = Tailer(_BASE, _OneCommit(), index, cluster.reader, cluster.writer)
    before = _engine_cpu(nodes)
    ours = spent(partial(tailer.follow, COMMIT))
    theirs = _engine_cpu(nodes) - before
    if not tailer.is_current:
        raise RuntimeError(tailer.problem)
    detail = f"{_spent(ours)}; {ours.cpu:.1f} CPU s ours, {theirs:.1f} the engine's; {_size(nodes):,.0f} MB on disk"
    return Row(PART, f"load, cluster, {name}", sections / (ours.cpu + theirs), "sections per CPU second", "", detail)


def _searching(tree: Tree, index: LocalIndex, cluster: SearchCluster, nodes: Cluster, name: str) -> Iterator[Row]:
    chance = random.Random(3)
    queries = [SearchQuery(text=text, limit=10) for text in tree.questions]
    search_queries = [chance.choice(queries) for _ in range(SEARCHES)]
    engines: dict[str, Callable[[SearchQuery], object]] = {
        "embedded": index.search,
        "cluster": lambda query: cluster.reader.search([_BASE], query),
    }
    cluster.reader.through(_BASE)  # as a server's tailer does, which keeps cached term statistics valid
    for engine, search in engines.items():
        for at in range(WARMING):
            search(queries[at % len(queries)])
        cost = _asked(search, search_queries, nodes if engine == "cluster" else None)
        yield Row(PART, f"search, ten hits, {engine}, {name}", percentile(cost.times, 50), "ms", "", cost.detail)


def _asked(search: Callable[[SearchQuery], object], queries: Sequence[SearchQuery], nodes: Cluster | None) -> _Cost:
    """The cost of three rounds of searches; the round with the median CPU time counts."""
    costs: list[_Cost] = []
    for _ in range(3):
        before = _engine_cpu(nodes) if nodes else 0.0
        times: list[float] = []
        own = spent(lambda times=times: times.extend(milliseconds([partial(search, query) for query in queries])))
        theirs = _engine_cpu(nodes) - before if nodes else 0.0
        costs.append(_Cost(times, 1000 * own.cpu / len(queries), 1000 * theirs / len(queries)))
    return sorted(costs, key=lambda cost: cost.own + cost.engine)[1]


def _spent(cost: Spent) -> str:
    return f"{cost.wall:.1f} s wall"


def _engine_cpu(nodes: Cluster) -> float:
    """CPU seconds that all nodes have used so far."""
    total = 0
    for node in nodes.nodes:
        fields = Path(f"/proc/{node.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def _size(nodes: Cluster) -> float:
    """Size of all indexes in the cluster in megabytes."""
    with nodes.client() as client:
        return client.indices.stats()["_all"]["total"]["store"]["size_in_bytes"] / 1e6


_BASE = SharedBase("bench", "b" * 16)


class _OneCommit:
    """A branch with a single commit."""

    def number(self, commit: str) -> int:
        """Return 1."""
        del commit
        return 1

    def has(self, commit: str) -> bool:
        """Whether the commit is the only one."""
        return commit == COMMIT

    def holds(self, tip: str, commit: str) -> bool:
        """Whether both are the only commit."""
        return tip == commit == COMMIT
