"""Decisions on proposals: listing, showing, accepting, declining, withdrawing.

Accepting merges each file three ways: what the proposer saw, what is proposed, and what is served now. A conflict is
shown and never guessed. Moves are made again on what is served now, so that links written since follow them, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import Author
from commonplace.domain.document_reader import find_section, read_document
from commonplace.domain.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    TooLargeError,
)
from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import Hunk, TextConflict, applied, hunks, merge_texts, split_lines, with_rewritten
from commonplace.domain.ports import Transaction
from commonplace.domain.proposals import Proposal, ProposalBranches, ProposedFile, Proposer
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import MAX_NEW, new_findings
from commonplace.services.proposals.views import proposal_view, refusal_of
from commonplace.services.writes.documents import MAX_DOCUMENT_BYTES, index_written, require_free
from commonplace.services.writes.moves import MovePlan, plan_moves

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


class ProposalConflictError(ConflictError):
    """A proposal cannot be accepted as it is; `conflicts` has the places."""

    conflicts: tuple[FileConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file of a proposal, for the person who decides."""

    file: ProposedFile
    diff: str
    """Unified diff from the base to what is proposed; "" for a file that is not text."""
    conflicts: tuple[TextConflict, ...]
    new_findings: tuple[NewFinding, ...]
    """Errors and warnings that it would cause, broken links of other pages among them."""
    mended: tuple[NewFinding, ...]
    """Errors and warnings that it would end."""


@dataclass(frozen=True, slots=True)
class ProposalReport:
    """A proposal in full."""

    proposal: Proposal
    messages: Sequence[str]
    files: Sequence[FileReport]


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptRequest:
    """The part of a proposal that a person accepts."""

    pages: tuple[str, ...] = ()
    """Paths of the files to accept; () for all."""
    section: str = ""
    """Heading of the one section to accept, of the one page that is named; "" for the whole pages."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text that is written in the place of the proposed one, by path."""
    word: str = ""
    """Words to the proposer."""
    tip: str = ""
    """Commit of the proposal that the person saw; "" for whatever it is now."""


@dataclass(frozen=True, slots=True)
class AcceptReceipt:
    """The result of an acceptance."""

    proposal: Proposal
    """The proposal afterwards: closed, or open with what is left."""
    commit: str
    """The commit of the served branch; "" if nothing was committed."""
    written: tuple[Address, ...] = ()
    removed: tuple[Address, ...] = ()
    new_findings: tuple[NewFinding, ...] = ()


def branches_of(collection: Collection) -> ProposalBranches:
    """The proposals of a collection.

    Raises:
        InvalidInputError: kind "proposal": it takes none.
    """
    if collection.proposals is None:
        reason, hint = refusal_of(collection)
        raise InvalidInputError(f"{collection.name} has no proposals: {reason}.", kind="proposal", hint=hint)
    return collection.proposals.branches


def listed(collections: Collections, viewer: Proposer | None = None, *, closed: bool = False) -> list[FoundProposal]:
    """The proposals that a caller may see, newest first.

    Args:
        collections: The collections.
        viewer: The caller, who sees only the own ones; None for one who may see all.
        closed: Whether to list closed proposals instead of open ones.
    """
    found: list[FoundProposal] = []
    for collection in collections:
        if collection.proposals is None:
            continue
        branches = collection.proposals.branches
        every = branches.closed() if closed else branches.listed()
        found += [FoundProposal(collection, one) for one in every if viewer is None or viewer.owns(one)]
    return sorted(found, key=lambda one: (one.proposal.when, one.proposal.id), reverse=True)


def find(collections: Collections, identifier: str, viewer: Proposer | None = None) -> FoundProposal:
    """The proposal with an id. A caller who sees only own proposals is told that there is none.

    Raises:
        NotFoundError: kind "proposal".
        InvalidInputError: kind "proposal": none of the collections takes proposals.
    """
    able = [one for one in collections if one.proposals is not None]
    if not able:
        branches_of(collections.members[0])
    for collection in able:
        try:
            found = FoundProposal(collection, branches_of(collection).proposal(identifier))
        except NotFoundError:
            continue
        if viewer is None or viewer.owns(found.proposal):
            return found
    raise NotFoundError(
        f"There is no proposal {identifier[:64]!r}.", kind="proposal", hint="List the proposals to see their ids."
    )


