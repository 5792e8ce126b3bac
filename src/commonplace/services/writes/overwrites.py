"""The one rule for text that a writer takes away: only what it was shown, by its revision or in its session."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError, KnowledgeError
from commonplace.domain.revisions import changed_lines, line_marks, require_revision, revision_of
from commonplace.services.collections import Collection
from commonplace.services.sessions.memory import ShownDocument
from commonplace.services.writes.requests import WriteRequest


def has_seen(collection: Collection, address: Address, raw: bytes, intent: WriteRequest) -> bool:
    """Whether the writer was shown a document as it is now. Called under the writer lock.

    The revision that the writer passes decides; without one, what its session was shown.

    Raises:
        ConflictError: another revision than the one passed, or pinned, is current; it says what changed.
    """
    if intent.pinned:
        require_revision(raw, intent.pinned)
    if not intent.expected:
        known = seen_by(collection, address, intent)
        return known is not None and known.revision == revision_of(raw)
    try:
        require_revision(raw, intent.expected)
    except ConflictError as error:
        error.changes = _changes(collection, address, raw, intent)
        raise
    return True


def unseen_conflict(collection: Collection, address: Address, raw: bytes, intent: WriteRequest) -> ConflictError:
    """Why a document may not be replaced or deleted by a writer that has not seen it as it is now."""
    known = seen_by(collection, address, intent)
    if known is not None:
        message = f"The document {address.id!r} was changed since this session read it."
        hint = "Read it again and apply the change to what it says now, or pass the current revision."
    else:
        reason = "was not read whole in this session" if intent.session else "can be replaced by its revision only"
        message = f"The document {address.id!r} {reason}, and this would take away text unseen."
        hint = "Read the whole of it first, and pass the revision that the answer gives."
    error = ConflictError(message, kind="document", hint=hint, reference=address.id, current_revision=revision_of(raw))
    error.changes = known.changes(raw) if known else ()
    return error


def seen_by(collection: Collection, address: Address, intent: WriteRequest) -> ShownDocument | None:
    """What the writer's session was last shown of a document."""
    return intent.session.seen(collection.name, address.path) if intent.session else None


def note_write(
    collection: Collection, address: Address, raw: bytes | None, intent: WriteRequest, *, seen: bool
) -> None:
    """Tell the writer's session of its own write.

    Args:
        collection: Where the document is.
        address: Which it is.
        raw: Its new bytes; None when it was deleted.
        intent: The writer's.
        seen: Whether the writer had seen what was there before, so that it knows all of what is there now.
    """
    if intent.session is None:
        return
    if raw is not None and seen:
        intent.session.show(collection.name, address.path, revision_of(raw), raw)
    elif raw is None:
        intent.session.forget(collection.name, address.path)


def takes_away(before: bytes, after: bytes) -> bool:
    """Whether a line of the text before is not in the text after, in the same order."""
    rest = iter(after.splitlines())
    return not all(any(line == other for other in rest) for line in before.splitlines())


def _changes(collection: Collection, address: Address, raw: bytes, intent: WriteRequest) -> tuple[str, ...]:
    """What changed since the revision that the writer passed, by the session's memory, else by the history."""
    known = seen_by(collection, address, intent)
    if known is not None and known.revision.startswith(intent.expected.lower()):
        return known.changes(raw)
    return changes_since(collection, address, raw, intent.expected)


def changes_since(collection: Collection, address: Address, raw: bytes, revision: str) -> tuple[str, ...]:
    """Which lines of a document differ from an earlier revision, as far as the history has it."""
    history = collection.store.history
    try:
        before = history.read(address, revision) if history.available else None
    except KnowledgeError:  # the conflict stands, whatever can be said of it
        before = None
    return changed_lines(line_marks(before), raw) if before is not None else ()
