"""Undo of commits: their changes are taken back by a three-way merge, as one new commit, and all others stay.

For each file that the commits changed, the steps are taken back from the newest to the oldest. What other commits wrote
into the same file stays. A place that both changed is a conflict, which is shown and never guessed. A move is made back
on what is served now, so that links that were written since follow; a file that others have moved since stays there.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, Commit, Revision, StatedMessage, committed_by, split_trailers
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.merge import TextConflict, with_rewritten
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection, current_bytes, merged_text, trial_transaction
from commonplace.services.past import require_history
from commonplace.services.proposals.acceptance import conflict_lines
from commonplace.services.proposals.selection import MAX_NAMED, named_address, shown_paths
from commonplace.services.writes.documents import index_written, require_free
from commonplace.services.writes.moves import plan_moves

MAX_SEARCHED = 10_000
"""Number of the latest commits among which a commit to undo is looked for."""
_STEP = 500
MIN_DIGITS = 7
"""Minimum number of digits of an abbreviated commit."""
MAX_LISTED = 50
"""Maximum number of commits that the message of an undo lists."""
MAX_TRAILERS = 1_000
"""Maximum number of commits that the trailers of an undo name."""
UNDOES = "Undoes: "
"""Beginning of the trailers of an undo that name the commits which it takes back."""


@dataclass(frozen=True, slots=True)
class UndoReceipt:
    """The result of an undo."""

    commit: str
    """The new commit; "" if nothing was left to take back, or writes are not committed here."""
    undone: tuple[str, ...]
    """The commits that were taken back, newest first."""
    written: tuple[Address, ...] = ()
    removed: tuple[Address, ...] = ()
    uncommitted: int = 0
    """Number of the writes that were taken back and are no commits."""
    changed: tuple[Address, ...] = ()
    """The files that the writes changed, after a trial."""
    missing: tuple[str, ...] = ()
    """The named pages that the writes did not change, if those can be in other collections."""


class NotChangedError(NotFoundError):
    """Writes to take back did not change a page that is named."""


UndoPlaces: TypeAlias = tuple[tuple[str, Address, TextConflict], ...]
"""Conflicts, each with the name of its collection, which is "" if there is only one, and its file."""


class UndoConflictError(ConflictError):
    """Commits cannot be undone as they are; `conflicts` has the places."""

    conflicts: UndoPlaces = ()
    files: frozenset[tuple[str, Address]] = frozenset()
    """Every address that the files with conflicts had since the writes, with the name of the collection as above."""

    def in_collection(self, name: str) -> UndoConflictError:
        """The same error with the name of the collection, where there are several."""
        conflicts = tuple((name, address, conflict) for _, address, conflict in self.conflicts)
        return conflict_of(conflicts, frozenset((name, address) for _, address in self.files))


RevisionPairs: TypeAlias = Mapping[Address, tuple[Revision, Revision]]
"""The old and new revision of each file of a write; "" for no file."""
Changes: TypeAlias = Mapping[Address, tuple[bytes | None, bytes | None]]
"""The bytes before and after of each file of a write; None for no file."""
_NOTHING: Changes = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedForUndo:
    """Records of writes from when they were made, and whether they are taken back in earnest."""

    written: Mapping[str, RevisionPairs] = field(default_factory=dict[str, "RevisionPairs"])
    """The old and new revision of each file of a commit, by commit."""
    loose: Sequence[RevisionPairs] = ()
    """The old and new revision of each file of writes that are no commits, newest write first; "" for no file."""
    tries: bool = False
    """Whether to write nothing, and only find out whether the undo can be made."""
    has_others: bool = False
    """Whether a named page can be that of another collection, so that it need not be among the files."""


@dataclass(slots=True)
class _File:
    """A file that the commits changed."""

    now: Address
    """The present address."""
    target: Address
    """The address afterwards."""
    stays: bool
    """Whether others have moved it since."""
    steps: list[tuple[bytes | None, bytes | None]] = field(default_factory=list[tuple[bytes | None, bytes | None]])
    """The bytes after and before each step, newest first; None for no file."""
    commits: list[str] = field(default_factory=list[str])
    """The named commits that changed it and were not undone since; empty for writes that are no commits."""
    names: set[Address] = field(default_factory=set[Address])
    """Every address that it had from the commits until now."""

    def take(self, commit: str, step: tuple[bytes | None, bytes | None], address: Address, old: Address | None) -> None:
        """Add what an earlier commit did to it, under the address that it had then; `old` is the one before a move."""
        self.commits.append(commit)
        self.steps.append(step)
        self.names |= {address, self.now, old or self.now}
        if old and not self.stays:
            self.target = old


@dataclass(frozen=True, slots=True)
class _Plan:
    """The files that are taken back."""

    log: Sequence[tuple[Commit, bool]]
    """The commits from the latest to the oldest named one, and whether each is named."""
    loose: Sequence[_File]
    """The files of writes that are no commits."""
    files: Sequence[_File]
    """The files of the commits."""
    changed: tuple[Address, ...]
    """The files that the writes changed, also those that are not chosen."""
    missing: tuple[str, ...]
    """The named pages that are not among these."""

    @property
    def commits(self) -> Sequence[Commit]:
        """The named commits of which something is taken back, newest first."""
        names = {name for file in self.files for name in file.commits}
        return [commit for commit, _ in self.log if commit.id in names]

    def loose_writes(self, recorded: RecordedForUndo) -> int:
        """Number of the writes without a commit of which something is taken back."""
        addresses = {file.now for file in self.loose}
        return sum(not addresses.isdisjoint(write) for write in recorded.loose)


def undo(
    collection: Collection,
    commits: Sequence[str],
    *,
    pages: Sequence[str] = (),
    message: str = "",
    person: Author | None = None,
    recorded: RecordedForUndo | None = None,
) -> UndoReceipt:
    """Take the changes of commits, and of writes that were not committed, back: all of them in one write, or none.

    A commit of a page with text that was not committed has that text, too. It was there before the write, so it stays.
    Writes without a commit are taken back by texts that are still kept; a move among them is a deletion and a new file.

    Args:
        collection: The collection.
        commits: Ids of commits of the current branch, in any order; at least `MIN_DIGITS` digits each.
        pages: The files to take back, as a reader names them (`named_address`), by a path of now or of then; () for
            all.
        message: Message of the new commit; "" for one that names what is undone.
        person: Who undoes; None for whoever Git's configuration names.
        recorded: What was recorded of the writes when they were made; None for nothing.

    Raises:
        NotFoundError: a commit is not among the latest `MAX_SEARCHED` of the current branch; or text that was there
            before a write, in no commit, is not kept any more.
        NotChangedError: no write changed one of the pages.
        InvalidInputError: nothing is named, or a commit is a merge.
        UndoConflictError: later writes changed the same places. Nothing was written.
        AlreadyExistsError: a page is to be moved back to a path that is taken now. Nothing was written.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store. Nothing was written.
    """
    recorded = recorded or RecordedForUndo()
    _require_named(collection, commits, recorded)
    plan = _plan(collection, commits, pages, recorded)
    if recorded.tries:
        return _tried(collection, plan)
    words = message or _words(plan, recorded)
    with committed_by(person), collection.store.transaction(words) as transaction:
        if commits and _since(collection, commits) != plan.log:  # others have written meanwhile
            plan = _plan(collection, commits, pages, recorded)
        _take_back(collection, transaction, plan)
    receipt = transaction.receipt
    index_written(collection, sorted({*receipt.revisions, *receipt.removed}))
    undone = tuple(commit.id for commit in plan.commits)
    files, removed = (tuple(sorted(addresses)) for addresses in (receipt.revisions, receipt.removed))
    return UndoReceipt(receipt.commit, undone, files, removed, plan.loose_writes(recorded))


def _require_named(collection: Collection, commits: Sequence[str], recorded: RecordedForUndo) -> None:
    if not commits and not recorded.loose:
        raise InvalidInputError("Which commit? Give its id.", kind="revision", hint="Run: commonplace activity")
    if commits:
        require_history(collection)


def _tried(collection: Collection, plan: _Plan) -> UndoReceipt:
    """Find out whether the files can be taken back."""
    with trial_transaction(collection.store) as transaction:
        _take_back(collection, transaction, plan)
    return UndoReceipt("", (), changed=plan.changed, missing=plan.missing)


def _plan(collection: Collection, commits: Sequence[str], pages: Sequence[str], recorded: RecordedForUndo) -> _Plan:
    """The files of the writes, of the named pages if some are named.

    Raises:
        NotChangedError: no write changed one of the pages.
    """
    log = _since(collection, commits)
    files, undone = _files(collection, log, recorded.written)
    loose = _joined(recorded.loose)
    now = dict.fromkeys([*loose, *_addresses(files)])
    changed = tuple(dict.fromkeys([*now, *_former(files), *undone]))
    named = {page: named_address(collection, changed, page) for page in pages}
    missing = tuple(page for page, address in named.items() if address is None)
    if missing and not recorded.has_others:
        raise not_changed(missing, [address.path for address in now or changed])
    chosen = _Choice(frozenset(filter(None, named.values())) if pages else frozenset(changed), now)
    return _Plan(log, _loose_files(collection, loose, chosen), _to_undo(collection, files, chosen), changed, missing)


def _to_undo(collection: Collection, files: Sequence[_File], chosen: _Choice) -> Sequence[_File]:
    return [file for file in filter(chosen.has, files) if not _is_as_before(collection, file)]


def _is_as_before(collection: Collection, file: _File) -> bool:
    """Whether a file is already as it is without the commits, so that an undo leaves it out."""
    if file.target != file.now:
        return False
    now = content = current_bytes(collection, file.now)
    for after, before in file.steps:
        merged = merged_text(collection, file.now, after, before, content, adjacent=True)
        if merged.conflicts:
            return False
        content = merged.content
    return content == now


def _addresses(files: Sequence[_File]) -> Sequence[Address]:
    """The addresses of files now and afterwards."""
    return [address for file in files for address in (file.now, file.target)]


def _former(files: Sequence[_File]) -> Sequence[Address]:
    """Every address that files had."""
    return [name for file in files for name in sorted(file.names)]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The addresses of the files to take back."""

    addresses: frozenset[Address]
    now: Container[Address]
    """The addresses that files of the writes have now, or afterwards."""

    def has(self, file: _File) -> bool:
        """Whether a file has one of the addresses now or afterwards, or had one that no other file has now."""
        former = {name for name in file.names if name not in self.now}
        return not self.addresses.isdisjoint({file.now, file.target} | former)


