"""Accepts, declines, amends and withdraws proposals, and selects the part of one that is accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, StatedMessage, committed_by, is_credit, split_trailers
from commonplace.domain.edits import lines_of
from commonplace.domain.errors import (
    ConflictError,
    ForbiddenError,
    GitError,
    InvalidInputError,
    NotFoundError,
    TooLargeError,
    UnavailableError,
)
from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import (
    TextConflict,
    with_rewritten,
    with_section,
    with_shared,
)
from commonplace.domain.ports import Transaction
from commonplace.domain.proposals import (
    AcceptedFiles,
    Proposal,
    ProposalBranches,
    ProposedChange,
    ProposedFile,
    Proposer,
    title_of,
)
from commonplace.domain.revisions import require_revision
from commonplace.services import writes
from commonplace.services.collections import Collection, Collections, merged_text
from commonplace.services.findings import MAX_NEW, new_findings
from commonplace.services.proposals.selection import AcceptedPart, AcceptRequest, select, shown_paths
from commonplace.services.proposals.served_files import ServedFile, served_file, with_sources
from commonplace.services.proposals.views import proposal_view, refusal_of, require_acceptable
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.documents import MAX_DOCUMENT_BYTES, index_written, require_free
from commonplace.services.writes.moves import MovePlan, plan_moves
from commonplace.services.writes.retries import on_latest

# Decisions on proposals: listing, showing, accepting, declining, withdrawing.
#
# Accepting merges each file three ways: what the proposer saw, what is proposed, and what is served now. A conflict is
# shown and never guessed. Moves are made again on what is served now, so that links written since follow them, too.


MAX_MESSAGE_LINES = 50
"""Maximum number of messages of single changes in the message of the commit that accepts them."""
MAX_CONFLICT_CHARS = 300
"""Maximum length in characters of a side of a conflict in an error."""


@dataclass(frozen=True, slots=True)
class FoundProposal:
    """A proposal and the collection that it would change."""

    collection: Collection
    proposal: Proposal

    @property
    def branches(self) -> ProposalBranches:
        """The proposals of the collection."""
        return branches_of(self.collection)


@dataclass(frozen=True, slots=True)
class FileConflict:
    """A place of a file that the proposal and a later write changed differently."""

    address: Address
    found: TextConflict
    now: Address | None = None
    """The page's address now, if others have moved it since."""


