"""Routes that say what callers meet: whether reads and writes work, each collection, and all servers in one table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from html import escape
from typing import cast

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace import __version__
from commonplace.domain.cluster import STATE_PATH, ReplicaStatus, WriterStatus
from commonplace.domain.errors import IndexingError, KnowledgeError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import ListQuery
from commonplace.faces.access.callers import authorization, caller_of
from commonplace.faces.http.app import MountedApp, small_body
from commonplace.faces.http.guard import RouteRules
from commonplace.faces.http.operations import SignedCalls, open_files, post_body
from commonplace.faces.responses import send_body, send_error, send_json
from commonplace.services.collections import Collection
from commonplace.services.services import Services
from commonplace.settings import Tier

NOT_READY = 503
PEER_SECONDS = 3.0
"""Timeout in seconds for the answers of all other servers."""
MAX_PEERS = 32
"""Maximum number of other servers that are asked at once."""

AskPeer = Callable[[str], "JsonObject | str"]
"""Returns the state of the server at a URL, or the reason why it is unknown."""


class Health:
    """The state of one server.

    Args:
        services: The services.
        name: Name of the server among the others.
        tier: The highest tier of callers; None for that of their keys.
    """

    def __init__(self, services: Services, name: str = "", tier: Tier | None = None) -> None:
        self._services = services
        self._name = name
        self._tier = tier
        self._ending = False

    def end(self) -> None:
        """Report "ending" from now on, so that balancers send no further requests."""
        self._ending = True

    def parts(self) -> list[MountedApp]:
        """The routes: two for probes, without a key, and one with the state of each collection."""
        probe = RouteRules(small_body, lambda _: True)
        return [
            MountedApp("/health/ready", partial(self._probe, self.reads), probe, is_document=True),
            MountedApp("/health/writes", partial(self._probe, self.writes), probe, is_document=True),
            MountedApp("/health/collections", self._list, RouteRules(small_body, lambda _: False), is_document=True),
        ]

    async def _probe(self, state_of: Callable[[], str], scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        state = await anyio.to_thread.run_sync(state_of, abandon_on_cancel=True)
        code = 200 if state in {"ready", "writable"} else NOT_READY
        await send_json(send, code, {"status": state}, with_body=scope["method"] != "HEAD")

    def reads(self) -> str:
        """Whether reads work: "ready", "starting", "failing" or "ending"."""
        if self._ending:
            return "ending"
        try:
            return _reads(self._services.collections.members)
        except KnowledgeError:  # a folder cannot be opened; the start-up retries it
            return "starting"

    def writes(self) -> str:
        """Whether writes work: "writable", "read-only", "failing", "starting" or "ending"."""
        state = self.reads()
        return state if state in {"starting", "ending"} else self._writes(self._services.collections.members)

    def _writes(self, members: Sequence[Collection]) -> str:
        if self._tier == "read" or all(map(_is_read_only, members)):
            return "read-only"
        return "failing" if any(map(write_problem, members)) else "writable"

    async def _list(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        names = caller_of(scope).collections
        state = await anyio.to_thread.run_sync(partial(self.state, names), abandon_on_cancel=True)
        await send_json(send, 200, state, with_body=scope["method"] != "HEAD")

    def state(self, names: frozenset[str] | None = None) -> JsonObject:
        """The state of the server and of these collections; None for all."""
        opened = [item for item in self._services.collections.opened if names is None or item.name in names]
        everything = self._services.collections.opened
        used, limit = open_files()
        return {
            "server": {
                "name": self._name,
                "version": __version__,
                "reads": "ending" if self._ending else _reads(everything) if everything else "starting",
                "writes": self._writes(everything),
                "open_files": used,
                "open_files_limit": limit,
            },
            "collections": {collection.name: _state(collection) for collection in opened},
        }


def _reads(members: Sequence[Collection]) -> str:
    if not all(map(is_ready, members)):
        return "starting"
    return "ready" if all(map(can_read, members)) else "failing"


def is_ready(collection: Collection) -> bool:
    """Whether the collection's index is ready for searches."""
    try:
        collection.index.wait_ready(0)
    except IndexingError:
        return False
    return True


def can_read(collection: Collection) -> bool:
    """Whether a page can be listed and read now: not if file descriptors have run out, or the disk fails."""
    try:
        for record in collection.index.list(ListQuery(limit=1)).records:
            with suppress(NotFoundError):  # deleted since it was indexed
                collection.store.read(record.address)
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))  # what was read may have been open already
    except (KnowledgeError, OSError):
        return False
    return True


