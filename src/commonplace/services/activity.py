"""The activity of sessions: what each wrote, with what it read before, and undo of one write or of all of a session."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from commonplace.domain.activity import KEPT_DAYS, Access, AccessLog, Actor
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, Commit
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection, Collections, current_bytes
from commonplace.services.past import moment_of
from commonplace.services.services import Services
from commonplace.services.undo import (
    RecordedForUndo,
    UndoConflictError,
    UndoReceipt,
    changes_with_texts,
    content_of,
    joined_conflicts,
    not_changed,
    not_undone,
    undo,
    undone_by,
)

DAY = 86_400.0
SHOWN_DAYS = 30
"""Number of days whose sessions are listed, unless more are asked for."""
MAX_SEARCHED = 2_000
"""Number of the latest commits whose messages and files are shown; older writes are shown by their commit alone."""

MAX_PROPOSALS_NAMED = 5
"""Maximum number of proposals that an error names."""


@dataclass(frozen=True, slots=True)
class SessionActivity:
    """Summary of one session."""

    actor: Actor
    """The caller; `tool` is that of the latest write."""
    collections: tuple[str, ...]
    """Names of the collections that it wrote."""
    first: float
    """Time of the first write in Unix seconds."""
    last: float
    writes: int
    proposed: int
    """Number of the writes that went to proposals."""
    files: int
    """Number of different files that it wrote."""
    reads: int
    """Number of different pages that it read."""
    tools: Mapping[str, int]
    """Number of writes by tool."""


@dataclass(frozen=True, slots=True)
class WriteActivity:
    """One write of a session."""

    collection: str
    access: Access
    subject: str
    """First line of the commit's message; "" if the commit is not among the latest of the branch, or is none."""
    paths: tuple[str, ...]
    """The files that it changed; () if they are not known any more."""
    read: tuple[str, ...]
    """The pages that the session had read before, and not before an earlier write."""
    taken_back: tuple[str, ...] = ()
    """The commits that took it back, whole or in part, newest first; only the latest are known."""

    @property
    def is_undoable(self) -> bool:
        """Whether it went to what is served, and it is known what it changed."""
        return not self.access.proposal and bool(self.access.commit or self.access.files)


def sessions(services: Services, days: int = SHOWN_DAYS) -> list[SessionActivity]:
    """The sessions that wrote, the latest first.

    Args:
        services: The services; only what their collections' stores were written is seen.
        days: Number of days, at most `KEPT_DAYS`.
    """
    by_session: dict[str, list[Access]] = {}
    names = _names(services.collections)
    for access in _log(services).accesses(list(names), time.time() - days * DAY):
        by_session.setdefault(access.actor.session, []).append(access)
    written = [accesses for accesses in by_session.values() if any(access.is_write for access in accesses)]
    activities = [_session(accesses, names) for accesses in written]
    return sorted(activities, key=lambda activity: activity.last, reverse=True)


def writes_of(services: Services, session: str) -> list[WriteActivity]:
    """The writes of a session, oldest first.

    Raises:
        NotFoundError: no such session wrote in the last `KEPT_DAYS` days.
    """
    names = _names(services.collections)
    accesses = _of_session(services, session)
    commits: dict[str, Commit] = {}
    for base in dict.fromkeys(access.base for access in accesses if access.commit and not access.proposal):
        commits |= _commits(_collection(services.collections, base))
    undoes = _undoes(commits.values())
    activities: list[WriteActivity] = []
    read: dict[str, None] = {}
    for access in accesses:
        if not access.is_write:
            read |= dict.fromkeys(access.read)
            continue
        commit = commits.get(access.commit)
        paths = access.paths or (tuple(address.path for address in commit.addresses) if commit else ())
        subject = commit.message.partition("\n")[0] if commit else ""
        activities.append(
            WriteActivity(names[access.base], access, subject, paths, tuple(read), undoes.get(access.commit, ()))
        )
        read = {}
    return activities


