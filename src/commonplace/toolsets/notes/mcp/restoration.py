"""The tools `restore` and `add` of the toolset `notes`: what was there comes back, and what is outside comes in."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, InvalidInputError, NotFoundError
from commonplace.domain.proposals import ServedView
from commonplace.domain.sources import SourceFile
from commonplace.domain.tokens import tokens_of
from commonplace.faces.activity_output import undo_lines
from commonplace.faces.mcp.toolset import PROPOSE, Call, ToolResult
from commonplace.faces.write_output import new_finding_lines
from commonplace.services import activity
from commonplace.services.collections import Collection
from commonplace.services.findings import findings_of_writes
from commonplace.services.history import restore_last
from commonplace.services.sources import add_source, citation_lines, is_url
from commonplace.services.undo import UndoConflictError
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.recorded import RecordedWrites, recording_writes
from commonplace.toolsets.notes.mcp.changes import gone_page
from commonplace.toolsets.notes.mcp.parameters import NotesAdd, NotesRestore
from commonplace.toolsets.notes.mcp.past_calls import version_of
from commonplace.toolsets.notes.mcp.text_output import next_call
from commonplace.toolsets.notes.mcp.writes import answered_once, once
from commonplace.toolsets.notes.rules.page_edits import PageChange, section_of
from commonplace.toolsets.notes.service.page_lookup import find_page, shown_path
from commonplace.toolsets.notes.service.repeats import WriteAnswer
from commonplace.toolsets.notes.service.steps import EditStep, Step

OWN_SESSION = "mine"
"""The name of the caller's own session, whose id it does not know."""


def restore(call: Call, arguments: NotesRestore) -> ToolResult:
    """Bring a page, one of its sections, or what was before a session's writes back, as a new write."""
    if not arguments.page and not arguments.session:
        raise InvalidInputError(
            "What is to come back?", kind="argument", hint=f"Give page, or session ({OWN_SESSION}: this one)."
        )
    if arguments.session:
        return _session(call, arguments)
    if arguments.section:
        return once(call, "restore", arguments, lambda: [_section_step(call, arguments)])
    return answered_once(call, "restore", arguments, lambda _: _page(call, arguments))


def _session(call: Call, arguments: NotesRestore) -> str:
    if call.tier == PROPOSE:
        raise ForbiddenError(
            "A person takes writes of a session back: this needs the tier write.",
            kind="tier",
            hint='What you proposed: proposals {"action": "withdraw", "id": "…"}. Else restore pages one by one; each'
            " restoring is a proposal.",
        )
    if arguments.section or arguments.at or arguments.revision:
        raise InvalidInputError(
            "With session, section, at and revision would be ignored.",
            kind="argument",
            hint="Give session alone, or with the one page whose part of it is to be undone.",
        )
    session = call.actor.session if call.actor and arguments.session == OWN_SESSION else arguments.session
    pages = (arguments.page,) if arguments.page else ()
    try:
        with recording_writes() as writes:
            results = activity.undo_session(call.services, session, pages, arguments.message, call.person)
    except UndoConflictError as error:
        other = next_call("restore", session=arguments.session, page="…").removeprefix("Next: ")
        error.hint = f"Undo the other pages one by one: {other}. Edit these places by hand."
        raise
    return _with_size([*undo_lines(results), *_finding_lines(call, writes)])


def _finding_lines(call: Call, writes: RecordedWrites) -> list[str]:
    return new_finding_lines(findings_of_writes(call.services.collections, writes))


def _with_size(lines: Sequence[str]) -> str:
    """The text of an answer, whose last line is its size."""
    text = "\n".join(lines)
    return f"{text}\n({tokens_of(text) + 4} tokens)"


