"""Operational routes: health, readiness and metrics."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

import anyio.to_thread
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace import __version__
from commonplace.domain import activity, timings
from commonplace.domain.cluster import (
    MAX_CLOCK_SECONDS,
    MAX_FORWARDED,
    WRITES_PATH,
    WRITES_SIGNATURE,
    ReplicaStatus,
    signature_in,
)
from commonplace.domain.errors import (
    Code,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnauthenticatedError,
)
from commonplace.faces import call_log
from commonplace.faces.access.callers import caller_of
from commonplace.faces.access.used_once import UsedOnce
from commonplace.faces.http.app import MountedApp, small_body
from commonplace.faces.http.guard import RouteRules
from commonplace.faces.responses import Json, send_error, send_json
from commonplace.faces.worker_threads import run_in_worker
from commonplace.services.collections import Collection
from commonplace.services.services import Services

# Routes for the operation of a server: readiness, webhooks of Git hosts, and writes that other servers forward.


# `/hooks/git`: webhook for Git hosts. A push event makes the affected replicas read their remote at once.
#
# The route needs no key. Instead, the body must be signed with the secret in the settings (GitHub, Gitea, Forgejo,
# Bitbucket), or a header must contain the secret (GitLab). Only URLs are read from the body; they select the replicas.
# Git hosts sign neither a time nor a number, so an event that was sent before is accepted and changes nothing. A
# sender that signs as Standard Webhooks does (standardwebhooks.com) gets both checked.


PATH = "/hooks/git"
MAX_BODY = 4_000_000
"""Maximum size of the body in bytes. A larger event is refused; the replica reads its remote at the next interval."""
URL_KEYS = (
    "clone_url",
    "ssh_url",
    "git_url",
    "html_url",
    "full_name",
    "git_http_url",
    "git_ssh_url",
    "path_with_namespace",
    "web_url",
)
"""Keys of a repository object that contain one of its URLs or its path, for all supported Git hosts."""
MAX_SIGNATURES, MAX_DIGITS = 5, 13
"""Maximum number of signatures in a header, and of digits in a time."""
MAX_URL = 2_000
"""Maximum characters of a URL."""
SIGNATURES = ("x-hub-signature-256", "x-gitea-signature", "x-forgejo-signature", "x-hub-signature")
"""Headers with the HMAC-SHA256 of the body in hexadecimal digits, some with the prefix `sha256=`."""
STANDARD_SIGNATURE, STANDARD_ID, STANDARD_TIME = "webhook-signature", "webhook-id", "webhook-timestamp"
"""Headers with `v1,` and the HMAC-SHA256 in base64 of `ID.TIME.BODY`, with the id and the time (Standard Webhooks)."""
MAX_EVENT_SKEW_SECONDS = 60
"""Maximum difference in seconds between a signed time and this server's clock."""
EVENT_SECONDS = 30 * 86_400
"""Time in seconds for which events are recorded."""
SECRET_HEADER = "x-gitlab-token"  # noqa: S105 - a header's name
"""Header with the secret in plain text (GitLab)."""


