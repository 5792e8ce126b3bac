"""Accepts, declines, amends and withdraws proposals, and selects the part of one that is accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import (
    CREDITS_COMMITTER,
    Author,
    StatedMessage,
    committed_by,
    is_credit,
    plain_message,
    split_trailers,
)
from commonplace.domain.errors import (
    ConflictError,
    ForbiddenError,
    GitError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
)
from commonplace.domain.findings import NewFinding
from commonplace.domain.merge import changes_section
from commonplace.domain.proposals import (
    AcceptedFiles,
    Decision,
    Proposal,
    ProposalBranches,
    ProposedChange,
    Proposer,
    title_of,
)
from commonplace.services import writes
from commonplace.services.collections import Collection, Collections, trial_transaction
from commonplace.services.findings import MAX_NEW, new_findings
from commonplace.services.proposals.acceptance import AcceptanceMerge, AcceptedBytes
from commonplace.services.proposals.selection import AcceptedPart, AcceptRequest, moved_file, select, shown_paths
from commonplace.services.proposals.served_files import ServedFiles, with_sources
from commonplace.services.proposals.views import proposal_view, refusal_of, require_acceptable
from commonplace.services.writes import WriteRequest
from commonplace.services.writes.documents import index_written
from commonplace.services.writes.retries import on_latest

# Decisions on proposals: listing, showing, accepting, declining, withdrawing.
#
# Accepting merges each file three ways: what the proposer saw, what is proposed, and what is served now. A conflict is
# shown and never guessed. Moves are made again on what is served now, so that links written since follow them, too.


MAX_FOLLOWED = 100
"""Maximum number of open proposals that are looked at for a page that others have moved since."""
MAX_MESSAGE_LINES = 50
"""Maximum number of messages of single changes in the message of the commit that accepts them."""


@dataclass(frozen=True, slots=True)
class FoundProposal:
    """A proposal and the collection that it would change."""

    collection: Collection
    proposal: Proposal

    @property
    def branches(self) -> ProposalBranches:
        """The proposals of the collection."""
        return branches_of(self.collection)

    def served(self) -> ServedFiles:
        """The served pages that it would change, as they are from now on."""
        return ServedFiles(self.collection, self.branches, self.proposal)


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
    mended: tuple[NewFinding, ...] = ()
    """Errors and warnings that it ends, as far as that was looked for: before it, with `reports.findings_of_part`."""


def branches_of(collection: Collection) -> ProposalBranches:
    """The proposals of a collection.

    Raises:
        InvalidInputError: kind "proposal": it takes none.
    """
    if collection.proposals is None:
        reason, hint = refusal_of(collection)
        raise InvalidInputError(f"{collection.name} has no proposals: {reason}.", kind="proposal", hint=hint)
    return collection.proposals.branches


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFilter:
    """Narrows a list of proposals; "" takes every one. Upper and lower case do not count."""

    author: str = ""
    """Name or e-mail of the author."""
    client: str = ""
    """Name of the program that proposed, with or without its version, as in `agent/1.2`."""
    page: str = ""
    """Path of a page that is changed, with or without `.md`, or of a folder in which one is."""
    text: str = ""
    """A part of the title, purpose, message, author or program."""
    state: str = ""
    """`open`, `accepted`, `declined` or `withdrawn`."""

    def takes(self, found_proposal: FoundProposal, *, follows: bool = False) -> bool:
        """Whether a proposal is wanted.

        Args:
            found_proposal: The proposal.
            follows: Whether a page also counts under the path to which others have moved it since.
        """
        proposal = found_proposal.proposal
        author, client = proposal.author, proposal.proposer.client
        return (
            self.state in {"", proposal.state}
            and fold(self.author) in {"", fold(author.name), fold(author.email)}
            and fold(self.client) in {"", fold(client), fold(client.partition("/")[0])}
            and fold(self.text)
            in fold("\n".join([proposal.title, proposal.proposer.purpose, proposal.message, author.name, client]))
            and self._takes_page(found_proposal, follows=follows)
        )

    def _takes_page(self, found_proposal: FoundProposal, *, follows: bool) -> bool:
        collection, proposal = found_proposal.collection, found_proposal.proposal
        path = self.page.removeprefix(f"{collection.name}:").strip("/")
        names = dict.fromkeys((path, f"{path}.md"))
        branches = found_proposal.branches
        if not path or any(branches.changes_below(proposal, name) for name in names):
            return True

        def is_below(address: Address) -> bool:
            return any(address.path == name or address.path.startswith(f"{name}/") for name in names)

        return follows and moved_file(collection, branches.files(proposal), is_below) is not None


def listed(
    collections: Collections,
    viewer: Proposer | None = None,
    *,
    closed: bool = False,
    page: Address | None = None,
    only: ProposalFilter | None = None,
) -> list[FoundProposal]:
    """The proposals that a caller may see, newest first.

    Args:
        collections: The collections.
        viewer: The caller, who sees only the own ones; None for one who may see all.
        closed: Whether to list closed proposals instead of open ones.
        page: List only the open ones that change, move or delete this page. Of the newest `MAX_FOLLOWED`, also those
            that do so under the path from which others have moved it since.
        only: List only those that it takes; None for all. Moves are followed as for `page`.
    """
    proposals = [
        FoundProposal(collection, proposal)
        for collection in collections
        for proposal in _of_collection(collection, closed=closed, page=page)
        if viewer is None or viewer.owns(proposal)
    ]
    follows = not closed
    taken = [
        proposal
        for number, proposal in enumerate(proposals)
        if only is None or only.takes(proposal, follows=follows and number < MAX_FOLLOWED)
    ]
    return sorted(taken, key=lambda proposal: (proposal.proposal.when, proposal.proposal.id), reverse=True)


def _of_collection(collection: Collection, *, closed: bool, page: Address | None) -> Sequence[Proposal]:
    if collection.proposals is None:
        return ()
    branches = collection.proposals.branches
    if page is None:
        return branches.closed() if closed else branches.listed()
    touching = branches.touching(page)
    newest = (proposal for proposal in branches.listed()[:MAX_FOLLOWED] if proposal not in touching)
    return [*touching, *(each for each in newest if moved_file(collection, branches.files(each), page.__eq__))]


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
        InvalidInputError: kind "proposal": none of its paths can be accepted; or the word contains a NUL.
        NotFoundError: the proposal does not change a named page, or the page has no such section.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store. Nothing was written.
    """
    return on_latest(found_proposal.collection, lambda: _accepted(found_proposal, request, person))


