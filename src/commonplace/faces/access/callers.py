"""The caller of a request, and its place in the ASGI scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from commonplace.settings import Tier

SCOPE_KEY = "commonplace.caller"
"""Key of an ASGI scope under which the guard stores the `Caller`."""

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


def client_address(peer: str, forwarded: str = "") -> str:
    """The address under which rate limits count a request: an IPv4 address, or the /64 network of an IPv6 address.

    Args:
        peer: Address of the connection's other end.
        forwarded: `X-Forwarded-For` if the server is behind a proxy, else "". Used only if `peer` is a private address;
            the last part is the one that the proxy appended.
    """
    own = _parsed(peer)
    told = _parsed(forwarded.rpartition(",")[2].strip()) if own is not None and own.is_private else None
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
