"""Writing documents: create, replace, edit, delete. Each is one durable transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from commonplace.domain import edits
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, Kept, Receipt, Revision
from commonplace.domain.documents import Document
from commonplace.domain.errors import (
    AlreadyExistsError,
    KnowledgeError,
    NotFoundError,
    TooLargeError,
)
from commonplace.domain.ports import Transaction
from commonplace.domain.reading import find_section, read_document
from commonplace.domain.revisions import require_revision
from commonplace.services.collections import Collection
from commonplace.services.deadline import PASSED, Deadline, after_write
from commonplace.services.extending import entry_fields

MAX_BYTES = 16 * 1024 * 1024
"""The largest document that can be written."""

Change = Callable[[Document], bytes]
"""A pure function from the document as it is to its new bytes."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a writer says of a write besides its content."""

    expected: str = ""
    """The revision that the writer saw (7 or more digits of it), or "" to change whatever is there."""
    message: str = ""
    """The commit's message, or "" for the verb and the document's name."""
    author: Author | None = None
    """Who the commit names, or None for the configured identity."""
    keep: bool = False
    """Whether what an edit replaces must stay to be had, as what is deleted always does: `Transaction.put` says how."""


ANY = Intent()

Draft = tuple[Address, bytes]
"""An address and what is to stand there."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write left."""

    address: Address
    revision: Revision
    """Of the document as written; "" when it was deleted."""
    commit: str
    """The commit's id, "" when nothing was committed."""
    created: bool = False
    updated: tuple[Address, ...] = ()
    """Other documents that the write changed too: those whose links a rename rewrote, by path."""
    kept: Kept | None = None
    """Where the bytes are that were there, if they had to be kept."""
    answer_by: Deadline = field(default=PASSED, compare=False)
    """Until when the acknowledgement may wait for what is to be said beside it."""


def create(collection: Collection, address: Address, content: bytes, intent: Intent = ANY) -> Written:
    """Write a new document; never overwrites.

    Raises:
        AlreadyExistsError: there is a file at the address, or one whose name differs only in case.
        TooLargeError: over `MAX_BYTES`.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    _check_size(content)
    with collection.store.transaction(intent.message or f"Create: {address.id}", intent.author) as transaction:
        require_free(collection, transaction, address)
        transaction.put(address, content)
    return _done(collection, address, transaction.receipt, created=True)


def create_all(collection: Collection, drafts: Sequence[Draft], intent: Intent = ANY) -> list[Written | KnowledgeError]:
    """Write several new documents as one step: one transaction, and where writes are committed one commit.

    Args:
        collection: Where they go.
        drafts: Address and content of each.
        intent: As for any write.

    Returns:
        For each draft, in order, what was written, or why it may not be; the others are written all the same.

    Raises:
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    refused: dict[int, KnowledgeError] = {}
    with collection.store.transaction(intent.message or f"Create: {len(drafts)} documents", intent.author) as step:
        for position, (address, content) in enumerate(drafts):
            try:
                _check_size(content)
                require_free(collection, step, address)
            except KnowledgeError as error:
                refused[position] = error
            else:
                step.put(address, content)
    receipt = step.receipt
    answer_by = take_in(collection, sorted(receipt.revisions))
    return [
        refused.get(position)
        or Written(address, receipt.revisions[address], receipt.commit, created=True, answer_by=answer_by)
        for position, (address, _) in enumerate(drafts)
    ]


def put_all(collection: Collection, drafts: Sequence[Draft], intent: Intent = ANY) -> None:
    """Write documents that nobody else writes, new or not, as one step."""
    if not drafts:
        return
    with collection.store.transaction(intent.message, intent.author) as transaction:
        for address, content in drafts:
            transaction.put(address, content)
    take_in(collection, [address for address, _ in drafts])


def edit(collection: Collection, address: Address, change: Change, intent: Intent = ANY) -> Written:
    """Change a document under the writer's lock: what `change` sees is what it replaces, and what it raises stops it.

    Raises:
        NotFoundError: no such document.
        ConflictError: it is no longer at the expected revision; context holds `current_revision`.
    """
    with collection.store.transaction(intent.message or f"Update: {address.id}", intent.author) as transaction:
        raw = existing(collection, transaction, address, intent)
        content = change(read_document(address, raw))
        _check_size(content)
        transaction.put(address, content, keep=intent.keep)
    return _done(collection, address, transaction.receipt)