def _accepted(found_proposal: FoundProposal, request: AcceptRequest, person: Author | None) -> AcceptReceipt:
    branches = found_proposal.branches
    word = plain_message(request.word)
    with branches.locked():
        proposal = _current(found_proposal, request.tip)
        files = branches.files(proposal)
        left_out = branches.left_out(proposal)
        if left_out and not files:
            raise _not_acceptable(proposal, left_out)
        selection = select(found_proposal.collection, files, request)
        require_acceptable(found_proposal.collection, branches, selection.files)
        message = _message(found_proposal, selection)
        now = FoundProposal(found_proposal.collection, proposal)
        edited = _edited(now.served(), selection)
        if edited:
            message = StatedMessage(message, CREDITS_COMMITTER)
        if len(selection.files) == len(files) and not selection.section and not left_out:
            message = StatedMessage(message, f"Proposal-Tip: {proposal.tip}")
        branch = branches.branch
        with (
            committed_by(person),
            found_proposal.collection.store.transaction(message, proposal.author) as transaction,
        ):
            merge = AcceptanceMerge(now.served(), transaction, selection)
            results = merge.run([file for file in files if file not in selection.files])
        receipt = transaction.receipt
        index_written(found_proposal.collection, sorted({*receipt.revisions, *receipt.removed}))
        after = _recorded(branches, proposal, merge.rest, Decision(word, person, receipt.commit, edited))
    accepted = AcceptedBytes(results, merge.moves)
    findings = tuple(findings_of(accepted, found_proposal.collection, Collections(lambda: [found_proposal.collection])))
    written = tuple(sorted(address for address, (_, new) in results.items() if new is not None))
    removed = tuple(sorted(address for address, (_, new) in results.items() if new is None))
    other = branch if proposal.branch not in {"", branch} else ""
    return AcceptReceipt(after, receipt.commit, other, written, removed, findings[:MAX_NEW], tuple(left_out))


