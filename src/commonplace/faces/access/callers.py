"""The callers of a server: who they are, how often they may call, and which worker has their session."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, get_args

from commonplace.domain.activity import NO_LIMITS, Actor, FaceName, WriteLimits, session_id
from commonplace.domain.changes import Author, person_of
from commonplace.domain.errors import ForbiddenError, RateLimitedError
from commonplace.settings import Tier

if TYPE_CHECKING:  # `publish` makes pages without the libraries of the HTTP server
    from starlette.datastructures import Headers
    from starlette.types import Message, Scope, Send

# The caller of a request, and its place in the ASGI scope.


SCOPE_KEY = "commonplace.caller"
"""Key of an ASGI scope under which the guard stores the `Caller`."""

MAX_HOPS = 20
"""Maximum number of addresses in `X-Forwarded-For` that are looked at."""
TIERS: tuple[Tier, ...] = get_args(Tier)
"""Tiers in ascending order of permissions."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity and permissions of a caller."""

    id: str
    """Stable public id: a key's id, a token's subject, or "" for callers without a key."""
    tier: Tier
    collections: frozenset[str] | None = None
    """Names of the collections that exist for this caller; None for all."""
    is_default: bool = False
    """Whether the tier is only the default, so that a toolset's own default tier applies."""
    address: str = ""
    """Network address of the client, as returned by `client_address`."""
    name: str = ""
    """Name of the key, or of the person whom a token identifies; "" if unknown."""
    limits: WriteLimits = NO_LIMITS
    """Limits of what the key may write."""

    def actor(self, face: FaceName, tool: str, session: str = "", client: str = "") -> Actor:
        """The caller as it is recorded.

        Args:
            face: The way in.
            tool: The tool or endpoint.
            session: Name of the session, which is secret; "" for a caller without one.
            client: Name of the caller's program.
        """
        of = session_id(self.id, session) if session else session_id(*self._without_session(face, client))
        return Actor(
            face=face, session=of, caller=self.id, name=self.name, client=client, tool=tool, address=self.address
        )

    def _without_session(self, face: FaceName, client: str) -> Sequence[str]:
        """The place of a session: the key; or without one the address, the way in and the program.

        An agent and the person beside it have the same address, and neither is to undo the other's writes.
        """
        return [self.id] if self.id else [self.counted_as, face, client]

    @property
    def person(self) -> Author | None:
        """The caller as a person who commits; None without a name."""
        return person_of(self.name)

    @property
    def page_tier(self) -> Tier:
        """The tier on the pages for people: only `read`, unless a key, a token or the option `--tier` gives another."""
        return "read" if self.is_default else self.tier

    @property
    def counted_as(self) -> str:
        """Name under which rate limits count this caller: its id, or its address if the id is empty."""
        return self.id or f"address:{self.address}"


def caller_of(scope: Mapping[str, object]) -> Caller:
    """The caller that the guard stored in the scope. Without a guard: a caller with tier `read` and no collections."""
    caller = scope.get(SCOPE_KEY)
    return caller if isinstance(caller, Caller) else Caller("", "read", frozenset())


Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]


def is_proxy(peer: str, proxies: Networks = ()) -> bool:
    """Whether an address is that of a proxy whose `X-Forwarded-…` headers are believed.

    Args:
        peer: The address.
        proxies: The networks of the proxies; () for every private address.
    """
    own = _parsed(peer)
    if own is None:
        return False
    own = (own.ipv4_mapped or own) if isinstance(own, IPv6Address) else own
    return any(own in network for network in proxies) if proxies else own.is_private


def client_address(peer: str, forwarded: str = "", proxies: Networks = ()) -> str:
    """The address under which rate limits count a request: an IPv4 address, or the /64 network of an IPv6 address.

    Args:
        peer: Address of the connection's other end.
        forwarded: `X-Forwarded-For` if the server is behind a proxy, else "". Used only if `peer` is a proxy; the last
            part that is not a named proxy is the one that the outermost proxy appended.
        proxies: Same as in `is_proxy`.
    """
    own = _parsed(peer)
    hops = [part.strip() for part in reversed(forwarded.split(","))][:MAX_HOPS] if is_proxy(peer, proxies) else []
    ipv4_address = _parsed(next((hop for hop in hops if not (proxies and is_proxy(hop, proxies))), ""))
    address = ipv4_address or own
    if address is None:
        return peer
    if address.version == 4:  # noqa: PLR2004 - an IP version
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def least(tier: Tier, other: Tier) -> Tier:
    """The lower of two tiers."""
    return tier if allows(other, tier) else other


def allows(tier: Tier, needed: Tier, *, proposes: bool = False) -> bool:
    """Whether a caller of this tier may do what requires tier `needed`.

    Args:
        tier: The caller's tier.
        needed: The lowest tier that may do it as it is.
        proposes: Whether what requires `write` is proposed at the tier `propose`.
    """
    return TIERS.index(needed) <= TIERS.index(tier) or (proposes and (tier, needed) == ("propose", "write"))


