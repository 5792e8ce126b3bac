"""Sends requests to a cluster by the official client, and converts its failures to the domain's errors.

The client is optional, and is imported when a connection is opened. Errors contain the operator's next step, but no
texts of the cluster, which may name other indexes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

from commonplace.domain.errors import ConfigError, NotFoundError, UnavailableError, require_libraries
from commonplace.domain.timings import timed

if TYPE_CHECKING:
    from opensearchpy import OpenSearch
    from opensearchpy.exceptions import TransportError


log = logging.getLogger(__name__)

REQUEST_SECONDS = 10.0
"""Timeout in seconds of a request that readers wait for."""
BULK_SECONDS = 120.0
"""Timeout in seconds of a request with many documents, or of one that waits for replicas of shards."""
BUSY_ATTEMPTS = 6
BUSY_PAUSE = 0.5
"""Pause in seconds after a busy cluster has rejected a bulk (429); doubles up to `BUSY_ATTEMPTS` attempts."""
FAILED, UNKNOWN, REFUSED, GONE, CONFLICT, BUSY = 300, 401, 403, 404, 409, 429
"""HTTP statuses. An item of a bulk with a status of at least FAILED was not written."""
BROKEN = 500
"""Status that is assumed for a failed answer without a status."""
BLOCKED = "cluster_block_exception"
MISSING = "index_not_found_exception"
_ANSWER = 2
"""Position of the cluster's answer in the arguments of the client's errors."""

Body = Mapping[str, Any] | str
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Address and credentials of a cluster."""

    urls: tuple[str, ...]
    """`http` or `https` URLs of the nodes, without a path."""
    user: str = ""
    password: str = ""
    authority: Path | None = None
    """File with certificates (PEM) of the cluster's authority; None for the authorities of the system."""


class Connection:
    """A pool of connections to the nodes of a cluster. Thread-safe.

    Args:
        address: The cluster.

    Raises:
        ConfigError: a URL is invalid, the authority's file cannot be read, or the client is not installed.
    """

    def __init__(self, address: ClusterAddress) -> None:
        self._client = _client(address)

    def ask(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        seconds: float = REQUEST_SECONDS,
        **parameters: str,
    ) -> Answer:
        """Send a request; returns the answer.

        Args:
            method: The HTTP method.
            path: The path, beginning with a slash; names in it are escaped.
            body: JSON, or lines of JSON.
            seconds: Timeout of each attempt.
            parameters: Query parameters.

        Raises:
            NotFoundError: kind "engine": 404.
            UnavailableError: kind "engine": every other failure; context `status` is the HTTP status, 0 without one.
        """
        from opensearchpy.exceptions import OpenSearchException  # noqa: PLC0415 - optional

        try:
            with timed("engine"):
                perform_request = self._client.transport.perform_request(
                    method, path, params=parameters, body=body, timeout=seconds
                )
        except OpenSearchException as error:
            raise failure_of(error) from error
        return cast("Answer", perform_request) if isinstance(perform_request, dict) else {}

    def exists(self, path: str) -> bool:
        """Whether a path exists."""
        from opensearchpy.exceptions import OpenSearchException  # noqa: PLC0415 - optional

        try:
            return bool(self._client.transport.perform_request("HEAD", path))
        except OpenSearchException as error:
            if _status(error) == GONE:
                return False
            raise failure_of(error) from error

    def bulk(self, index: str, lines: Iterable[Mapping[str, Any]], *, only_alias: bool = False) -> None:
        """Write the lines of a bulk, and retry actions that a busy cluster rejects.

        With `only_alias` the index must be an existing alias, and is never created.

        Actions with older versions than the stored ones are skipped. A version conflict does not prove that every copy
        of a shard has the document, so an equal version is written again (`external_gte`).

        Raises:
            NotFoundError: kind "engine": the alias does not exist.
            UnavailableError: kind "engine": a write failed; others of the same bulk may have succeeded.
        """
        needed = {"require_alias": "true"} if only_alias else {}
        actions = list(lines)
        for attempt in range(BUSY_ATTEMPTS):
            if attempt:
                time.sleep(BUSY_PAUSE * 2 ** (attempt - 1))
            body = "".join(f"{json.dumps(line, ensure_ascii=True)}\n" for line in actions)
            answer = self.ask("POST", f"/{index}/_bulk", body, seconds=BULK_SECONDS, **needed)
            actions = _rejected(actions, answer["items"])
            if not actions:
                return
        raise _unavailable("The search cluster is too busy to take writes.", "It is tried again.", BUSY)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def _client(address: ClusterAddress) -> OpenSearch:
    require_libraries(["opensearchpy"], "The search cluster", "cluster")
    from opensearchpy import OpenSearch  # noqa: PLC0415 - optional

    for url in address.urls:
        _checked(url)
    logging.getLogger("opensearch").setLevel(logging.ERROR)  # the client logs every failed request, even expected ones
    if address.authority is not None and not address.authority.is_file():
        raise ConfigError("The file of engine_ca cannot be read.", kind="engine", hint="Give a file in PEM format.")
    return OpenSearch(
        list(address.urls),
        http_auth=(address.user, address.password) if address.user else None,
        ca_certs=str(address.authority) if address.authority else None,
        timeout=REQUEST_SECONDS,
        max_retries=2,
        # If a node stops during a search, the answer is 500, and a retry succeeds on another copy.
        retry_on_status=(500, 502, 503, 504),
        http_compress=True,
        pool_maxsize=8,
    )