def report(collections: Collections, found: FoundProposal) -> ProposalReport:
    """A proposal in full: its changes, and what these would cause."""
    branches = found.branches
    files = branches.files(found.proposal)
    messages = branches.messages(found.proposal)
    if found.proposal.state != "open":
        return ProposalReport(found.proposal, messages, [_plain_report(branches, one) for one in files])
    with proposal_view(found.collection, found.proposal) as after:
        reports = [_file_report(collections, found.collection, after, branches, one) for one in files]
    return ProposalReport(found.proposal, messages, reports)


def accept(found: FoundProposal, request: AcceptRequest, author: Author | None = None) -> AcceptReceipt:
    """Write what is proposed: one commit by the proposer, committed by the one who accepts.

    The proposal is closed if nothing of it is left.

    Raises:
        ProposalConflictError: later writes changed the same places. Nothing was written.
        NotFoundError: the proposal does not change a named page, or the page has no such section.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store. Nothing was written.
    """
    branches = found.branches
    with branches.locked():
        proposal = _current(found, request.tip)
        files = _chosen(branches.files(proposal), request)
        with found.collection.store.transaction(_message(branches, proposal), proposal.author) as transaction:
            merge = _Merge(found.collection, branches, transaction, request)
            results = merge.run(files)
        receipt = transaction.receipt
        index_written(found.collection, sorted({*receipt.revisions, *receipt.removed}))
        left = [one for one in branches.files(proposal) if one.address not in merge.rest]
        if left or any(base != rest for base, rest in merge.rest.values()):
            after = branches.settle(proposal, merge.rest)
        else:
            after = branches.close(proposal, "accepted", request.word, receipt.commit, author)
    findings = _findings(Collections(lambda: [found.collection]), found.collection, results)
    written = tuple(sorted(one for one, (_, new) in results.items() if new is not None))
    removed = tuple(sorted(one for one, (_, new) in results.items() if new is None))
    return AcceptReceipt(after, receipt.commit, written, removed, findings)


def decline(found: FoundProposal, word: str, author: Author | None = None) -> Proposal:
    """Close a proposal without writing it. The proposer reads the word."""
    with found.branches.locked():
        return found.branches.close(_current(found), "declined", word, author=author)


def withdraw(found: FoundProposal, proposer: Proposer) -> Proposal:
    """Take back an own proposal.

    Raises:
        ForbiddenError: it is somebody else's.
    """
    if not proposer.owns(found.proposal):
        raise ForbiddenError(
            "A proposal is withdrawn by its proposer.", kind="proposal", hint="Decline it, with a word to the proposer."
        )
    with found.branches.locked():
        return found.branches.close(_current(found), "withdrawn")


def amend(found: FoundProposal, proposer: Proposer) -> Proposal:
    """Let the proposer's next writes of this session go to an own proposal.

    Raises:
        ForbiddenError: it is somebody else's.
    """
    if not proposer.owns(found.proposal):
        raise ForbiddenError(
            "Only the proposer amends a proposal over this way.", kind="proposal", hint="Propose anew."
        )
    with found.branches.locked():
        return found.branches.take_up(_current(found), proposer)


_NO_MOVES = MovePlan({}, {}, frozenset())


