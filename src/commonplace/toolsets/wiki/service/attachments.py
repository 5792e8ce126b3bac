"""Attachments of notes in a local folder: files in the folder with the note's name."""

from __future__ import annotations

import mimetypes
from dataclasses import replace

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import (
    ALREADY_WRITTEN,
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    TooLargeError,
)
from commonplace.domain.revisions import UNCONDITIONAL, Conditions, revision_of
from commonplace.services.collections import Collection
from commonplace.services.history import last_change
from commonplace.toolsets.wiki.rules import MAX_ATTACHMENT_BYTES, AttachmentContent, NoteAttachment
from commonplace.toolsets.wiki.service import note_lookup
from commonplace.toolsets.wiki.service.notes import WikiOptions


class LocalAttachments:
    """The attachments of one collection."""

    def __init__(self, collection: Collection, options: WikiOptions) -> None:
        self._collection = collection
        self._options = options

    def list(self, path: str) -> tuple[str, list[NoteAttachment]]:
        """The note's path and its attachments by name."""
        note = note_lookup.require_note(self._collection, path)
        return note.id, [
            self._attachment(address, stat) for address, stat in note_lookup.attached(self._collection, note)
        ]

    def upload(
        self, path: str, filename: str, content: bytes, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, NoteAttachment]:
        """Add an attachment, or replace the one that the conditions name."""
        note = note_lookup.require_note(self._collection, path)
        address = _address(note, filename)
        if len(content) > MAX_ATTACHMENT_BYTES:
            raise TooLargeError(
                f"The attachment is {len(content):,} bytes; the limit is {MAX_ATTACHMENT_BYTES:,}.",
                kind="attachment",
                hint="Attach a smaller file.",
            )
        with self._collection.store.transaction(message, self._options.author) as transaction:
            there = transaction.read(address) if transaction.exists(address) else None
            conditions.require([] if there is None else [revision_of(there)])
            if there is not None and conditions.match is None:
                raise AlreadyExistsError(
                    f"There already is an attachment {address.name} of {note.id}.",
                    kind="attachment",
                    hint=ALREADY_WRITTEN if there == content else "Delete it first, or choose another name.",
                    current_revision=revision_of(there),
                )
            if there != content:
                transaction.put(address, content, keep=True)
        try:
            stat = self._collection.store.stat(address)
        except StorageError:  # the file was written nevertheless
            stat = None
        shown = self._attachment(address, stat) if stat else _unseen(address, content)
        return note.id, replace(shown, created=there is None)

    def download(self, path: str, filename: str) -> AttachmentContent:
        """An attachment with its bytes."""
        note = note_lookup.require_note(self._collection, path)
        address = self._existing(note, filename)
        content = self._collection.store.read(address)
        stat = self._collection.store.stat(address)
        return AttachmentContent(self._attachment(address, stat) if stat else _unseen(address, content), content)

    def delete(
        self, path: str, filename: str, *, message: str, conditions: Conditions = UNCONDITIONAL
    ) -> tuple[str, str]:
        """Delete an attachment; return the note's path and the file's name."""
        note = note_lookup.require_note(self._collection, path)
        address = self._existing(note, filename)
        with self._collection.store.transaction(message, self._options.author) as transaction:
            if not conditions.is_empty and transaction.exists(address):
                conditions.require([revision_of(transaction.read(address))])
            transaction.remove(address)
        return note.id, address.name

    def _attachment(self, address: Address, stat: FileStat) -> NoteAttachment:
        changed = stat.mtime_ns / 1e9
        if not changed:  # a file in a commit has no modification time
            commit = last_change(self._collection, address)
            changed = commit.when if commit else 0
        return NoteAttachment(
            address.name, stat.size, _mime_type(address), note_lookup.moment(changed) if changed else ""
        )

    def _existing(self, note: Address, filename: str) -> Address:
        address = _address(note, filename)
        if self._collection.store.stat(address) is None:
            raise NotFoundError(
                f"Attachment not found: {filename} of {note.id}.",
                kind="attachment",
                hint="List the page's attachments to see which there are.",
                reference=note.id,
            )
        return address


def _address(note: Address, filename: str) -> Address:
    if "/" in filename:
        raise InvalidInputError(
            "Invalid filename: it holds a '/'; attachments lie directly in the page's folder.",
            kind="filename",
            hint="Give the name alone, such as 'diagram.png'.",
        )
    address = parse_address(f"{note.id}/{filename}")
    if address.is_document:
        raise InvalidInputError(
            "Invalid filename: a Markdown file is a page, not an attachment.",
            kind="filename",
            hint="Write it as a page.",
        )
    return address


def _unseen(address: Address, content: bytes) -> NoteAttachment:
    """The description of an attachment that was deleted or replaced meanwhile."""
    return NoteAttachment(address.name, len(content), _mime_type(address), "")


def _mime_type(address: Address) -> str:
    return mimetypes.guess_type(address.name)[0] or "application/octet-stream"