class GitWebhook:
    """The route `/hooks/git`.

    Args:
        services: Services with replicas.
        secret: The shared secret.
        used: The events that were received.
    """

    def __init__(self, services: Services, secret: str, used: UsedOnce) -> None:
        self._services = services
        self._used = used
        self._secret = secret.encode("utf-8", "surrogateescape")

    def part(self) -> MountedApp:
        """The route as a part of the application."""
        return MountedApp(PATH, self._serve, RouteRules(lambda _: MAX_BODY, lambda _: True))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(PATH, scope, receive, send)
        if body is None:
            return
        event = self._event(Headers(scope=scope), body)
        if event is None:
            await send_error(send, _unsigned())
            return
        try:
            is_new = self._used.take("webhook", event, time.time() + EVENT_SECONDS)
        except KnowledgeError as error:
            await send_error(send, error)
            return
        if is_new:
            self._refresh(body)
        await send_json(send, 202, {"status": "accepted"})

    def _refresh(self, body: bytes) -> None:
        """Make the replicas that an event concerns read their remotes."""
        replicas = [
            collection.replica for collection in self._services.collections.opened if collection.replica is not None
        ]
        urls = list(_urls(body))
        for replica in [element for element in replicas if any(map(element.follows, urls))] or replicas:
            replica.refresh()

    def _event(self, headers: Headers, body: bytes) -> str | None:
        """The identity of an authentic event; None if the call is not authentic."""
        if STANDARD_SIGNATURE in headers:
            return self._standard_event(headers, body)
        token = headers.get(SECRET_HEADER)
        is_authentic = self._is_signed(headers, body) if token is None else _equal(token, self._secret)
        return hashlib.sha256(body).hexdigest() if is_authentic else None

    def _standard_event(self, headers: Headers, body: bytes) -> str | None:
        number, sent = headers.get(STANDARD_ID, ""), headers.get(STANDARD_TIME, "")
        signed = hmac.digest(self._secret, f"{number}.{sent}.".encode("latin-1") + body, "sha256")
        wanted_content = b"v1," + base64.b64encode(signed)
        if not any(
            _equal(part, wanted_content) for part in headers.get(STANDARD_SIGNATURE, "").split()[:MAX_SIGNATURES]
        ):
            return None
        is_now = sent.isdigit() and len(sent) < MAX_DIGITS and abs(time.time() - int(sent)) <= MAX_EVENT_SKEW_SECONDS
        return f"id {number}" if number and is_now else None

    def _is_signed(self, headers: Headers, body: bytes) -> bool:
        signature = next((header for name in SIGNATURES if (header := headers.get(name))), "")
        given_signature = signature.removeprefix("sha256=").strip().lower()
        return _equal(given_signature, hmac.new(self._secret, body, hashlib.sha256).hexdigest().encode())


def _equal(given_signature: str, digest: bytes) -> bool:
    return hmac.compare_digest(given_signature.encode("latin-1", "replace"), digest)


def _urls(body: bytes) -> Iterator[str]:
    """The URLs of the repository in an event; none if the event has an unknown form."""
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError):
        return
    payload = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    for name in ("repository", "project"):
        repository = payload.get(name)
        if isinstance(repository, dict):
            values = map(cast("dict[str, object]", repository).get, URL_KEYS)
            yield from (value for value in values if isinstance(value, str) and len(value) <= MAX_URL)


def _unsigned() -> UnauthenticatedError:
    return UnauthenticatedError(
        "The call is not signed with this server's webhook_secret.",
        kind="signature",
        hint="Give the Git host the same secret, with the content type application/json.",
    )


# `/cluster/writes`: accepts writes that another server of the same remote forwards.
#
# The route needs no key: the call is signed with the secret that the servers share, for this server, with its time and
# a number that is accepted once.


class SignedCalls:
    """Checks the calls of other servers that share a secret.

    Args:
        secret: The shared secret.
        url: URL of this server, which a call must name as its recipient; "" if no server calls this one.
        used: The numbers of earlier calls.
    """

    def __init__(self, secret: str, url: str, used: UsedOnce) -> None:
        self._secret = secret
        self._url = url
        self._used = used

    def check(self, scope: Scope, body: bytes) -> None:
        """Check that a call is signed for this server, and was not sent before.

        Raises:
            UnauthenticatedError: it is not, or it was.
        """
        signature = signature_in(Headers(scope=scope).get(WRITES_SIGNATURE, ""), body, self._secret)
        if signature is None or signature.recipient.rstrip("/") != self._url.rstrip("/"):
            raise _refused("The call is not signed with this server's cluster_secret for its node_url.")
        if abs(time.time() - signature.time) > MAX_CLOCK_SECONDS:
            raise _refused("The call was signed at another time than this server's clock shows.")
        expires = signature.time + 2 * MAX_CLOCK_SECONDS
        if not self._used.take("forwarded writes", signature.number, expires):
            raise _refused("The call was sent before.")


class ForwardedWrites:
    """The route `/cluster/writes`.

    Args:
        services: Services with replicas that write.
        calls: Checks the calls.
    """

    def __init__(self, services: Services, calls: SignedCalls) -> None:
        self._services = services
        self._calls = calls

    def part(self) -> MountedApp:
        """The route as a part of the application."""
        return MountedApp(WRITES_PATH, self._serve, RouteRules(lambda _: MAX_FORWARDED, lambda _: True))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(WRITES_PATH, scope, receive, send)
        if body is None:
            return
        try:
            results = await run_in_worker(partial(self._answer, scope, body), reads=False)
        except KnowledgeError as error:
            await send_error(send, error)
            return
        await send_json(send, 200, results)

    def _answer(self, scope: Scope, body: bytes) -> Json:
        """The results of the writes of a call that is signed for this server and was not sent before."""
        self._calls.check(scope, body)
        return self._taken(body)

    def _taken(self, body: bytes) -> Json:
        replicas = [
            collection.replica for collection in self._services.collections.opened if collection.replica is not None
        ]
        for replica in replicas:
            if (results := replica.take_writes(body)) is not None:
                return results
        raise NotFoundError(
            "This server does not write to that repository.",
            kind="replica",
            hint="All servers name a repository in the same way.",
        )