class _Merge:
    """Merges the files of a proposal into what is served, within a transaction."""

    def __init__(
        self, collection: Collection, branches: ProposalBranches, transaction: Transaction, request: AcceptRequest
    ) -> None:
        self._collection = collection
        self._branches = branches
        self._transaction = transaction
        self._request = request
        self._before: dict[Address, bytes | None] = {}
        """The bytes of each file that were served."""
        self._conflicts: list[FileConflict] = []
        self.rest: dict[Address, tuple[bytes | None, bytes | None]] = {}
        """The new base of each file of the proposal, and what stays proposed."""

    def run(self, files: Sequence[ProposedFile]) -> dict[Address, tuple[bytes | None, bytes | None]]:
        """Put the merged files into the transaction; returns old and new bytes of what differs.

        Moves are planned on what is served, so that links that were written since follow them. The lines that the
        proposer saw are as proposed: their links follow already.

        Raises:
            ProposalConflictError: a file cannot be merged.
        """
        by_address = {one.address: one for one in files}
        moves = self._moves(by_address)
        plan = plan_moves(self._collection, self._transaction, moves) if moves else _NO_MOVES
        merged = {one.address: self._merged_file(one, by_address, plan) for one in files if one.address not in moves}
        self.rest |= dict.fromkeys(moves, (None, None))
        if self._conflicts:
            raise _conflict(self._conflicts)
        for old in moves:
            self._before.setdefault(old, self._read(old))
            self._transaction.remove(old, keep=False)
        for address, content in {**plan.contents, **merged}.items():
            self._put(address, content, plan.came_from.get(address))
        results = {one: (before, self._read(one)) for one, before in self._before.items()}
        return {one: (old, new) for one, (old, new) in results.items() if old != new}

    def _moves(self, files: Mapping[Address, ProposedFile]) -> dict[Address, Address]:
        """New address by old address of the moves that can be made on what is served now."""
        if self._request.section:
            return {}
        exists = self._transaction.exists
        stated = {one.moved_from: one.address for one in files.values() if one.moved_from in files}
        return {old: new for old, new in stated.items() if old and exists(old) and not exists(new)}

    def _merged_file(self, file: ProposedFile, files: Mapping[Address, ProposedFile], plan: MovePlan) -> bytes | None:
        """A file with what is accepted of it, on top of what is served; None for none."""
        address = file.address
        source = plan.came_from.get(address, address)
        base, whole, proposed = self._sides(file)
        self.rest[address] = proposed, whole if self._request.section else proposed
        if source != address:
            base = self._branches.content(files[source].base)
        current = self._read(source)
        if base is not None and current is not None and address in plan.contents:
            current = with_rewritten(base, current, plan.contents[address])
        merged = merge_texts(base, proposed, current)
        self._conflicts += [FileConflict(address, one) for one in merged.conflicts]
        return merged.content

    def _sides(self, file: ProposedFile) -> tuple[bytes | None, bytes | None, bytes | None]:
        """The base, all that is proposed, and what is accepted of it: all, one section, or the person's own text."""
        base, whole = self._branches.content(file.base), self._branches.content(file.proposed)
        edited = self._request.texts.get(file.address.path)
        if edited is not None:
            return base, whole, edited.encode()
        section = self._request.section
        return base, whole, _with_section(file.address, base, whole, section) if section else whole

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


def require_open(found: FoundProposal) -> None:
    """Check that a proposal still waits for a decision.

    Raises:
        ConflictError: it was accepted, declined or withdrawn.
    """
    _current(found)


def _current(found: FoundProposal, tip: str = "") -> Proposal:
    """The proposal as it is now; needs the lock.

    Raises:
        ConflictError: it is no longer as the person saw it, or no longer open.
    """
    now = found.branches.proposal(found.proposal.id)
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


def _chosen(files: Sequence[ProposedFile], request: AcceptRequest) -> list[ProposedFile]:
    """The files that are accepted. With a moved file goes the one whose place it takes.

    Raises:
        InvalidInputError: a section of other than one page is named.
        NotFoundError: the proposal does not change a named page.
    """
    by_path = {one.address.path: one for one in files}
    wanted = [parse_address(page).path for page in (*request.pages, *request.texts)]
    wanted = [page if page in by_path or f"{page}.md" not in by_path else f"{page}.md" for page in wanted]
    missing = [page for page in wanted if page not in by_path]
    if missing:
        raise NotFoundError(
            f"The proposal does not change {missing[0]!r}.",
            kind="document",
            hint=f"It changes {', '.join(list(by_path)[:10])}.",
        )
    if request.section and len(wanted) != 1:
        raise InvalidInputError(
            "A section is accepted of one page.", kind="section", hint="Name that page, and the section's heading."
        )
    if not request.pages:
        return list(files)
    taken = set(wanted)
    for one in files:
        if one.moved_from and {one.address.path, one.moved_from.path} & taken:
            taken |= {one.address.path, one.moved_from.path}
    return [one for one in files if one.address.path in taken]


def _with_section(address: Address, base: bytes | None, proposed: bytes | None, section: str) -> bytes:
    """The base with the proposed changes in one section.

    Raises:
        NotFoundError: neither version has the section.
        InvalidInputError: the page is new or deleted.
    """
    if base is None or proposed is None:
        raise InvalidInputError(
            f"{address} is new or deleted in this proposal, so it is accepted as a whole.",
            kind="section",
            hint="Accept the page without a section.",
        )
    spans = [_lines_of_section(address, raw, section) for raw in (base, proposed)]
    if spans == [None, None]:
        raise NotFoundError(
            f"{address} has no section {section!r}.", kind="section", hint="Give a heading as it stands in the page."
        )
    lines = split_lines(base)
    chosen: list[Hunk] = []
    shift = 0
    for hunk in hunks(lines, split_lines(proposed)):
        start = hunk.start + shift
        shift += len(hunk.lines) - (hunk.end - hunk.start)
        if _touches(spans[0], hunk.start, hunk.end) or _touches(spans[1], start, start + len(hunk.lines)):
            chosen.append(hunk)
    return applied(lines, chosen)