def left_to_undo(services: Services, writes: Sequence[WriteActivity]) -> Sequence[bool]:
    """Whether something of each of these writes of a session, oldest first, is left to undo.

    Nothing is left of a commit that others have undone in all its files, nor of a write without a commit whose files
    are again what they were before it. What only was proposed cannot be undone.
    """
    undone = _undone(services, [write for write in writes if write.taken_back])
    earlier: dict[tuple[str, str], set[str]] = {}
    left: list[bool] = []
    for write in writes:
        access = write.access
        is_left = write.is_undoable and access.commit not in undone
        if is_left and not access.commit:
            is_left = _is_left(services.collections.get(write.collection), access.files or {}, earlier)
        left.append(is_left)
    return left


def _undone(services: Services, writes: Sequence[WriteActivity]) -> set[str]:
    """The commits of these writes that were undone in all their files."""
    undone: set[str] = set()
    for name in dict.fromkeys(write.collection for write in writes):
        commits = [write.access.commit for write in writes if write.collection == name]
        undone |= {*commits} - not_undone(services.collections.get(name), commits)
    return undone


def _is_left(
    collection: Collection, files: Mapping[str, tuple[str, str]], earlier: dict[tuple[str, str], set[str]]
) -> bool:
    """Whether a file has another text than before a write; `earlier` has the texts before, to which these are added."""
    is_left = False
    for path, (old, new) in files.items():
        texts = earlier.setdefault((collection.name, path), set())
        texts.add(old)
        content = current_bytes(collection, Address(path))
        now = "" if content is None else revision_of(content)
        is_left = is_left or now == new or now not in texts
    return is_left


def diff_of(services: Services, write: WriteActivity) -> str:
    """Unified diff of a write; "" if its commit is not on the current branch."""
    if not write.access.commit or write.access.proposal:
        return ""
    history = services.collections.get(write.collection).store.history
    parts: list[str] = []
    for path in write.paths:
        try:
            parts.append(history.diff(Address(path), "", write.access.commit))
        except KnowledgeError:  # the branch was rewritten
            continue
    return "".join(parts)


def changes_of(services: Services, write: WriteActivity) -> Mapping[Address, tuple[bytes | None, bytes | None]]:
    """The bytes of each file before and after a write, None for no file; empty if they are not known any more."""
    if write.access.proposal:
        return {}
    collection = services.collections.get(write.collection)
    if not write.access.commit:
        return _kept(collection, write.access.files or {})
    try:
        changes = collection.store.history.changed(write.access.commit)
        return changes_with_texts(collection, changes, _addressed(write.access.files or {}))
    except KnowledgeError:  # the branch was rewritten, or text that was never committed is not kept any more
        return {}


def undo_session(
    services: Services,
    session: str,
    pages: Sequence[str] = (),
    message: str = "",
    person: Author | None = None,
    *,
    when: float | None = None,
) -> Mapping[str, UndoReceipt]:
    """Take all writes of a session back: one new commit in each collection that it wrote, or nothing in any of them.

    Args:
        services: The services.
        session: Id of the session.
        pages: The only files to take back, as `undo` names them; `NAME:` before a path names its collection; () for
            all.
        message: Message of the commits; "" for one that lists the writes.
        person: Who undoes; None for whoever Git's configuration names.
        when: Time of the only write without a commit to take back; None for all writes.

    Returns:
        The result by name of the collection.

    Raises:
        NotFoundError: no such session wrote in the last `KEPT_DAYS` days.
        InvalidInputError: it only proposed.
        NotChangedError: none of the writes changed one of the pages.
        UndoConflictError: later writes changed the same places. Nothing was written.
    """
    accesses = [access for access in _of_session(services, session) if access.is_write]
    chosen = [access for access in accesses if _is_undoable(access) and when in {None, access.when}]
    if not chosen:
        raise _nothing_to_undo(accesses)
    undos = [
        _collection_undo(services, base, [access for access in chosen if access.base == base], pages, message, person)
        for base in dict.fromkeys(access.base for access in chosen)
    ]
    return _all_undone(undos, pages)


@dataclass(frozen=True, slots=True)
class _CollectionUndo:
    """The undo of the writes of a session in one collection."""

    collection: Collection
    run: Callable[..., UndoReceipt]
    """Takes it back; with `tries` it only finds out whether that can be done. `has_others` is as in `undo`."""


def _is_undoable(access: Access) -> bool:
    """Whether a write is known by its commit or its texts, and was not only proposed."""
    return not access.proposal and (bool(access.commit) or access.files is not None)


