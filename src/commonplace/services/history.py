"""The history of documents: commits, differences, and old versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, TrashItem
from commonplace.domain.errors import AlreadyExistsError, ConflictError, GitError, InvalidInputError, NotFoundError
from commonplace.domain.ports import History
from commonplace.domain.proposals import ServedView
from commonplace.domain.revisions import is_revision, revision_of
from commonplace.domain.words.moments import parse_moment
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection
from commonplace.services.deletions import cut_off, is_proposed, not_served
from commonplace.services.past import moment_of, require_history
from commonplace.services.writes import UNCONDITIONAL, WriteReceipt, WriteRequest
from commonplace.services.writes.documents import index_written
from commonplace.services.writes.overwrites import SeenEvidence, evidence_of
from commonplace.services.writes.recorded import record_write
from commonplace.services.writes.retries import on_latest

RestoreAction: TypeAlias = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of restoring a document."""

    written: WriteReceipt
    action: RestoreAction


@dataclass(frozen=True, slots=True)
class CollectionState:
    """The state of a collection that an answer is based on."""

    collection: str
    commit: str
    """The current commit; "" without Git."""
    generation: int
    """Generation of the index, which grows with every indexed change."""


def collection_state(collection: Collection) -> CollectionState:
    """The current state of a collection."""
    # A replica's own commit is used, because its branch moves before the index contains the new commit.
    commit = collection.replica.status().commit if collection.replica else collection.store.history.head()
    return CollectionState(collection.name, commit, collection.index.generation)


