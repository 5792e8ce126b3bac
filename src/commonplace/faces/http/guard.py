"""Reading of a request's body: completely, within its size limit and timeout, before it is processed."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.domain.errors import (
    ForbiddenError,
    InvalidInputError,
    KnowledgeError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.domain.sources import is_loopback, url_parts
from commonplace.faces.access.authentication import Authenticator
from commonplace.faces.access.callers import (
    SCOPE_KEY,
    WRONG_KEY,
    Caller,
    Networks,
    RateLimiter,
    authorization,
    client_address,
    combined,
    is_proxy,
)
from commonplace.faces.access.tokens import LEAST_SCOPE
from commonplace.faces.call_log import identify
from commonplace.faces.responses import send_error

BODY_TIMEOUT = 30.0
"""Timeout in seconds for the whole body."""

MAX_OF_CALLER = 64 * 1024 * 1024
"""Maximum size in bytes of the unfinished bodies of one caller, in one process."""
MAX_OF_ALL = 256 * 1024 * 1024
"""Maximum size in bytes of the unfinished bodies of all callers, in one process."""
MAX_CLIENT = 60
"""Maximum characters of the name of a client's program in the log."""
RETRY_SECONDS = 2
"""Seconds after which a caller may send a refused body again."""


class ClientDisconnectError(Exception):
    """The client disconnected before its request was complete; no response is sent."""


class RequestTimeoutError(UnavailableError):
    """The body timed out: status 408."""


class UnfinishedBodies:
    """The sizes of the bodies that are being received in this process, by caller."""

    def __init__(self) -> None:
        self._sizes: Counter[str] = Counter()
        self._total = 0

    def add(self, caller: str, size: int) -> None:
        """Count bytes that were received.

        Raises:
            RateLimitedError: the caller's bodies exceed `MAX_OF_CALLER`. The bytes count until they are removed.
            UnavailableError: the bodies of all callers exceed `MAX_OF_ALL`; the same holds.
        """
        self._sizes[caller] += size
        self._total += size
        if self._sizes[caller] > MAX_OF_CALLER:
            raise RateLimitedError(
                f"The unfinished bodies of your requests are over the limit of {MAX_OF_CALLER:,} bytes in all.",
                kind="body",
                hint=f"Send fewer at a time: wait {RETRY_SECONDS} s, and send this one again.",
                retry_after=RETRY_SECONDS,
            )
        if self._total > MAX_OF_ALL:
            raise UnavailableError(
                "The server receives too many large bodies at the moment.",
                kind="body",
                hint=f"Send it again after {RETRY_SECONDS} s.",
                retry_after=RETRY_SECONDS,
            )

    def remove(self, caller: str, size: int) -> None:
        """Stop counting the bytes of a body that is complete or given up."""
        self._total -= size
        self._sizes[caller] -= size
        if not self._sizes[caller]:
            del self._sizes[caller]


