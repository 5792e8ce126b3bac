"""Merges what is accepted of a proposal into what is served now, within a transaction. A conflict is never guessed.

Moves are made again on what is served, so that links written since follow them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.edits import lines_of
from commonplace.domain.errors import ConflictError, KnowledgeError, TooLargeError
from commonplace.domain.merge import TextConflict, with_rewritten, with_section, with_shared
from commonplace.domain.ports import Transaction
from commonplace.domain.proposals import ProposedFile
from commonplace.domain.revisions import require_revision
from commonplace.services.collections import merged_text
from commonplace.services.proposals.selection import MAX_NAMED, AcceptedPart
from commonplace.services.proposals.served_files import ServedFile, ServedFiles, place_taken, with_sources
from commonplace.services.writes.documents import MAX_DOCUMENT_BYTES, require_free
from commonplace.services.writes.moves import MovePlan, plan_moves

MAX_CONFLICT_CHARS = 300
"""Maximum length in characters of a side of a conflict in an error."""


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A place of a file that the proposal and a later write changed differently."""

    address: Address
    found: TextConflict
    now: Address | None = None
    """The page's address now, if others have moved it since."""


@dataclass(frozen=True, slots=True)
class AcceptedBytes:
    """The bytes that an acceptance writes."""

    results: Mapping[Address, tuple[bytes | None, bytes | None]]
    """Old and new bytes of each file that differs; None for no file."""
    moves: Mapping[Address, Address]
    """New address by old address of the moves that are made again."""

    def pages(self) -> Iterator[tuple[Address, tuple[bytes | None, bytes | None], Address | None]]:
        """Each file, its old and new bytes, and its old address; a moved one has the old bytes of that place."""
        came_from = {new: old for old, new in self.moves.items() if new in self.results and old in self.results}
        for address, (before, after) in self.results.items():
            if address not in came_from.values():
                old = came_from.get(address)
                yield address, ((self.results[old][0] if old else before), after), old


class ProposalConflictError(ConflictError):
    """A proposal cannot be accepted as it is; `conflicts` has the places."""

    conflicts: tuple[FileConflict, ...] = ()


_NO_MOVES = MovePlan({}, {}, frozenset())