def log(collection: Collection, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
    """Commits that touched a document (None: anything in the collection), newest first.

    Raises:
        GitError: the collection is not in a Git repository, or has no commits yet.
    """
    commits = require_history(collection).store.history.log(address, limit=limit, offset=offset)
    return [commit for commit in commits if commit.is_shown]


MAX_LAST_CHANGES = 20_000
"""Maximum number of files whose last change is cached."""
_LAST_CHANGES: BoundedCache[Commit] = BoundedCache(MAX_LAST_CHANGES)


def last_change(collection: Collection, address: Address) -> Commit | None:
    """The last commit that changed the bytes of a file, through its renames; None if no commit has it.

    A commit that only renames the file is passed over. Cached for the current commit.
    """
    history = collection.store.history
    if not (head := history.head()):
        return None
    key = (collection.store.identity, address, head, history.is_shallow)
    cached = _LAST_CHANGES.get(key)
    if cached is None:
        cached = _last_change(history, address)
        # None is not cached: an ignored file has no versions until it is not ignored any more.
        return cached and _LAST_CHANGES.put(key, cached, 1)
    return cached


def _last_change(history: History, address: Address) -> Commit | None:
    last: Commit | None = None
    content = b""
    for commit, version in history.versions(address):
        if last is not None and version != content:
            break
        last, content = commit, version
        before = history.renames(commit.id).get(address)
        if before is None:
            break
        address = before
    return last


MAX_LINE_VERSIONS = 200
"""Maximum number of versions of a page in which a line is looked for."""


def change_of_line(collection: Collection, address: Address, line: bytes) -> Commit | None:
    """The commit since which a file has a line, through its renames; None if the last one lacks it, or it is too old.

    Args:
        collection: Collection of the file.
        address: The file.
        line: The line, without its end.
    """
    since: Commit | None = None
    for number, (commit, version) in enumerate(collection.store.history.versions(address)):
        if line not in map(bytes.rstrip, version.split(b"\n")):
            return since
        if number == MAX_LINE_VERSIONS:
            return None
        since = commit
    return since


def commits_writes(collection: Collection) -> bool:
    """Whether each write is a commit, which keeps its message."""
    store = collection.store
    return store.repository is not None and store.committing() is store


def is_changed_since(collection: Collection, address: Address, content: bytes | None) -> bool:
    """Whether the content of a file, None for no file, differs from the last commit; False without Git."""
    history = collection.store.history
    if not history.available:
        return False
    if content is None:
        return bool(head := history.head()) and _is_in_commit(collection, address, head)
    return address in history.uncommitted({address: revision_of(content)})


def diff(collection: Collection, address: Address, old: str, new: str = "") -> str:
    """Unified diff of a document between two revisions; `new` "" means the current file."""
    return require_history(collection).store.history.diff(address, old, new)


@dataclass(frozen=True, slots=True)
class UncommittedDocument:
    """A document that differs from the current commit."""

    address: Address
    change: Literal["modified", "new", "deleted"]
    diff: str
    """Unified diff from the current commit to the file."""


def uncommitted(collection: Collection) -> list[UncommittedDocument]:
    """All documents that differ from the current commit, by path.

    Raises:
        GitError: the collection is not in a Git repository, or has no commits yet.
    """
    past = require_history(collection).store.history
    head = past.head()
    changed, gone = uncommitted_addresses(collection)
    documents: list[UncommittedDocument] = []
    for address in sorted({*changed, *gone}):
        is_there = address in gone or _is_in_commit(collection, address, head)
        change = "deleted" if address in gone else "modified" if is_there else "new"
        documents.append(UncommittedDocument(address, change, past.diff(address, head)))
    return documents


def uncommitted_addresses(collection: Collection, prefix: str = "") -> tuple[set[Address], set[Address]]:
    """The documents that differ from the current commit, and those of it whose files are gone.

    Documents that the caller's own proposal changes are left out, because they are not in the base yet.

    Args:
        collection: The collection; its store must have a history.
        prefix: Beginning of their paths.
    """
    store = collection.store
    proposed = store.changed().keys() if isinstance(store, ServedView) else set[Address]()
    pair = store.history.working_changes(collection.index.revisions())
    changed, gone = ({item for item in items - proposed if item.path.startswith(prefix)} for items in pair)
    return changed, gone - not_served(store)


def _is_in_commit(collection: Collection, address: Address, commit: str) -> bool:
    try:
        collection.store.history.read(address, commit)
    except NotFoundError:
        return False
    return True


def revision_at(collection: Collection, moment: str) -> str:
    """The revision for `reads` that a moment means; "" for the present.

    Args:
        collection: The collection.
        moment: A moment as for `past.moment_of`, or a document's revision. A text such as `20260301` is a date.

    Raises:
        InvalidInputError, NotFoundError, GitError: from `past.moment_of`.
    """
    text = moment.strip()
    is_own = is_revision(text) and parse_moment(text) is None
    return text if not text or is_own else moment_of(collection, text).commit.id


def restore(
    collection: Collection, address: Address, at: str, intent: WriteRequest = UNCONDITIONAL, *, force: bool = False
) -> RestoreReport:
    """Write a document's version at a commit, as an ordinary write. The history is not changed.

    Args:
        collection: Collection of the document.
        address: The document, which need not exist now.
        at: A commit, or a revision of the document: 7 or more hex digits.
        intent: As for any write.
        force: Whether to overwrite text that was never committed and that the writer has not seen. Such text goes to
            the trash.

    Raises:
        NotFoundError: no such commit, or the commit does not contain the document.
        AlreadyExistsError: the commit has the document under another path, and it is elsewhere now. Not with `force`.
        InvalidInputError: `at` is not a revision.
        ConflictError: the document is not at the expected revision, or contains uncommitted text that the writer has
            not seen.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    return on_latest(collection, lambda: _restore(collection, address, at, intent, force=force))


def _restore(collection: Collection, address: Address, at: str, intent: WriteRequest, *, force: bool) -> RestoreReport:
    content = require_history(collection).store.history.read(address, at)
    if not force:
        _require_no_copy(collection, address, at)
    message = intent.message or f"Restore: {address.id} at {at[:10]}"
    with collection.store.transaction(message, intent.author) as transaction:
        is_there = transaction.exists(address) and not transaction.is_ignored(address)  # the store refuses ignored ones
        current = transaction.read(address) if is_there else None
        if current is not None:
            evidence = evidence_of(collection, address, current, intent)
            if current != content and not force and evidence is SeenEvidence.UNSEEN:
                _require_committed(collection, address, current)
        transaction.put(address, content, keep=True)
    return _restored(collection, address, (current, content), transaction.receipt.commit)


def _restored(
    collection: Collection, address: Address, contents: tuple[bytes | None, bytes], commit: str
) -> RestoreReport:
    """Index a file that was restored; its contents are those before and after."""
    before, after = contents
    written = record_write(
        collection,
        WriteReceipt(
            address, revision_of(after), commit, created=before is None, before=before,
            answer_by=index_written(collection, [address]), unchanged=before == after,
        ),
    )  # fmt: skip
    return RestoreReport(written, "created" if before is None else "unchanged" if before == after else "updated")


def trashed(collection: Collection, reference: str, revision: str = "") -> TrashItem | None:
    """The newest matching item of the trash; None if there is none.

    Args:
        collection: The collection.
        reference: The file's path or id, the item's revision (7 or more digits), or the file's name; tried in this
            order.
        revision: With a path, the item's revision or its first 7 or more digits; "" for the newest.

    Raises:
        InvalidInputError: kind "trash": files of several paths match.
    """
    trash = collection.store.trash
    items = trash.items() if trash else []
    candidate = [item for item in items if reference in (item.address.path, item.address.id)]
    if not candidate and is_revision(reference):
        candidate = [item for item in items if item.revision.startswith(reference.lower())]
    if not candidate:
        candidate = [item for item in items if reference in (item.address.name, item.address.stem)]
    if revision:
        candidate = [item for item in candidate if is_revision(revision) and item.revision.startswith(revision.lower())]
    paths = sorted({item.address.path for item in candidate})
    if len(paths) > 1:
        raise InvalidInputError(
            f"The trash has several files that {reference!r} can mean: {', '.join(paths[:5])}.",
            kind="trash",
            hint="Give the path of one.",
        )
    return candidate[0] if candidate else None


def restore_last(
    collection: Collection,
    target: tuple[str, str],
    locate: Callable[[], Address],
    *,
    to: Address | None = None,
    intent: WriteRequest = UNCONDITIONAL,
    force: bool = False,
) -> tuple[RestoreReport, str]:
    """Bring a file back from the trash or a commit, whichever has its last state, or the state at a moment.

    Args:
        collection: Collection of the file.
        target: The file's path, id or name, or the revision of an item of the trash; and a moment or revision as for
            `revision_at`, "" for the last state of a file that is gone.
        locate: Returns the file's address if the trash does not have it; may raise.
        to: Another address for what the trash has; None for its own.
        intent: As for any write.
        force: As for `restore` and `bring_back`.

    Returns:
        What was written, and the commit or the item of the trash that it is from.

    Raises:
        NotFoundError: kind "trash": neither the trash nor a commit has the file.
        AlreadyExistsError: the file is there, or at the path to which it was moved, and no moment is given.
        KnowledgeError: from `revision_at`, `restore`, `bring_back` and `locate`.
    """
    reference, at = target
    item = trashed(collection, reference, at)
    if item is not None and not at and reference in (item.address.path, item.address.id):
        item = _unless_older(collection, item)
    if item is not None:
        return bring_back(collection, item, to or item.address, intent, force=force), item.revision
    if to is not None:
        raise _not_in_trash(collection, reference)
    address = locate()
    at = revision_at(collection, at) if at else _last_commit(collection, address, reference)
    return restore(collection, address, at, intent, force=force), at


def _unless_older(collection: Collection, item: TrashItem) -> TrashItem | None:
    """The item; None if a later commit touched the file, because history then has its last state."""
    committed = last_commits(collection, item.address)
    return item if committed is None or committed.touched.when <= item.when else None


_AT_EXAMPLES = "at (--at REV on the command line), such as yesterday, HEAD~1 or a commit"


def _last_commit(collection: Collection, address: Address, reference: str) -> str:
    if collection.store.stat(address) is not None:
        raise AlreadyExistsError(
            f"{address.path} is there.", kind="document", hint=f"Say which state of it: {_AT_EXAMPLES}."
        )
    if moved := now_at(collection, address):
        raise AlreadyExistsError(
            f"{address.path} was moved to {moved.path}, and is there.",
            kind="document",
            hint=f"Give {moved.path}. For a second page at the old path say which state of it: {_AT_EXAMPLES}.",
        )
    committed = last_commits(collection, address)
    if committed is None:
        raise _not_in_trash(collection, reference)
    return committed.containing


def _not_in_trash(collection: Collection, reference: str) -> NotFoundError:
    return NotFoundError(
        f"The trash has no {reference!r}, and no commit has it. {cut_off([collection.store])}".rstrip(),
        kind="trash",
        hint="See what there is: the deleted pages (changes, commonplace restore), and the history.",
    )


def bring_back(
    collection: Collection, item: TrashItem, to: Address, intent: WriteRequest = UNCONDITIONAL, *, force: bool = False
) -> RestoreReport:
    """Write an item of the trash as a file, and remove it from the trash.

    Args:
        collection: Collection of the item.
        item: The item.
        to: Address to write.
        intent: As for any write.
        force: Whether to replace another text at `to`; that text is retained as for any write.

    Raises:
        AlreadyExistsError: `to` has another text, and `force` is false.
        NotFoundError, StorageError: kind "trash": the item no longer exists, or is unreadable.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    trash = collection.store.trash
    content = trash.content(item) if trash else b""
    with collection.store.transaction(intent.message or f"Restore: {to.id}", intent.author) as transaction:
        there = transaction.read(to) if transaction.exists(to) else None
        if there is not None and there != content and not force:
            raise AlreadyExistsError(
                f"There already is a file {to.path}, which would be overwritten. Nothing was changed.",
                kind="document",
                hint="On the command line: --to PATH brings it back beside it; --force replaces the file, "
                "and the trash keeps its present text unless a commit has it.",
                reference=to.id,
            )
        if there != content:
            transaction.put(to, content, keep=True)
    restored = _restored(collection, to, (there, content), transaction.receipt.commit)
    if trash:
        trash.discard(item)
    return restored


class LastCommits(NamedTuple):
    """The last commits of a file under one path."""

    touched: Commit
    """The last commit that touched the path. It removed the file if it is not `containing`."""
    containing: str
    """Id of the last commit that has a file at the path."""


def _last_touching(collection: Collection, address: Address) -> Commit | None:
    """The last commit that touched a path; None if no commit did."""
    history = collection.store.history
    commits = history.last_touching([address])
    if commits is not None and address.is_document:
        return next((commit for commit, _ in commits), None)
    return next(iter(history.log(address, limit=1)), None) if history.available else None


def last_commits(collection: Collection, address: Address, touched: Commit | None = None) -> LastCommits | None:
    """The last commits of a file under this path; None if no commit has it. `touched` is the last one, if known."""
    history = collection.store.history
    touched = touched or _last_touching(collection, address)
    if touched is None:
        return None
    if history.has(address, touched.id):
        return LastCommits(touched, touched.id)
    with suppress(NotFoundError):  # the first commit, or a shallow clone's, has no parent
        parent = collection.past.commits.commit(f"{touched.id}^") if collection.past else None
        if parent and history.has(address, parent.id):
            return LastCommits(touched, parent.id)
    versions = (commit for commit in history.log(address, limit=5) if history.has(address, commit.id))
    containing = next(versions, None)
    return LastCommits(touched, containing.id) if containing else None


def moved_on(collection: Collection, address: Address, removed: Commit) -> Address | None:
    """The path to which later commits moved a file, which may be gone from there, too; None if they did not move it.

    Args:
        collection: Collection of the file.
        address: A path at which there is no file now.
        removed: The last commit that touched the path.
    """
    history, place, met = collection.store.history, address, {address}
    while True:
        target = next((new for new, old in history.renames(removed.id).items() if old == place), None)
        if target is None or target in met:
            break
        met.add(target)
        place = target
        touched = _last_touching(collection, place)
        if collection.store.stat(place) is not None or touched is None:
            break
        removed = touched
    return None if place == address else place


def now_at(collection: Collection, address: Address) -> Address | None:
    """The path at which a file is that was moved away from this one; None if it was deleted, or nothing is known of it.

    A move counts as Git counts it, and those of this program exactly; one that is not committed yet counts, too.

    Args:
        collection: Collection of the file.
        address: A path at which there is no file now.
    """
    last = last_commits(collection, address)
    moved = moved_on(collection, address, last.touched) if last else None
    if last and last.touched.id == last.containing:
        with suppress(GitError):  # too many files to be compared
            moved = collection.store.history.moved([present for present, _ in collection.store.scan()]).get(address)
    return moved if moved and collection.store.stat(moved) is not None else None


def moved_since(collection: Collection, commits: Sequence[str]) -> Mapping[Address, Address]:
    """The present path of each file that was moved by commits or since, by its path before.

    Args:
        collection: Collection of the files.
        commits: The latest commits, newest first.
    """
    history, now = collection.store.history, dict[Address, Address]()
    with suppress(GitError):  # too many files to be compared
        now |= history.moved([present for present, _ in collection.store.scan()])
    for commit in commits:
        now |= {old: now.pop(new, new) for new, old in history.renames(commit).items()}
    return {old: new for old, new in now.items() if old != new and collection.store.stat(new) is not None}


def _require_no_copy(collection: Collection, address: Address, at: str) -> None:
    """Check that restoring a path makes no second copy of a page that is at another path now.

    Raises:
        AlreadyExistsError: kind "document": the commit has the page under another path, and it is elsewhere now.
    """
    history = collection.store.history
    then = history.address_at(address, at)
    if then is None or then == address or collection.store.stat(address) is not None:
        return
    last = last_commits(collection, address)
    moved = moved_on(collection, address, last.touched) if last else None
    now = next((element for element in (moved, then) if element and collection.store.stat(element) is not None), None)
    if now is not None:
        raise AlreadyExistsError(
            f"{address} is not in the commit {at[:12]}: its page was {then} then, and is {now} now. Restoring it would"
            " make a second copy. Nothing was changed.",
            kind="document",
            hint=f"Restore {now} at that commit.",
            reference=now.id,
        )


def _require_committed(collection: Collection, address: Address, current: bytes) -> None:
    """Check that the history, or a proposal of the caller, has the text that goes.

    Raises:
        ConflictError: neither has.
    """
    history = collection.store.history
    with suppress(NotFoundError):
        if is_proposed(collection.store, address) or history.read(address, history.head()) == current:
            return
    raise ConflictError(
        f"The document {address.id!r} contains text that was never committed.",
        kind="document",
        hint="Commit it first, or allow that it goes (--force on the command line).",
        current_revision=revision_of(current),
    )
