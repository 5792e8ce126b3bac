"""Clients of a cluster of servers: a balancer that prefers a server for each base, readers and writers."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from commonplace.domain.revisions import revision_of
from serving import rpc_request
from soak.cluster.bases import GROUPS, Base, word
from soak.cluster.network import Host
from soak.cluster.nodes import PORT, is_ready
from soak.cluster.observed import Observed
from soak.cluster.register_history import Outcome, Read, Write

READ_SECONDS = 15.0
"""Timeout of a search or a read at one server; then another one is asked."""
WRITE_SECONDS = 60.0
ATTEMPTS = 4
"""Servers that are asked for one answer."""
PROBE_SECONDS = 1.0
RETRY_SECONDS = 0.25
STRAYED = 0.2
"""Share of requests that do not go to the server that is preferred for their base."""
QUESTIONS = 400
AWAY = (502, 503, 504)
EVERYTHING, TOOL = 0.2, 0.2
"""Shares of the searches with a known answer that are made by a tool: with the key of all bases, and of one."""
NOTICES = (b"own index", b"may be more")
_TOTAL = re.compile(rb'\\*"(total|total_count)\\*": ?(\d+)')


class NotSentError(Exception):
    """No connection: the server has not got the request."""


class NoAnswerError(Exception):
    """The connection ended, or the time: the server may have carried the request out."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a server. `seconds` is the timeout of the answer."""

    method: str
    path: str
    key: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: float = READ_SECONDS


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Balancer:
    """The ready servers, as determined by the probes of a balancer. Thread-safe."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self._hosts = hosts
        self._ready = dict.fromkeys((host.address for host in hosts), True)
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._probe, args=(host,), daemon=True) for host in hosts]

    def start(self) -> None:
        """Probe from now on."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Probe no more."""
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def order(self, base: str, chance: random.Random) -> list[Host]:
        """All servers, the one to be asked first at the head; those that are not ready come last."""
        ranked = sorted(self._hosts, key=lambda host: hashlib.sha256(f"{base} {host.address}".encode()).digest())
        if chance.random() < STRAYED:
            chance.shuffle(ranked)
        return sorted(ranked, key=lambda host: not self._ready[host.address])

    def fail(self, host: Host) -> None:
        """Send nothing to a server until its next probe succeeds."""
        self._ready[host.address] = False

    def _probe(self, host: Host) -> None:
        while not self._ending.wait(PROBE_SECONDS):
            self._ready[host.address] = is_ready(host, 2 * PROBE_SECONDS)


