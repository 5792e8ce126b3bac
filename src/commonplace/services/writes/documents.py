"""Writes of documents: create, replace, edit, delete. Each is one durable transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from commonplace.domain import edits
from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address
from commonplace.domain.appends import append_text
from commonplace.domain.changes import Receipt
from commonplace.domain.document_reader import find_section, read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import (
    ALREADY_WRITTEN,
    AlreadyExistsError,
    ConflictError,
    KnowledgeError,
    NotFoundError,
    TooLargeError,
)
from commonplace.domain.markdown.wikitext import META_SUFFIX, with_fields, with_former_fields
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.domain.sites import has_fields_beside, site_of
from commonplace.services.collections import Collection
from commonplace.services.extensions import Deadline, after_write, entry_fields
from commonplace.services.writes.overwrites import (
    UNCONDITIONAL,
    DocumentDraft,
    DocumentEdit,
    SeenEvidence,
    WriteReceipt,
    WriteRequest,
    evidence_of,
    note_write,
    takes_away,
    unseen_conflict,
)
from commonplace.services.writes.recorded import record_write
from commonplace.services.writes.retries import on_latest

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
"""Maximum size in bytes of a written document."""


def create(
    collection: Collection, address: Address, content: bytes, intent: WriteRequest = UNCONDITIONAL
) -> WriteReceipt:
    """Write a new document; never overwrites.

    Raises:
        AlreadyExistsError: the address is taken, or differs from another one only in case.
        TooLargeError: the content exceeds `MAX_DOCUMENT_BYTES`.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    _check_size(content)
    content = with_fields(address, content, moment_of_write())
    with collection.store.transaction(intent.message or f"Create: {address.id}", intent.author) as transaction:
        require_free(collection, transaction, address, content)
        transaction.put(address, content)
    note_write(collection, address, content, intent)
    return record_write(collection, _done(collection, address, transaction.receipt, created=True))


def create_all(
    collection: Collection, drafts: Sequence[DocumentDraft], intent: WriteRequest = UNCONDITIONAL
) -> list[WriteReceipt | KnowledgeError]:
    """Write several new documents as one transaction, and one commit if writes are committed.

    Args:
        collection: The collection.
        drafts: Address and content of each document.
        intent: As for any write.

    Returns:
        For each draft, in order, the receipt or the error. An error does not prevent the other documents.

    Raises:
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    refused: dict[int, KnowledgeError] = {}
    with collection.store.transaction(intent.message or f"Create: {len(drafts)} documents", intent.author) as step:
        for position, (address, content) in enumerate(drafts):
            try:
                _check_size(content)
                require_free(collection, step, address, content)
            except KnowledgeError as error:
                refused[position] = error
            else:
                step.put(address, content)
    receipt = step.receipt
    for position, (address, content) in enumerate(drafts):
        if position not in refused:
            note_write(collection, address, content, intent)
    answer_by = index_written(collection, sorted(receipt.revisions))

    def created(address: Address) -> WriteReceipt:
        done = WriteReceipt(address, receipt.revisions[address], receipt.commit, created=True, answer_by=answer_by)
        return record_write(collection, done)

    return [refused.get(position) or created(address) for position, (address, _) in enumerate(drafts)]


def put_all(collection: Collection, drafts: Sequence[DocumentDraft], intent: WriteRequest = UNCONDITIONAL) -> None:
    """Create or replace documents of the program itself, in one transaction. Replaced bytes are retained."""
    if not drafts:
        return
    with collection.store.transaction(intent.message, intent.author) as transaction:
        for address, content in drafts:
            transaction.put(address, content, keep=True)
    index_written(collection, [address for address, _ in drafts])


def read_to_edit(collection: Collection, address: Address, raw: bytes) -> Document:
    """Parse a document for a change in its own form: a new frontmatter is properties in a graph of Logseq."""
    return in_own_form(collection, read_document(address, raw))


def in_own_form(collection: Collection, document: Document) -> Document:
    """A document that knows whether it is of a graph of Logseq, or has its fields in a file of TiddlyWiki."""
    sites = collection.index.lookup().sites
    site = site_of(sites, document.address) if sites else None
    if site is None or site.graph is None:
        return document
    if has_fields_beside(sites, document.address):
        return document.with_fields_beside(f"{document.address.path}{META_SUFFIX}")
    return document.with_properties() if site.graph.slashes else document


def edit(
    collection: Collection,
    address: Address,
    change: DocumentEdit,
    intent: WriteRequest = UNCONDITIONAL,
    *,
    whole: bool = False,
    accept: Callable[[Document], None] | None = None,
) -> WriteReceipt:
    """Change a document under the writer lock.

    `change` receives the current document; its exception prevents the write.

    A write that changes nothing succeeds at any revision, because the document already has the writer's text.

    Args:
        collection: Collection of the document.
        address: Address of the document.
        change: Returns the new bytes.
        intent: The writer's request.
        whole: Whether the change replaces text that it does not name, so that the writer must have seen the current
            document, or the removed text is retained (`WriteRequest.unseen`).
        accept: Called with the new document before it is written; its exception prevents the write.

    Raises:
        NotFoundError: no such document.
        ConflictError: the document is no longer at the expected revision, or the writer was not shown its current
            state; context holds `current_revision`.
    """
    return on_latest(collection, lambda: _edited(collection, address, change, intent, whole=whole, accept=accept))


def _edited(
    collection: Collection,
    address: Address,
    change: DocumentEdit,
    intent: WriteRequest,
    *,
    whole: bool,
    accept: Callable[[Document], None] | None,
) -> WriteReceipt:
    with collection.store.transaction(intent.message or f"Update: {address.id}", intent.author) as transaction:
        raw = existing(collection, transaction, address)
        document = read_to_edit(collection, address, raw)
        evidence = _evidence_for(collection, document, change, intent, whole=whole)
        content = change(document)
        _check_size(content)
        if accept is not None:
            accept(read_document(address, content))
        transaction.put(address, content, keep=evidence is not SeenEvidence.SHOWN and takes_away(raw, content))
    note_write(collection, address, content, intent, evidence)
    written = _done(collection, address, transaction.receipt)
    return record_write(collection, dataclasses.replace(written, before=raw, unchanged=content == raw))


def replace(
    collection: Collection, address: Address, content: bytes, intent: WriteRequest = UNCONDITIONAL
) -> WriteReceipt:
    """Replace a document's whole text. A tiddler keeps its fields if the new text begins with none."""

    def change(document: Document) -> bytes:
        return with_former_fields(address, content, document.raw)

    return edit(collection, address, change, intent, whole=True)


