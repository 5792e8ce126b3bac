"""A caller as every face sees one, and where a request carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    is_usual: bool = False
    """Whether nobody chose the tier, so that a toolset's own usual one holds."""


def caller_of(scope: Mapping[str, object]) -> Caller:
    """The caller that the guard found; whoever comes without a guard may do nothing but read nothing."""
    found = scope.get(SCOPE_KEY)
    return found if isinstance(found, Caller) else Caller("", "read", frozenset())


def least(one: Tier, other: Tier) -> Tier:
    """The lower of two tiers."""
    return one if allows(other, one) else other


def allows(tier: Tier, needed: Tier) -> bool:
    """Whether a tier may do what needs another."""
    return TIERS.index(needed) <= TIERS.index(tier)