def _take_back(collection: Collection, transaction: Transaction, plan: _Plan) -> None:
    """Put the files into the transaction, first those of writes that are no commits: they are the latest."""
    for files in (plan.loose, plan.files):
        _Undo(collection, transaction, files).run()


def _loose_files(
    collection: Collection, writes: Mapping[Address, Sequence[tuple[Revision, Revision]]], chosen: _Choice
) -> Sequence[_File]:
    """The chosen files of writes that are no commits, by the steps of each."""
    files: list[_File] = []
    for address in filter(chosen.addresses.__contains__, writes):
        contents = [tuple(content_of(collection, address, revision) for revision in step) for step in writes[address]]
        taken = [(after, before) for before, after in contents]
        files.append(_File(address, address, stays=True, steps=taken, names={address}))
    return files


def _joined(writes: Sequence[RevisionPairs]) -> Mapping[Address, Sequence[tuple[Revision, Revision]]]:
    """The steps of each file, newest first. Steps that follow each other are one: texts between are not kept."""
    files: dict[Address, list[tuple[Revision, Revision]]] = {}
    for write in writes:
        for address, (before, after) in write.items():
            steps = files.setdefault(address, [])
            if steps and steps[-1][0] == after:
                steps[-1] = before, steps[-1][1]
            else:
                steps.append((before, after))
    return files