class AcceptanceMerge:
    """Merges the files of a proposal into what is served, within a transaction."""

    def __init__(self, served: ServedFiles, transaction: Transaction, selection: AcceptedPart) -> None:
        self._served = served
        self._collection = served.collection
        self._branches = served.branches
        self._transaction = transaction
        self._selection = selection
        self._before: dict[Address, bytes | None] = {}
        """The bytes of each file that were served."""
        self._conflicts: list[FileConflict] = []
        self.rest: dict[Address, tuple[bytes | None, bytes | None]] = {}
        """The new base of each file of the proposal, and what stays proposed."""
        self.moves: Mapping[Address, Address] = {}
        """New address by old address of the moves that are made again."""

    def run(self, waiting: Sequence[ProposedFile]) -> dict[Address, tuple[bytes | None, bytes | None]]:
        """Put the merged files into the transaction; returns old and new bytes of what differs.

        Moves are planned on what is served, so that links that were written since follow them. The lines that the
        proposer saw are as proposed: their links follow already.

        Args:
            waiting: The files of the proposal that are not accepted.

        Raises:
            ProposalConflictError: a file cannot be merged.
        """
        files = self._selection.files
        by_address = {file.address: file for file in files}
        self.moves = self._served.own_moves = moves = self._moves(by_address)
        plan = plan_moves(self._collection, self._transaction, moves) if moves else _NO_MOVES
        merged: dict[Address, bytes | None] = {}
        for file in with_sources(files):
            target, content = self._merged_file(file, plan)
            if target in merged or target in by_address.keys() - {file.address}:
                sides = b"", content or b"", self._read(target) or b""
                conflict = TextConflict(1, *sides, *place_taken(target, file.address))
                self._conflicts.append(FileConflict(file.address, conflict, target))
            merged[target] = content
        sources = by_address.keys() & {file.moved_from for file in files}
        merged |= {old: self._left_place(by_address[old]) for old in sorted(sources - moves.keys())}
        self.rest |= dict.fromkeys(sources, (None, None))
        if self._conflicts:
            raise _conflict(self._conflicts)
        for old in moves:
            self._before.setdefault(old, self._read(old))
            self._transaction.remove(old, keep=False)
        for address, content in {**plan.contents, **merged}.items():
            self._put(address, content, plan.came_from.get(address))
            if address not in plan.came and content == plan.contents.get(address):  # only its links follow
                self._transaction.commit_change_only(address)
        for file in waiting:
            if file.address in plan.contents:
                self._take_links(file)
        results = {address: (before, self._read(address)) for address, before in self._before.items()}
        return {address: (old, new) for address, (old, new) in results.items() if old != new}

    def _moves(self, files: Mapping[Address, ProposedFile]) -> dict[Address, Address]:
        """New address by old address of the moves that can be made on what is served now."""
        if self._selection.section:
            return {}
        stated = {file.moved_from: file.address for file in files.values() if file.moved_from in files}
        return {
            old: new
            for old, new in stated.items()
            if old and self._is_there(files[old]) and not self._transaction.exists(new)
        }

    def _is_there(self, file: ProposedFile) -> bool:
        return self._served.is_there(file, file.address, self._read(file.address))

    def _merged_file(self, file: ProposedFile, plan: MovePlan) -> tuple[Address, bytes | None]:
        """The address at which a file of `with_sources` is written, and its new bytes; None for no file."""
        address = file.address
        base, whole, proposed = self._sides(file)
        served = self._served.of(file, base, proposed, self._read)
        target = served.target(file)
        if address in self._selection.final:
            content = self._selection.final[address]
            if content is not None:
                self._require_seen(served)
            self.rest[address] = content, content
            return target, content
        self.rest[address] = proposed, whole if self._selection.section else proposed
        if base is not None and served.current is not None and target in plan.contents:
            served = replace(served, current=with_rewritten(base, served.current, plan.contents[target]))
        return target, self._conflict(file, served)

    def _conflict(self, file: ProposedFile, served: ServedFile) -> bytes | None:
        """The merged bytes of a file; the places where it cannot be merged are noted."""
        merged = served.merged(self._collection, file)
        now = served.address if served.is_elsewhere(file) else None
        self._conflicts += [FileConflict(file.address, conflict, now) for conflict in merged.conflicts]
        return merged.content

    def _left_place(self, file: ProposedFile) -> bytes | None:
        """The bytes at the old address of a move that cannot be made again: none, unless the page was changed since."""
        base, current = self._branches.content(file.base), self._read(file.address)
        if not self._is_there(file):
            return current
        if file.address in self._selection.final:
            return None
        merged = merged_text(self._collection, file.address, base, None, current)
        self._conflicts += [FileConflict(file.address, conflict) for conflict in merged.conflicts]
        return merged.content

    def _require_seen(self, served: ServedFile) -> None:
        """Check that a final text was written over the page that is served.

        Raises:
            ConflictError: it has changed since.
        """
        seen, current = self._selection.seen, served.current
        if seen and current is not None:
            if not self._was_at(served.address, seen, current):
                require_revision(current, seen)
        elif seen is not None and (seen or current is not None):
            raise ConflictError(
                f"The page {served.address.id!r} was {'deleted' if seen else 'created'} since its text was written.",
                kind="document",
                hint="Look at it as it is now, then decide.",
            )

    def _was_at(self, address: Address, commit: str, current: bytes) -> bool:
        """Whether the page was the same at a commit, which the REST API gives as the revision of a page."""
        with suppress(KnowledgeError):
            return self._collection.store.history.read(address, commit) == current
        return False

    def _sides(self, file: ProposedFile) -> tuple[bytes | None, bytes | None, bytes | None]:
        """The base, all that is proposed, and what is accepted of it: all, or one section."""
        base, whole = self._branches.content(file.base), self._branches.content(file.proposed)
        section = self._selection.section
        return base, whole, with_section(file.address, base, whole, section) if section else whole

    def _take_links(self, file: ProposedFile) -> None:
        """Record that the links of a page that still waits were accepted with the move of their target."""
        base, proposed = self._branches.content(file.base), self._branches.content(file.proposed)
        current = self._read(file.address)
        if base is not None and proposed is not None and current is not None:
            shared = with_shared(base, proposed, current)
            if shared != base:
                self.rest[file.address] = shared, proposed

    def _read(self, address: Address) -> bytes | None:
        return self._transaction.read(address) if self._transaction.exists(address) else None

    def _put(self, address: Address, content: bytes | None, moved_from: Address | None = None) -> None:
        """Create, replace or remove a file, unless it is so already.

        Raises:
            AlreadyExistsError: a new page differs from an existing one only in case.
            TooLargeError: the merged page is too large.
        """
        current = self._read(address)
        if content == current:
            return
        self._before.setdefault(address, current)
        if content is None:
            self._transaction.remove(address)
            return
        if len(content) > MAX_DOCUMENT_BYTES:
            raise TooLargeError(
                f"{address} would have {len(content):,} bytes; the limit is {MAX_DOCUMENT_BYTES:,}.",
                kind="document",
                hint="Accept the other pages, and have that one split.",
            )
        if current is None and address.is_document and moved_from is None:
            require_free(self._collection, self._transaction, address, content)
        self._transaction.put(address, content, keep=True, moved_from=moved_from)