async def buffered_body(
    receive: Receive, limit: int, declared: str, unfinished: UnfinishedBodies, caller: str
) -> bytes:
    """Read the whole body of a request.

    Args:
        receive: ASGI `receive` of the request.
        limit: Maximum size in bytes.
        declared: Value of `Content-Length`; "" if absent.
        unfinished: Counts the bytes of the body until it is complete.
        caller: The caller whose limit the body counts against.

    Raises:
        TooLargeError: the declared or actual size is over the limit.
        RateLimitedError: the caller's unfinished bodies together are over the limit.
        UnavailableError: the unfinished bodies of all callers together are over the limit.
        RequestTimeoutError: the body did not arrive within `BODY_TIMEOUT`.
        ClientDisconnectError: the client disconnected.
    """
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
        raise _too_large(limit)
    counted = 0
    body = bytearray()
    try:
        with anyio.move_on_after(BODY_TIMEOUT) as scope:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnectError
                body += message.get("body", b"")
                if len(body) > limit:
                    raise _too_large(limit)
                if not message.get("more_body"):
                    break
                before, counted = counted, len(body)
                unfinished.add(caller, counted - before)
    finally:
        unfinished.remove(caller, counted)
    if scope.cancelled_caught:
        raise RequestTimeoutError("The request took too long to arrive.", kind="body", hint="Send it at once.")
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the buffered body and then the rest of the request."""
    is_replayed = False

    async def again() -> Message:
        """Return the body at the first call, later messages after it."""
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(limit: int) -> TooLargeError:
    if not limit:
        return TooLargeError(
            "Nothing at this address takes a body.", kind="body", hint="Check the path and the method."
        )
    return TooLargeError(f"The body is over the limit of {limit:,} bytes.", kind="body", hint="Send less at a time.")


# The guard of every route: checks host name, key, rate and size.
#
# An admitted request has a caller and a complete body.


JSON = "application/json"
REQUEST_TIMEOUT = 408


async def no_page(scope: Scope, send: Send, error: KnowledgeError) -> bool:
    """Default of `RouteRules.show_error`: the error is sent as JSON."""
    del scope, send, error
    return False


@dataclass(frozen=True, slots=True)
class RouteRules:
    """The rules of one part of the application."""

    max_body: Callable[[Scope], int]
    """Maximum size of a body in bytes."""
    is_open: Callable[[Scope], bool]
    """Whether a request needs no key."""
    credentials: Callable[[Headers], str | None] = authorization
    """The credentials of a request, in the form of `Authorization`."""
    cost: Callable[[Scope], int] = lambda _: 0
    """Number of calls that a request without a key counts as for its address."""
    body_type: str = JSON
    """Required media type of bodies."""
    show_error: Callable[[Scope, Send, KnowledgeError], Awaitable[bool]] = no_page
    """Sends an error as a page and returns True; False if the error is to be sent as JSON."""
    own_pages_only: Callable[[Scope], bool] = lambda _: False
    """Whether only this server's own pages may send a request: it must have their `Origin`. A browser sends cookies
    with the requests of other pages, too, and some of these without a preflight."""
    takes_any_type: Callable[[Scope], bool] = lambda _: False
    """Whether a request's body may be of any media type. Only for methods that browsers send after a preflight."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Passes a valid request to an application; responds to any other request with an error."""

    names: AllowedHosts
    authenticator: Authenticator
    limiter: RateLimiter
    challenge: str = "Bearer"
    """Value of `WWW-Authenticate` for a request without a key."""
    spares_loopback: bool = False
    """Whether calls from this machine without a key are exempt from the rate limit."""
    proxies: Networks = ()
    """Networks of the proxies whose headers are believed; () for every private address."""
    unfinished: UnfinishedBodies = field(default_factory=UnfinishedBodies)
    """The bodies that are being received."""

    def _with_trusted_headers(self, scope: Scope) -> Scope:
        """A request without the headers that only a proxy may set, unless it comes from one."""
        if is_proxy((scope.get("client") or ("",))[0], self.proxies):
            return scope
        return {**scope, "headers": [field for field in scope["headers"] if not field[0].startswith(b"x-forwarded-")]}

    async def _counted_as(self, rules: RouteRules, scope: Scope, headers: Headers, address: str) -> str:
        """Admit a request, and return by which key it is counted. The caller is put into the scope."""
        if not rules.is_open(scope):
            caller = scope[SCOPE_KEY] = await self._admitted(scope, headers, rules.credentials(headers))
            identify(caller=caller)
            return caller.counted_as
        if cost := rules.cost(scope):
            self._limit(f"address:{address}", address, cost)
        return f"address:{address}"

    async def handle(self, app: ASGIApp, rules: RouteRules, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope = self._with_trusted_headers(scope)
        headers = Headers(scope=scope)
        origin = combined(headers, "origin")
        if self.names.shares_with(origin):
            send = shared(send, origin)
        try:
            self._check_names(headers, own_pages_only=rules.own_pages_only(scope))
            if self.names.shares_with(origin) and is_preflight(scope["method"], headers):
                await send_preflight(send, headers)
                return
            address = self._address(scope, headers)
            identify(address=address, client=headers.get("user-agent", "").partition(" ")[0][:MAX_CLIENT])
            counted_as = await self._counted_as(rules, scope, headers, address)
            declared = headers.get("content-length", "")
            body = await buffered_body(receive, rules.max_body(scope), declared, self.unfinished, counted_as)
            if body and not rules.takes_any_type(scope):
                _check_type(headers, rules.body_type)
        except ClientDisconnectError:
            return
        except KnowledgeError as error:
            await self._refuse(rules, scope, send, error)
        else:
            await app(scope, replayed(body, receive), send)

    async def _refuse(self, rules: RouteRules, scope: Scope, send: Send, error: KnowledgeError) -> None:
        """Respond with an error."""
        if isinstance(error, _StatusError):
            await send_error(send, error, status=error.status, headers=error.headers)
        elif isinstance(error, RequestTimeoutError):
            await send_error(send, error, status=REQUEST_TIMEOUT, headers=(("connection", "close"),))
        elif not await rules.show_error(scope, send, error):
            await send_error(send, error, headers=self._challenges(error))

    def _challenges(self, error: KnowledgeError) -> list[tuple[str, str]]:
        """The `WWW-Authenticate` header: how to authenticate, and why a key was refused (RFC 6750)."""
        if isinstance(error, UnauthenticatedError):
            wrong = ['error="invalid_token"'] if error.kind == "token" else []
        elif error.kind == "scope":
            wrong = ['error="insufficient_scope"', f'scope="{LEAST_SCOPE}"']
        else:
            return []
        parts = [part for part in (self.challenge.removeprefix("Bearer").strip(), *wrong) if part]
        return [("www-authenticate", f"Bearer {', '.join(parts)}".strip())]

    def _check_names(self, headers: Headers, *, own_pages_only: bool) -> None:
        if not self.names.allows_host(headers.get("host", "")):
            raise _MisdirectedError(
                "This server is not known by that Host.",
                kind="host",
                hint="Call it by its address, or start it with --public-url.",
            )
        if "origin" in headers and not self.names.allows_origin(combined(headers, "origin"), headers.get("host", "")):
            raise ForbiddenError(
                "Pages of that Origin may not call this server.",
                kind="origin",
                hint="Start the server with --allow-origin to let them, or with --public-url for its own pages.",
            )
        if own_pages_only and not self.names.is_own_origin(combined(headers, "origin"), headers.get("host", "")):
            raise ForbiddenError(
                "Only the pages of this server may send that.",
                kind="origin",
                hint="Programs write over MCP, or at /api/v1.",
            )

    async def _admitted(self, scope: Scope, headers: Headers, credentials: str | None) -> Caller:
        address = self._address(scope, headers)
        try:
            found_caller = await self._authenticated(credentials)
        except KnowledgeError as error:
            is_wrong = isinstance(error, UnauthenticatedError) and error.kind == "token"
            self.limiter.take(f"address:{address}", WRONG_KEY if is_wrong else 1)
            raise
        caller = replace(found_caller, address=address)
        self._limit(caller.counted_as, "" if caller.id else address)
        return caller

    def _limit(self, counted_as: str, address: str, calls: int = 1) -> None:
        """Count calls; those from this machine without a key may be exempt."""
        if not (self.spares_loopback and is_loopback(address)):
            self.limiter.take(counted_as, calls)

    def _address(self, scope: Scope, headers: Headers) -> str:
        peer: str = (scope.get("client") or ("",))[0]
        return client_address(
            peer, combined(headers, "x-forwarded-for") if self.names.public_host else "", self.proxies
        )

    async def _authenticated(self, authorization: str | None) -> Caller:
        if self.authenticator.is_local(authorization):
            return self.authenticator.authenticate(authorization)
        # In a thread, because it may have to fetch keys from the identity provider.
        return await anyio.to_thread.run_sync(self.authenticator.authenticate, authorization)


def _check_type(headers: Headers, body_type: str) -> None:
    """Check that a body has the media type of the route.

    Browsers send some types other than JSON across origins without a preflight.
    """
    given_headers = headers.getlist("content-type")
    if len(given_headers) != 1 or given_headers[0].partition(";")[0].strip().lower() != body_type:
        shown = "JSON" if body_type == JSON else "a form"
        raise _MediaTypeError(
            f"The body is not declared to be {shown}.",
            kind="content-type",
            hint=f"Send it with Content-Type: {body_type}.",
        )


class _StatusError(InvalidInputError):
    """A request error with an HTTP status that no error code has."""

    status: ClassVar[int]
    headers: ClassVar[Sequence[tuple[str, str]]] = ()


class _MisdirectedError(_StatusError):
    """The request is for another server."""

    status = 421


class _MediaTypeError(_StatusError):
    """The media type of the body is not supported."""

    status = 415
    headers = (("accept", JSON),)


# Allowed host names of a server: protection against DNS rebinding.


MAX_CACHED_NAMES = 64
"""Number of names whose classification is cached. Most requests name the same few hosts."""
HTTP_PORT = 80
MAX_PORT = 65_535


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The host names and origins that one server accepts.

    DNS rebinding needs a host name that the attacker controls. A request whose `Host` is an IP address is therefore
    safe.
    """

    bound: str
    """The address that the server listens on."""
    public_host: str = ""
    """Public host behind a proxy, with the port unless it is the scheme's default; "" without a proxy."""
    public_origin: str = ""
    node_host: str = ""
    """Host by which other servers of the same repositories reach this one; "" without such servers."""
    allowed_origins: frozenset[str] = frozenset()
    """Origins of other servers whose pages may call this one (CORS), in lower case."""

    def allows_host(self, host: str) -> bool:
        """Whether a `Host` header names this server."""
        if host and host.lower() in {self.public_host, self.node_host}:
            return True
        name, _ = _authority(host)
        if not name:
            return False
        if is_loopback(self.bound):
            return is_loopback(name)
        return name == self.bound.lower() or is_loopback(name) or _is_address(name)

    def allows_origin(self, origin: str, host: str) -> bool:
        """Whether an `Origin` header names this server or an allowed origin.

        Args:
            origin: The header's value.
            host: `Host` of the same request, which `allows_host` accepts. A page of this server has the same host.
        """
        return self.is_own_origin(origin, host) or self.shares_with(origin)

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether an `Origin` header names this server. Takes the same parameters as `allows_origin`."""
        given_origin = origin.lower()
        if given_origin == self.public_origin:
            return bool(given_origin)
        scheme, _, rest = given_origin.partition("://")
        if scheme != "http" or host.lower() == self.public_host:
            return False
        here, there = _authority(host), _authority(rest)
        return here == there or (here[1] == there[1] and is_loopback(here[0]) and is_loopback(there[0]))

    def shares_with(self, origin: str) -> bool:
        """Whether pages of an origin may call this server and read its responses."""
        return origin.lower() in self.allowed_origins


def allowed_hosts_of(
    bound: str, public_url: str | None, allowed_origins: Iterable[str] = (), node_url: str | None = None
) -> AllowedHosts:
    """The allowed host names of a server.

    Args:
        bound: The address that the server listens on.
        public_url: The server's URL behind a proxy.
        allowed_origins: Origins of other servers whose pages may call this one.
        node_url: The server's URL for other servers of the same repositories.
    """
    allowed, node = frozenset(allowed_origins), url_parts(node_url or "").netloc.lower()
    if not public_url:
        return AllowedHosts(bound, node_host=node, allowed_origins=allowed)
    parts = url_parts(public_url)
    return AllowedHosts(bound, parts.netloc.lower(), f"{parts.scheme}://{parts.netloc}".lower(), node, allowed)


@lru_cache(MAX_CACHED_NAMES)
def _authority(text: str) -> tuple[str, int]:
    """The name or address in `name:port`, in lower case, and the port; the name is "" if the text is malformed."""
    if text.startswith("["):
        inner, bracket, rest = text[1:].partition("]")
        name, port = (inner, rest.removeprefix(":")) if bracket and rest[:1] in {"", ":"} else ("", "")
    else:
        name, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port[:6]) <= MAX_PORT):
        return "", 0
    return name.lower(), int(port or HTTP_PORT)


@lru_cache(MAX_CACHED_NAMES)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


# Cross-origin resource sharing: pages of allowed origins can read responses (Fetch, 3.3).


METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
EXPOSED = "Allow, ETag, Mcp-Session-Id, Retry-After, WWW-Authenticate"
MAX_AGE = "600"
"""Seconds for which a browser may cache the response to a preflight."""
_HEADER_NAMES = re.compile(r"[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*", re.ASCII)
_MAX_NAMES = 1_000
"""Maximum characters of the list of requested headers."""


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether a request is a preflight."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


async def send_preflight(send: Send, headers: Headers) -> None:
    """Permit the request of a preflight; `shared` adds the origin."""
    header = headers.get("access-control-request-headers", "")
    answer = [
        ("access-control-allow-methods", METHODS),
        ("access-control-max-age", MAX_AGE),
        ("vary", "Access-Control-Request-Headers"),
    ]
    if len(header) <= _MAX_NAMES and _HEADER_NAMES.fullmatch(header):
        answer.append(("access-control-allow-headers", header))
    raw = [(name.encode(), value.encode()) for name, value in answer]
    await send({"type": "http.response.start", "status": 204, "headers": raw})
    await send({"type": "http.response.body", "body": b""})


def shared(send: Send, origin: str) -> Send:
    """A `send` that lets pages of an origin read the response."""
    added = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED.encode()),
        (b"vary", b"Origin"),
    ]

    async def with_headers(message: Message) -> None:
        """Send a message; the first one gets the headers of CORS."""
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return with_headers
