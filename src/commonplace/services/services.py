"""What a face is given: everything that is open, in one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

from commonplace.domain.changes import ClientCredit
from commonplace.domain.errors import NotFoundError
from commonplace.services.change_feed import ChangeFeed
from commonplace.services.collections import Collections
from commonplace.services.sessions.memory import SessionMemories

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceKey(Generic[T]):
    """Names the service that one toolset adds, with its type."""

    name: str


@dataclass(frozen=True, slots=True)
class ServiceProvider(Generic[T]):
    """Gives the service of a key."""

    key: ServiceKey[T]
    get: Callable[[Services], T]
    """Opens it at the first call. It is given what the caller may use, and raises where the service is not among it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The open collections and what serves them."""

    collections: Collections
    unrestricted: bool = True
    """Whether the caller may use everything; False for one who may use only some of the collections."""
    change_feed: ChangeFeed = field(default_factory=ChangeFeed)
    """Who wants to know that documents have changed."""
    credit: ClientCredit = "none"
    """How commits name the program through which a caller writes."""
    sessions: SessionMemories = field(default_factory=SessionMemories)
    """What each session was shown of documents."""
    providers: tuple[ServiceProvider[Any], ...] = ()
    """What toolsets add."""

    def of(self, key: ServiceKey[T]) -> T:
        """The service that a toolset added under this key.

        Raises:
            NotFoundError: there is none in this process, or the caller may not use it.
        """
        for provider in self.providers:
            if provider.key == key:
                return cast("T", provider.get(self))
        raise NotFoundError(f"Nothing that serves {key.name} is open here.", kind="collection")

    def only(self, names: frozenset[str] | None) -> Services:
        """The same for a caller who may use just these collections; None for all."""
        if names is None:
            return self
        return replace(self, collections=self.collections.only(names), unrestricted=False)