def require_tier(tier: Tier, needed: Tier | None, *, proposes: bool = False) -> None:
    """Check that a caller may do something. Takes the same parameters as `allows`; None is for what needs no key.

    Raises:
        ForbiddenError: kind "tier".
    """
    if needed is not None and not allows(tier, needed, proposes=proposes):
        names = "propose or write" if proposes and needed == "write" else needed
        raise ForbiddenError(
            f"This needs the tier {names}; yours is {tier}.", kind="tier", hint="Use a key of a higher tier."
        )


# Header fields used for authorization.


def combined(headers: Headers, name: str) -> str:
    """All values of a header field joined by commas, or "" if it is absent (RFC 9110, 5.3).

    Joining prevents this server and a proxy from choosing different values of a repeated field.
    """
    return ", ".join(headers.getlist(name))


def authorization(headers: Headers) -> str | None:
    """The `Authorization` header, or None. Programs have no other credentials."""
    return combined(headers, "authorization") if "authorization" in headers else None


# Rate limits: one token bucket for each caller, refilled steadily.


DEFAULT_RATE = 6_000
"""Default limit, in calls per minute."""
WRONG_KEY = 20
"""Cost of a request with a wrong key, in calls."""
MAX_CALLERS = 10_000
"""Maximum number of buckets. Beyond this, the least recently used bucket is removed, which is full again by then."""


class Bucket(NamedTuple):
    """The calls that a caller had left at a moment."""

    left: float
    since: float
    """Time of the last change, in seconds of the limiter's clock."""


Change: TypeAlias = Callable[[Bucket | None], Bucket]
"""Maps a caller's bucket (None for a new caller) to its replacement."""


class Buckets(Protocol):
    """Storage for the buckets of all callers."""

    def change(self, caller: str, change: Change) -> None:
        """Replace a caller's bucket by the result of `change`, atomically."""
        ...


class ProcessBuckets:
    """Buckets in the memory of one process."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._lock = Lock()

    def change(self, caller: str, change: Change) -> None:
        """Replace a caller's bucket. Above `MAX_CALLERS`, the least recently used buckets are removed."""
        with self._lock:
            self._buckets[caller] = change(self._buckets.pop(caller, None))
            while len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)


class RateLimiter:
    """Limits the call rate of each caller.

    Args:
        per_minute: Permitted calls per minute, and the size of a burst; 0 for no limit.
        clock: Monotonic clock in seconds, the same for all limiters that share the buckets.
        buckets: Storage of the buckets; None for this process's memory.
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = time.monotonic, buckets: Buckets | None = None
    ) -> None:
        self._rate = per_minute / 60
        self._burst = float(per_minute)
        self._clock = clock
        self._buckets = buckets or ProcessBuckets()

    def take(self, caller: str, calls: int = 1) -> None:
        """Count calls. Refused calls are not counted.

        Args:
            caller: The caller's name, as in `Caller.counted_as`.
            calls: Cost of the request in calls; capped at the burst size.

        Raises:
            RateLimitedError: the limit is exceeded; the context has `retry_after` in whole seconds.
        """
        if not self._rate:
            return
        cost = min(float(calls), self._burst)
        missing = 0.0

        def change(bucket: Bucket | None) -> Bucket:
            nonlocal missing
            now = self._clock()
            left, since = bucket or (self._burst, now)
            left = min(self._burst, left + (now - since) * self._rate)
            missing = cost - left
            return Bucket(left if missing > 0 else left - cost, now)

        self._buckets.change(caller, change)
        if missing > 0:
            wait = math.ceil(missing / self._rate)
            raise RateLimitedError(
                "Too many calls.", kind="rate", hint=f"Wait {wait} s and go on more slowly.", retry_after=wait
            )


# Routing of MCP sessions to workers: a session id ends in the number of its worker, as in `0f3a….2`.


HEADER = b"mcp-session-id"
_OWNED = re.compile(rb"(.+)\.([0-9]{1,18})", re.DOTALL)
_HEAD_LINE = re.compile(rb"\r\nmcp-session-id:[ \t]*[!-~]+\.([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)


def owner_in(head: bytes) -> int | None:
    """The number of the worker that owns the request's session; None if the request has no such session id.

    Args:
        head: Request line and headers, including the final empty line.
    """
    match = _HEAD_LINE.search(head)
    return int(match[1]) if match else None


def without_owner(scope: Scope, worker: int) -> Scope:
    """The request with the worker's number removed from its session id.

    An id of another worker is unchanged: no session has it, so the client gets the error for an unknown session.
    """
    return {
        **scope,
        "headers": [(name, _plain(value, worker) if name == HEADER else value) for name, value in _of(scope)],
    }


def with_owner(send: Send, worker: int) -> Send:
    """Wrap `send` so that session ids in responses end in the worker's number."""
    mark = f".{worker}".encode()

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [(name, value + mark if name.lower() == HEADER else value) for name, value in _of(message)]
            message = {**message, "headers": headers}
        await send(message)

    return sent


def _of(message: Message | Scope) -> Sequence[tuple[bytes, bytes]]:
    return message.get("headers") or ()


def _plain(value: bytes, worker: int) -> bytes:
    match = _OWNED.fullmatch(value)
    return match[1] if match and int(match[2]) == worker else value
