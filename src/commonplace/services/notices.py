"""Notices: commits and proposals by folder, tag or author, for feeds and webhooks. They have names and no contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import Author, Commit
from commonplace.domain.document_reader import read_document
from commonplace.domain.proposals import Proposal, Proposer
from commonplace.domain.records import build_record
from commonplace.services.collections import Collection, Collections
from commonplace.services.proposals.decisions import FoundProposal, listed
from commonplace.services.site.changes import documents_of

MAX_SEARCHED = 1_000
"""Number of the latest commits that are looked at."""
STEP = 50
"""Number of commits that are read at a time."""
ProposalEvent: TypeAlias = Literal["opened", "amended", "accepted", "declined", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeFilter:
    """The commits or proposals of which somebody wants to be told; all by default."""

    folder: str = ""
    """Path of a folder."""
    tag: str = ""
    """A tag that a page has, or one below it."""
    author: str = ""
    """Name or e-mail of the author, in any case."""
    base: str = ""
    """Name of a collection."""

    def takes(self, collection: Collection, author: Author) -> bool:
        """Whether a collection and an author are wanted."""
        who = fold(self.author)
        return (not self.base or self.base == collection.name) and (
            not who or who in {fold(author.name), fold(author.email)}
        )

    def touched(self, collection: Collection, addresses: Sequence[Address]) -> tuple[Address, ...]:
        """The wanted ones of some files of a collection, as they are now."""
        folder = self.folder.strip("/")
        inside = [address for address in addresses if not folder or address.path.startswith(f"{folder}/")]
        return tuple(address for address in inside if not self.tag or self._is_tagged(_tags(collection, address)))

    def proposed(self, proposal: FoundProposal) -> tuple[Address, ...]:
        """The wanted files of a proposal; tags are those that a page has now, or would have."""
        files = {file.address: file for file in proposal.branches.files(proposal.proposal)}
        inside = NoticeFilter(folder=self.folder).touched(proposal.collection, list(files))
        if not self.tag:
            return inside
        return tuple(
            address
            for address in inside
            if self._is_tagged(_tags(proposal.collection, address))
            or self._is_tagged(_tags_in(address, proposal.branches.content(files[address].proposed)))
        )

    def _is_tagged(self, tags: Sequence[str]) -> bool:
        wanted_text = f"{fold(self.tag)}/"
        return any(f"{fold(tag)}/".startswith(wanted_text) for tag in tags)


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """A commit of a collection."""

    collection: Collection
    commit: Commit
    files: tuple[Address, ...]
    """The wanted files that it touched."""


@dataclass(frozen=True, slots=True)
class ProposedEvent:
    """A proposal and what happened to it."""

    found: FoundProposal
    event: ProposalEvent
    files: tuple[Address, ...]
    """The wanted files that it changes."""


def latest_commit(collection: Collection) -> str:
    """Id of the latest commit of a collection; "" without one."""
    return next((commit.id for commit in _log(collection, 1)), "")


def latest_changes(collection: Collection, notice_filter: NoticeFilter, limit: int) -> list[ChangeEvent]:
    """The latest wanted commits of a collection, newest first."""
    events: list[ChangeEvent] = []
    for commit in _log(collection):
        event = _event(collection, commit, notice_filter)
        if event is not None:
            events.append(event)
        if len(events) >= limit:
            break
    return events


def changes_since(collection: Collection, cursor: str, notice_filter: NoticeFilter) -> tuple[list[ChangeEvent], bool]:
    """The wanted commits after a commit, oldest first, and whether these are all.

    Where the commit is not among the latest `MAX_SEARCHED`, as after a forced push, the latest `STEP` are given.
    """
    commits: list[Commit] = []
    for commit in _log(collection):
        if commit.id == cursor:
            break
        commits.append(commit)
    else:
        if cursor:
            return _events(collection, commits[:STEP], notice_filter), False
    return _events(collection, commits, notice_filter), True


def proposals_of(
    collections: Collections, notice_filter: NoticeFilter, *, limit: int, viewer: Proposer | None = None
) -> list[ProposedEvent]:
    """The latest wanted proposals that a caller may see, open and closed, newest first."""
    events: list[ProposedEvent] = []
    every = [*listed(collections, viewer), *listed(collections, viewer, closed=True)]
    for proposal in sorted(
        every, key=lambda found_proposal: (found_proposal.proposal.when, found_proposal.proposal.id), reverse=True
    ):
        if notice_filter.takes(proposal.collection, proposal.proposal.author) and (
            files := notice_filter.proposed(proposal)
        ):
            events.append(ProposedEvent(proposal, event_of(proposal.proposal), files))
        if len(events) >= limit:
            break
    return events


def proposals_since(
    collection: Collection, report: Mapping[str, str], notice_filter: NoticeFilter
) -> list[ProposedEvent]:
    """The wanted proposals of a collection that are new, or have another latest commit than was told, oldest first."""
    proposals = [
        proposal for proposal in proposals_now(collection) if report.get(proposal.proposal.id) != proposal.proposal.tip
    ]
    events = [
        ProposedEvent(
            proposal,
            event_of(proposal.proposal, is_reported=proposal.proposal.id in report),
            notice_filter.proposed(proposal),
        )
        for proposal in sorted(proposals, key=lambda proposal: proposal.proposal.when)
        if notice_filter.takes(collection, proposal.proposal.author)
    ]
    return [event for event in events if event.files]


def proposals_now(collection: Collection) -> list[FoundProposal]:
    """All proposals of a collection, open and closed."""
    only = Collections(lambda: [collection])
    return [*listed(only), *listed(only, closed=True)]


def event_of(proposal: Proposal, *, is_reported: bool = False) -> ProposalEvent:
    """The latest event of a proposal, of which a reader knows or does not."""
    return ("amended" if is_reported else "opened") if proposal.state == "open" else proposal.state


def _events(collection: Collection, commits: Sequence[Commit], notice_filter: NoticeFilter) -> list[ChangeEvent]:
    events = (_event(collection, commit, notice_filter) for commit in reversed(commits))
    return [event for event in events if event is not None]


def _event(collection: Collection, commit: Commit, notice_filter: NoticeFilter) -> ChangeEvent | None:
    if not notice_filter.takes(collection, commit.author):
        return None
    files = notice_filter.touched(collection, documents_of(collection, commit))
    return ChangeEvent(collection, commit, files) if files else None


def _log(collection: Collection, step: int = STEP) -> Iterator[Commit]:
    """The latest commits of a collection, newest first.

    Args:
        collection: The collection.
        step: Number of commits that are read at a time.
    """
    history = collection.store.history
    for offset in range(0, MAX_SEARCHED if history.available else 0, step):
        commits = history.log(None, limit=step, offset=offset)
        yield from (commit for commit in commits if commit.is_shown)
        if len(commits) < step:
            break


def _tags(collection: Collection, address: Address) -> Sequence[str]:
    record = collection.index.record(address)
    return record.tags if record is not None else ()


def _tags_in(address: Address, content: bytes | None) -> Sequence[str]:
    if content is None or not address.is_document:
        return ()
    return build_record(read_document(address, content), "").tags