def write_problem(collection: Collection) -> str:
    """The reason why a write would fail now, without a write; "" if none is known, or nothing is written there."""
    if collection.replica is not None:
        writer = collection.replica.status().writer
        return "" if writer is None else writer.problem
    return collection.store.read_only_reason


def _is_read_only(collection: Collection) -> bool:
    if collection.replica is None:
        return bool(collection.store.read_only_reason)
    return collection.replica.status().writer is None


def _state(collection: Collection) -> JsonObject:
    state: dict[str, Json] = {"ready": is_ready(collection) and can_read(collection)}
    problem = write_problem(collection)
    if not _is_read_only(collection):
        state |= {"writable": not problem, "write_problem": problem or None}
    if collection.replica is not None:
        state |= _replica_state(collection.replica.status())
    return state


def _replica_state(status: ReplicaStatus) -> JsonObject:
    remote = status.remote
    state: dict[str, Json] = {
        "commit": status.commit or None,
        "age_seconds": _rounded(status.age),
        "problem": status.problem or None,
        "remote": {
            "answered_seconds": _rounded(remote.answered),
            "pushed_seconds": _rounded(remote.pushed),
            "silent_seconds": _rounded(remote.silent),
        },
    }
    if remote.refused is not None:
        state["refused"] = {"seconds": _rounded(remote.refused[0]), "reason": remote.refused[1]}
    state |= _writer_state(status.writer)
    if status.packs is not None:
        state["packs"] = status.packs
    if status.free is not None:
        state["free_bytes"] = status.free
    if status.shared_index is not None:
        state["shared_index"] = status.shared_index
    if status.engine is not None and status.engine.failed is not None:
        state["search_failed_seconds"] = _rounded(status.engine.failed)
    return state


def _writer_state(writer: WriterStatus | None) -> dict[str, Json]:
    if writer is None:
        return {}
    state: dict[str, Json] = {"queue": {"waiting": writer.waiting, "oldest_seconds": _rounded(writer.oldest)}}
    if writer.owner or writer.next_writer:
        state["lease"] = {
            "owner": writer.owner or None,
            "owner_seconds": _rounded(writer.owned),
            "is_current": writer.has_lease,
            "next_writer": writer.next_writer or "this server",
        }
    return state


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


# `/health/cluster`: all servers in one table, for programs (JSON), terminals (text) and people (a page). Each other
# server is asked for its state, signed with the secret that the servers share.