class Client:
    """One client with kept connections; used by one thread."""

    def __init__(self, balancer: Balancer, observed: Observed, seed: int) -> None:
        self.observed = observed
        self.chance = random.Random(seed)
        self.balancer = balancer
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def ask(self, host: Host, request: Request) -> Answer:
        """One request to one server; one that writes has a connection of its own, which nobody has closed yet."""
        repeatable = request.method == "GET"
        connection = self._connections.pop(host.address, None) if repeatable else None
        fresh = connection is None
        if connection is None:
            connection = http.client.HTTPConnection(host.address, PORT, timeout=2)
            try:
                connection.connect()
            except OSError as error:
                connection.close()
                raise NotSentError(type(error).__name__) from error
        connection.sock.settimeout(request.seconds)
        sent = {"Authorization": f"Bearer {request.key}", "Content-Type": "application/json", **request.headers}
        body = None if request.body is None else json.dumps(request.body).encode()
        try:
            connection.request(request.method, request.path, body, sent)
            response = connection.getresponse()
            answer = Answer(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if not fresh and isinstance(error, http.client.RemoteDisconnected):
                return self.ask(host, request)  # a kept connection that the server closed
            raise NoAnswerError(type(error).__name__) from error
        if not repeatable or answer.headers.get("connection", "") == "close":
            connection.close()
        else:
            self._connections[host.address] = connection
        return answer

    def close(self) -> None:
        """Close the kept connections."""
        for connection in self._connections.values():
            connection.close()

    def get(self, path: str, base: str, key: str) -> Answer | None:
        """The answer of the first server that has one; None, and a failure, without any."""
        return self.first(path, base, lambda host: self.ask(host, Request("GET", path, key)))

    def call(self, tool: str, arguments: Mapping[str, object], base: str, key: str) -> Answer | None:
        """The same for a tool of MCP, which changes nothing."""
        headers, body = rpc_request("tools/call", {"name": tool, "arguments": arguments})
        path = f"/mcp/{tool.partition('_')[0]}"
        return self.first(path, base, lambda host: self.ask(host, Request("POST", path, key, body, headers)))

    def first(self, what: str, base: str, requested_function: Callable[[Host], Answer]) -> Answer | None:
        """The answer of the first server that has one to a question that may be asked again."""
        reason = ""
        began = time.monotonic()
        for attempt in range(ATTEMPTS):
            host = self.balancer.order(base, self.chance)[attempt % 2 if attempt else 0]
            try:
                answer = requested_function(host)
            except (NotSentError, NoAnswerError) as error:
                reason = f"{type(error).__name__} {error}"
                self.balancer.fail(host)
            else:
                if answer.status not in AWAY:
                    if attempt:
                        self.observed.count("answered by another server")
                    return answer
                reason = f"{answer.status} {answer.body[:300]!r}"
            self.observed.count("asked again")
            time.sleep(RETRY_SECONDS)
        self.observed.fail(began, f"{what}: {reason}")
        return None


def paced(act: Callable[[], object], rate: float, ending: threading.Event, chance: random.Random) -> None:
    """Act `rate` times a second on average until the end; what cannot be kept up with is left out after a second."""
    due = time.monotonic()
    while not ending.wait(max(0.0, due - time.monotonic())):
        act()
        due = max(due + chance.expovariate(rate), time.monotonic() - 1)


class Reader:
    """Searches, with the key of one base or of all, and looks at every answer."""

    def __init__(self, client: Client, bases: Sequence[Base], keys: Mapping[str, str]) -> None:
        self._client = client
        self._bases = bases
        self._keys = keys
        pool = random.Random(1)
        self._questions = [" ".join(word(pool) for _ in range(pool.randint(1, 3))) for _ in range(QUESTIONS)]

    def search(self) -> None:
        """One search: mostly a question that others ask, too; sometimes one whose answer is known."""
        chance = self._client.chance
        base = chance.choice(self._bases)
        kind = chance.random()
        if kind < 0.25:
            self._known(base, f'"{base.group(chance.randrange(GROUPS))}"', base.group_size)
        elif kind < 0.3:
            other = chance.choice([other_base for other_base in self._bases if other_base is not base])
            self._known(base, f'"{other.group(chance.randrange(GROUPS))}"', 0)
        else:
            at = min(QUESTIONS - 1, int(chance.paretovariate(0.7)) - 1)
            answer = self._asked(base, self._questions[at], self._keys[base.name])
            if answer is not None:
                self._look_for_others(base, answer)

    def _known(self, base: Base, text: str, total: int) -> None:
        chance = self._client.chance.random()
        if chance < EVERYTHING and total:
            answer = self._called(base, text, self._keys[""])
        elif chance < EVERYTHING + TOOL:
            answer = self._called(base, text, self._keys[base.name])
        else:
            answer = self._asked(base, text, self._keys[base.name])
        if answer is None:
            return
        found_number = int(_TOTAL.findall(answer.body)[0][1])
        noticed = "commonplace-notice" in answer.headers or any(said in answer.body for said in NOTICES)
        self._client.observed.count("searches with a known answer")
        if found_number != total and not (noticed and found_number < total):
            self._client.observed.violate("short or long without a notice", f"{text}: {found_number} of {total}")
        if chance >= EVERYTHING or not total:
            self._look_for_others(base, answer)

    def _asked(self, base: Base, text: str, key: str) -> Answer | None:
        path = f"/api/v1/search?q={quote(text)}&limit=10"
        return self._observed(text, lambda: self._client.get(path, base.name, key))

    def _called(self, base: Base, text: str, key: str) -> Answer | None:
        arguments = {"query": text, "limit": 10}
        return self._observed(text, lambda: self._client.call("kb_search", arguments, base.name, key))

    def _observed(self, text: str, ask: Callable[[], Answer | None]) -> Answer | None:
        observed = self._client.observed
        began = time.monotonic()
        answer = ask()
        if answer is None:
            return None
        if answer.status != 200 or b'"isError":true' in answer.body:
            observed.violate("a search was refused", f"{text}: {answer.status} {answer.body[:300]!r}")
            return None
        observed.time("search", time.monotonic() - began)
        if notice := answer.headers.get("commonplace-notice"):
            observed.count(f"notice: {notice[:90]}")
        return answer

    def _look_for_others(self, base: Base, answer: Answer) -> None:
        for other in self._bases:
            marks = (other.mark.encode(), f'"{other.name}/'.encode())
            if other is not base and any(mark in answer.body for mark in marks):
                self._client.observed.violate("another base was read", answer.body[:300].decode())


class Writer:
    """Replaces pages with the revision that it has seen or was told, and reads them."""

    def __init__(self, client: Client, bases: Sequence[Base], keys: Mapping[str, str], latest: dict[str, str]) -> None:
        self._client = client
        self._bases = bases
        self._keys = keys
        self._latest = latest
        """The commit of the last acknowledged write of each page, as all writers know it."""
        self._made = 0

    def write(self) -> None:
        """One write of a page that others write, too."""
        chance = self._client.chance
        base = chance.choice(self._bases)
        page = chance.choice(base.written)
        expected = self._latest.get(page, "") if chance.random() < 0.7 else ""
        expected = expected or self._read(base, page) or ""
        if expected:
            self._replace(base, page, expected)

    def _read(self, base: Base, page: str) -> str | None:
        began = time.monotonic()
        answer = self._client.get(f"/api/v1/pages/{quote(page, safe='')}", base.name, self._keys[base.name])
        ended = time.monotonic()
        if answer is None:
            return None
        if answer.status != 200:
            self._client.observed.violate("a page was not read", f"{page}: {answer.status} {answer.body[:300]!r}")
            return None
        self._client.observed.time("read", ended - began)
        revision = str(answer.json["revision"])
        self._client.observed.read(page, Read(revision, began, ended))
        return revision

    def _replace(self, base: Base, page: str, expected: str) -> None:
        self._made += 1
        token = f"token{self._client.chance.getrandbits(64):x}"
        content = f"# {page}\n\n{base.mark} {token}\n\n{' '.join(word(self._client.chance) for _ in range(20))}"
        revision = revision_of(content.encode())
        host = self._client.balancer.order(base.name, self._client.chance)[0]
        path = f"/api/v1/pages/{quote(page, safe='')}"
        sent = {"content": content, "revision": expected}
        began = time.monotonic()
        outcome, said = self._outcome(host, path, self._keys[base.name], sent)
        ended = time.monotonic()
        commit = said if outcome == "acknowledged" else ""
        self._client.observed.write(page, Write(expected, revision, began, ended, outcome), commit)
        if commit:
            self._client.observed.time("write", ended - began)
            self._latest[page] = commit
        else:
            self._client.observed.count(f"{outcome}: {said[:160]}")
            self._latest.pop(page, None)

    def _outcome(self, host: Host, path: str, key: str, sent: object) -> tuple[Outcome, str]:
        """The outcome of a write, and the named commit or the reason."""
        try:
            answer = self._client.ask(host, Request("PUT", path, key, sent, seconds=WRITE_SECONDS))
        except NotSentError as error:
            self._client.balancer.fail(host)
            return "refused", f"not sent: {error}"
        except NoAnswerError as error:
            self._client.balancer.fail(host)
            return "unknown", str(error)
        if answer.status in {200, 201}:
            return "acknowledged", str(answer.json["revision"])
        if answer.headers.get("content-type") != "application/json":
            self._client.observed.violate("an answer is no JSON", f"PUT: {answer.status} {answer.body[:300]!r}")
            return "unknown", f"{answer.status}"
        said = answer.json
        reason = f"{answer.status} {said.get('kind')}: {said.get('error')}"
        if answer.status == 409:
            return "conflict", f"{answer.status} {said.get('kind')}"
        is_sure = answer.status == 503 or answer.status < 500
        return ("refused" if is_sure and said.get("kind") != "unknown" else "unknown"), reason
