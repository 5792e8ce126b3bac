"""Several OpenSearch nodes as one cluster, in a temporary folder that goes with the block."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest
from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException

from opensearch_cluster.artifacts import MissingError, install
from opensearch_cluster.node import Identity, Node

NOBODY = 65_534
GREEN_SECONDS = 180.0
PORTS = (9200, 9300)
"""Ports for HTTP and for other nodes, if a node has a separate address."""


class Place(Protocol):
    """The place where a node runs."""

    @property
    def address(self) -> str:
        """Address of the place."""
        ...

    @property
    def namespace(self) -> Path:
        """The network namespace that has the address."""
        ...


class Cluster:
    """Running nodes. What is asked of it goes to any node that lives, as a client with all addresses does."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    @property
    def urls(self) -> list[str]:
        """The addresses of all nodes, whether they run or not."""
        return [node.url for node in self.nodes]

    def client(self) -> OpenSearch:
        """A client that knows all nodes and asks another one where one does not answer; to be closed.

        It asks again after a 500, too: a search whose hits lay on a node that died meanwhile ends with one.
        """
        return OpenSearch(
            self.urls,
            timeout=10,
            max_retries=3,
            retry_on_timeout=True,
            retry_on_status=(500, 502, 503, 504),
            pool_maxsize=4,
        )

    def node(self, name: str) -> Node:
        """The node of this name."""
        return next(node for node in self.nodes if node.name == name)

    def manager(self) -> Node:
        """The elected cluster manager; waits while there is none."""
        nodes: list[str] = []

        def elected() -> bool:
            with self.client() as client:
                nodes[:] = [str(row["node"]) for row in client.cat.cluster_manager(params={"format": "json"})]
            return bool(nodes)

        _await(elected, "elected cluster manager")
        return self.node(nodes[0])

    def wait_until_without_manager(self) -> None:
        """Wait until a node that lives knows that there is no cluster manager: too few nodes are left to elect one."""

        def leaderless() -> bool:
            with self.client() as client:
                return not client.cluster.health(params={"local": "true"})["discovered_cluster_manager"]

        _await(leaderless, "cluster without a manager")

    def wait_until_green(self, nodes: int | None = None, seconds: float = GREEN_SECONDS) -> None:
        """Wait until every copy of every shard is in its place, on `nodes` nodes (all of them unless told)."""
        count = len(self.nodes) if nodes is None else nodes

        def green() -> bool:
            with self.client() as client:
                health = client.cluster.health()
            return (health["status"], health["relocating_shards"], health["number_of_nodes"]) == ("green", 0, count)

        try:
            _await(green, f"green cluster of {count} nodes", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self._state()}") from None

    def _state(self) -> str:
        """The state of the cluster's shards, for a person."""
        with self.client() as client:
            try:
                return f"{client.cluster.health()}\n{client.cat.shards()}\n{client.cluster.allocation_explain()}"
            except OpenSearchException as error:
                return str(error)


@contextmanager
def running(count: int = 3, java_options: Sequence[str] = (), places: Sequence[Place] = ()) -> Generator[Cluster]:
    """A cluster of `count` nodes that is stopped and removed with the block; skips if none is available.

    `java_options` are added to those of each node, such as a larger heap. `places` are where the nodes run, one each;
    without them it is this machine's loopback address. With REQUIRE_TOOLS in the environment it must be there.
    """
    with tempfile.TemporaryDirectory(prefix="opensearch-") as name, ExitStack() as stack:
        try:
            nodes = _prepared(Path(name), _seeds(count, places), java_options)
            for node in nodes:
                stack.callback(node.kill)
                node.start()
        except MissingError as error:
            if "REQUIRE_TOOLS" in os.environ:
                raise
            pytest.skip(f"needs OpenSearch: {error}")
        for node in nodes:
            node.wait_until_up()
        cluster = Cluster(nodes)
        cluster.wait_until_green()
        yield cluster


def _prepared(folder: Path, seeds: Sequence[Identity], java_options: Sequence[str]) -> list[Node]:
    """Nodes that have not started."""
    folder.chmod(0o755)
    install(folder / "home")
    return [Node(folder / "home", folder / seed.name, seed, seeds, java_options) for seed in seeds]


def _seeds(count: int, places: Sequence[Place]) -> list[Identity]:
    """The engine refuses to run as root, whose nodes are nobody's then."""
    owner = NOBODY if os.getuid() == 0 else None
    if places:
        return [
            Identity(f"node-{number}", *PORTS, owner, place.address, place.namespace)
            for number, place in enumerate(places, 1)
        ]
    ports = _free_ports(2 * count)
    return [Identity(f"node-{i + 1}", ports[2 * i], ports[2 * i + 1], owner) for i in range(count)]


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _await(condition: Callable[[], bool], what: str, seconds: float = GREEN_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OpenSearchException):
            if condition():
                return
        time.sleep(0.1)
    raise AssertionError(f"there was no {what} within {seconds:.0f} s")