def changes_with_texts(collection: Collection, changes: Changes, written: RevisionPairs) -> Changes:
    """The changes of a commit, from the bytes that the files had: they can be text that no commit had.

    Of a file of which only a part was committed, as of pages whose links followed a move, that part counts.

    Args:
        collection: The collection.
        changes: The changes between the commit and its parent.
        written: What was recorded when the commit was made; {} if nothing was.

    Raises:
        NotFoundError: such text is not kept any more.
    """
    moved = {revision_of(after): after for _, after in changes.values() if after is not None}
    partial = _partial(changes, written)
    actual = dict(changes)
    for address, (old, _) in written.items():
        before, after = changes.get(address, (None, None))
        if address in partial or old == _revision(before):
            continue
        try:
            actual[address] = moved.get(old) or content_of(collection, address, old), after
        except NotFoundError:
            if not partial or after is not None:  # else it moved with text that stayed uncommitted
                raise
    return actual


def _partial(changes: Changes, written: RevisionPairs) -> set[Address]:
    """The files of which a commit has not all of the text that they were given."""
    texts = {address: _revisions(after) for address, (_, after) in changes.items()}
    return {address for address, (_, new) in written.items() if new and new not in texts.get(address, ())}


def _revision(content: bytes | None) -> Revision:
    return "" if content is None else revision_of(content)


