"""The caller of a request, and its place in the ASGI scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from commonplace.settings import Tier

SCOPE_KEY = "commonplace.caller"
"""Key of an ASGI scope under which the guard stores the `Caller`."""

MAX_HOPS = 20
"""Maximum number of addresses in `X-Forwarded-For` that are looked at."""
TIERS: tuple[Tier, ...] = ("read", "write", "admin")


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

    @property
    def counted_as(self) -> str:
        """Name under which rate limits count this caller: its id, or its address if the id is empty."""
        return self.id or f"address:{self.address}"


def caller_of(scope: Mapping[str, object]) -> Caller:
    """The caller that the guard stored in the scope. Without a guard: a caller with tier `read` and no collections."""
    found = scope.get(SCOPE_KEY)
    return found if isinstance(found, Caller) else Caller("", "read", frozenset())


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
    told = _parsed(next((hop for hop in hops if not (proxies and is_proxy(hop, proxies))), ""))
    address = told or own
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


def least(one: Tier, other: Tier) -> Tier:
    """The lower of two tiers."""
    return one if allows(other, one) else other


def allows(tier: Tier, needed: Tier) -> bool:
    """Whether a caller of this tier may do what requires tier `needed`."""
    return TIERS.index(needed) <= TIERS.index(tier)