def is_at_remote(collection: Collection, address: Address, content: bytes) -> bool:
    """Whether the remote of a replica has these bytes of a document, as the replica does; true without a remote.

    Raises:
        NotFoundError: the remote has no such document.
        UnavailableError: the remote cannot be read now.
    """
    if collection.replica is None:
        return True
    try:
        replace(collection, address, content, WriteRequest(expected=revision_of(content)))
    except ConflictError:
        return False
    return True


def edit_section(
    collection: Collection, address: Address, heading: str, text: str, intent: WriteRequest = UNCONDITIONAL
) -> WriteReceipt:
    """Replace the text under a heading, including subsections. The heading is not changed."""
    path = [part.strip() for part in heading.split(" > ")]
    return edit(
        collection,
        address,
        lambda document: edits.replace_section(document, find_section(document, path), text),
        intent,
    )


def replace_once(
    collection: Collection,
    address: Address,
    old: str,
    new: str,
    intent: WriteRequest = UNCONDITIONAL,
    *,
    occurrence: int = 0,
) -> WriteReceipt:
    """Replace one occurrence of a text: by its number from 1 on; 0 requires that there is only one.

    Raises:
        InvalidInputError: the text is absent, ambiguous, or equals its replacement.
    """
    return edit(collection, address, lambda document: edits.replace_once(document, old, new, occurrence), intent)


def append(collection: Collection, address: Address, text: str, intent: WriteRequest = UNCONDITIONAL) -> WriteReceipt:
    """Append text to a document, as a separate block or directly below a list or table; see `append_text`."""
    return edit(collection, address, lambda document: append_text(document, None, text), intent)


def delete(
    collection: Collection,
    address: Address,
    intent: WriteRequest = UNCONDITIONAL,
    *,
    accept: Callable[[Document], None] | None = None,
) -> WriteReceipt:
    """Delete a document. `WriteReceipt.retained` gives the location of its last bytes.

    Args:
        collection: Collection of the document.
        address: Address of the document.
        intent: The writer's request.
        accept: Called with the document before it is deleted; its exception prevents the deletion.

    Raises:
        NotFoundError: no such document.
        ConflictError: as for `edit` with `whole`.
    """
    return on_latest(collection, lambda: _delete(collection, address, intent, accept))


