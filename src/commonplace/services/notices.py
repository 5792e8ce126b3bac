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
        inside = [one for one in addresses if not folder or one.path.startswith(f"{folder}/")]
        return tuple(one for one in inside if not self.tag or self._is_tagged(_tags(collection, one)))

    def proposed(self, found: FoundProposal) -> tuple[Address, ...]:
        """The wanted files of a proposal; tags are those that a page has now, or would have."""
        files = {one.address: one for one in found.branches.files(found.proposal)}
        inside = NoticeFilter(folder=self.folder).touched(found.collection, list(files))
        if not self.tag:
            return inside
        return tuple(
            one
            for one in inside
            if self._is_tagged(_tags(found.collection, one))
            or self._is_tagged(_tags_in(one, found.branches.content(files[one].proposed)))
        )

    def _is_tagged(self, tags: Sequence[str]) -> bool:
        wanted = f"{fold(self.tag)}/"
        return any(f"{fold(one)}/".startswith(wanted) for one in tags)


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
    return next((one.id for one in _log(collection, 1)), "")


def latest_changes(collection: Collection, wanted: NoticeFilter, limit: int) -> list[ChangeEvent]:
    """The latest wanted commits of a collection, newest first."""
    found: list[ChangeEvent] = []
    for commit in _log(collection):
        event = _event(collection, commit, wanted)
        if event is not None:
            found.append(event)
        if len(found) >= limit:
            break
    return found


def changes_since(collection: Collection, cursor: str, wanted: NoticeFilter) -> tuple[list[ChangeEvent], bool]:
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
            return _events(collection, commits[:STEP], wanted), False
    return _events(collection, commits, wanted), True


def proposals_of(
    collections: Collections, wanted: NoticeFilter, *, limit: int, viewer: Proposer | None = None
) -> list[ProposedEvent]:
    """The latest wanted proposals that a caller may see, open and closed, newest first."""
    found: list[ProposedEvent] = []
    every = [*listed(collections, viewer), *listed(collections, viewer, closed=True)]
    for one in sorted(every, key=lambda one: (one.proposal.when, one.proposal.id), reverse=True):
        if wanted.takes(one.collection, one.proposal.author) and (files := wanted.proposed(one)):
            found.append(ProposedEvent(one, event_of(one.proposal), files))
        if len(found) >= limit:
            break
    return found


def proposals_since(collection: Collection, told: Mapping[str, str], wanted: NoticeFilter) -> list[ProposedEvent]:
    """The wanted proposals of a collection that are new, or have another latest commit than was told, oldest first."""
    found = [one for one in proposals_now(collection) if told.get(one.proposal.id) != one.proposal.tip]
    events = [
        ProposedEvent(one, event_of(one.proposal, is_reported=one.proposal.id in told), wanted.proposed(one))
        for one in sorted(found, key=lambda one: one.proposal.when)
        if wanted.takes(collection, one.proposal.author)
    ]
    return [one for one in events if one.files]


def proposals_now(collection: Collection) -> list[FoundProposal]:
    """All proposals of a collection, open and closed."""
    only = Collections(lambda: [collection])
    return [*listed(only), *listed(only, closed=True)]


def event_of(proposal: Proposal, *, is_reported: bool = False) -> ProposalEvent:
    """The latest event of a proposal, of which a reader knows or does not."""
    return ("amended" if is_reported else "opened") if proposal.state == "open" else proposal.state


def _events(collection: Collection, commits: Sequence[Commit], wanted: NoticeFilter) -> list[ChangeEvent]:
    events = (_event(collection, commit, wanted) for commit in reversed(commits))
    return [one for one in events if one is not None]


def _event(collection: Collection, commit: Commit, wanted: NoticeFilter) -> ChangeEvent | None:
    if not wanted.takes(collection, commit.author):
        return None
    files = wanted.touched(collection, documents_of(collection, commit))
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
        yield from commits
        if len(commits) < step:
            break


def _tags(collection: Collection, address: Address) -> Sequence[str]:
    record = collection.index.record(address)
    return record.tags if record is not None else ()


def _tags_in(address: Address, content: bytes | None) -> Sequence[str]:
    if content is None or not address.is_document:
        return ()
    return build_record(read_document(address, content), "").tags
