"""The services that a face receives, in one value."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from commonplace.domain.activity import NO_LIMITS, AccessLog, Actor, ConfirmMode, HourlyUses, WriteLimits
from commonplace.domain.changes import ClientCredit
from commonplace.domain.errors import NotFoundError
from commonplace.services.change_feed import ChangeFeed
from commonplace.services.collections import Collections
from commonplace.services.sessions import SessionMemories

if TYPE_CHECKING:
    from commonplace.domain.sources import SourceReader
    from commonplace.services.collections import Collection

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ServiceKey(Generic[T]):
    """The key of a service that a toolset adds, with its type."""

    name: str


class OwnStore(Protocol[T_co]):
    """A store of a service's own, which is not among the served collections."""

    def collection(self, services: Services) -> Collection:
        """The store as a collection, opened on the first call.

        Raises:
            KnowledgeError: it cannot be opened, or the caller may not use it.
        """
        ...

    @property
    def is_listed(self) -> bool:
        """Whether its proposals are listed with those of the served collections; opens nothing."""
        ...

    def over(self, services: Services, collection: Collection) -> T_co:
        """The service over another state of the collection."""
        ...


@dataclass(frozen=True, slots=True)
class ServiceProvider(Generic[T]):
    """Provides the service of a key."""

    key: ServiceKey[T]
    get: Callable[[Services], T]
    """Returns the service for the caller's services, opened on the first call; raises if the caller may not use it."""
    own: OwnStore[T] | None = None
    """The store of the service's own to which callers can propose; None if it uses the served collections alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The open collections and their services."""

    collections: Collections
    unrestricted: bool = True
    """Whether the caller may use everything; false if restricted to some of the collections."""
    proposes: bool = False
    """Whether the collections are all that are served, as a proposer has them; `unrestricted` is false then."""
    change_feed: ChangeFeed = field(default_factory=ChangeFeed)
    """Notifies subscribers of changed documents."""
    credit: ClientCredit = "none"
    """Way in which commits credit the caller's program."""
    sessions: SessionMemories = field(default_factory=SessionMemories)
    """The documents that each session was shown."""
    activity: AccessLog | None = None
    """The log of what sessions read and write; None if it is not recorded."""
    uses: HourlyUses | None = None
    """The counts of what each key has written in the last hour; None if nothing is counted."""
    confirm: ConfirmMode = "never"
    """Writes over MCP of which the client's person is asked first."""
    take_once: Callable[[str, str, float], bool] | None = None
    """Takes a value of a purpose, remembers it until a time in Unix seconds, and returns whether it is the first time.

    None if nothing is remembered.
    """
    reader: Callable[[], SourceReader] | None = None
    """Returns what reads and converts sources; None if none can be added."""
    providers: tuple[ServiceProvider[Any], ...] = ()
    """Services of toolsets."""

    def of(self, key: ServiceKey[T]) -> T:
        """The service that a toolset added under this key.

        Raises:
            NotFoundError: this process has no such service, or the caller may not use it.
        """
        for provider in self.providers:
            if provider.key == key:
                return cast("T", provider.get(self))
        raise NotFoundError(f"Nothing that serves {key.name} is open here.", kind="collection")

    @property
    def stores(self) -> list[Collection]:
        """The stores of toolsets' own whose proposals are listed with those of the served collections."""
        stores = [provider.own for provider in self.providers if self.unrestricted and provider.own]
        return [store.collection(self) for store in stores if store.is_listed]

    @property
    def decided(self) -> Collections:
        """The collections whose proposals the caller may decide on: the served ones, and toolsets' own stores."""
        return Collections(lambda: [*self.collections, *self.stores])

    def watch(self, actor: Actor, limits: WriteLimits = NO_LIMITS, *, reads: bool) -> AbstractContextManager[None]:
        """Record what a call reads and writes, hold its writes to limits, and let them be by the caller.

        All this holds for the duration of a `with` block.

        Args:
            actor: The caller.
            limits: The limits of the caller's key.
            reads: Whether the call only reads.
        """
        if self.activity is None or self.uses is None:
            return nullcontext()
        from commonplace.services.write_watch import CallWatch, watched  # noqa: PLC0415 - not needed for a first answer

        return watched(CallWatch(actor, self.activity, self.uses, self.collections, limits, reads=reads))

    def only(self, names: frozenset[str] | None) -> Services:
        """The same services restricted to these collections; None for all."""
        if names is None:
            return self
        return replace(self, collections=self.collections.only(names), unrestricted=False)
