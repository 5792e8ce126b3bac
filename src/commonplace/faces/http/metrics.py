"""Counts and durations of calls for Prometheus, at `/metrics`; labels are names of tools and routes, nothing else."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from starlette.types import Receive, Scope, Send

from commonplace import __version__
from commonplace.faces import call_log
from commonplace.faces.http.app import MountedApp, small_body
from commonplace.faces.http.guard import RouteRules

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 45.0)
"""Seconds."""


class Metrics:
    """What one server counts."""

    def __init__(self) -> None:
        disable_created_metrics()
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "commonplace_calls", "Calls by verb and outcome.", ("verb", "outcome"), registry=self._registry
        )
        self._seconds = Histogram(
            "commonplace_call_seconds", "How long calls take.", ("verb",), buckets=BUCKETS, registry=self._registry
        )
        version = Gauge("commonplace_info", "The version that runs.", ("version",), registry=self._registry)
        version.labels(__version__).set(1)

    def listen(self) -> None:
        """Count every call from now on."""
        call_log.listen(self._count)

    def part(self) -> MountedApp:
        """The route."""
        return MountedApp("/metrics", self._serve, RouteRules(small_body, lambda _: False), is_document=True)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        body = generate_latest(self._registry) if scope["method"] != "HEAD" else b""
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _count(self, verb: str, outcome: str, seconds: float) -> None:
        self._calls.labels(verb, outcome).inc()
        self._seconds.labels(verb).observe(seconds)
