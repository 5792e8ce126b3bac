"""How a write is described and what it leaves behind."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from commonplace.domain.addresses import Address

Revision = str
"""A document's state: the Git blob id of its bytes, 40 hex digits. Known without Git, equal wherever bytes are."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who a commit names."""

    name: str
    email: str
    commits: bool = False
    """Whether the committer is this one as well, whatever Git's configuration says."""


ClientCredit: TypeAlias = Literal["none", "co-author", "author"]
"""How commits name the program that asked for them: not at all, in a `Co-authored-by` line, or as their author."""


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """The program through which a caller writes."""

    name: str
    """As it calls itself; nobody has checked that."""
    credit: ClientCredit = "none"


CURRENT_CLIENT: ContextVar[ClientProgram | None] = ContextVar("client", default=None)
"""Through which program the current thread's caller writes, where a face knows it."""


class FileStat(NamedTuple):
    """What the file system says about a file without reading it; two equal values mean an unchanged file.

    A named tuple, as every scan makes and compares one for each file.
    """

    size: int
    """Bytes."""
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of a history."""

    id: str
    """40 hex digits."""
    author: Author
    when: int
    """Unix seconds of the author's date."""
    message: str
    addresses: tuple[Address, ...] = ()
    """The documents it touched, as they are named in it; filled where the caller asked for them."""


Loss: TypeAlias = Literal["deleted", "replaced"]
"""How a write takes a file's bytes away."""


@dataclass(frozen=True, slots=True)
class RetainedCopy:
    """Where the bytes are that a write deleted or replaced."""

    address: Address
    """Of the file."""
    revision: Revision
    """Of the bytes."""
    place: Literal["commit", "trash", "object"]
    """A commit; the trash; or, where the trash could not be written, only a Git object that no commit names."""
    commit: str = ""
    """The commit that holds them, where one does."""
    until: int = 0
    """Unix seconds until which the trash keeps them; 0 for another place."""


_KEPT: ContextVar[list[RetainedCopy] | None] = ContextVar("kept", default=None)


@contextmanager
def recording_retained() -> Generator[list[RetainedCopy]]:
    """What the writes of the block keep, so that an answer can name it; of this thread's call alone."""
    kept: list[RetainedCopy] = []
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def record_retained(kept: Iterable[RetainedCopy]) -> None:
    """Tell the current call, if it wants to know, what a write that stands has kept."""
    noted = _KEPT.get()
    if noted is not None:
        noted.extend(kept)


@dataclass(frozen=True, slots=True)
class TrashItem:
    """What the trash holds of one file: its bytes at the time of the write that took them away."""

    address: Address
    """Where the file was."""
    revision: Revision
    """Of the bytes; by it callers name the item."""
    size: int
    """Bytes."""
    when: float
    """Unix seconds of that write."""
    until: int
    """Unix seconds at which it goes."""
    loss: Loss
    name: str
    """The item's own name in the trash."""


class Trash(Protocol):
    """What was deleted or replaced in one folder while no commit held it; nothing is kept for longer than 30 days."""

    def items(self) -> list[TrashItem]:
        """What is there, newest first, then by address."""
        ...

    def content(self, item: TrashItem) -> bytes:
        """The bytes of an item.

        Raises:
            NotFoundError: it is gone.
            StorageError: it cannot be read, or its bytes are not those that were kept.
        """
        ...

    def discard(self, item: TrashItem) -> None:
        """Remove an item, which may be gone already."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an acknowledged write did. All of it is durable when the caller has this."""

    commit: str
    """The commit's id, or "" when nothing was committed (no Git, manual commits, no change)."""
    revisions: dict[Address, Revision] = field(default_factory=dict[Address, Revision])
    """The new revision of every written document; removed ones are absent."""
    removed: tuple[Address, ...] = ()
    retained: dict[Address, RetainedCopy] = field(default_factory=dict[Address, RetainedCopy])
    """Where the old bytes are of what was deleted, or replaced with `keep`."""