def _checked(url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
        parts = urlsplit("")
    if not valid or parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password:
        raise ConfigError(
            "An engine_url is not the address of a search cluster's node.",
            kind="engine",
            hint="Give https://HOST:PORT, and credentials in engine_user and engine_password.",
        )


def _rejected(
    actions: list[Mapping[str, Any]], items: list[Mapping[str, Mapping[str, Any]]]
) -> list[Mapping[str, Any]]:
    """The lines of the actions to retry.

    Raises:
        UnavailableError: an action failed for another reason than a busy cluster or a newer version.
    """
    again: list[Mapping[str, Any]] = []
    at = 0
    for item in items:
        kind, outcome = next(iter(item.items()))
        size = 1 if kind == "delete" else 2
        status = int(outcome["status"])
        reason = str(outcome.get("error", {}).get("type", "")) if status >= FAILED else ""
        if status == BUSY and reason != BLOCKED:
            again += actions[at : at + size]
        elif status >= FAILED and status != CONFLICT and (status != GONE or kind == "index" or reason == MISSING):
            raise _failed(status, reason)
        at += size
    return again


def failure_of(error: Exception) -> NotFoundError | UnavailableError:
    """The domain's error for an error of the client."""
    from opensearchpy.exceptions import SSLError  # noqa: PLC0415 - optional

    if isinstance(error, SSLError):
        return _unavailable(
            "The certificate of the search cluster is not trusted.",
            "Set engine_ca to the certificate of its authority, and name the nodes as the certificate does.",
            0,
        )
    return _failed(_status(error), _reason(error))


def failure_in(answer: Answer) -> NotFoundError | UnavailableError:
    """The domain's error for a failed answer among several answers to one request."""
    reason = _type_in(answer)
    return _failed(int(answer.get("status", GONE if reason == MISSING else BROKEN)), reason)


def _failed(status: int, reason: str) -> NotFoundError | UnavailableError:
    if status in {REFUSED, BUSY} and reason == BLOCKED:
        return _unavailable(
            "The search cluster takes no writes: its index is blocked, as when a disk is nearly full.",
            "Free disk space or add a node. The block then ends by itself, or set index.blocks.read_only_allow_delete.",
            status,
        )
    if status in {UNKNOWN, REFUSED}:
        return _unavailable(
            "The search cluster refused the credentials.",
            "Set engine_user and engine_password to a user who may manage the indexes of engine_prefix.",
            status,
        )
    if status == GONE:
        return NotFoundError("The search cluster has no such index.", kind="engine", hint="It is made by the tailer.")
    log.warning("the search cluster answered %d %s", status, reason)
    return _unavailable(
        "The search cluster does not answer." if not status else f"The search cluster failed ({status}).",
        "It is asked again; look at its nodes and its health if this persists.",
        status,
    )


def _unavailable(message: str, hint: str, status: int) -> UnavailableError:
    return UnavailableError(message, kind="engine", hint=hint, status=status)


def _status(error: Exception) -> int:
    status = cast("TransportError", error).status_code if error.args else 0
    return status if isinstance(status, int) else 0


def _reason(error: Exception) -> str:
    """The engine's name for the type of the failure."""
    info: object = error.args[_ANSWER] if len(error.args) > _ANSWER else None
    return _type_in(cast("Answer", info)) if isinstance(info, dict) else ""


def _type_in(answer: Answer) -> str:
    error = answer.get("error")
    return str(cast("dict[str, object]", error).get("type", "")) if isinstance(error, dict) else ""


# Sends the requests of several searches together.
#
# A search is a generator: it yields the requests of its next step, receives their answers, and returns its result. The
# concurrent searches share round trips: each step costs one `_msearch`, one `_mtermvectors` and one `_mget`,
# regardless of the number of bases.


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Search:
    """A search of an index."""

    index: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Statistics:
    """A request for the statistics of the terms of an artificial document, on the shard of a routing value."""

    index: str
    body: Mapping[str, Any]
    routing: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A request for a stored field of documents, by id and routing. The answer has the values in `docs`, in order."""

    index: str
    documents: Sequence[tuple[str, str]]
    field: str


Request: TypeAlias = Search | Statistics | Stored
Steps: TypeAlias = Generator[Sequence[Request], Sequence[Answer], Result]


def run(connection: Connection, searches: Sequence[Steps[Result]]) -> list[Result]:
    """The results of several searches, in order.

    Raises:
        NotFoundError, UnavailableError: a request failed, as for `Connection.ask`; the other searches are abandoned.
    """
    results: dict[int, Result] = {}
    answers: dict[int, Sequence[Answer]] = {}
    requests: dict[int, Sequence[Request]] = {}
    while len(results) < len(searches):
        for at, search in enumerate(searches):
            if at not in results:
                try:
                    requests[at] = search.send(answers[at]) if at in answers else next(search)
                except StopIteration as ended:
                    results[at] = ended.value
                    requests.pop(at, None)
        answers = _answered(connection, requests)
    return [results[at] for at in range(len(searches))]


def _answered(connection: Connection, searches: Mapping[int, Sequence[Request]]) -> dict[int, Sequence[Answer]]:
    """The answers to the requests of each search."""
    requests = [request for of in searches.values() for request in of]
    answers: dict[type[Request], Iterator[Answer]] = {}
    for kind, send in _SENDERS.items():
        same = [request for request in requests if type(request) is kind]
        answers[kind] = iter(send(connection, same) if same else ())
    return {search: [next(answers[type(request)]) for request in of] for search, of in searches.items()}


def _search(connection: Connection, searches: Sequence[Search]) -> list[Answer]:
    if len(searches) == 1:
        (search,) = searches
        return [connection.ask("POST", f"/{search.index}/_search", search.body)]
    lines = (line for search in searches for line in ({"index": search.index}, search.body))
    answers: list[Answer] = connection.ask("POST", "/_msearch", _lines(lines))["responses"]
    return [_complete(answer) for answer in answers]


def _statistics(connection: Connection, documents: Sequence[Statistics]) -> list[Answer]:
    if len(documents) == 1:
        (statistics,) = documents
        return [
            connection.ask("POST", f"/{statistics.index}/_termvectors", statistics.body, routing=statistics.routing)
        ]
    requested_values = [
        {"_index": statistics.index, "routing": statistics.routing, **statistics.body} for statistics in documents
    ]
    answers: list[Answer] = connection.ask("POST", "/_mtermvectors", {"docs": requested_values})["docs"]
    return [_complete(answer) for answer in answers]


def _stored(connection: Connection, groups: Sequence[Stored]) -> list[Answer]:
    requested_values = [
        {"_index": stored.index, "_id": identifier, "routing": routing, "_source": [stored.field]}
        for stored in groups
        for identifier, routing in stored.documents
    ]
    docs = iter(connection.ask("POST", "/_mget", {"docs": requested_values}, realtime="false")["docs"])
    return [{"docs": [_complete(next(docs)) for _ in stored.documents]} for stored in groups]


_SENDERS: Mapping[type[Request], Callable[[Connection, list[Any]], list[Answer]]] = {
    Search: _search,
    Statistics: _statistics,
    Stored: _stored,
}
"""The function that sends all requests of one kind as one, by kind."""


def _complete(answer: Answer) -> Answer:
    """The answer itself, after a check. Each answer of a combined request can fail separately.

    Raises:
        NotFoundError, UnavailableError: the answer is a failure.
    """
    if "error" in answer:
        raise failure_in(answer)
    return answer


def _lines(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)
