"""Pages of activity: the sessions that wrote, and the writes of one with their differences; undo of one or of all."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.activity import Actor
from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, KnowledgeError
from commonplace.faces.errors import error_mapping
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.pages import page
from commonplace.faces.web.shown import version_text
from commonplace.services import activity
from commonplace.services.activity import WriteActivity
from commonplace.services.collections import Collection
from commonplace.services.site.changes import DiffRow, differences
from commonplace.services.undo import UndoConflictError, UndoReceipt

SESSIONS = 50
"""Number of sessions on one page."""
WRITES = 25
"""Number of writes of a session on one page."""
MAX_FILES = 200
"""Maximum number of files on one page whose differences are shown."""
MAX_ROWS = 4_000
"""Maximum number of lines of differences on one page."""


@dataclass(frozen=True, slots=True)
class ShownChange:
    """The changes of a write in one file."""

    path: str
    rows: Sequence[DiffRow]
    is_text: bool
    is_cut: bool
    """Whether some of its lines are left out."""


@dataclass(frozen=True, slots=True)
class ShownWrite:
    """A write of a session."""

    write: WriteActivity
    collection: Collection
    changes: Sequence[ShownChange]
    can_undo: bool
    """Whether it is a write to what is served, of which something is left."""


def sessions(request: PageRequest) -> PageResponse:
    """The list of sessions; one of them; with POST, an undo."""
    if request.path:
        return _undo(request) if request.method == "POST" else _session(request)
    if request.method == "POST":
        raise InvalidInputError("Which session?", kind="session", hint="Open one of the list.")
    number = request.number("page")
    every = activity.sessions(request.services)
    rows = every[(number - 1) * SESSIONS :][:SESSIONS]
    return page(request, "activity.html", rows=rows, number=number, last=max(1, -(-len(every) // SESSIONS)))


def _session(
    request: PageRequest,
    problem: KnowledgeError | None = None,
    results: Mapping[str, UndoReceipt] | None = None,
    tried: str = "",
) -> PageResponse:
    """The writes of a session, the newest first.

    Args:
        request: The request.
        problem: Why an undo was refused.
        results: What an undo did, by name of the collection.
        tried: The commit, or the time, of the write that was to be undone; "" for all of the session.
    """
    writes = activity.writes_of(request.services, request.path)
    left = activity.left_to_undo(request.services, writes)[::-1]
    every = writes[::-1]
    number = request.number("page")
    part = slice((number - 1) * WRITES, number * WRITES)
    conflicts = problem.conflicts if isinstance(problem, UndoConflictError) else ()
    return page(
        request,
        "session.html",
        error_mapping(problem).http if problem else 200,
        session=request.path,
        actor=_actor_of(every),
        writes=_shown(request, every[part], left[part]),
        total=len(every),
        number=number,
        last=max(1, -(-len(every) // WRITES)),
        undoable=any(left),
        view=_view(request),
        problem=problem,
        conflicts=conflicts,
        others=_others(every, tried, problem.files) if isinstance(problem, UndoConflictError) else (),
        tried=tried,
        results=[(request.collections.get(name), receipt) for name, receipt in (results or {}).items()],
    )


def _actor_of(writes: Sequence[WriteActivity]) -> Actor:
    return writes[0].access.actor


def _view(request: PageRequest) -> str:
    return "side" if request.query.get("view") == "side" else "inline"


def _shown(request: PageRequest, writes: Sequence[WriteActivity], left: Sequence[bool]) -> Sequence[ShownWrite]:
    """The writes with their differences, as many lines of these as fit on a page.

    Args:
        request: The request.
        writes: The writes.
        left: Whether something of each is left to undo.
    """
    rows, files = MAX_ROWS, MAX_FILES
    shown: list[ShownWrite] = []
    for write, can_undo in zip(writes, left, strict=True):
        changes: list[ShownChange] = []
        for address, (before, after) in activity.changes_of(request.services, write).items():
            if not files:
                break
            change = _shown_change(address, before, after, rows)
            files, rows = files - 1, rows - len(change.rows)
            changes.append(change)
        shown.append(ShownWrite(write, request.collections.get(write.collection), changes, can_undo))
    return shown


def _shown_change(address: Address, before: bytes | None, after: bytes | None, most: int) -> ShownChange:
    old, new = (version_text(address, content) for content in (before, after))
    if old is None or new is None:
        return ShownChange(address.path, (), is_text=False, is_cut=False)
    every = differences(old, new)
    return ShownChange(address.path, every[:most], is_text=True, is_cut=len(every) > most)


def _others(writes: Sequence[WriteActivity], tried: str, conflicting: Container[tuple[str, Address]]) -> Sequence[str]:
    """The files of an undo that was refused which have no conflict, each after the name of its collection."""
    chosen = [
        write_activity
        for write_activity in writes
        if write_activity.is_undoable and tried in {"", write_activity.access.commit, str(write_activity.access.when)}
    ]
    files = dict.fromkeys(
        (write_activity.collection, path) for write_activity in chosen for path in write_activity.paths
    )
    return [
        f"{name}:{path}"
        for name, path in files
        if (name, Address(path)) not in conflicting and ("", Address(path)) not in conflicting
    ]


def _undo(request: PageRequest) -> PageResponse:
    """Take one write, or all of a session, back; then show what was done, or why nothing was."""
    commit, when = request.form.get("commit", ""), request.form.get("when", "")
    pages = [path for path in request.form.get("pages", "").replace("\r\n", "\n").split("\n") if path]
    person = request.caller.person
    which = request.services, request.path
    try:
        if commit:
            results = activity.undo_commits(request.services, [commit], pages, person=person)
        elif when:
            moment = next(
                (
                    write_activity.access.when
                    for write_activity in activity.writes_of(*which)
                    if str(write_activity.access.when) == when
                ),
                -1.0,
            )
            results = activity.undo_session(*which, pages, person=person, when=moment)
        elif request.form.get("action") == "session":
            results = activity.undo_session(*which, pages, person=person)
        else:
            raise InvalidInputError("The form names nothing to undo.", kind="form", hint="Open the session again.")
    except KnowledgeError as error:
        return _session(request, error, tried=commit or when)
    return _session(request, results=results)
