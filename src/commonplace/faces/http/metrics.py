"""Counts and durations of calls for Prometheus, at `/metrics`, and the state of replicas.

Labels are names of tools and routes, and of the collections that the caller may see.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import Receive, Scope, Send

from commonplace import __version__
from commonplace.domain.cluster import ReplicaStatus
from commonplace.faces import call_log
from commonplace.faces.access.callers import caller_of
from commonplace.faces.http.app import MountedApp, small_body
from commonplace.faces.http.guard import RouteRules
from commonplace.services.services import Services

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 45.0)
"""Upper bounds of the histogram's buckets in seconds."""
SHARED_COUNTS = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which several processes share their counters."""


class Metrics:
    """The counters of one server.

    Args:
        services: The services; provide the state of replicas.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        disable_created_metrics()
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "commonplace_calls", "Calls by verb and outcome.", ("verb", "outcome"), registry=self._registry
        )
        self._seconds = Histogram(
            "commonplace_call_seconds", "How long calls take.", ("verb",), buckets=BUCKETS, registry=self._registry
        )
        version = Gauge(
            "commonplace_info", "The version that runs.", ("version",), registry=self._registry, multiprocess_mode="max"
        )
        version.labels(__version__).set(1)

    def listen(self) -> None:
        """Count all calls from now on."""
        call_log.listen(self._count)

    def part(self) -> MountedApp:
        """The route `/metrics`, as a part of the application."""
        return MountedApp("/metrics", self._serve, RouteRules(small_body, lambda _: False), is_document=True)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        body = generate_latest(self._counted()) + self._of_replicas(scope) if scope["method"] != "HEAD" else b""
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _counted(self) -> CollectorRegistry:
        if SHARED_COUNTS not in os.environ:
            return self._registry
        everything = CollectorRegistry()
        MultiProcessCollector(everything)
        return everything

    def _of_replicas(self, scope: Scope) -> bytes:
        """The state of the replicas that the caller may see."""
        names = caller_of(scope).collections
        shown = [one for one in self._services.collections.opened if names is None or one.name in names]
        found = [(one.name, one.replica.status()) for one in shown if one.replica is not None]
        if not found:
            return b""
        return generate_latest(_state_of(found))

    def _count(self, verb: str, outcome: str, seconds: float) -> None:
        self._calls.labels(verb, outcome).inc()
        self._seconds.labels(verb).observe(seconds)


def _state_of(replicas: Sequence[tuple[str, ReplicaStatus]]) -> CollectorRegistry:
    """Gauges of replicas, labelled by collection. A value that a replica does not have is omitted."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str) -> Gauge:
        return Gauge(f"commonplace_{name}", text, ("collection",), registry=registry)

    ready = gauge("replica_ready", "Whether the replica was fetched and is indexed.")
    age = gauge("replica_age_seconds", "Seconds since the remote was last read by this process.")
    problem = gauge("replica_problem", "Whether the last read of the remote failed.")
    waiting = gauge("replica_waiting_writes", "Writes of this process that wait for a push.")
    lease = gauge("replica_has_lease", "Whether this process has pushed as the server that writes within 10 s.")
    behind = gauge("engine_behind_seconds", "Seconds since the search cluster had the replica's commit; 0 if it has.")
    searches = Counter(
        "commonplace_engine_searches", "Searches by what answered them.", ("collection", "answered_by"),
        registry=registry,
    )  # fmt: skip
    for name, status in replicas:
        ready.labels(name).set(status.ready)
        problem.labels(name).set(bool(status.problem))
        if status.age is not None:
            age.labels(name).set(status.age)
        if status.writer is not None:
            waiting.labels(name).set(status.writer.waiting)
            lease.labels(name).set(status.writer.has_lease)
        if status.engine is not None:
            behind.labels(name).set(status.engine.behind)
            for answered_by, number in status.engine.searches.items():
                searches.labels(name, answered_by).inc(number)
    return registry
