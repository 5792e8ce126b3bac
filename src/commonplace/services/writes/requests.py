"""The request of a write, without the content, and its receipt."""

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
"""A pure function from the current document to its new bytes."""
DocumentDraft = tuple[Address, bytes]
"""An address and its new content."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """The request of a writer, without the content."""

    expected: str = ""
    """The revision that the writer saw (7 or more digits); "" for the revision that its session was shown."""
    pinned: str = ""
    """The revision that must be current, although the writer has not seen it; "" for any."""
    message: str = ""
    """The commit's message; "" for the verb and the document's name."""
    author: Author | None = None
    """The commit's author; None for the configured identity."""
    session: SessionMemory | None = None
    """Record of the documents that the writer was shown or wrote; None for a writer without a session."""
    unseen: Literal["keep", "refuse"] = "keep"
    """Treatment of a replacement or deletion that removes text which the writer was not shown.

    "keep" retains the text, "refuse" rejects the write.
    """


UNCONDITIONAL = WriteRequest()


@dataclass(frozen=True, slots=True)
class RewrittenLinks:
    """The effect of a rename: the documents in which links changed, and the files that stayed; by path."""

    updated: tuple[Address, ...] = ()
    """The documents whose links were rewritten."""
    pinned: tuple[Address, ...] = ()
    """Rewritten documents with links that the new name would have redirected."""
    gained: tuple[Address, ...] = ()
    """Documents with links that led nowhere and lead to the renamed document now."""
    rewritten: tuple[Address, ...] = ()
    """Renamed documents in which links were rewritten, by their new addresses."""
    ignored: tuple[Address, ...] = ()
    """Files that stayed, because ignore files exclude them."""
    not_rewritten: tuple[Address, ...] = ()
    """Documents that are not UTF-8, unchanged, with links that no longer lead right."""


NO_LINKS = RewrittenLinks()


@dataclass(frozen=True, slots=True)
class WriteReceipt:
    """The result of a write."""

    address: Address
    revision: Revision
    """Revision of the written document; "" if it was deleted."""
    commit: str
    """The commit's id; "" if nothing was committed."""
    created: bool = False
    links: RewrittenLinks = NO_LINKS
    """The effect of a rename on links of other documents."""
    retained: RetainedCopy | None = None
    """Location of the old bytes, if they had to be retained."""
    answer_by: Deadline = field(default=PASSED, compare=False)
    """Deadline until which the acknowledgement may wait for additional information."""
    before: bytes | None = None
    """The bytes that the write replaced or deleted; None if the document is new."""
    moved_from: Address | None = None
    """The address that the document had before the write; None if it has not moved."""
    unchanged: bool = False
    """Whether the document already had exactly these bytes, as after a repeated write."""