def _revisions(content: bytes | None) -> Sequence[Revision]:
    """The revisions that a file of a committed text can have: as it is, and with the line ends of Windows."""
    return [] if content is None else [revision_of(content), revision_of(content.replace(b"\n", b"\r\n"))]


def content_of(collection: Collection, address: Address, revision: Revision) -> bytes | None:
    """The bytes of a file at a revision, which no commit need have; None for no file.

    Raises:
        NotFoundError: neither the folder, the trash, nor Git has them any more.
    """
    if not revision:
        return None
    content = current_bytes(collection, address)
    if content is not None and revision_of(content) == revision:
        return content
    trash = collection.store.trash
    for item in trash.items() if trash else ():
        if item.revision == revision:
            return trash.content(item) if trash else None
    try:
        return require_history(collection).store.history.read(address, revision)
    except KnowledgeError as error:
        raise NotFoundError(
            f"The text of {address} at that time is not kept any more.",
            kind="document",
            hint="Undo the other pages by naming them, or edit this one by hand.",
        ) from error


def _since(collection: Collection, commits: Sequence[str]) -> list[tuple[Commit, bool]]:
    """The commits from the latest to the oldest named one, and whether each is named."""
    references = dict.fromkeys(commit.lower() for commit in commits)
    log: list[tuple[Commit, bool]] = []
    while references and len(log) < MAX_SEARCHED:
        some = collection.store.history.log(None, limit=_STEP, offset=len(log))
        for commit in some:
            names = [
                reference
                for reference in references
                if len(reference) >= MIN_DIGITS and commit.id.startswith(reference)
            ]
            for name in names:
                del references[name]
            log.append((commit, bool(names)))
            if not references:
                break
        if len(some) < _STEP:
            break
    for reference in references:
        collection.store.history.changed(reference)  # says that it is a merge, or no revision
        raise NotFoundError(
            f"The latest {MAX_SEARCHED:,} commits of the current branch do not have "
            f"{shown_paths([reference[:64] for reference in references])}.",
            kind="revision",
            hint="Run commonplace activity, or commonplace log, to see the commits.",
        )
    return log


