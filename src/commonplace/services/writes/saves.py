"""Saving what a person edited in a form: the page as it was opened is named, and no later change is lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.browser_text import section_span, with_browser_text
from commonplace.domain.changes import Revision
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ConflictError, KnowledgeError, NotFoundError, TooLargeError
from commonplace.domain.merge import MergeRegion, merge_regions, merge_texts
from commonplace.domain.revisions import revision_of
from commonplace.domain.tasks import tasks_of, with_task
from commonplace.services.collections import Collection, current_bytes
from commonplace.services.writes.documents import read_to_edit
from commonplace.services.writes.documents import replace as replace_document
from commonplace.services.writes.overwrites import WriteReceipt, WriteRequest

MAX_EDITED_BYTES = 4_000_000
"""Maximum size in bytes of a page that is edited in a browser, as over REST."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedText:
    """A text that a person edited: which version was opened, and which part of it."""

    revision: Revision
    """The version that was opened."""
    section: str = ""
    """Anchor of the section that was opened; "" for the whole page."""
    content: bytes | None = None
    """The bytes that were opened, if no commit has them; believed only if they have the revision."""


class StaleTextError(ConflictError):
    """The page has changed since it was opened; the three texts are attributes."""

    def __init__(self, address: Address, base: bytes | None, mine: bytes, theirs: bytes | None) -> None:
        state = "was deleted" if theirs is None else "has changed"
        super().__init__(
            f"The page {address.id!r} {state} since it was opened.",
            kind="document",
            hint="Look at both versions, then save again.",
        )
        self.address = address
        self.base = base
        """The page as it was opened; None if that is not known any more."""
        self.mine = mine
        self.theirs = theirs
        """The page as it is now; None if it was deleted."""

    @property
    def regions(self) -> list[MergeRegion]:
        """The places that the person or others changed. Without the base, all that differs."""
        theirs = self.theirs or b""
        return merge_regions(theirs if self.base is None else self.base, self.mine, theirs)


def save(collection: Collection, address: Address, opened: OpenedText, text: str, intent: WriteRequest) -> WriteReceipt:
    """Write a page as it was edited in a form. Lines that were not edited keep their bytes.

    Args:
        collection: Collection of the page.
        address: Address of the page.
        opened: What was opened.
        text: The edited text, as a form sends it.
        intent: As for any write; its `expected` is that of `opened`.

    Raises:
        StaleTextError: the page was changed or deleted since. Nothing was written.
        InvalidInputError: the page is not UTF-8, or the text is not valid Unicode.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was written.
    """
    base = opened_bytes(collection, address, opened)
    mine = edited_bytes(address, base, opened.section, text)
    try:
        if base is None:
            raise StaleTextError(address, base, mine, current_bytes(collection, address))
        return replace_document(collection, address, mine, replace(intent, expected=opened.revision))
    except (ConflictError, NotFoundError) as error:
        if isinstance(error, StaleTextError):
            raise
        raise StaleTextError(address, base, mine, current_bytes(collection, address)) from error


def tick(
    collection: Collection, address: Address, opened: OpenedText, at: int, intent: WriteRequest, *, done: bool
) -> WriteReceipt:
    """Tick a task of a page, or untick it. Other changes since the page was opened stay.

    Args:
        collection: Collection of the page.
        address: Address of the page.
        opened: The version in which the task was seen.
        at: Byte offset of the task's mark in that version.
        intent: As for any write.
        done: Whether the task is done afterwards.

    Raises:
        StaleTextError: the line of the task was changed since. Nothing was written.
        ConflictError: it is not known any more how the page was.
        NotFoundError: there is no task at this place.
    """
    base, current = opened_bytes(collection, address, opened), current_bytes(collection, address)
    if base is None or current is None:
        raise ConflictError("The page has changed since it was shown.", kind="document", hint="Open it again.")
    document = read_to_edit(collection, address, base)
    task = next((other_task for other_task in tasks_of(document) if other_task.at == at), None)
    if task is None:
        raise NotFoundError("There is no task at this place.", kind="task", hint="Open the page again.")
    ticked = with_task(document, task, done=done)
    merged = merge_texts(base, ticked, current)
    if merged.content is None:
        raise StaleTextError(address, base, ticked, current)
    message = intent.message or f"{'Tick' if done else 'Untick'}: {task.text}"
    return replace_document(
        collection, address, merged.content, replace(intent, message=message, expected=revision_of(current))
    )


def edited_bytes(address: Address, base: bytes | None, section: str, text: str) -> bytes:
    """The bytes of a page whose text, or a section of it, was edited in a form.

    Raises:
        TooLargeError: they are more than `MAX_EDITED_BYTES`.
    """
    document = read_document(address, base or b"")
    edited = with_browser_text(document, text, section_span(document, section) if section else None)
    if len(edited) > MAX_EDITED_BYTES:
        raise TooLargeError(
            f"The page would have {len(edited):,} bytes; the limit is {MAX_EDITED_BYTES:,}.",
            kind="document",
            hint="Split it into several pages.",
        )
    return edited


def opened_bytes(collection: Collection, address: Address, opened: OpenedText) -> bytes | None:
    """The bytes of a page as it was opened: as it is now, as sent, or from the history. None if none of them has it."""
    current = current_bytes(collection, address)
    for content in (current, opened.content):
        if content is not None and revision_of(content) == opened.revision:
            return content
    with suppress(KnowledgeError):
        return collection.store.history.read(address, opened.revision)
    return None


def is_in_history(collection: Collection, address: Address, revision: Revision) -> bool:
    """Whether the current commit has this version of a page, so that it can be read when the page has changed."""
    history = collection.store.history
    return history.available and address not in history.uncommitted({address: revision})