def _nothing_to_undo(accesses: Sequence[Access]) -> InvalidInputError:
    proposals = list(dict.fromkeys(access.proposal for access in accesses if access.proposal))
    is_only_proposed = proposals and all(access.proposal for access in accesses)
    only = f" It only proposed: {', '.join(proposals[:MAX_PROPOSALS_NAMED])}." if is_only_proposed else ""
    return InvalidInputError(
        f"This session wrote nothing of what is served that can be undone.{only}",
        kind="session",
        hint="Withdraw or decline what it proposed, or undo the commit that accepted it; take other text from the"
        " trash.",
    )


def _collection_undo(
    services: Services,
    base: str,
    accesses: Sequence[Access],
    pages: Sequence[str],
    message: str,
    person: Author | None,
) -> _CollectionUndo:
    """The undo of the writes of a session in the collection of one store."""
    collection = _collection(services.collections, base)
    loose = [_addressed(access.files or {}) for access in reversed(accesses) if not access.commit]
    commits = [access.commit for access in accesses if access.commit]

    def run(*, has_others: bool, tries: bool = False) -> UndoReceipt:
        recorded = RecordedForUndo(written=_written(accesses), loose=loose, tries=tries, has_others=has_others)
        return undo(collection, commits, pages=pages, message=message, person=person, recorded=recorded)

    return _CollectionUndo(collection, run)


def _all_undone(undos: Sequence[_CollectionUndo], pages: Sequence[str]) -> Mapping[str, UndoReceipt]:
    """Take back what is written in several collections: in all of them, or in none.

    Each undo is tried before the first one is made. Should one fail after that, those before it are taken back.
    """
    has_others = len(undos) > 1
    chosen = _possible(undos, pages) if has_others else undos
    results: dict[str, UndoReceipt] = {}
    try:
        for each in chosen:
            results[each.collection.name] = each.run(has_others=has_others)
    except KnowledgeError as error:
        _take_back(undos, results, error)
        raise
    return results


def _changed_paths(trials: Sequence[tuple[_CollectionUndo, UndoReceipt]]) -> Sequence[str]:
    return [f"{each.collection.name}:{path}" for each, receipt in trials for path in receipt.changed]


def _possible(undos: Sequence[_CollectionUndo], pages: Sequence[str]) -> Sequence[_CollectionUndo]:
    """The undos that change something, after each was tried.

    Raises:
        NotChangedError: none of the collections has one of the named pages.
        UndoConflictError: some cannot be made.
    """
    trials: list[tuple[_CollectionUndo, UndoReceipt]] = []
    errors: list[UndoConflictError] = []
    for each in undos:
        try:
            trials.append((each, each.run(has_others=True, tries=True)))
        except UndoConflictError as error:
            errors.append(error.in_collection(each.collection.name))
    if errors:
        raise joined_conflicts(errors)
    named = set(pages)
    missing = named.intersection(*(receipt.missing for _, receipt in trials))
    if missing:
        raise not_changed(sorted(missing), _changed_paths(trials))
    return [each for each, receipt in trials if not named or named.difference(receipt.missing)]


def _take_back(undos: Sequence[_CollectionUndo], results: Mapping[str, UndoReceipt], error: KnowledgeError) -> None:
    """Take back what was undone before an undo in another collection failed; the error says what stays undone."""
    stays: list[str] = []
    for each in undos:
        done = results.get(each.collection.name)
        if done is None or not (done.written or done.removed):
            continue
        try:
            undo(each.collection, [done.commit] if done.commit else [])
        except KnowledgeError:
            stays.append(each.collection.name)
    if stays:
        error.hint = f"The writes in {', '.join(stays)} are undone. {error.hint or ''}".rstrip()


