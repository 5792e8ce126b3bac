"""Activity of sessions: who reads and writes, limits of what is written, and the port of the log that keeps them.

A log has names, times and commits, and never contents. What a commit changed is read from Git.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from commonplace.domain.changes import UNNAMED_PROGRAM, clean_name

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Revision

FaceName: TypeAlias = Literal["mcp", "rest", "web", "cli", "lsp"]
ConfirmMode: TypeAlias = Literal["always", "bulk", "never"]
"""Writes before which a person is asked: all, the large ones and deletions, or none."""
KEPT_DAYS = 90
"""Number of days for which activity is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteLimits:
    """Limits of what one key may write. Reading is limited by the key's collections."""

    folders: tuple[str, ...] = ()
    """Paths of the folders below which files may be written; () for all.

    `inbox` is that folder of every collection, `notes:inbox` that of the collection `notes`, `notes:` all of `notes`.
    """
    types: tuple[str, ...] = ()
    """The types of which pages may be written, as their front matter names them; () for all."""
    pages: int | None = None
    """Maximum number of files written in an hour; None for no maximum."""
    size: int | None = None
    """Maximum number of bytes written in an hour: those of each new text; None for no maximum."""

    @property
    def is_hourly(self) -> bool:
        """Whether the writes of an hour are counted."""
        return self.pages is not None or self.size is not None


NO_LIMITS = WriteLimits()


@dataclass(frozen=True, slots=True)
class HourlyUse:
    """The writes of a key in the last hour."""

    pages: int
    size: int
    """Bytes."""
    until: float
    """Seconds until the oldest of it no longer counts; 0 if there is nothing."""


class HourlyUses(Protocol):
    """The writes of each key in the last hour, for all processes of this machine."""

    def reserve(self, caller: str, pages: int, size: int, check: Callable[[HourlyUse], None]) -> Callable[[], None]:
        """Count a write, unless `check` raises for what was written before; returns what takes it back.

        Other writes of the key wait until `check` has decided.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The caller of a call, and the tool that it calls."""

    face: FaceName
    session: str
    """Id of the session: 16 hex digits. Callers without sessions have one for each key, or for each address."""
    caller: str = ""
    """Id of the caller's key or token; "" for a local program, and for callers without a key."""
    name: str = ""
    """Name of the key; "" if unknown."""
    client: str = ""
    """Name of the caller's program; not verified."""
    tool: str = ""
    """Name of the tool, command, or endpoint."""
    address: str = ""
    """Network address of the client; "" for a local program. Only the log of writes has it."""

    @property
    def program(self) -> str:
        """The caller's program as people read it; "" for a face other than MCP whose caller names none."""
        return clean_name(self.client) or (UNNAMED_PROGRAM if self.face == "mcp" else "")