class ProposalConflictError(ConflictError):
    """A proposal cannot be accepted as it is; `conflicts` has the places."""

    conflicts: tuple[FileConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class AcceptReceipt:
    """The result of an acceptance."""

    proposal: Proposal
    """The proposal afterwards: closed, or open with what is left."""
    commit: str
    """The commit of the served branch; "" if nothing was committed."""
    branch: str = ""
    """The branch that was written, if the proposal began on another one; else ""."""
    written: tuple[Address, ...] = ()
    removed: tuple[Address, ...] = ()
    new_findings: tuple[NewFinding, ...] = ()
    left_out: tuple[str, ...] = ()
    """The paths of the proposal that cannot be accepted, so that it stays open."""


def branches_of(collection: Collection) -> ProposalBranches:
    """The proposals of a collection.

    Raises:
        InvalidInputError: kind "proposal": it takes none.
    """
    if collection.proposals is None:
        reason, hint = refusal_of(collection)
        raise InvalidInputError(f"{collection.name} has no proposals: {reason}.", kind="proposal", hint=hint)
    return collection.proposals.branches


def listed(
    collections: Collections, viewer: Proposer | None = None, *, closed: bool = False, page: Address | None = None
) -> list[FoundProposal]:
    """The proposals that a caller may see, newest first.

    Args:
        collections: The collections.
        viewer: The caller, who sees only the own ones; None for one who may see all.
        closed: Whether to list closed proposals instead of open ones.
        page: List only the open ones that change, move or delete this page.
    """
    proposals: list[FoundProposal] = []
    for collection in collections:
        if collection.proposals is None:
            continue
        branches = collection.proposals.branches
        every = branches.touching(page) if page else branches.closed() if closed else branches.listed()
        proposals += [
            FoundProposal(collection, proposal) for proposal in every if viewer is None or viewer.owns(proposal)
        ]
    return sorted(proposals, key=lambda proposal: (proposal.proposal.when, proposal.proposal.id), reverse=True)


def find(collections: Collections, identifier: str, viewer: Proposer | None = None) -> FoundProposal:
    """The proposal with an id. A caller who sees only own proposals is told that there is none.

    Raises:
        NotFoundError: kind "proposal".
        InvalidInputError: kind "proposal": none of the collections takes proposals.
        UnavailableError: a remote cannot be read now, so whether it has the proposal is not known.
    """
    able = [collection for collection in collections if collection.proposals is not None]
    for collection in collections.members[:1] if not able else ():
        branches_of(collection)
    for is_read in (False, True):
        for collection in able:
            if is_read:
                branches_of(collection).refresh()  # at a replica another server may have made it
            with suppress(NotFoundError):
                proposal = FoundProposal(collection, branches_of(collection).proposal(identifier))
                if viewer is None or viewer.owns(proposal.proposal):
                    return proposal
    raise NotFoundError(
        f"There is no proposal {identifier[:64]!r}.", kind="proposal", hint="List the proposals to see their ids."
    )


def accept(found_proposal: FoundProposal, request: AcceptRequest, person: Author | None = None) -> AcceptReceipt:
    """Write what is proposed: one commit by the proposer, committed by the one who accepts.

    The proposal is closed if nothing of it is left.

    Args:
        found_proposal: The proposal.
        request: What is accepted of it.
        person: Who accepts; None for whoever Git's configuration names.

    Raises:
        ProposalConflictError: later writes changed the same places. Nothing was written.
        InvalidInputError: kind "proposal": none of its paths can be accepted.
        NotFoundError: the proposal does not change a named page, or the page has no such section.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store. Nothing was written.
    """
    return on_latest(found_proposal.collection, lambda: _accepted(found_proposal, request, person))


def _accepted(found_proposal: FoundProposal, request: AcceptRequest, person: Author | None) -> AcceptReceipt:
    branches = found_proposal.branches
    with branches.locked():
        proposal = _current(found_proposal, request.tip)
        files = branches.files(proposal)
        left_out = branches.left_out(proposal)
        if left_out and not files:
            raise _not_acceptable(proposal, left_out)
        selection = select(found_proposal.collection, files, request)
        require_acceptable(found_proposal.collection, branches, selection.files)
        message = _message(proposal, branches.changes(proposal), selection)
        if len(selection.files) == len(files) and not selection.section and not left_out:
            message = StatedMessage(message, f"Proposal-Tip: {proposal.tip}")
        branch = branches.branch
        with (
            committed_by(person),
            found_proposal.collection.store.transaction(message, proposal.author) as transaction,
        ):
            merge = _Merge(found_proposal, transaction, selection)
            results = merge.run([file for file in files if file not in selection.files])
        receipt = transaction.receipt
        index_written(found_proposal.collection, sorted({*receipt.revisions, *receipt.removed}))
        after = _recorded(branches, proposal, merge.rest, receipt.commit, request.word, person)
    findings = _findings(found_proposal.collection, results, merge.moves)
    written = tuple(sorted(address for address, (_, new) in results.items() if new is not None))
    removed = tuple(sorted(address for address, (_, new) in results.items() if new is None))
    other = branch if proposal.branch not in {"", branch} else ""
    return AcceptReceipt(after, receipt.commit, other, written, removed, findings, tuple(left_out))


def _recorded(
    branches: ProposalBranches,
    proposal: Proposal,
    rest: AcceptedFiles,
    commit: str,
    word: str,
    person: Author | None,
) -> Proposal:
    """The proposal after files of it were written: closed if nothing of it is left; needs the lock.

    Raises:
        UnavailableError, GitError: it could not be recorded. The message says that the files were written.
    """
    try:
        if _is_left(branches, proposal, rest):
            return branches.settle(proposal, rest, commit)
        return branches.close(proposal, "accepted", word, commit, person)
    except (UnavailableError, GitError) as error:
        now = branches.proposal(proposal.id)
        if now.state != "open":  # another server closed it, or the commit of the acceptance tells what it was
            return now
        if now.tip == proposal.tip:
            raise _written(error, now, commit) from error
    return _recorded(branches, now, _with_later(branches, proposal, now, rest), commit, word, person)


def _is_left(branches: ProposalBranches, proposal: Proposal, rest: AcceptedFiles) -> bool:
    if any(base != stays for base, stays in rest.values()) or branches.left_out(proposal):
        return True
    return any(file.address not in rest for file in branches.files(proposal))


def _with_later(branches: ProposalBranches, before: Proposal, now: Proposal, rest: AcceptedFiles) -> AcceptedFiles:
    """The rest after another server changed the proposal meanwhile: what was added to a file since stays proposed."""
    then, later = ({file.address: file.proposed for file in branches.files(row)} for row in (before, now))
    changed = {address for address in rest if address in later and later[address] != then.get(address)}
    return {
        address: (base, branches.content(later[address]) if address in changed else stays)
        for address, (base, stays) in rest.items()
    }


def _written(error: UnavailableError | GitError, proposal: Proposal, commit: str) -> UnavailableError | GitError:
    """The error if the files were written, and the proposal could not be closed."""
    written = f"What was accepted is written{f' as commit {commit[:12]}' if commit else ''}"
    return type(error)(
        f"{written}, but the proposal {proposal.id} still waits: {error}",
        kind=error.kind,
        hint="Accept it again when the remote answers: nothing is written twice.",
    )


def decline(found_proposal: FoundProposal, word: str, person: Author | None = None, tip: str = "") -> Proposal:
    """Close a proposal without writing it. The proposer reads the word.

    Raises:
        ForbiddenError: kind "limit": the caller could not accept it.
    """
    with found_proposal.branches.locked():
        proposal = _current(found_proposal, tip)
        require_acceptable(found_proposal.collection, found_proposal.branches, proposal)
        return found_proposal.branches.close(proposal, "declined", word, author=person)


def withdraw(proposal: FoundProposal, proposer: Proposer) -> Proposal:
    """Take back an own proposal.

    Raises:
        ForbiddenError: it is somebody else's.
    """
    if not proposer.owns(proposal.proposal):
        raise ForbiddenError(
            "A proposal is withdrawn by its proposer.", kind="proposal", hint="Decline it, with a word to the proposer."
        )
    with proposal.branches.locked():
        return proposal.branches.close(_current(proposal), "withdrawn")


def amend(proposal: FoundProposal, proposer: Proposer) -> Proposal:
    """Let the proposer's next writes of this session go to an own proposal.

    Raises:
        ForbiddenError: it is somebody else's.
    """
    if not proposer.owns(proposal.proposal):
        raise ForbiddenError(
            "Only the proposer amends a proposal over this way.", kind="proposal", hint="Propose anew."
        )
    with proposal.branches.locked():
        return proposal.branches.take_up(_current(proposal), proposer)


def write_page(proposal: FoundProposal, address: Address, text: bytes, message: str = "") -> Proposal:
    """Write a page into a proposal, in the name of its proposer.

    Raises:
        ConflictError: the proposal is no longer open.
        ForbiddenError: kind "limit": the caller could not accept the proposal.
        KnowledgeError: an error of any write.
    """
    require_acceptable(proposal.collection, proposal.branches, _current(proposal))
    with proposal_view(proposal.collection, proposal.proposal) as proposed:
        write = writes.replace if proposed.store.stat(address) is not None else writes.create
        write(proposed, address, text, WriteRequest(message=message, author=proposal.proposal.author))
    return proposal.branches.proposal(proposal.proposal.id)


_NO_MOVES = MovePlan({}, {}, frozenset())


class _Merge:
    """Merges the files of a proposal into what is served, within a transaction."""

    def __init__(self, proposal: FoundProposal, transaction: Transaction, selection: AcceptedPart) -> None:
        self._found = proposal
        self._collection = proposal.collection
        self._branches = proposal.branches
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
        self.moves = moves = self._moves(by_address)
        plan = plan_moves(self._collection, self._transaction, moves) if moves else _NO_MOVES
        merged: dict[Address, bytes | None] = {}
        for file in with_sources(files):
            target, content = self._merged_file(file, plan)
            if target in merged or target in by_address.keys() - {file.address}:
                self._conflict(file, ServedFile(target, None, content, self._read(target), meets=True))
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
        exists = self._transaction.exists
        stated = {file.moved_from: file.address for file in files.values() if file.moved_from in files}
        return {old: new for old, new in stated.items() if old and exists(old) and not exists(new)}

    def _merged_file(self, file: ProposedFile, plan: MovePlan) -> tuple[Address, bytes | None]:
        """The address at which a file of `with_sources` is written, and its bytes with what is accepted; None for none."""
        address = file.address
        base, whole, proposed = self._sides(file)
        served = served_file(self._collection, file, base, proposed, self._read)
        target = served.target(file)
        if address in self._selection.final:
            content = self._selection.final[address]
            if content is not None:
                self._require_seen(served)
            self.rest[address] = content, content
            return target, content
        self.rest[address] = proposed, whole if self._selection.section else proposed
        if served.base is not None and served.current is not None and target in plan.contents:
            served = replace(served, current=with_rewritten(served.base, served.current, plan.contents[target]))
        return target, self._conflict(file, served)

    def _conflict(self, file: ProposedFile, served: ServedFile) -> bytes | None:
        """The merged bytes of a file; the places where it cannot be merged are noted."""
        merged = served.merged(self._collection, file)
        now = served.address if served.address not in {file.address, file.moved_from} else None
        self._conflicts += [FileConflict(file.address, conflict, now) for conflict in merged.conflicts]
        return merged.content

    def _left_place(self, file: ProposedFile) -> bytes | None:
        """The bytes at the old address of a move that cannot be made again: none, unless the page was changed since."""
        base, current = self._branches.content(file.base), self._read(file.address)
        if file.address in self._selection.final or current is None:
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
            require_revision(current, seen)
        elif seen is not None and (seen or current is not None):
            raise ConflictError(
                f"The page {served.address.id!r} was {'deleted' if seen else 'created'} since its text was written.",
                kind="document",
                hint="Look at it as it is now, then decide.",
            )

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


def require_open(proposal: FoundProposal) -> None:
    """Check that a proposal still waits for a decision.

    Raises:
        ConflictError: it was accepted, declined or withdrawn.
    """
    _current(proposal)


def _current(proposal: FoundProposal, tip: str = "") -> Proposal:
    """The proposal as it is now; needs the lock.

    Raises:
        ConflictError: it is no longer as the person saw it, or no longer open.
    """
    now = proposal.branches.proposal(proposal.proposal.id)
    if now.state != "open":
        raise ConflictError(
            f"The proposal {now.id} was {now.state} already.", kind="proposal", hint="Show it to see what became of it."
        )
    if tip and not (len(tip) >= 7 and now.tip.startswith(tip)):  # noqa: PLR2004 - digits of an abbreviated commit
        raise ConflictError(
            f"The proposal {now.id} was amended since it was shown.",
            kind="proposal",
            hint="Show it again, then decide.",
        )
    return now


def _message(proposal: Proposal, changes: Sequence[ProposedChange], selection: AcceptedPart) -> str:
    """The message of the commit that accepts changes: that of the only one, else a list; with whom all of them credit.

    Other trailers of a proposal are words of whoever proposed.
    """
    accepted = [change for change in changes if change.files & selection.addresses] or changes
    parts = [split_trailers(change.message) for change in accepted]
    texts = list(dict.fromkeys(text for text, _ in parts)) or [proposal.title]
    trailers = dict.fromkeys(line for _, lines in parts for line in lines)
    subjects = list(dict.fromkeys(text.partition("\n")[0] for text in texts))
    text = texts[0]
    if len(texts) > 1:
        lines = [f"- {subject}" for subject in subjects[:MAX_MESSAGE_LINES]]
        text = "\n".join([title_of(proposal.proposer.purpose, subjects[0], len(subjects) - 1), "", *lines])
    words = [line for line in trailers if not is_credit(line)]
    text = "\n\n".join(filter(None, [text, "\n".join(words)]))
    crediting = [line for line in trailers if line not in words]
    return StatedMessage(text, *crediting, f"Proposal: {proposal.id}")


def _conflict(conflicts: Sequence[FileConflict]) -> ProposalConflictError:
    places = [f"{conflict.address}:{conflict.found.line}" for conflict in conflicts]
    page = conflicts[0].address.path
    moved = {conflict.address.path: conflict.now.path for conflict in conflicts if conflict.now}
    now = "".join(f" {old} was moved since: the page is {new} now." for old, new in list(moved.items())[:10])
    error = ProposalConflictError(
        f"The proposal and later writes changed the same places: {', '.join(places[:10])}.{now} Nothing was written.",
        kind="proposal",
        hint=f"Write the final text of {page}, then accept it with that text{_where(conflicts[0])}. Or accept the "
        "other pages, or have it amended.",
    )
    error.conflicts = tuple(conflicts)
    error.changes = tuple(line for conflict in conflicts for line in conflict_lines(conflict.address, conflict.found))
    return error


def _where(conflict: FileConflict) -> str:
    """Where a final text lands, if that is not where the proposal has the page."""
    if conflict.now is None:
        return ""
    return f": the page stays {conflict.now.path}. Or move that to {conflict.address.path} first, then accept"


def _not_acceptable(proposal: Proposal, left_out: Sequence[str]) -> InvalidInputError:
    return InvalidInputError(
        f"Nothing of the proposal {proposal.id} can be accepted: {shown_paths(left_out)}.",
        kind="proposal",
        hint="These are links, submodules, or files of other folders. Merge its branch with Git, or decline it.",
    )


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


def _findings(
    collection: Collection,
    results: Mapping[Address, tuple[bytes | None, bytes | None]],
    moves: Mapping[Address, Address],
) -> tuple[NewFinding, ...]:
    """The findings that an acceptance newly causes. A moved page is compared with itself at its old address."""
    collections = Collections(lambda: [collection])
    came_from = {new: old for old, new in moves.items() if new in results and old in results}
    findings: dict[tuple[str, str, str], NewFinding] = {}
    for address, (before, after) in results.items():
        if address in came_from.values():
            continue
        old = came_from.get(address)
        contents = (results[old][0] if old else before), after
        for finding in new_findings(collections, collection, address, contents, old):
            findings[finding.path, finding.rule, finding.message] = finding
    return tuple(findings.values())[:MAX_NEW]