def _refused(message: str) -> UnauthenticatedError:
    return UnauthenticatedError(
        message,
        kind="signature",
        hint="Give all servers the same secret and the same time, and name each among the peers by its node_url.",
    )


# Routes for a POST without a key, whose handler authenticates the body.


async def post_body(path: str, scope: Scope, receive: Receive, send: Send) -> bytes | None:
    """The body of a POST to `path`. Any other request gets an error response, and the result is None.

    Args:
        path: The only path of the route.
        scope: The request. Its body has a checked size and arrives in one message.
        receive: ASGI `receive` of the request.
        send: ASGI `send` of the request.
    """
    if scope["path"] != path:
        await send_error(send, NotFoundError("There is nothing at this URL.", kind="url"))
        return None
    if scope["method"] != "POST":
        error = InvalidInputError("This URL does not take this method.", kind="method", hint="It takes POST.")
        await send_error(send, error, status=405, headers=(("allow", "POST"),))
        return None
    body: bytes = (await receive()).get("body", b"")
    return body


# Counts and durations of calls for Prometheus, at `/metrics`, and the state of replicas.
#
# Labels are names of tools and routes, and of the collections that the caller may see.


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 45.0)
"""Upper bounds of the histogram's buckets in seconds."""
MAX_CALLERS = 500
"""Maximum number of callers that are counted by name."""
REFUSALS = frozenset({401, 403, 409, 429})
REFUSED_CODES = {
    Code.FORBIDDEN: 403,
    Code.READ_ONLY: 403,
    Code.CONFLICT: 409,
    Code.ALREADY_EXISTS: 409,
    Code.RATE_LIMITED: 429,
}
"""Statuses of the errors of tools, whose answers have the status 200."""
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
        self._callers: set[str] = set()
        self._refusals = Counter(
            "commonplace_refusals", "Refused requests by status, caller and reason.", ("status", "caller", "reason"),
            registry=self._registry,
        )  # fmt: skip
        self._writes = Counter("commonplace_writes", "Writes by caller.", ("caller",), registry=self._registry)
        self._steps = Histogram(
            "commonplace_step_seconds", "How long calls wait for fetches, pushes, the queue, locks and the engine.",
            ("step",), buckets=BUCKETS, registry=self._registry,
        )  # fmt: skip
        version = Gauge(
            "commonplace_info", "The version that runs.", ("version",), registry=self._registry, multiprocess_mode="max"
        )
        version.labels(__version__).set(1)

    def listen(self) -> None:
        """Count all calls from now on."""
        call_log.listen(self._count)
        call_log.listen_to_requests(self._count_refusal)
        activity.listen_to_writes(lambda actor: self._writes.labels(self._caller(actor.name or actor.caller)).inc())
        timings.listen(lambda step, seconds: self._steps.labels(step).observe(seconds))

    def part(self) -> MountedApp:
        """The route `/metrics`, as a part of the application."""
        return MountedApp("/metrics", self._serve, RouteRules(small_body, lambda _: False), is_document=True)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        body = b""
        if scope["method"] != "HEAD":
            shown = await anyio.to_thread.run_sync(partial(self._of_collections, scope), abandon_on_cancel=True)
            body = generate_latest(self._counted()) + shown + generate_latest(_of_process())
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _counted(self) -> CollectorRegistry:
        if SHARED_COUNTS not in os.environ:
            return self._registry
        everything = CollectorRegistry()
        MultiProcessCollector(everything)
        return everything

    def _of_collections(self, scope: Scope) -> bytes:
        """The size of the indexes and the state of the replicas that the caller may see."""
        names = caller_of(scope).collections
        shown = [
            collection for collection in self._services.collections.opened if names is None or collection.name in names
        ]
        found_pairs = [
            (collection.name, collection.replica.status()) for collection in shown if collection.replica is not None
        ]
        state = generate_latest(_state_of(found_pairs)) if found_pairs else b""
        return generate_latest(_sizes_of(shown)) + state

    def _count_refusal(self, request: call_log.RequestRecord) -> None:
        status = request.status
        if status not in REFUSALS:
            status = REFUSED_CODES.get(request.code or Code.INTERNAL, 0)
        if status:
            self._refusals.labels(str(status), self._caller(request.name), request.reason or "other").inc()

    def _caller(self, name: str) -> str:
        """The label of a caller; of the last ones that come "others", so that the number of labels is limited."""
        if name in self._callers or len(self._callers) < MAX_CALLERS:
            self._callers.add(name)
            return name or "without a key"
        return "others"

    def _count(self, verb: str, outcome: str, seconds: float) -> None:
        self._calls.labels(verb, outcome).inc()
        self._seconds.labels(verb).observe(seconds)


