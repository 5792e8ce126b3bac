"""Faults of a running cluster of servers: parts die, are cut off, hang or restart, and recover."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opensearchpy import OpenSearch

from opensearch_cluster.cluster import Cluster
from soak.cluster.network import Host
from soak.cluster.nodes import Running, wait_until

log = logging.getLogger(__name__)

LASTS_SECONDS = 10.0
"""Duration of a fault in seconds."""
FREE = "1kb"
"""A watermark that every disk keeps. The engine unblocks indexes only while it watches the watermarks."""
UNBLOCK_SECONDS = 120.0
"""The engine looks at its disks every 30 seconds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that happens, and what ends it after LASTS_SECONDS."""

    name: str
    begin: Callable[[], object]
    end: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts to which faults are applied. `engine_hosts` are the hosts of the cluster's nodes, in their order."""

    servers: Sequence[Running]
    engines: Cluster
    engine_hosts: Sequence[Host]
    git: Running


def all_faults(parts: Parts) -> list[Fault]:
    """Every fault once."""
    faults: list[Fault] = []
    for number, server in enumerate(parts.servers, 1):
        faults += [
            Fault(f"server {number} killed", server.kill, server.start),
            Fault(f"server {number} cut off", server.host.cut, server.host.join),
            Fault(f"server {number} restarted", lambda server=server: (server.stop(), server.start())),
        ]
    for node, host in zip(parts.engines.nodes, parts.engine_hosts, strict=True):
        faults += [
            Fault(f"engine {node.name} killed", node.kill, node.start),
            Fault(f"engine {node.name} cut off", host.cut, host.join),
        ]
    return [
        *faults,
        Fault("Git host killed", parts.git.kill, parts.git.start),
        Fault("Git host cut off", parts.git.host.cut, parts.git.host.join),
        Fault("engine's disks full", lambda: fill_disks(parts.engines), lambda: free_disks(parts.engines)),
    ]


def fill_disks(engines: Cluster) -> None:
    """Let the engine find its disks too full to write on, by a watermark that no disk keeps."""
    _set_watermarks(engines, "1000tb")


def free_disks(engines: Cluster) -> None:
    """Let the engine find its disks as free as they are, and wait until it has unblocked its indexes by itself."""
    _set_watermarks(engines, FREE)
    with engines.client() as client:
        wait_until(lambda: not _blocked(client), "the engine's indexes take writes", UNBLOCK_SECONDS)
    _set_watermarks(engines, None)


def _blocked(client: OpenSearch) -> bool:
    return any(
        setting["settings"] for setting in client.indices.get_settings(index="*", name="index.blocks.*").values()
    )


def _set_watermarks(engines: Cluster, free: str | None) -> None:
    prefix = "cluster.routing.allocation.disk"
    settings = {
        f"{prefix}.threshold_enabled": None if free is None else True,
        f"{prefix}.watermark.low": free,
        f"{prefix}.watermark.high": free,
        f"{prefix}.watermark.flood_stage": free,
    }
    with engines.client() as client:
        client.cluster.put_settings(body={"transient": settings})


class FaultSchedule:
    """One fault after the other, each of a list in an order drawn anew.

    Args:
        faults: What may happen.
        pause: Seconds from one to the next.
        seed: Of the order.
        settled: Waits until all is as before; called before each fault.
    """

    def __init__(self, faults: Sequence[Fault], pause: float, seed: int, settled: Callable[[], object]) -> None:
        self._faults = faults
        self._pause = pause
        self._chance = random.Random(seed)
        self._settled = settled
        self.happened: list[tuple[float, float, str]] = []
        """Beginning and end of each, and its name."""
        self.problems: list[str] = []

    def run(self, ending: threading.Event) -> None:
        """Do one after the other until the end; the last one is ended, too."""
        left: list[Fault] = []
        due = time.monotonic() + self._pause
        while not ending.wait(max(0.0, due - time.monotonic())):
            due = time.monotonic() + self._pause
            left = left or self._chance.sample(self._faults, len(self._faults))
            try:
                self._settled()
                self._do(left.pop(), ending)
            except Exception as error:  # noqa: BLE001 - the test's own thread shows it
                self.problems.append(f"{type(error).__name__}: {error}")
                return

    def _do(self, fault: Fault, ending: threading.Event) -> None:
        began = time.monotonic()
        log.info("%s", fault.name)
        try:
            fault.begin()
            ending.wait(LASTS_SECONDS)
        finally:
            fault.end()
        self.happened.append((began, time.monotonic(), fault.name))
