"""The rule for overwriting: a writer may only remove text that it has seen, by its revision or in its session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, RetainedCopy, Revision
from commonplace.domain.documents import Document
from commonplace.domain.errors import ConflictError, KnowledgeError
from commonplace.domain.revisions import changed_lines, line_marks, require_revision, revision_of
from commonplace.services.collections import Collection
from commonplace.services.extensions import PASSED, Deadline
from commonplace.services.sessions import SessionMemory, ShownDocument


class SeenEvidence(Enum):
    """Evidence that a writer has seen the current revision of a document."""

    SHOWN = "shown"
    """The writer's session was shown, or wrote, every byte."""
    PASSED = "passed"
    """The writer passed the revision, from an unknown source."""
    UNSEEN = "unseen"
    """The writer was not shown the text: it passed no revision, or a revision that it only knows from a receipt."""


def evidence_of(collection: Collection, address: Address, raw: bytes, intent: WriteRequest) -> SeenEvidence:
    """Evidence that the writer has seen the current document. Needs the writer lock.

    Raises:
        ConflictError: the current revision is not the passed or pinned one; the error lists the changes.
    """
    if intent.pinned:
        require_revision(raw, intent.pinned)
    if intent.expected:
        try:
            require_revision(raw, intent.expected)
        except ConflictError as error:
            error.changes = _changes(collection, address, raw, intent)
            raise
    current, session = revision_of(raw), intent.session
    document = seen_by(collection, address, intent)
    if document is not None and document.revision == current:
        return SeenEvidence.SHOWN if document.is_whole else SeenEvidence.PASSED
    has_receipt_only = session is not None and session.is_unseen(collection.name, address.path, current)
    return SeenEvidence.PASSED if intent.expected and not has_receipt_only else SeenEvidence.UNSEEN


def unseen_conflict(collection: Collection, address: Address, raw: bytes, intent: WriteRequest) -> ConflictError:
    """The error for replacing or deleting a document whose current state the writer has not seen."""
    document = seen_by(collection, address, intent)
    if document is not None:
        message = f"The document {address.id!r} was changed since this session read it."
        hint = "Read it again and apply the change to what it says now."
    else:
        reason = "was not read whole in this session" if intent.session else "can be replaced by its revision only"
        message = f"The document {address.id!r} {reason}, and this would take away text unseen."
        hint = "Read the whole of it first, and pass the revision that the answer gives."
    current = revision_of(raw)
    error = ConflictError(message, kind="document", hint=hint, reference=address.id, current_revision=current)
    if document is None and intent.session:
        error.context["reached"] = intent.session.reached(collection.name, address.path, current)
    error.changes = document.changes(raw) if document else ()
    return error


def seen_by(collection: Collection, address: Address, intent: WriteRequest) -> ShownDocument | None:
    """The state of a document that the writer's session was last shown."""
    return intent.session.seen(collection.name, address.path) if intent.session else None


def note_write(
    collection: Collection,
    address: Address,
    raw: bytes | None,
    intent: WriteRequest,
    evidence: SeenEvidence = SeenEvidence.SHOWN,
) -> None:
    """Record a write in the writer's session.

    Args:
        collection: Collection of the document.
        address: Address of the document.
        raw: The new bytes; None if the document was deleted.
        intent: The writer's request.
        evidence: Whether the writer had seen the old text.
    """
    if intent.session is None:
        return
    if raw is None:
        intent.session.forget(collection.name, address.path)
    elif evidence is SeenEvidence.UNSEEN:
        intent.session.receive_unseen(collection.name, address.path, revision_of(raw))
    else:
        is_whole = evidence is SeenEvidence.SHOWN
        intent.session.show(collection.name, address.path, revision_of(raw), raw, is_whole=is_whole)


def takes_away(before: bytes, after: bytes) -> bool:
    """Whether the new text lacks a line of the old one; the order of lines counts."""
    rest = iter(after.splitlines())
    return not all(any(line == other for other in rest) for line in before.splitlines())


def unseen_lines(
    collection: Collection, address: Address, before: bytes, after: bytes, session: SessionMemory
) -> tuple[str, ...]:
    """The lines that a change takes away and that the session was not shown.

    A session that was told the revision before, with a part of the text, counts as one that was shown the lines.
    """
    if session.is_unseen(collection.name, address.path, revision_of(before)):
        return ()
    document = session.seen(collection.name, address.path)
    shown, left = set(document.marks or ()) if document else set[int](), set(after.splitlines())
    removed = [line for line in before.splitlines() if line.strip() and line not in left]
    return tuple(line.decode("utf-8", "replace") for line in removed if not shown.intersection(line_marks(line)))


def _changes(collection: Collection, address: Address, raw: bytes, intent: WriteRequest) -> tuple[str, ...]:
    """The changes since the revision that the writer passed, from the session's record, otherwise from the history."""
    document = seen_by(collection, address, intent)
    if document is not None and document.revision.startswith(intent.expected.lower()):
        return document.changes(raw)
    return changes_since(collection, address, raw, intent.expected)


def changes_since(collection: Collection, address: Address, raw: bytes, revision: str) -> tuple[str, ...]:
    """The lines of a document that differ from an earlier revision, if the history has it."""
    history = collection.store.history
    try:
        before = history.read(address, revision) if history.available else None
    except KnowledgeError:  # the conflict is reported even if the changes cannot be listed
        before = None
    return changed_lines(line_marks(before), raw) if before is not None else ()


# The request of a write, without the content, and its receipt.


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
