"""What a writer says of a write, and what a write leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, RetainedCopy, Revision
from commonplace.domain.documents import Document
from commonplace.services.deadline import PASSED, Deadline
from commonplace.services.sessions.memory import SessionMemory

DocumentEdit = Callable[[Document], bytes]
"""A pure function from the document as it is to its new bytes."""
DocumentDraft = tuple[Address, bytes]
"""An address and what is to stand there."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What a writer says of a write besides its content."""

    expected: str = ""
    """The revision that the writer saw (7 or more digits of it), or "" to go by what its session was shown."""
    pinned: str = ""
    """The revision that must still be current though the writer has not seen it, or "" for any."""
    message: str = ""
    """The commit's message, or "" for the verb and the document's name."""
    author: Author | None = None
    """Who the commit names, or None for the configured identity."""
    session: SessionMemory | None = None
    """What the writer was shown, and is told of its own writes; None for a writer without a memory."""
    unseen: Literal["keep", "refuse"] = "keep"
    """What happens to a text that a whole replacement or a deletion takes away and the writer was not shown in its
    present form: it is kept where it can be had again, or the write is refused."""


UNCONDITIONAL = WriteRequest()


@dataclass(frozen=True, slots=True)
class WriteReceipt:
    """What a write left."""

    address: Address
    revision: Revision
    """Of the document as written; "" when it was deleted."""
    commit: str
    """The commit's id, "" when nothing was committed."""
    created: bool = False
    updated: tuple[Address, ...] = ()
    """Other documents that the write changed too: those whose links a rename rewrote, by path."""
    retained: RetainedCopy | None = None
    """Where the bytes are that were there, if they had to be kept."""
    answer_by: Deadline = field(default=PASSED, compare=False)
    """Until when the acknowledgement may wait for what is to be said beside it."""
    unchanged: bool = False
    """Whether the document held these very bytes before, as after a write that was sent twice."""