def _lines_of_section(address: Address, raw: bytes, section: str) -> tuple[int, int] | None:
    """First line of a section from 0, and the line after its last one; None without such a section."""
    try:
        found = find_section(read_document(address, raw), [part.strip() for part in section.split(" > ")])
    except KnowledgeError:
        return None
    return raw.count(b"\n", 0, found.start), len(split_lines(raw[: found.tree_end]))


def _touches(span: tuple[int, int] | None, start: int, end: int) -> bool:
    return span is not None and start < span[1] and (end > span[0] or start == end >= span[0])


def _message(branches: ProposalBranches, proposal: Proposal) -> str:
    """The message of the commit that accepts a proposal; that of its only change if there is one."""
    messages = list(branches.messages(proposal))
    if len(messages) == 1:
        text = messages[0]
    else:
        title = proposal.proposer.purpose or messages[0].partition("\n")[0] if messages else proposal.title
        lines = [f"- {one.partition(chr(10))[0]}" for one in messages[:MAX_MESSAGE_LINES]]
        text = "\n".join([title, "", *lines])
    return f"{text}\n\nProposal: {proposal.id}"


def _conflict(conflicts: Sequence[FileConflict]) -> ProposalConflictError:
    places = [f"{one.address}:{one.found.line}" for one in conflicts]
    error = ProposalConflictError(
        f"The proposal and later writes changed the same places: {', '.join(places[:10])}. Nothing was written.",
        kind="proposal",
        hint="Accept it with your own text of these pages, accept the other pages, or have it amended.",
    )
    error.conflicts = tuple(conflicts)
    error.changes = tuple(line for one in conflicts for line in conflict_lines(one.address, one.found))
    return error


def conflict_lines(address: Address, conflict: TextConflict) -> list[str]:
    """The place of a conflict and its three sides, for people."""
    sides = (("was", conflict.base), ("proposed", conflict.proposed), ("now", conflict.current))
    lines = [f"{address}:{conflict.line}"]
    for name, text in sides:
        shown = text.decode("utf-8", "replace")
        cut = shown if len(shown) <= MAX_CONFLICT_CHARS else f"{shown[:MAX_CONFLICT_CHARS]}..."
        lines += [f"  {name}: {line}" for line in (cut.splitlines() or ["(nothing)"])]
    return lines


def _plain_report(branches: ProposalBranches, file: ProposedFile) -> FileReport:
    base, proposed = (branches.content(one) for one in (file.base, file.proposed))
    return FileReport(file, _diff(file, base, proposed), (), (), ())


def _file_report(
    collections: Collections, before: Collection, after: Collection, branches: ProposalBranches, file: ProposedFile
) -> FileReport:
    base, proposed = (branches.content(one) for one in (file.base, file.proposed))
    current = before.store.read(file.address) if before.store.stat(file.address) is not None else None
    merged = merge_texts(base, proposed, current)
    plain = _plain_report(branches, file)
    if not file.address.is_document:
        return replace(plain, conflicts=merged.conflicts)
    others = [one for one in collections if one.name != before.name]
    proposed_base, served_base = Collections(lambda: [after, *others]), Collections(lambda: [before, *others])
    return replace(
        plain,
        conflicts=merged.conflicts,
        new_findings=_first(new_findings(proposed_base, after, file.address, (base, proposed), file.moved_from)),
        mended=_first(new_findings(served_base, before, file.address, (proposed, current))),
    )


def _diff(file: ProposedFile, base: bytes | None, proposed: bytes | None) -> str:
    try:
        before, after = ((raw or b"").decode().splitlines(keepends=True) for raw in (base, proposed))
    except UnicodeDecodeError:
        return ""
    old, new = (file.address.path if raw is not None else "/dev/null" for raw in (base, proposed))
    lines = unified_diff(before, after, old, new)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _first(findings: Sequence[NewFinding]) -> tuple[NewFinding, ...]:
    return tuple(findings[:MAX_NEW])


def _findings(
    collections: Collections, collection: Collection, results: Mapping[Address, tuple[bytes | None, bytes | None]]
) -> tuple[NewFinding, ...]:
    found = [
        one for address, contents in results.items() for one in new_findings(collections, collection, address, contents)
    ]
    return _first(list({(one.path, one.rule, one.message): one for one in found}.values()))