def _edited(served: ServedFiles, selection: AcceptedPart) -> Sequence[Address]:
    """The files whose final text says something else than the proposer's text and what was written since."""
    files = with_sources([file for file in selection.files if selection.final.get(file.address) is not None])
    return [
        file.address
        for file in files
        if served.side(file).merged(served.collection, file).content != selection.final[file.address]
    ]


def tried(found_proposal: FoundProposal, request: AcceptRequest) -> AcceptedBytes:
    """The bytes that an acceptance would write now. Writes nothing.

    Raises:
        KnowledgeError: as from `accept`.
    """
    collection, branches = found_proposal.collection, found_proposal.branches
    files = branches.files(_current(found_proposal, request.tip))
    selection = select(collection, files, request)
    with trial_transaction(collection.store) as transaction:
        merge = AcceptanceMerge(found_proposal.served(), transaction, selection)
        return AcceptedBytes(merge.run([file for file in files if file not in selection.files]), merge.moves)


def _recorded(branches: ProposalBranches, proposal: Proposal, rest: AcceptedFiles, decision: Decision) -> Proposal:
    """The proposal after files of it were written: closed if nothing of it is left; needs the lock.

    Raises:
        UnavailableError, GitError: it could not be recorded. The message says that the files were written.
    """
    try:
        if _is_left(branches, proposal, rest):
            return branches.settle(proposal, rest, decision)
        return branches.close(proposal, "accepted", decision)
    except (UnavailableError, GitError) as error:
        now = branches.proposal(proposal.id)
        if now.state != "open":  # another server closed it, or the commit of the acceptance tells what it was
            return now
        if now.tip == proposal.tip:
            raise _written(error, now, decision.commit) from error
    return _recorded(branches, now, _with_later(branches, proposal, now, rest), decision)


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
        return found_proposal.branches.close(proposal, "declined", Decision(word, person))


def decline_all(
    proposals: Sequence[FoundProposal], word: str, person: Author | None = None, tips: Mapping[str, str] | None = None
) -> list[Proposal]:
    """Close several proposals with the same word. All are looked at before the first is closed.

    Args:
        proposals: The proposals.
        word: Words to the proposers.
        person: Who declines.
        tips: The commit of each proposal that the person saw, by id; None for whatever they are now.

    Raises:
        ConflictError: one is no longer open, or no longer as the person saw it. None was closed.
        ForbiddenError: kind "limit": the caller could not accept one of them. None was closed.
    """
    seen: Mapping[str, str] = tips or {}
    for proposal in proposals:
        now = _current(proposal, seen.get(proposal.proposal.id, ""))
        require_acceptable(proposal.collection, proposal.branches, now)
    return [decline(proposal, word, person, seen.get(proposal.proposal.id, "")) for proposal in proposals]


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
        return proposal.branches.close(_current(proposal), "withdrawn", Decision())


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


def write_page(
    proposal: FoundProposal, address: Address, text: bytes, message: str = "", person: Author | None = None
) -> Proposal:
    """Write a page into a proposal, in the name of its proposer. The commit credits the one who writes it, too.

    Args:
        proposal: The proposal.
        address: The page.
        text: Its bytes.
        message: What was changed; "" for no words.
        person: Who writes; None for whoever Git's configuration names.

    Raises:
        ConflictError: the proposal is no longer open.
        ForbiddenError: kind "limit": the caller could not accept the proposal.
        KnowledgeError: an error of any write.
    """
    require_acceptable(proposal.collection, proposal.branches, _current(proposal))
    stated = StatedMessage(message or f"Update: {address.id}", CREDITS_COMMITTER)
    with committed_by(person), proposal_view(proposal.collection, proposal.proposal) as proposed:
        write = writes.replace if proposed.store.stat(address) is not None else writes.create
        write(proposed, address, text, WriteRequest(message=stated, author=proposal.proposal.author))
    return proposal.branches.proposal(proposal.proposal.id)


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