def _delete(
    collection: Collection, address: Address, intent: WriteRequest, accept: Callable[[Document], None] | None
) -> WriteReceipt:
    with collection.store.transaction(intent.message or f"Delete: {address.id}", intent.author) as transaction:
        raw = existing(collection, transaction, address)
        if evidence_of(collection, address, raw, intent) is SeenEvidence.UNSEEN and intent.unseen == "refuse":
            raise unseen_conflict(collection, address, raw, intent)
        if accept is not None:
            accept(read_document(address, raw))
        transaction.remove(address)
    note_write(collection, address, None, intent)
    written = dataclasses.replace(_done(collection, address, transaction.receipt), before=raw)
    return record_write(collection, written)


def existing(collection: Collection, transaction: Transaction, address: Address) -> bytes:
    """The bytes of an existing document.

    Raises:
        NotFoundError: no such document, or it is ignored.
    """
    if not transaction.exists(address) or transaction.is_ignored(address):
        raise NotFoundError(
            f"There is no document {address.id!r}.",
            kind="document",
            hint="Create it, or give one of the nearest ids.",
            reference=address.id,
            nearest=[name for name in collection.index.nearest(address.id) if name != address.id],
        )
    return transaction.read(address)


def require_free(
    collection: Collection,
    transaction: Transaction,
    address: Address,
    content: bytes | None = None,
    *,
    besides: Address | None = None,
) -> None:
    """Check that an address is free, also on a case-insensitive file system.

    Args:
        collection: Collection of the address.
        transaction: The transaction.
        address: The address.
        content: The content to create; the error tells if the existing document has this content already.
        besides: A document that is being moved, and does not count as taking an address.

    Raises:
        AlreadyExistsError: the address is taken.
    """
    taken = transaction.exists(address) and not transaction.is_ignored(address)  # the store refuses ignored ones
    twins = [twin for twin in collection.index.same_name(address) if twin != besides and transaction.exists(twin)]
    if taken or twins:
        there = address if taken else twins[0]
        same = content is not None and transaction.read(there) == content
        raise AlreadyExistsError(
            f"There already is a document {there.id!r}.",
            kind="document",
            hint=ALREADY_WRITTEN if same else "Read it and change it, or give another path.",
            reference=there.id,
        )


def _evidence_for(
    collection: Collection, document: Document, change: DocumentEdit, intent: WriteRequest, *, whole: bool
) -> SeenEvidence:
    """Evidence that the writer has seen the current document.

    Raises:
        ConflictError: there is no evidence, and the change would remove text that the writer must have seen.
    """
    try:
        evidence = evidence_of(collection, document.address, document.raw, intent)
        if whole and evidence is SeenEvidence.UNSEEN and intent.unseen == "refuse":
            raise unseen_conflict(collection, document.address, document.raw, intent)
    except ConflictError:
        if _changes_nothing(document, change):  # the document already has the writer's text
            return SeenEvidence.PASSED if whole else SeenEvidence.UNSEEN
        raise
    return evidence


def _changes_nothing(document: Document, change: DocumentEdit) -> bool:
    try:
        return change(document) == document.raw
    except KnowledgeError:
        return False


def _check_size(content: bytes) -> None:
    if len(content) > MAX_DOCUMENT_BYTES:
        raise TooLargeError(
            f"The document is {len(content):,} bytes; the limit is {MAX_DOCUMENT_BYTES:,}.",
            kind="document",
            hint="Split it into several documents.",
        )


def _done(collection: Collection, address: Address, receipt: Receipt, *, created: bool = False) -> WriteReceipt:
    answer_by = index_written(collection, _touched(receipt, address))
    now, before = receipt.revisions.get(address, ""), receipt.retained.get(address)
    return WriteReceipt(address, now, receipt.commit, created=created, retained=before, answer_by=answer_by)


def index_written(collection: Collection, addresses: Sequence[Address]) -> Deadline:
    """Update the index after a durable write. `before_index` hooks of plugins receive each document first.

    Errors of hooks or the index do not fail the write, and the delay is limited.

    Returns:
        Deadline until which the answer may wait for further steps.
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
            collection.extensions.run_hooks("before_index", entry_fields(collection.name, document))


def _touched(receipt: Receipt, address: Address) -> Sequence[Address]:
    return sorted({address, *receipt.revisions, *receipt.removed})
