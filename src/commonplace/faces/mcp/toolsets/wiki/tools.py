"""What each tool of the `wiki` toolset does: one call of the wiki, and one text."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from urllib.parse import quote

from commonplace.domain.addresses import Address, fold, parse_document_address
from commonplace.domain.errors import InvalidInputError, NotFoundError, PreconditionError
from commonplace.domain.reading import find_section, read_document
from commonplace.domain.revisions import UNCONDITIONAL, Conditions
from commonplace.domain.wiki import MAX_ATTACHMENT_BYTES, Note, Wanted
from commonplace.faces.mcp.dialect import Blob, Call, Shown
from commonplace.faces.mcp.toolsets.wiki import texts
from commonplace.faces.mcp.toolsets.wiki.parameters import (
    DeleteNote,
    EditNote,
    GetHistory,
    GetRecentChanges,
    ListNotes,
    Nothing,
    OfAttachment,
    OfNote,
    ReadNote,
    RenameNote,
    SearchNotes,
    SemanticSearch,
    UploadAttachment,
    WriteNote,
)
from commonplace.services.sessions.memory import Seen, Session
from commonplace.services.wiki.orphans import orphans


def read_note(call: Call, given: ReadNote) -> Shown:
    """A note or one of its sections, now or at a revision."""
    try:
        note = call.services.wiki.notes.read(given.path, given.revision or "")
    except NotFoundError as error:
        if error.kind == "page":
            _forget(call, _id(given.path))
        raise
    path, content = _section(note, given.section) if given.section else ((), note.content)
    if not given.revision and not given.section:
        _remember(call, note.path, note.revision)
    return texts.note_text(note, content, path)


def write_note(call: Call, given: WriteNote) -> Shown:
    """Create or update a note."""
    known = _seen(call, _id(given.path))
    revision = given.revision or (known.revision if known else "")
    message = _message("Update" if revision else "Create", given.path, given.commit_message)
    saved = call.services.wiki.notes.write(given.path, given.content, revision=revision, message=message)
    _remember(call, saved.path, saved.revision)
    return texts.saved_text("Created" if saved.created else "Updated", saved)


def edit_note(call: Call, given: EditNote) -> Shown:
    """Replace the one occurrence of a text."""
    message = _message("Edit", given.path, given.commit_message)
    change = given.old_string, given.new_string
    saved = call.services.wiki.notes.edit(given.path, change, revision=given.revision, message=message)
    _remember(call, saved.path, saved.revision)
    return texts.saved_text("Edited", saved)


def list_notes(call: Call, given: ListNotes) -> Shown:
    """Notes by filter, newest first."""
    wanted = Wanted(
        prefix=given.prefix or "",
        category=given.category or "",
        tag=given.tag or "",
        updated_since=given.updated_since or "",
        limit=given.limit,
        offset=given.offset,
    )
    return texts.list_text(call.services.wiki.notes.list(wanted), wanted)


def search_notes(call: Call, given: SearchNotes) -> Shown:
    """Notes by words."""
    return texts.hits_text(given.query, call.services.wiki.finding.search(given.query, given.limit))


def semantic_search(call: Call, given: SemanticSearch) -> Shown:
    """Pieces of notes by meaning."""
    chunks = call.services.wiki.finding.semantic_search(given.query, given.n, given.max_chunks_per_page)
    return texts.chunks_text(given.query, chunks)


def get_links(call: Call, given: OfNote) -> Shown:
    """Links of a note, both ways."""
    return texts.links_text(call.services.wiki.finding.links(given.path))


def get_recent_changes(call: Call, given: GetRecentChanges) -> Shown:
    """The latest commits."""
    return texts.changes_text(call.services.wiki.finding.changes(given.limit))


def get_history(call: Call, given: GetHistory) -> Shown:
    """The commits of a note."""
    return texts.history_text(*call.services.wiki.notes.history(given.path, given.limit))


def rename_note(call: Call, given: RenameNote) -> Shown:
    """Move a note; links to it follow."""
    message = _message("Rename", f"{_id(given.path)} -> {_id(given.new_path)}", given.commit_message)
    known = _seen(call, _id(given.path))
    rename = partial(call.services.wiki.notes.rename, given.path, given.new_path, message=message)
    try:
        renamed = rename(conditions=Conditions(match=(known.revision,)) if known else UNCONDITIONAL)
    except PreconditionError:  # what the client was given is not what is moved, so it has not seen that
        renamed, known = rename(), None
    _forget(call, renamed.old_path)
    _forget(call, renamed.new_path)
    if known is not None:
        _remember(call, renamed.new_path, renamed.revision)
    return texts.renamed_text(renamed)


def delete_note(call: Call, given: DeleteNote) -> Shown:
    """Delete a note."""
    message = _message("Delete", given.path, given.commit_message)
    path = call.services.wiki.notes.delete(given.path, message=message)
    _forget(call, path)
    return f"Deleted {path}"


def find_orphaned_notes(call: Call, given: Nothing) -> Shown:
    """Notes that no hub links to."""
    del given
    return texts.orphans_text(orphans(call.services.wiki))


def list_attachments(call: Call, given: OfNote) -> Shown:
    """The files of a note."""
    return texts.attachments_text(*call.services.wiki.attachments.list(given.path))


def upload_attachment(call: Call, given: UploadAttachment) -> Shown:
    """Add a file to a note."""
    content = _decoded(given.content)
    message = f"[mcp] Attach: {_id(given.path)}/{given.filename}"
    path, attachment = call.services.wiki.attachments.upload(given.path, given.filename, content, message=message)
    return f"Uploaded {attachment.filename} to {path}"


def download_attachment(call: Call, given: OfAttachment) -> Shown:
    """A file of a note."""
    download = call.services.wiki.attachments.download(given.path, given.filename)
    name = download.attachment.filename
    uri = f"wiki:///attachments/{quote(_id(given.path))}/{quote(name)}"
    return Blob(uri, download.attachment.mime_type, download.content)


def delete_attachment(call: Call, given: OfAttachment) -> Shown:
    """Delete a file of a note."""
    message = f"[mcp] Detach: {_id(given.path)}/{given.filename}"
    path, name = call.services.wiki.attachments.delete(given.path, given.filename, message=message)
    return f"Deleted {name} from {path}"


def _memory(call: Call) -> Session:
    """What the client was given of notes: by its session, else its key, else the process, as the contract says."""
    return call.services.sessions.of(f"wiki {call.client}")


def _seen(call: Call, path: str) -> Seen | None:
    return _memory(call).seen("", fold(path))


def _remember(call: Call, path: str, revision: str) -> None:
    _memory(call).show("", fold(path), revision, None)


def _forget(call: Call, path: str) -> None:
    _memory(call).forget("", fold(path))


def _section(note: Note, heading: str) -> tuple[tuple[str, ...], str]:
    """The headings above a section with its own, and its Markdown with everything below it."""
    document = read_document(Address(f"{note.path}.md"), note.content.encode())
    section = find_section(document, [part.strip() for part in heading.split(" > ")])
    return section.path or (heading,), document.raw[section.start : section.tree_end].decode("utf-8", "replace")


def _message(verb: str, path: str, given: str | None) -> str:
    return f"[mcp] {given}" if given and given.strip() else f"[mcp] {verb}: {path if ' -> ' in path else _id(path)}"


def _id(path: str) -> str:
    """The path as answers name it; one that is none stays as it is, for the wiki to refuse."""
    try:
        return parse_document_address(path).id
    except InvalidInputError:
        return path


def _decoded(content: str) -> bytes:
    if len(content) > MAX_ATTACHMENT_BYTES * 2:
        raise _no_base64("it is far over 10 MB")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _no_base64("it is no base64") from error


def _no_base64(reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"Invalid content: {reason}.", kind="content", hint="Send the file's bytes as standard base64."
    )