def _page(call: Call, arguments: NotesRestore) -> WriteAnswer:
    collection, address = _place(call, arguments.page)
    intent = WriteRequest(expected=arguments.revision, message=arguments.message, session=call.session)
    with recording_writes() as writes:  # the answer tells of its findings itself, before its size
        done, source = restore_last(collection, (address.path, arguments.at), lambda: address, intent=intent)
    written = done.written
    path = shown_path(call.services.collections, collection, written.address)
    verb = "Unchanged" if done.action == "unchanged" else "Restored"
    lines = [f"{verb} {path} rev {written.revision[:12]} as in {source[:12]}"]
    is_served = not isinstance(collection.store, ServedView)  # of a proposal's commits none can be named as a moment
    if written.before is not None and done.action == "updated" and written.commit and is_served:
        lines.append(
            f"Undo: {next_call('restore', page=path, at=f'before {written.commit[:12]}').removeprefix('Next: ')}"
        )
    lines += _finding_lines(call, writes)
    lines += [f"commit {written.commit[:12]}"] if written.commit else []
    return WriteAnswer(_with_size(lines), collection, {written.address: written.revision})


def _place(call: Call, reference: str) -> tuple[Collection, Address]:
    """The page that a reference names now, or the one of this path that is gone."""
    try:
        page = find_page(call.services.collections, reference)
    except NotFoundError:
        gone = gone_page(call, reference)
        if gone is None:
            raise
        return gone
    return page.collection, page.record.address


def _section_step(call: Call, arguments: NotesRestore) -> tuple[Collection, Step]:
    """The step that gives a section the text that it had; one that is gone comes back at the end of the page."""
    page = find_page(call.services.collections, arguments.page)
    if not arguments.at:
        raise InvalidInputError(
            "As it was when?", kind="argument", hint="Give at, such as 'yesterday', 'HEAD~1' or a commit of changes."
        )
    version = version_of(page.collection, page.record.address, arguments.at)
    if version is None:
        raise NotFoundError(
            f"{page.record.address.path} was not there at {arguments.at[:40]}.",
            kind="revision",
            hint=next_call("changes", page=page.record.address.path),
        )
    old = read_document(page.record.address, version[0])
    section = section_of(old, arguments.section)
    text = old.encoded[section.content : section.tree_end].decode("utf-8", "replace").strip("\r\n")
    path = " > ".join(section.path)
    try:
        section_of(page.collection.index.document(page.record.address), path)
        change = PageChange(kind="section", section=path, text=text)
    except NotFoundError:
        whole = old.encoded[section.start : section.tree_end].decode("utf-8", "replace").strip("\r\n")
        change = PageChange(kind="append", text=whole)
    return page.collection, EditStep(page.record.address, (change,), arguments.revision, again=True)


def add(call: Call, arguments: NotesAdd) -> ToolResult:
    """Store a web page, or a file of the folder, as a source with its text beside it."""
    collections = call.services.collections
    name, colon, rest = arguments.source.partition(":")
    named = collections.named(name) if colon else None
    collection, reference = (named, rest) if named is not None else (collections.members[0], arguments.source)
    if call.services.reader is None:
        raise InvalidInputError("No source can be added here.", kind="collection", hint="Serve a folder.")
    reader = call.services.reader()
    if is_url(reference):
        source = reader.download(reference)
    else:
        address = parse_address(reference)
        if collection.store.ignores(address):
            raise NotFoundError(f"{address} {address.ignored_by}, so it is not served.", kind="file")
        source = SourceFile(address.name, collection.store.read(address))
    with recording_writes() as writes:
        added = add_source(collection, source, reader, arguments.title, WriteRequest(session=call.session))
    path = shown_path(collections, collection, added.page)
    verb = "Added" if added.created else "Was added before:"
    size = f"{added.size:,} bytes"
    lines = [f"{verb} {path} (from {source.url or reference}, kept as {added.file.path}, {size}): {added.title}"]
    lines += [*added.notes, *citation_lines(added), next_call("read", page=path)]
    lines += [f"commit {added.commit[:12]}"] if added.commit else []
    return _with_size([*lines, *_finding_lines(call, writes)])