def session_id(*names: str) -> str:
    """The id of a session by what is secret about it: 16 hex digits."""
    return sha256("\n".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One read or write of a session."""

    when: float
    """Unix seconds."""
    actor: Actor
    base: str
    """Identity of the store."""
    name: str = ""
    """Name of the folder; only the log of writes has it."""
    read: tuple[str, ...] = ()
    """Paths of the pages that were read; () for a write."""
    commit: str = ""
    """The commit of a write; "" if nothing was committed."""
    proposal: str = ""
    """Id of the proposal to which a write went; "" for none."""
    paths: tuple[str, ...] = ()
    """Paths of the files that were written; () for a read."""
    files: Mapping[str, tuple[Revision, Revision]] | None = None
    """Old and new revision by path of a write, "" for no file; None for a read, and for very large writes.

    The old one can be of text that no commit had, and that the write's commit took in.
    """

    @property
    def is_write(self) -> bool:
        """Whether this is a write."""
        return not self.read


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """A write before it is made."""

    name: str
    """Name of the folder."""
    base: str
    """Identity of the store."""
    before: Mapping[Address, bytes | None]
    after: Mapping[Address, bytes | None]
    """The bytes of each changed file; None for no file."""
    proposal: str = ""
    """Id of the proposal; "" for a write to what is served."""


class AccessLog(Protocol):
    """The reads and writes of the last `KEPT_DAYS` days on this machine."""

    def add(self, access: Access) -> None:
        """Add a read or write. A log that cannot be written is reported and does not fail the call."""
        ...

    def accesses(self, bases: Sequence[str], since: float = 0.0) -> Sequence[Access]:
        """The reads and writes of these stores, oldest first."""
        ...

    def writes(self, since: float = 0.0) -> Sequence[Access]:
        """The log of writes of all stores, oldest first. It is never shortened."""
        ...


_write_listeners: list[Callable[[Actor], None]] = []


def listen_to_writes(listener: Callable[[Actor], None]) -> None:
    """Register what is called with the writer after each write. It must not raise."""
    _write_listeners.append(listener)


def record_write(actor: Actor) -> None:
    """Tell the listeners that somebody has written."""
    for listener in _write_listeners:
        listener(actor)


class WriteWatch(Protocol):
    """Watches the writes of one call."""

    def writing(self, write: PlannedWrite) -> AbstractContextManager[Callable[[str], None]]:
        """Allow a write for the duration of a `with` block; yields what is called with its commit when it is done.

        Raises:
            ForbiddenError: the caller may not write these files.
            RateLimitedError: the caller has written too much.
            TooLargeError: the write alone is more than the caller writes in an hour.
        """
        ...

    def deciding(self, write: PlannedWrite) -> None:
        """Check that the caller may decide on a write that others propose.

        Raises:
            ForbiddenError: the caller may not write these files.
        """
        ...

    def reading(self, base: str, path: str) -> None:
        """Record that a page was read."""
        ...


_WATCH: ContextVar[WriteWatch | None] = ContextVar("watch", default=None)


@contextmanager
def watched_by(watch: WriteWatch | None) -> Generator[None]:
    """Let the writes and reads of the block be watched."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def current_watch() -> WriteWatch | None:
    """The watch of the current context; None without one."""
    return _WATCH.get()


_MOMENT: ContextVar[datetime | None] = ContextVar("moment", default=None)


@contextmanager
def at_moment(when: datetime) -> Generator[None]:
    """Let the writes of the block have this date, so that a write that is made twice has the same bytes."""
    token = _MOMENT.set(when)
    try:
        yield
    finally:
        _MOMENT.reset(token)


def moment_of_write() -> datetime:
    """The date that a write puts into a file, in UTC: that of `at_moment`, else the current one."""
    return _MOMENT.get() or datetime.now(UTC)


@contextmanager
def watching_write(write: Callable[[], PlannedWrite]) -> Generator[Callable[[str], None]]:
    """The same as `WriteWatch.writing` of the current watch; allows everything without one.

    Args:
        write: Returns the write; called only if there is a watch.
    """
    watch = _WATCH.get()
    with ExitStack() as stack:
        yield stack.enter_context(watch.writing(write())) if watch else _ignore


def require_decision(write: Callable[[], PlannedWrite]) -> None:
    """The same as `WriteWatch.deciding` of the current watch; allows everything without one."""
    watch = _WATCH.get()
    if watch is not None:
        watch.deciding(write())


@dataclass(slots=True)
class CallFacts:
    """The caller of a call, and the bases that it reads and writes."""

    actor: Actor | None = None
    """None for a call that nobody watches."""
    bases: dict[str, None] = field(default_factory=dict[str, None])
    """Names of the bases, in order."""


_FACTS: ContextVar[CallFacts | None] = ContextVar("call facts", default=None)


@contextmanager
def recording_facts() -> Generator[CallFacts]:
    """Collect the facts about the call that the block makes."""
    facts = CallFacts()
    token = _FACTS.set(facts)
    try:
        yield facts
    finally:
        _FACTS.reset(token)


def record_fact(base: str = "", actor: Actor | None = None) -> None:
    """Add a base, or the caller, to the result of `recording_facts`, if one is active."""
    facts = _FACTS.get()
    if facts is not None:
        facts.actor = actor or facts.actor
        facts.bases |= {base: None} if base else {}


_ATTACHED: ContextVar[tuple[Address, bytes | None] | None] = ContextVar("attached", default=None)


@contextmanager
def attached_to(page: Address, content: bytes | None) -> Generator[None]:
    """Let the files that the block writes be attachments of a page; None for the content of a page without a file."""
    token = _ATTACHED.set((page, content))
    try:
        yield
    finally:
        _ATTACHED.reset(token)


def attached_page() -> tuple[Address, bytes | None] | None:
    """The page, with its content, whose attachments the current context writes; None outside of `attached_to`."""
    return _ATTACHED.get()


def record_read(base: str, path: str) -> None:
    """Tell the current watch, if there is one, that a page was read."""
    watch = _WATCH.get()
    if watch is not None:
        watch.reading(base, path)


def _ignore(commit: str) -> None:
    del commit