def replace(collection: Collection, address: Address, content: bytes, intent: Intent = ANY) -> Written:
    """Replace a document's whole text."""
    return edit(collection, address, lambda _: content, intent)


def edit_section(collection: Collection, address: Address, heading: str, text: str, intent: Intent = ANY) -> Written:
    """Replace the text under a heading (its own subsections included), leaving the heading as it is."""
    path = [part.strip() for part in heading.split(" > ")]
    return edit(
        collection,
        address,
        lambda document: edits.replace_section(document, find_section(document, path), text),
        intent,
    )


def replace_once(collection: Collection, address: Address, old: str, new: str, intent: Intent = ANY) -> Written:
    """Replace the one occurrence of a text.

    Raises:
        InvalidInputError: the text is absent, occurs more than once, or equals its replacement.
    """
    return edit(collection, address, lambda document: edits.replace_once(document, old, new), intent)


def append(collection: Collection, address: Address, text: str, intent: Intent = ANY) -> Written:
    """Add text at a document's end, as a paragraph of its own."""
    return edit(collection, address, lambda document: edits.append(document, text), intent)


def delete(collection: Collection, address: Address, intent: Intent = ANY) -> Written:
    """Delete a document; `Written.kept` says where its last bytes are.

    Raises:
        NotFoundError: no such document.
        ConflictError: it is no longer at the expected revision.
    """
    with collection.store.transaction(intent.message or f"Delete: {address.id}", intent.author) as transaction:
        existing(collection, transaction, address, intent)
        transaction.remove(address)
    return _done(collection, address, transaction.receipt)


def existing(collection: Collection, transaction: Transaction, address: Address, intent: Intent) -> bytes:
    """The bytes of a document that is there, and is at the revision that the writer expects, if any.

    Raises:
        NotFoundError: no such document.
        ConflictError: it is no longer at the expected revision.
    """
    if not transaction.exists(address):
        raise NotFoundError(
            f"There is no document {address.id!r}.",
            kind="document",
            hint="Create it, or give one of the nearest ids.",
            reference=address.id,
            nearest=collection.index.nearest(address.id),
        )
    raw = transaction.read(address)
    if intent.expected:
        require_revision(raw, intent.expected)
    return raw


def require_free(
    collection: Collection, transaction: Transaction, address: Address, besides: Address | None = None
) -> None:
    """Refuse an address that is taken, or would be on a file system that does not tell upper from lower case."""
    taken = transaction.exists(address)
    twins = [twin for twin in collection.index.same_name(address) if twin != besides and transaction.exists(twin)]
    if taken or twins:
        there = address if taken else twins[0]
        raise AlreadyExistsError(
            f"There already is a document {there.id!r}.",
            kind="document",
            hint="Read it and change it, or give another path.",
            reference=there.id,
        )


def _check_size(content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise TooLargeError(
            f"The document is {len(content):,} bytes; the limit is {MAX_BYTES:,}.",
            kind="document",
            hint="Split it into several documents.",
        )


def _done(collection: Collection, address: Address, receipt: Receipt, *, created: bool = False) -> Written:
    answer_by = take_in(collection, _touched(receipt, address))
    now, before = receipt.revisions.get(address, ""), receipt.kept.get(address)
    return Written(address, now, receipt.commit, created=created, kept=before, answer_by=answer_by)


def take_in(collection: Collection, addresses: Sequence[Address]) -> Deadline:
    """Bring the index up to date with a durable write; plugins that want to know are told of each document before.

    Neither fails the write or keeps its answer back for long.

    Returns:
        Until when the answer may wait for more.
    """
    answer_by = after_write()
    if collection.extensions.hooks.get("before_index"):
        answer_by.within(partial(_tell_plugins, collection, addresses), "a plugin's before_index hook")
    collection.index.update(addresses, answer_by.left)
    return answer_by


def _tell_plugins(collection: Collection, addresses: Sequence[Address]) -> None:
    for address in addresses:
        if address.is_document and collection.store.stat(address) is not None:
            document = read_document(address, collection.store.read(address))
            collection.extensions.at("before_index", entry_fields(collection.name, document))


def _touched(receipt: Receipt, address: Address) -> Sequence[Address]:
    return sorted({address, *receipt.revisions, *receipt.removed})
