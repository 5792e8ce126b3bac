"""A node of the engine is killed under load: no search fails or is short without saying so, and nothing stays lost."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from commonplace.domain.cluster import BranchPosition
from commonplace.domain.errors import UnavailableError
from commonplace.domain.query import SearchQuery
from commonplace.index.opensearch.connection import ClusterAddress
from commonplace.index.opensearch.writer import SearchCluster
from opensearch_cluster.cluster import running
from opensearch_cluster.engines import COMMIT, Engine, new_base, pages

PAGES = 200
BATCHES = 12
ATTEMPTS = 30
"""Times that a write is tried again while the cluster elects a manager or makes its copies."""


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_node_killed_while_it_is_written_and_searched_loses_nothing_and_fails_no_search() -> None:
    with running(3) as nodes, closing(SearchCluster(ClusterAddress(tuple(nodes.urls)), "kills")) as cluster:
        engine = Engine(cluster.reader, cluster.writer)
        texts = {f"p{n}.md": f"# Page {n}\n\nevery word{n}\n" for n in range(PAGES)}
        base = engine.filled(new_base(), texts)
        nodes.wait_until_green()
        answers: list[tuple[int, bool]] = []
        failures: list[Exception] = []
        ended = threading.Event()

        def ask() -> None:
            while not ended.is_set():
                try:
                    match = engine.reader.search([base], SearchQuery(text="every", limit=1))
                    answers.append((match.results[base].total, bool(match.partial)))
                except UnavailableError as error:
                    failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for batch in range(1, BATCHES):
                if batch == BATCHES // 3:
                    nodes.manager().kill()
                texts |= {f"b{batch}-{n}.md": f"# Batch {batch}\n\nevery more{n}\n" for n in range(10)}
                _insist(engine, base, texts, batch + 1)
        finally:
            ended.set()
            asking.join(60)
        assert failures == []
        assert len(answers) > BATCHES
        assert [total for total, partial in answers if total < PAGES and not partial] == []
        victim = next(node for node in nodes.nodes if not node.running)
        victim.start()
        victim.wait_until_up()
        nodes.wait_until_green()
        expected = {page.record.address: page.record.revision for page in pages(texts)}
        differences = engine.writer.verify(base, expected)
        lost = differences.missing | differences.outdated
        engine.put(base, {address.path: texts[address.path] for address in lost}, BATCHES)
        assert not engine.writer.verify(base, expected)
        assert engine.search(base, "every", limit=1).total == len(texts)


def _insist(engine: Engine, base: object, texts: dict[str, str], number: int) -> None:
    """Write as a tailer does: again from the last position until it is acknowledged."""
    wanted_values = {path: text for path, text in texts.items() if path.startswith("b")}
    for attempt in range(ATTEMPTS):
        try:
            engine.writer.put(base, number, pages(wanted_values))  # pyright: ignore[reportArgumentType]
            engine.writer.advance(base, BranchPosition(number, COMMIT))  # pyright: ignore[reportArgumentType]
        except UnavailableError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return