def _of_process() -> CollectorRegistry:
    registry = CollectorRegistry()
    used, limit = open_files()
    Gauge("commonplace_open_files", "Open file descriptors of this process.", registry=registry).set(used)
    Gauge("commonplace_open_files_limit", "Their limit; 0 for none.", registry=registry).set(limit)
    return registry


def open_files() -> tuple[int, int]:
    """Number of open file descriptors of this process, and their limit; 0 if it is unknown."""
    try:
        used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough
    except OSError:
        used = 0
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return used, 0 if soft == resource.RLIM_INFINITY else soft


def _sizes_of(collections: Sequence[Collection]) -> CollectorRegistry:
    """Gauges of the indexes that are ready, labelled by collection."""
    registry = CollectorRegistry()
    documents = Gauge("commonplace_documents", "Documents in the index.", ("collection",), registry=registry)
    size = Gauge("commonplace_index_bytes", "Size of the index on disk.", ("collection",), registry=registry)
    for collection in collections:
        with suppress(KnowledgeError):  # not ready or not readable, which other gauges and the probes say
            collection.index.wait_ready(0)
            counts = collection.index.counts()
            documents.labels(collection.name).set(counts.documents)
            size.labels(collection.name).set(counts.bytes)
    return registry


def _state_of(replicas: Sequence[tuple[str, ReplicaStatus]]) -> CollectorRegistry:
    """Gauges of replicas, labelled by collection. A value that a replica does not have is omitted."""
    registry = CollectorRegistry()

    def gauge(name: str, text: str) -> Gauge:
        return Gauge(f"commonplace_{name}", text, ("collection",), registry=registry)

    ready = gauge("replica_ready", "Whether the replica was fetched and is indexed.")
    age = gauge("replica_age_seconds", "Seconds since the remote was last read by this process.")
    problem = gauge("replica_problem", "Whether the last read of the remote failed.")
    silent = gauge("replica_silent_seconds", "Seconds since the remote stopped to answer; 0 if it answers.")
    pushed = gauge("replica_pushed_seconds", "Seconds since the remote last accepted a push of this process.")
    failing = gauge("replica_write_problem", "Whether a write would fail now, as far as this process knows.")
    oldest = gauge("replica_oldest_write_seconds", "Seconds for which the oldest write has been waiting for a push.")
    packs = gauge("replica_packs", "Packs in the clone.")
    free = gauge("replica_free_bytes", "Free space on the disk of the clone.")
    failed = gauge("engine_search_failing", "Whether the last search in the search cluster failed.")
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
        silent.labels(name).set(status.remote.silent or 0.0)
        for optional, value in (
            (age, status.age), (pushed, status.remote.pushed), (packs, status.packs), (free, status.free)
        ):  # fmt: skip
            if value is not None:
                optional.labels(name).set(value)
        if status.writer is not None:
            waiting.labels(name).set(status.writer.waiting)
            failing.labels(name).set(bool(status.writer.problem))
            oldest.labels(name).set(status.writer.oldest)
            lease.labels(name).set(status.writer.has_lease)
        if status.engine is not None:
            behind.labels(name).set(status.engine.behind)
            failed.labels(name).set(bool(status.engine.failure))
            for answered_by, number in status.engine.searches.items():
                searches.labels(name, answered_by).inc(number)
    return registry