def _conflict(conflicts: Sequence[FileConflict]) -> ProposalConflictError:
    error = ProposalConflictError(
        f"{' '.join(_sentences(conflicts))} Nothing was written.",
        kind="proposal",
        hint=f"{_advice(conflicts[0])} Or accept the other pages, or have it amended.",
    )
    error.conflicts = tuple(conflicts)
    error.changes = tuple(line for conflict in conflicts for line in conflict_lines(conflict.address, conflict.found))
    return error


def _sentences(conflicts: Sequence[FileConflict]) -> Iterator[str]:
    """Sentences about what cannot be merged: the places in which lines meet, and what became of pages."""
    lines = [conflict for conflict in conflicts if not conflict.found.reason]
    if lines:
        places = [f"{conflict.address}:{conflict.found.line}" for conflict in lines]
        yield f"The proposal and later writes changed the same places: {', '.join(places[:MAX_NAMED])}."
    moved = {conflict.address: conflict.now for conflict in lines if conflict.now}
    yield from [f"{old} was moved since: the page is {new} now." for old, new in moved.items()][:MAX_NAMED]
    yield from [conflict.found.reason for conflict in conflicts if conflict.found.reason][:MAX_NAMED]


def _advice(conflict: FileConflict) -> str:
    """Advice about the first conflict."""
    if conflict.found.hint:
        return conflict.found.hint
    stays = f": the page stays {conflict.now}" if conflict.now else ""
    return f"Write the final text of {conflict.address}, then accept it with that text{stays}."


def conflict_lines(
    address: Address, conflict: TextConflict, names: Sequence[str] = ("was", "proposed", "now")
) -> list[str]:
    """The place of a conflict and its three sides, for people, each with its name."""
    lines = [f"{address}:{conflict.line}"]
    for name, text in zip(names, (conflict.base, conflict.proposed, conflict.current), strict=True):
        shown = text.decode("utf-8", "replace")
        cut = shown if len(shown) <= MAX_CONFLICT_CHARS else f"{shown[:MAX_CONFLICT_CHARS]}..."
        lines += [f"  {name}: {line}" for line in (lines_of(cut) or ["(nothing)"])]
    return lines
