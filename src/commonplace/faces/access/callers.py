"""A caller as every face sees one, and where a request carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from commonplace.settings import Tier

SCOPE_KEY = "commonplace.caller"
"""Where the guard leaves the caller in an ASGI scope."""

TIERS: tuple[Tier, ...] = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who may call."""

    id: str
    """Stable and not secret: a key's id, a token's subject, or "" for whoever needs no key."""
    tier: Tier
    collections: frozenset[str] | None = None
    """Names of the collections that exist for this caller; None for all."""
    is_default: bool = False
    """Whether nobody chose the tier, so that a toolset's own usual one holds."""
    address: str = ""
    """Where the request came from, as `client_address` gives it."""

    @property
    def counted_as(self) -> str:
        """For whom limits count: the key or subject, else the address."""
        return self.id or f"address:{self.address}"


def caller_of(scope: Mapping[str, object]) -> Caller:
    """The caller that the guard found; whoever comes without a guard may do nothing but read nothing."""
    found = scope.get(SCOPE_KEY)
    return found if isinstance(found, Caller) else Caller("", "read", frozenset())


def client_address(peer: str, forwarded: str = "") -> str:
    """The address that limits count for a request: an IPv4 address, or the /64 network of an IPv6 one.

    Args:
        peer: The other end of the connection.
        forwarded: `X-Forwarded-For` where the server stands behind a proxy, else "". It counts when the peer is in a
            private network, as a proxy is; its last part is the one that the proxy itself wrote.
    """
    own = _parsed(peer)
    told = _parsed(forwarded.rpartition(",")[2].strip()) if own is not None and own.is_private else None
    address = told or own
    if address is None:
        return peer
    if address.version == 4:  # noqa: PLR2004 - of the protocol
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
    """Whether a tier may do what needs another."""
    return TIERS.index(needed) <= TIERS.index(tier)