def _files(
    collection: Collection, log: Sequence[tuple[Commit, bool]], written: Mapping[str, RevisionPairs]
) -> tuple[Sequence[_File], Sequence[Address]]:
    """The files that the named commits changed and of which something is left, and addresses of which nothing is."""
    history = collection.store.history
    now: dict[Address, Address] = {}
    """The present address of each file that was moved since, by its address at the commit."""
    moved_by_others: set[Address] = set()
    undone: set[tuple[str, Address]] = set()
    """The commits that were undone since, each with the present address of a file in which it was."""
    files: dict[Address, _File] = {}
    gone: list[Address] = []
    for commit, is_named in log:
        renames = history.renames(commit.id)
        takes_back = () if is_named else undone_by(commit)
        changed = history.changed(commit.id) if is_named or takes_back else _NOTHING
        if is_named and commit.id in written:
            changed = changes_with_texts(collection, changed, written[commit.id])
        sources = set(renames.values())
        for address, (before, after) in changed.items():
            at, old = now.get(address, address), renames.get(address)
            if address in sources or (commit.id, at) in undone:
                gone += [address, at]
                continue
            undone |= {(other, at) for other in takes_back}
            if is_named:
                file = files.setdefault(at, _File(at, at, at in moved_by_others))
                former = changed[old][0] if old is not None and old in changed else before
                file.take(commit.id, (after, former), address, old)
        before_moves = {old: now.pop(new, new) for new, old in renames.items()}
        now |= before_moves
        if not is_named:
            moved_by_others |= set(before_moves.values())
            for at in files.keys() & set(before_moves.values()):
                files[at].stays = True
    return list(files.values()), gone


def not_undone(collection: Collection, commits: Sequence[str]) -> frozenset[str]:
    """The commits among these of which a file was not undone since, or is undone no more.

    All of them if they are not among the latest `MAX_SEARCHED` of the current branch.
    """
    try:
        files, _ = _files(collection, _since(collection, commits), {})
    except KnowledgeError:  # the branch was rewritten, or one is a merge
        return frozenset(commits)
    return frozenset(commit for file in files for commit in file.commits)


def undone_by(commit: Commit) -> Sequence[str]:
    """The commits that a commit takes back."""
    _, trailers = split_trailers(commit.message)
    return [line.removeprefix(UNDOES) for line in trailers if line.startswith(UNDOES)]


def not_changed(missing: Sequence[str], changed: Sequence[str]) -> NotChangedError:
    """The error for named pages that are not among the changed ones."""
    return NotChangedError(
        f"These writes did not change {shown_paths(missing)}.",
        kind="document",
        hint=f"They changed {shown_paths(changed)}.",
    )


class _Undo:
    """Takes files back, within a transaction."""

    def __init__(self, collection: Collection, transaction: Transaction, files: Sequence[_File]) -> None:
        self._collection = collection
        self._transaction = transaction
        self._files = files
        self._contents: dict[Address, bytes | None] = {}
        """The new bytes of each file by its present address."""
        self._conflicts: list[tuple[Address, TextConflict]] = []

    def run(self) -> None:
        """Put the files into the transaction.

        Raises:
            UndoConflictError: a file cannot be merged.
        """
        current = {file.now: self._read(file.now) for file in self._files}
        for file in self._files:
            self._contents[file.now] = self._taken_back(file, current[file.now])
        if self._conflicts:
            raise self._conflict()
        changed = [address for address, content in self._contents.items() if content != current[address]]
        for address in changed:
            self._put(address, self._contents[address])
        moves = {
            file.now: file.target
            for file in self._files
            if file.target != file.now and self._contents[file.now] is not None
        }
        if moves:
            self._move(moves, [address for address in changed if address.is_document])

    def _conflict(self) -> UndoConflictError:
        inside = {address for address, _ in self._conflicts}
        names = {name for file in self._files if file.now in inside for name in (file.now, *file.names)}
        places = tuple(("", address, conflict) for address, conflict in self._conflicts)
        return conflict_of(places, frozenset(("", name) for name in names))

    def _taken_back(self, file: _File, content: bytes | None) -> bytes | None:
        """A file without what the commits wrote."""
        for after, before in file.steps:
            merged = merged_text(self._collection, file.now, after, before, content, adjacent=True)
            if merged.conflicts:
                reason = _reason(file.now, (after, before, content))
                self._conflicts += [(file.now, replace(conflict, reason=reason)) for conflict in merged.conflicts]
                return content
            content = merged.content
        return content

    def _move(self, moves: Mapping[Address, Address], changed: Sequence[Address]) -> None:
        """Move files back. Lines as they were before the commits need no rewritten links; those of others do."""
        plan = plan_moves(self._collection, self._transaction, moves, changed)
        oldest = {file.now: file.steps[-1][1] for file in self._files}
        for old in plan.moves:
            self._transaction.remove(old, keep=False)
        for address, rewritten in plan.contents.items():
            source = plan.came_from.get(address, address)
            before, content = oldest.get(source), self._contents.get(source)
            final = rewritten if before is None or content is None else with_rewritten(before, content, rewritten)
            self._transaction.put(address, final, keep=True, moved_from=plan.came_from.get(address))
            self._transaction.commit_change_only(address)

    def _read(self, address: Address) -> bytes | None:
        return self._transaction.read(address) if self._transaction.exists(address) else None

    def _put(self, address: Address, content: bytes | None) -> None:
        if content is None:
            self._transaction.remove(address)
            return
        if address.is_document and not self._transaction.exists(address):
            require_free(self._collection, self._transaction, address, content)
        self._transaction.put(address, content, keep=True)
        self._transaction.commit_change_only(address)