def _message(found_proposal: FoundProposal, selection: AcceptedPart) -> str:
    """The message of the commit that accepts changes: that of the only one, else a list; with whom all of them credit.

    Changes of which only a part is accepted are listed as such. Other trailers of a proposal are words of whoever
    proposed.
    """
    proposal = found_proposal.proposal
    changes = found_proposal.branches.changes(proposal)
    accepted = [change for change in changes if _is_accepted(found_proposal, change, selection)] or changes
    parts = {change.message: split_trailers(change.message) for change in accepted}
    whole = dict.fromkeys(parts[change.message][0] for change in accepted if change.own <= selection.addresses)
    trailers = dict.fromkeys(line for _, lines in parts.values() for line in lines)
    text = _text(proposal, list(whole)) or _subject(proposal, selection)
    if partial := _subjects(text for text, _ in parts.values() if text not in whole):
        text = "\n".join([text, "", "Parts of:", *partial])
    words = [line for line in trailers if not is_credit(line)]
    text = "\n\n".join(filter(None, [text, "\n".join(words)]))
    crediting = [line for line in trailers if line not in words]
    return StatedMessage(text, *crediting, f"Proposal: {proposal.id}")


def _text(proposal: Proposal, texts: Sequence[str]) -> str:
    """The message of changes that are accepted whole: that of the only one, else a list; "" for none."""
    subjects = _subjects(texts)
    if len(texts) < 2:  # noqa: PLR2004 - one message is told whole
        return texts[0] if texts else ""
    first = subjects[0].removeprefix("- ")
    count = len({text.partition("\n")[0] for text in texts})
    return "\n".join([title_of(proposal.proposer.purpose, first, count - 1), "", *subjects])


def _subjects(texts: Iterable[str]) -> list[str]:
    """A list of the first lines of messages."""
    return [f"- {subject}" for subject in dict.fromkeys(text.partition("\n")[0] for text in texts)][:MAX_MESSAGE_LINES]


def _is_accepted(found_proposal: FoundProposal, change: ProposedChange, selection: AcceptedPart) -> bool:
    """Whether something of a change is accepted."""
    files = change.files & selection.addresses
    if not selection.section or not files:
        return bool(files)
    (address,) = selection.addresses
    before, after = (found_proposal.branches.content_in(tree, address) for tree in change.trees)
    return changes_section(address, before, after, selection.section)


def _subject(proposal: Proposal, selection: AcceptedPart) -> str:
    """The first line about files that are accepted without all that was changed with them."""
    if not selection.files:
        return proposal.title
    section = f", {selection.section}" if selection.section else ""
    return title_of("", f"Update: {selection.files[0].address.id}{section}", len(selection.files) - 1)


def _not_acceptable(proposal: Proposal, left_out: Sequence[str]) -> InvalidInputError:
    return InvalidInputError(
        f"Nothing of the proposal {proposal.id} can be accepted: {shown_paths(left_out)}.",
        kind="proposal",
        hint="These are links, submodules, ignored files, or files of other folders. Merge its branch with Git, or "
        "decline it.",
    )


def findings_of(accepted: AcceptedBytes, collection: Collection, collections: Collections) -> Sequence[NewFinding]:
    """The findings that an acceptance newly causes, by a collection that has it."""
    findings: dict[tuple[str, str, str], NewFinding] = {}
    for address, contents, old in accepted.pages():
        for finding in new_findings(collections, collection, address, contents, old):
            findings[finding.path, finding.rule, finding.message] = finding
    return tuple(findings.values())