def undo_commits(
    services: Services,
    commits: Sequence[str],
    pages: Sequence[str] = (),
    message: str = "",
    person: Author | None = None,
) -> Mapping[str, UndoReceipt]:
    """Take commits of one collection back: the first whose branch has the first of them.

    Args:
        services: The services.
        commits: Ids of commits, or `HEAD`, also with steps before it: `HEAD~1`.
        pages: The only files to take back, as for `undo_session`; () for all.
        message: Message of the new commit; "" for one that names what is undone.
        person: Who undoes; None for whoever Git's configuration names.

    Raises:
        KnowledgeError: an error of `undo`, from the last collection.
    """
    for number, collection in enumerate(services.collections.members, 1):
        accesses = services.activity.accesses([collection.store.identity]) if services.activity else ()
        recorded = RecordedForUndo(written=_written(accesses))
        try:
            named = [moment_of(collection, text).commit.id if _HEAD.match(text) else text for text in commits]
            receipt = undo(collection, named, pages=pages, message=message, person=person, recorded=recorded)
        except NotFoundError as error:
            if error.kind != "revision" or number == len(services.collections.members):
                raise
            continue
        return {collection.name: receipt}
    raise NotFoundError("No collection is served here.", kind="collection")


_HEAD = re.compile(r"(?i)(?:HEAD|@)(?:[~^]|\Z)")


def _session(accesses: Sequence[Access], names: Mapping[str, str]) -> SessionActivity:
    writes = [access for access in accesses if access.is_write]
    tools: dict[str, int] = {}
    for access in writes:
        tools[access.actor.tool] = tools.get(access.actor.tool, 0) + 1
    return SessionActivity(
        actor=writes[-1].actor,
        collections=tuple(dict.fromkeys(names[access.base] for access in writes)),
        first=writes[0].when,
        last=writes[-1].when,
        writes=len(writes),
        proposed=sum(bool(access.proposal) for access in writes),
        files=len({(access.base, path) for access in writes for path in access.paths}),
        reads=len({(access.base, path) for access in accesses for path in access.read}),
        tools=tools,
    )


def _of_session(services: Services, session: str) -> Sequence[Access]:
    accesses = _log(services).accesses(list(_names(services.collections)))
    found_accesses = [access for access in accesses if access.actor.session == session]
    if not any(access.is_write for access in found_accesses):
        raise NotFoundError(
            f"No session {session[:64]!r} wrote here in the last {KEPT_DAYS} days.",
            kind="session",
            hint="The activity lists the sessions that wrote.",
        )
    return found_accesses


def _log(services: Services) -> AccessLog:
    if services.activity is None:
        raise InvalidInputError("No activity is recorded here.", kind="session", hint="See the commits of the folder.")
    return services.activity


def _names(collections: Collections) -> Mapping[str, str]:
    """Name of each collection by the identity of its store."""
    return {collection.store.identity: collection.name for collection in collections}


def _collection(collections: Collections, base: str) -> Collection:
    return next(collection for collection in collections if collection.store.identity == base)


def _commits(collection: Collection) -> Mapping[str, Commit]:
    """The latest commits by id."""
    history = collection.store.history
    if not history.available:
        return {}
    return {commit.id: commit for commit in history.log(None, limit=MAX_SEARCHED)}


def _addressed(files: Mapping[str, tuple[str, str]]) -> Mapping[Address, tuple[str, str]]:
    return {Address(path): revisions for path, revisions in files.items()}


def _written(accesses: Iterable[Access]) -> Mapping[str, Mapping[Address, tuple[str, str]]]:
    """The old and new revision of each file of writes that are commits, by commit."""
    return {access.commit: _addressed(access.files) for access in accesses if access.commit and access.files}


def _kept(
    collection: Collection, files: Mapping[str, tuple[str, str]]
) -> Mapping[Address, tuple[bytes | None, bytes | None]]:
    """The old and new bytes of the files of a write without a commit, as far as they are kept."""
    found_contents: dict[Address, tuple[bytes | None, bytes | None]] = {}
    for address, (old, new) in _addressed(files).items():
        with suppress(KnowledgeError):  # not kept any more
            found_contents[address] = content_of(collection, address, old), content_of(collection, address, new)
    return found_contents


def _undoes(commits: Iterable[Commit]) -> Mapping[str, tuple[str, ...]]:
    """The commits that take each commit back."""
    undoes: dict[str, tuple[str, ...]] = {}
    for commit in commits:
        for taken_back in undone_by(commit):
            undoes[taken_back] = (*undoes.get(taken_back, ()), commit.id)
    return undoes