def _words(plan: _Plan, recorded: RecordedForUndo) -> str:
    """The message of an undo: the commits that are taken back, else the number of writes that are no commits."""
    return _message(plan.commits) if plan.commits else f"Undo {amount(plan.loose_writes(recorded), 'write')}"


def _message(commits: Sequence[Commit]) -> str:
    subjects = [commit.message.partition("\n")[0] for commit in commits]
    trailers = [f"{UNDOES}{commit.id}" for commit in commits[:MAX_TRAILERS]]
    if len(commits) == 1:
        return StatedMessage(f"Undo: {subjects[0]}", *trailers)
    more = [f"- and {len(subjects) - MAX_LISTED:,} more"] if len(subjects) > MAX_LISTED else []
    lines = [f"- {subject}" for subject in subjects[:MAX_LISTED]]
    return StatedMessage("\n".join([f"Undo {len(commits):,} writes", "", *lines, *more]), *trailers)


def _reason(address: Address, sides: tuple[bytes | None, bytes | None, bytes | None]) -> str:
    """A sentence about the fate of a page that a write changed; "" if later writes changed lines of it."""
    after, before, content = sides
    if content is None:
        return f"{address} was deleted since."
    if after is None:
        return f"{address} was created anew since."
    return "" if before is not None else f"{address} was changed since it was created."


def joined_conflicts(errors: Sequence[UndoConflictError]) -> UndoConflictError:
    """The refusal of an undo in several collections."""
    conflicts = tuple(conflict for error in errors for conflict in error.conflicts)
    return conflict_of(conflicts, frozenset(file for error in errors for file in error.files))


def conflict_of(conflicts: UndoPlaces, files: frozenset[tuple[str, Address]]) -> UndoConflictError:
    """The refusal of an undo, with the places, and with every address that their files had."""
    places = [
        _place(base, f"{address}:{conflict.line}") for base, address, conflict in conflicts if not conflict.reason
    ]
    reasons = [_place(base, conflict.reason) for base, _, conflict in conflicts if conflict.reason]
    same = [f"Later writes changed the same places: {shown_paths(places)}."] if places else []
    error = UndoConflictError(
        f"{' '.join([*same, *reasons[:MAX_NAMED]])} Nothing was written.",
        kind="document",
        hint="Undo the other pages by naming them, undo the later writes first, or edit these places by hand.",
    )
    error.conflicts, error.files = conflicts, files
    names = ("undone", "without it", "now")
    error.changes = tuple(
        line for _, address, conflict in conflicts for line in conflict_lines(address, conflict, names)
    )
    return error


def _place(base: str, text: str) -> str:
    return f"{base}:{text}" if base else text
