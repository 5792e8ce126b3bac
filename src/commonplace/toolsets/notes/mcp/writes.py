"""The writing tools of the toolset `notes`: write, edit, move, delete, and several of these in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.tokens import tokens_of
from commonplace.faces.mcp.toolset import Call, ToolResult, bad_arguments
from commonplace.services.collections import Collection, reference_from_base
from commonplace.services.health.citations import placed_citation
from commonplace.services.writes import WriteRequest, require_moves
from commonplace.services.writes.documents import read_to_edit
from commonplace.services.writes.moves import plan_moves
from commonplace.services.writes.new_paths import has_folder, moved_address, new_page_text
from commonplace.toolsets.notes.mcp.parameters import (
    Change,
    NotesDelete,
    NotesEdit,
    NotesMove,
    NotesTransaction,
    NotesWrite,
    WriteArguments,
)
from commonplace.toolsets.notes.mcp.write_answers import foreign_links_lost, made_elsewhere, preview_lines, result_lines
from commonplace.toolsets.notes.rules.page_edits import PageChange, apply_changes, changes_again
from commonplace.toolsets.notes.rules.replaced_texts import source_line, text_with_sources
from commonplace.toolsets.notes.service.page_lookup import (
    FoundPage,
    PagePath,
    folder_prefix,
    new_page_path,
    page_path,
    page_to_change,
    path_among,
)
from commonplace.toolsets.notes.service.repeats import (
    CallMadeError,
    RepeatedWrites,
    WriteAnswer,
    WriteCall,
    require_unmade,
    wait_until_settled,
)
from commonplace.toolsets.notes.service.steps import (
    MOVE_FIRST,
    DeleteStep,
    EditStep,
    MoveStep,
    Step,
    StepResult,
    WriteStep,
    numbered_step,
    run_steps,
)

_REPEATS = RepeatedWrites()
"""The answers of recent writes of this process."""

M = TypeVar("M", bound=BaseModel)
Made = tuple[Collection, Step]


def write(call: Call, arguments: NotesWrite) -> ToolResult:
    """Create a page, or replace the whole text of a page whose revision was seen."""
    return once(call, "write", arguments, lambda: [_write_step(call, arguments)])


def edit(call: Call, arguments: NotesEdit) -> ToolResult:
    """Apply several named changes to one page."""
    return once(call, "edit", arguments, lambda: [_edit_step(call, arguments)])


def move(call: Call, arguments: NotesMove) -> ToolResult:
    """Move a page or a folder to a new path."""
    if arguments.dry_run:
        return _previewed(call, arguments)
    return once(call, "move", arguments, lambda: [_move_step(call, arguments)])


def delete(call: Call, arguments: NotesDelete) -> ToolResult:
    """Delete a page whose revision was seen."""
    return once(call, "delete", arguments, lambda: [_delete_step(call, arguments)])


def transaction(call: Call, arguments: NotesTransaction) -> ToolResult:
    """Run several writes as one step."""

    def steps() -> list[Made]:
        made: list[Made] = []
        for number, values in enumerate(arguments.steps, 1):
            try:
                made.append(_step(call, values, arguments.request_id, made))
            except KnowledgeError as error:
                raise numbered_step(error, number, len(arguments.steps)) from error
        return made

    return once(call, "transaction", arguments, steps)


def once(call: Call, tool: str, arguments: WriteArguments, steps: Callable[[], list[Made]]) -> str:
    """Run the steps unless the same call was already answered; return the answer."""
    return answered_once(call, tool, arguments, lambda mark: _made_once(call, arguments.message, steps, mark))


def answered_once(call: Call, tool: str, arguments: WriteArguments, run: Callable[[str], WriteAnswer]) -> str:
    """The answer of a write, which runs unless the call was already answered; `run` gets the mark of its commit."""
    write_call = WriteCall(
        bases=tuple(collection.store.identity for collection in (call.served or call.services).collections),
        client=call.caller if arguments.request_id else call.client,
        tool=tool,
        arguments=arguments.model_dump(mode="json", exclude_unset=True),
        request_id=arguments.request_id,
    )
    return _REPEATS.once(write_call, lambda: run(write_call.mark))


def _made_once(call: Call, message: str, steps: Callable[[], list[Made]], mark: str) -> WriteAnswer:
    """Run the steps, unless another server of the remote has run them. A page may be gone since, so look first."""
    try:
        if mark:
            for collection in call.services.collections:
                wait_until_settled(collection, mark)
                require_unmade(collection, mark)
        return _made(call, message, steps(), mark)
    except CallMadeError as error:
        return made_elsewhere(call, error)


def _made(call: Call, message: str, made: Sequence[Made], mark: str) -> WriteAnswer:
    """Run the steps; what they did, one line each."""
    collection = made[0][0]
    if any(other_collection.name != collection.name for other_collection, _ in made):
        raise InvalidInputError(
            "The steps are about pages of several folders.", kind="argument", hint="One transaction is of one folder."
        )
    lost = foreign_links_lost(call, collection, _deleted(made))
    request = WriteRequest(message=message, session=call.session, unseen="refuse")
    receipt = run_steps(collection, [step for _, step in made], request, mark)
    lines = [*result_lines(call, collection, receipt), *lost]
    if receipt.commit:
        lines.append(f"commit {receipt.commit[:12]}")
    text = "\n".join(lines)
    left = {element.address: element.revision for element in receipt.results}
    return WriteAnswer(f"{text}\n({tokens_of(text) + 4} tokens)", collection, left, any(map(_goes_on, receipt.results)))


def _goes_on(result: StepResult) -> bool:
    """Whether the same edit would tick the next of several equal tasks."""
    if not isinstance(result.step, EditStep) or result.after is None:
        return False
    tasks = [change for change in result.step.changes if change.kind == "task"]
    return bool(tasks) and changes_again(read_document(result.address, result.after), tasks)


def _deleted(made: Sequence[Made]) -> list[tuple[Address, Address]]:
    """The pages that steps delete, each with its path before the steps."""
    addresses: list[tuple[Address, Address]] = []
    for collection, step in made:
        if isinstance(step, DeleteStep):
            was = {new: old for old, new in _moved(collection, made).items()}
            addresses.append((step.address, was.get(step.address, step.address)))
    return addresses


def _write_step(call: Call, arguments: NotesWrite) -> Made:
    path = new_page_path(call.services.collections, arguments.page)
    if has_folder(path.collection, path.address.path):
        raise InvalidInputError(f"{path.address.path!r} is a folder.", kind="path", hint="Give the path of a page.")
    text = arguments.text
    if arguments.sources:
        lines = _lines(arguments.sources, path.collection, path.address)
        text = text_with_sources(read_to_edit(path.collection, path.address, text.encode()), lines)
    return path.collection, WriteStep(path.address, text, arguments.revision)


def _edit_step(call: Call, arguments: NotesEdit, request_id: str = "", earlier: Sequence[Made] = ()) -> Made:
    """An edit of an existing page, or of a page that an earlier step of the transaction creates or moves."""
    again = bool(arguments.request_id or request_id)
    coming = _among_coming(call, arguments.page, earlier)
    if coming is not None:
        path, fragment = coming
        changes = tuple(_change(change, fragment, path.collection, path.address) for change in arguments.changes)
        return path.collection, EditStep(path.address, changes, arguments.revision, again)
    try:
        page = page_to_change(call.services.collections, arguments.page)
    except NotFoundError as error:
        appends = all(change.do == "append" for change in arguments.changes)
        if appends and "place" in error.context and "gone" not in error.context:
            return _day_step(call, arguments, str(error.context["place"]))
        raise
    place = _place_of(page, earlier)
    changes = tuple(_change(change, page.fragment, page.collection, place) for change in arguments.changes)
    return page.collection, EditStep(place, changes, arguments.revision, again)


def _day_step(call: Call, arguments: NotesEdit, place: str) -> Made:
    """A step that makes the page of a day from its template, with what is appended to it."""
    collection, address = page_path(call.services.collections, arguments.page).collection, parse_address(place)
    day = arguments.page.partition("#")[0].rpartition("/")[2].removesuffix(".md")
    text = new_page_text(collection, day, datetime.fromisoformat(day), daily=True)
    document = read_to_edit(collection, address, text.encode())
    changes = [_change(change, "", collection, address) for change in arguments.changes]
    return collection, WriteStep(address, apply_changes(document, changes).decode())


def _among_coming(call: Call, page: str, earlier: Sequence[Made]) -> tuple[PagePath, str] | None:
    """The page and the fragment if an earlier step of the transaction creates or moves the page; else None."""
    return path_among(call.services.collections, page, _coming(earlier)) if earlier else None


def _place_of(page: FoundPage, earlier: Sequence[Made]) -> Address:
    """The path of a page after the earlier steps of a transaction."""
    return _moved(page.collection, earlier).get(page.record.address, page.record.address)


def _moved(collection: Collection, made: Sequence[Made]) -> dict[Address, Address]:
    """New address by old address of the files that steps move within a folder."""
    steps = [step for element, step in made if element.name == collection.name and isinstance(step, MoveStep)]
    return {old: new for step in steps for old, new in step.moves}


def _coming(made: Sequence[Made]) -> set[tuple[str, Address]]:
    """The pages that steps create or to which steps move a file, each with the name of its folder."""
    names: set[tuple[str, Address]] = set()
    for collection, step in made:
        match step:
            case WriteStep(address=address):
                names.add((collection.name, address))
            case MoveStep(moves=moves):
                names |= {(collection.name, new) for _, new in moves}
            case _:
                pass
    return names


def _lines(sources: Sequence[str | dict[str, JsonValue]], collection: Collection, address: Address) -> tuple[str, ...]:
    """The sources of a page as lines; lines of a file are at the commit that has them."""
    return tuple(source_line(source, partial(placed_citation, collection, address)) for source in sources)


def _change(change: Change, fragment: str, collection: Collection, address: Address) -> PageChange:
    needed = {"replace": change.old, "block": change.block or fragment.startswith("^"), "task": change.task}.get(
        change.do, True
    )
    if not needed:
        name = {"replace": "old", "block": "block", "task": "task"}[change.do]
        raise InvalidInputError(
            f"A change {change.do!r} needs {name!r}.", kind="argument", hint=f"Give {name} beside do={change.do!r}."
        )
    if change.do in {"section", "block"} and "text" not in change.model_fields_set:
        raise InvalidInputError(
            f"A change {change.do!r} needs 'text', the new text.",
            kind="argument",
            hint='Give text; text="" empties it.',
        )
    if change.old and change.do not in {"replace", "supersede"}:
        raise InvalidInputError(
            f"A change {change.do!r} does not look for 'old'.",
            kind="argument",
            hint='Give do="replace" to replace old by text, in a section or in the whole page.',
        )
    if change.do in {"section", "append", "insert"} and fragment.startswith("^") and not change.section:
        raise InvalidInputError(
            f"A change {change.do!r} is of a section, and {fragment!r} is a block.",
            kind="argument",
            hint=f'Give do="block", or section beside do={change.do!r}.',
        )
    return PageChange(
        kind=change.do,
        section=change.section or ("" if fragment.startswith("^") else fragment.replace("#", " > ")),
        text=change.text,
        old=change.old,
        block=change.block or fragment,
        fields=change.fields,
        task=change.task,
        done=change.done,
        by=reference_from_base(collection.index, change.by, address),
        reason=change.reason,
        sources=_lines(change.sources, collection, address),
    )


def _move_step(call: Call, arguments: NotesMove, earlier: Sequence[Made] = ()) -> tuple[Collection, MoveStep]:
    collections = call.services.collections
    if (coming := _among_coming(call, arguments.page, earlier)) is not None:
        raise InvalidInputError(
            f"An earlier step writes {coming[0].address}, which this one moves.", kind="path", hint=MOVE_FIRST
        )
    if arguments.page.strip().endswith("/"):  # a page may have the folder's name, such as its index page
        chosen, prefix = folder_prefix(collections, arguments.page)
        if any(has_folder(collection, prefix.rstrip("/")) for collection in chosen if prefix):
            return _folder_step(call, prefix.rstrip("/"), arguments)
    try:
        page = page_to_change(collections, arguments.page)
    except NotFoundError as error:
        folder = error.context.get("folder")
        if not folder:
            raise
        return _folder_step(call, str(folder), arguments)
    to = _within(call, page.collection, arguments.to)
    old = page.record.address
    target = moved_address(page.collection, old, to)
    return page.collection, MoveStep(old.id, target.id, ((old, target),))


def _within(call: Call, collection: Collection, path: str) -> str:
    """A new path without the name of its folder.

    Raises:
        InvalidInputError: kind "path": the path names another folder.
    """
    path = path.strip().removeprefix("[[").removesuffix("]]")
    name, separator, rest = path.partition(":")
    named = call.services.collections.named(name, collection) if separator and name else None
    if named is None:
        return path
    if named.name != collection.name:
        raise InvalidInputError(
            "A page moves within its folder only.", kind="path", hint="Write it there, delete here."
        )
    return rest.strip()


def _folder_step(call: Call, folder: str, arguments: NotesMove) -> tuple[Collection, MoveStep]:
    """A step that moves every file below a folder to the same relative path below the new one."""
    chosen, _ = folder_prefix(call.services.collections, arguments.page)
    collection = next(other_collection for other_collection in chosen if has_folder(other_collection, folder))
    target = _within(call, collection, arguments.to).strip("/")
    moves = require_moves(collection, folder, target)
    return collection, MoveStep(f"{folder}/", f"{target}/", tuple(moves.items()))


def _delete_step(call: Call, arguments: NotesDelete, earlier: Sequence[Made] = ()) -> Made:
    coming = _among_coming(call, arguments.page, earlier)
    if coming is not None:
        return coming[0].collection, DeleteStep(coming[0].address, arguments.revision)
    page = page_to_change(call.services.collections, arguments.page)
    return page.collection, DeleteStep(_place_of(page, earlier), arguments.revision)


def _step(call: Call, values: dict[str, JsonValue], request_id: str, earlier: Sequence[Made]) -> Made:
    arguments = {key: value for key, value in values.items() if key != "do"}
    match values.get("do"):
        case "write":
            return _write_step(call, _valid(NotesWrite, arguments))
        case "edit":
            return _edit_step(call, _valid(NotesEdit, arguments), request_id, earlier)
        case "move":
            return _move_step(call, _valid(NotesMove, arguments), earlier)
        case "delete":
            return _delete_step(call, _valid(NotesDelete, arguments), earlier)
        case other:
            raise InvalidInputError(
                f"Invalid do {other!r}: expected one of write, edit, move, delete.",
                kind="argument",
                hint='Give steps such as {"do": "edit", "page": "a.md", "changes": [...]}.',
            )


def _valid(model: type[M], values: dict[str, JsonValue]) -> M:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise bad_arguments(error) from error


def _previewed(call: Call, arguments: NotesMove) -> str:
    collection, step = _move_step(call, arguments)
    with collection.store.transaction("") as transaction:  # read-only: nothing is written
        plan = plan_moves(collection, transaction, dict(step.moves))
    text = "\n".join(preview_lines(call, collection, step, plan))
    return f"{text}\n({tokens_of(text) + 4} tokens)"