class ClusterHealth:
    """The states of all servers that share their writes.

    Args:
        health: The state of this server.
        peers: URLs of the other servers.
        ask: Asks another server.
        calls: Checks the calls of the other servers; None if they share no secret.
        credentials: The credentials of a request, also those of a browser.
    """

    def __init__(
        self,
        health: Health,
        peers: Sequence[str],
        ask: AskPeer,
        calls: SignedCalls | None,
        credentials: Callable[[Headers], str | None] = authorization,
    ) -> None:
        self._health = health
        self._peers = peers
        self._ask = ask
        self._calls = calls
        self._credentials = credentials

    def parts(self) -> list[MountedApp]:
        """The table, and the route by which other servers ask for this one's state."""
        rules = RouteRules(small_body, lambda _: False, self._credentials)
        parts = [MountedApp("/health/cluster", self._table, rules, is_document=True)]
        if self._calls is not None:
            parts.append(MountedApp(STATE_PATH, self._tell, RouteRules(small_body, lambda _: True)))
        return parts

    async def _tell(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await post_body(STATE_PATH, scope, receive, send)
        if body is None or self._calls is None:
            return
        try:
            self._calls.check(scope, body)
        except KnowledgeError as error:
            await send_error(send, error)
            return
        await send_json(send, 200, await anyio.to_thread.run_sync(self._health.state, abandon_on_cancel=True))

    async def _table(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        names = caller_of(scope).collections
        states = await anyio.to_thread.run_sync(partial(self.states, names), abandon_on_cancel=True)
        with_body = scope["method"] != "HEAD"
        kind = _wanted_kind(Headers(scope=scope), scope["query_string"])
        if kind == "json":
            await send_json(send, 200, {"servers": cast("Json", states)}, with_body=with_body)
            return
        rows = list(_rows(states))
        shown = (_page(rows) if kind == "html" else _text(rows)).encode("utf-8", "replace")
        await send_body(send, 200, shown, with_body=with_body, media_type=f"text/{kind}; charset=utf-8")

    def states(self, names: frozenset[str] | None) -> list[JsonObject]:
        """The state of each server, this one first. Of a server that does not answer only the reason is known."""
        own = self._health.state(names)
        if not self._peers:
            return [own]
        pool = ThreadPoolExecutor(min(len(self._peers), MAX_PEERS), "peer")
        answers = [(url, pool.submit(self._ask, url)) for url in self._peers]
        deadline = time.monotonic() + PEER_SECONDS
        states = [own]
        for url, answer in answers:
            try:
                state = answer.result(max(deadline - time.monotonic(), 0.0))
            except TimeoutError:
                state = "It does not answer."
            states.append(_of_peer(url, state, names))
        pool.shutdown(wait=False, cancel_futures=True)
        return states


def _of_peer(url: str, state: JsonObject | str, names: frozenset[str] | None) -> JsonObject:
    server = url.partition("://")[2].rpartition("@")[2]
    if isinstance(state, str):
        return {"server": {"name": server, "problem": state}, "collections": {}}
    values = state.get("collections")
    collections = values if isinstance(values, dict) else {}
    shown: JsonObject = {name: item for name, item in collections.items() if names is None or name in names}
    return {**state, "collections": shown}


COLUMNS = (
    "server", "version", "reads", "writes", "base", "commit", "read", "pushed", "remote", "queue", "lease",
    "search cluster", "packs", "free", "files", "problem",
)  # fmt: skip


def _rows(states: Sequence[JsonObject]) -> Iterator[Sequence[str]]:
    """The cells of the table: a row for each collection of each server. Times are how long ago."""
    for state in states:
        server = _part(state, "server")
        files = f"{server['open_files']}/{server['open_files_limit'] or '∞'}" if "open_files" in server else ""
        begin = [_cell(server.get(name)) for name in ("name", "version", "reads", "writes")]
        collections = _part(state, "collections")
        for name in collections or [""]:
            values = _part(collections, name)
            problem = values.get("write_problem") or server.get("problem") or _refusal(_part(values, "refused"))
            yield [*begin, name, *_cells(values), files, _cell(problem)]


def _cells(values: Mapping[str, Json]) -> list[str]:
    remote, queue, lease = (_part(values, name) for name in ("remote", "queue", "lease"))
    silent = remote.get("silent_seconds")
    said = "" if not remote else f"silent for {_ago(silent)}" if silent is not None else "answers"
    waiting = queue.get("waiting")
    queued = f"{waiting}, {_ago(queue.get('oldest_seconds'))}" if waiting else _cell(waiting)
    owner = f"{lease['owner']} for {_ago(lease.get('owner_seconds'))}" if lease.get("owner") else ""
    free = values.get("free_bytes")
    return [
        _cell(values.get("commit"))[:8],
        _ago(values.get("age_seconds")),
        _ago(remote.get("pushed_seconds")),
        said,
        queued,
        owner,
        _cell(values.get("shared_index")),
        _cell(values.get("packs")),
        f"{free / 1e9:.1f} GB" if isinstance(free, int) else "",
    ]


def _refusal(refused: Mapping[str, Json]) -> str:
    return f"The remote refused a write {_ago(refused['seconds'])} ago: {refused['reason']}" if refused else ""


def _part(state: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    values = state.get(name)
    return values if isinstance(values, dict) else {}


def _cell(value: Json) -> str:
    return "" if value is None else str(value)


def _ago(seconds: Json) -> str:
    if not isinstance(seconds, int | float):
        return ""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _wanted_kind(headers: Headers, query: bytes) -> str:
    """The form of the answer: "json", "plain" or "html"."""
    for kind in ("json", "plain", "html"):
        if query == b"format=" + (b"text" if kind == "plain" else kind.encode()):
            return kind
    accepted = headers.get("accept", "")
    return next((kind for kind in ("html", "plain") if f"text/{kind}" in accepted), "json")


def _text(rows: Sequence[Sequence[str]]) -> str:
    """The table as text; columns that are empty in all rows are left out."""
    used = [at for at in range(len(COLUMNS)) if any(row[at] for row in rows)]
    lines = [[COLUMNS[at].upper() for at in used], *([row[at] for at in used] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(used))]
    return "".join("  ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)


def _page(rows: Sequence[Sequence[str]]) -> str:
    """The table as a page that is loaded again every five seconds."""
    heads = "".join(f"<th scope=col>{escape(name)}" for name in COLUMNS)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}" for cell in row) + "\n" for row in rows)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5>"
        f"<title>Servers</title><h1>Servers</h1><table border=1><tr>{heads}\n{body}</table></html>\n"
    )
