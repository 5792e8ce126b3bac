"""Proposals: writes that wait for a person, as values and ports.

A proposal is a branch. All its facts are in its commits, so that every program that has the repository lists the same.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from commonplace.domain.past import StoreWithPast
from commonplace.domain.ports import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence

    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Author, FileStat, Revision, Trash, TrashItem
    from commonplace.domain.past import PastCommits
    from commonplace.domain.ports import History, Index, Transaction

AcceptedFiles: TypeAlias = "Mapping[Address, tuple[bytes | None, bytes | None]]"
"""The new base of each file of which something was accepted, and what stays proposed of it."""
ProposalState: TypeAlias = Literal["open", "accepted", "declined", "withdrawn"]
MAX_PROPOSAL_COMMITS = 1_000
"""Maximum number of commits of one proposal."""
MAX_PURPOSE = 200
"""Maximum length of a purpose in characters."""
ANONYMOUS = "anonymous"
"""Id of the callers over a network that have no key."""
_NO_COMMIT = "files"
_ID = re.compile(r"[0-9a-z][0-9a-z-]{0,63}")


def is_proposal_id(text: str) -> bool:
    """Whether a text may be the id of a proposal: up to 64 lower-case letters, digits and hyphens."""
    return _ID.fullmatch(text) is not None


_PROPOSER_TRAILERS = "Proposal-Caller", "Proposal-Session", "Proposal-Purpose", "Proposal-Client"


@dataclass(frozen=True, slots=True)
class Proposer:
    """A caller who proposes. Writes of the same proposer gather in one proposal while that is open."""

    caller: str = ""
    """Id of the caller's key or token; "" for a local program."""
    session: str = ""
    """Digest of the session; "" for a caller without sessions."""
    purpose: str = ""
    """The purpose that the caller states; one line."""
    client: str = ""
    """Name of the caller's program; not verified."""

    def owns(self, proposal: Proposal) -> bool:
        """Whether the proposal is this caller's. Of a caller without a key only the session tells who it is."""
        other = proposal.proposer
        return other.caller == self.caller and (self.caller != ANONYMOUS or other.session == self.session)

    @classmethod
    def parsed(cls, trailers: Mapping[str, str]) -> Proposer:
        """The proposer whom the trailers of a commit state."""
        return cls(*(trailers.get(name, "") for name in _PROPOSER_TRAILERS))

    @property
    def trailers(self) -> dict[str, str]:
        """The proposer as trailers of a commit, value by name."""
        return dict(zip(_PROPOSER_TRAILERS, (self.caller, self.session, self.purpose, self.client), strict=True))

    def gathers(self, proposal: Proposal) -> bool:
        """Whether a write belongs to this proposal."""
        other = proposal.proposer
        return (other.caller, other.session, other.purpose) == (self.caller, self.session, self.purpose)


@dataclass(frozen=True, slots=True)
class Decision:
    """Facts that a proposal records of a decision on it."""

    word: str = ""
    """Words to the proposer."""
    person: Author | None = None
    """The person who decides; None for whoever Git's configuration names."""
    commit: str = ""
    """The commit of the served branch that accepts it; "" for none."""
    edited: Collection[Address] = ()
    """The files whose text was edited before it was accepted."""

    @property
    def edits(self) -> str:
        """The paths of the edited files: `a.md, b.md`."""
        return ", ".join(address.path for address in self.edited)


@dataclass(frozen=True, slots=True)
class AcceptedBefore:
    """A part of a proposal that was accepted while the rest went on waiting."""

    commit: str
    """The commit of the served branch; "" if the files were written without one."""
    pages: str
    """The files, for people: `a.md, part of b.md, c.md (edited)`."""
    word: str = ""
    """The words with which they were accepted."""

    @classmethod
    def of(cls, accepted: AcceptedFiles, decision: Decision) -> AcceptedBefore:
        """The part by the new base of each file and what stays proposed of it, with the files that were edited."""
        names = [
            f"{'' if base == rest else 'part of '}{address.path}{' (edited)' if address in decision.edited else ''}"
            for address, (base, rest) in accepted.items()
        ]
        return cls(decision.commit, ", ".join(names))

    @classmethod
    def parsed(cls, trailer: str, word: str = "") -> AcceptedBefore:
        """The part that a `trailer` states, with the words."""
        commit, _, pages = trailer.partition(" ")
        return cls("" if commit == _NO_COMMIT else commit, pages, word)

    @property
    def trailer(self) -> str:
        """The part as the value of a trailer: the commit, or `files` for none, and the files."""
        return f"{self.commit or _NO_COMMIT} {self.pages}"

    @property
    def line(self) -> str:
        """The part in one line."""
        word = f": {self.word}" if self.word else ""
        return f"{self.pages} ({f'commit {self.commit[:12]}' if self.commit else 'not committed'}){word}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal, as its latest commit states it."""

    id: str
    tip: str
    """The latest commit."""
    state: ProposalState
    proposer: Proposer
    author: Author
    message: str
    """Message of the first change, without the program's own lines."""
    more: int = 0
    """Number of other first lines that the messages of the changes have."""
    when: int
    """Time of the latest commit in Unix seconds."""
    word: str = ""
    """The words with which it was accepted or declined."""
    commit: str = ""
    """The commit that accepted it; "" for none."""
    edited: str = ""
    """The files whose text was edited before it was accepted, for people: `a.md, b.md`."""
    branch: str = ""
    """Name of the branch on which it began; "" if that is not known."""
    fork: str = ""
    """The served commit on which it began; "" for none."""
    accepted: tuple[AcceptedBefore, ...] = ()
    """The parts of it that were accepted before, oldest first."""

    @property
    def title(self) -> str:
        """One line that names the proposal."""
        return title_of(self.proposer.purpose, self.message.partition("\n")[0], self.more)

    @property
    def edits(self) -> str:
        """A sentence about the files that were edited before they were accepted; "" for none."""
        return f"Edited before it was accepted: {self.edited}. What is shown is as proposed." if self.edited else ""


def title_of(purpose: str, subject: str, more: int) -> str:
    """One line for several changes: their purpose, else the first line of the first message, and how many there are."""
    return purpose or (f"{subject} and {more:,} more" if more > 0 else subject)


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A write of a proposer."""

    message: str
    """The message, without the program's own lines."""
    files: frozenset[Address]
    """The files that it changed."""
    own: frozenset[Address] = frozenset()
    """The files that it is about: of a move those that it created and deleted, else all."""
    trees: tuple[str, str] = ("", "")
    """Ids of the trees before and after it."""


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """A file that a proposal changes."""

    address: Address
    base: Revision
    """The file that the proposer saw; "" for no file."""
    proposed: Revision
    """The file as proposed; "" for a deletion."""
    moved_from: Address | None = None
    """The file whose place it takes, if the proposal deletes that one."""


class ProposalStore(Store, Protocol):
    """The served files with the changes of a proposal. Its transactions are commits of the proposal's branch."""

    @property
    def proposal_id(self) -> str:
        """Id of the proposal."""
        ...

    def changed(self) -> Mapping[Address, Revision]:
        """The files of the proposal with their revisions; "" for a deleted one."""
        ...


class TrialStore(Store, Protocol):
    """The served files with other contents, which nothing keeps. It takes no writes."""

    contents: Mapping[Address, bytes | None]
    """The bytes by address; None for no file."""

    def changed(self) -> Mapping[Address, Revision]:
        """The files of the trial with their revisions; "" for one that is gone."""
        ...


class ProposalBranches(Protocol):
    """The proposals of one folder. Every call reads the repository, so that other programs' changes count."""

    def listed(self) -> list[Proposal]:
        """The open proposals, newest first."""
        ...

    def closed(self) -> list[Proposal]:
        """The proposals that were accepted, declined or withdrawn, newest first."""
        ...

    def proposal(self, identifier: str) -> Proposal:
        """An open or closed proposal.

        Raises:
            NotFoundError: kind "proposal": there is none.
        """
        ...

    def touching(self, address: Address) -> list[Proposal]:
        """The open proposals that change, move or delete a file, newest first."""
        ...

    def files(self, proposal: Proposal) -> Sequence[ProposedFile]:
        """The files that a proposal changes, by path."""
        ...

    def left_out(self, proposal: Proposal) -> Sequence[str]:
        """The changed paths, from the repository's root, that are none of `files`, such as links and other folders'."""
        ...

    def changes_below(self, proposal: Proposal, path: str) -> bool:
        """Whether a proposal changes, moves or deletes the file of a path, or one below it."""
        ...

    def content(self, revision: Revision) -> bytes | None:
        """The bytes of a base or proposed file; None for ""."""
        ...

    def changes(self, proposal: Proposal) -> Sequence[ProposedChange]:
        """The changes, oldest first."""
        ...

    def content_in(self, tree: str, address: Address) -> bytes | None:
        """The bytes of a file in a tree of `ProposedChange`; None for no file."""
        ...

    @property
    def branch(self) -> str:
        """Name of the branch that is served; "" for none."""
        ...

    def served_since(self, proposal: Proposal) -> Sequence[str]:
        """The latest served commits since a proposal began, newest first."""
        ...

    def new_id(self) -> str:
        """An id that no proposal has."""
        ...

    def store(self, identifier: str, proposer: Proposer | None = None) -> ProposalStore:
        """The served files with the changes of a proposal, which may not exist yet.

        Args:
            identifier: Id of the proposal.
            proposer: Who writes through the store; None for whoever wrote the latest commit.
        """
        ...

    def trial(self) -> TrialStore:
        """The served files with other contents."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock under which proposals of this folder change. Taken before the folder's writer lock.

        Raises:
            UnavailableError: the proposals are branches of a remote, and it cannot be read now.
        """
        ...

    def settled(self, proposal: Proposal) -> Proposal:
        """The proposal after a decision on it that is under way, for which some seconds are waited."""
        ...

    def refresh(self) -> None:
        """Read the proposals of the remote, if they are branches of one.

        Raises:
            UnavailableError: it cannot be read now.
        """
        ...

    def settle(self, proposal: Proposal, accepted: AcceptedFiles, decision: Decision) -> Proposal:
        """Record that files, or parts of them, were accepted; needs the lock.

        Args:
            proposal: The proposal.
            accepted: By address the new base, and what stays proposed.
            decision: Facts of the acceptance.
        """
        ...

    def take_up(self, proposal: Proposal, proposer: Proposer) -> Proposal:
        """Let the proposer's next writes go to a proposal; needs the lock."""
        ...

    def discard(self, proposal: Proposal) -> None:
        """Remove an open proposal without a trace; needs the lock."""
        ...

    def close(self, proposal: Proposal, state: ProposalState, decision: Decision) -> Proposal:
        """Close a proposal with a last commit, and remove its branch; needs the lock."""
        ...


@runtime_checkable
class StoreWithProposals(Protocol):
    """A store to which changes can be proposed."""

    @property
    def proposals(self) -> ProposalBranches | None:
        """The proposals; None without Git."""
        ...


class ProposalStates(Protocol):
    """The proposals of a folder, each with an index of the served files with its changes."""

    @property
    def branches(self) -> ProposalBranches:
        """The proposals."""
        ...

    def opened(self, identifier: str, proposer: Proposer | None = None) -> AbstractContextManager[tuple[Store, Index]]:
        """The served files with the changes of a proposal, and their index, for the duration of a `with` block."""
        ...

    def tried(self, contents: Mapping[Address, bytes | None]) -> AbstractContextManager[tuple[Store, Index]]:
        """The served files with other contents, and their index, for the duration of a `with` block; one at a time.

        Args:
            contents: The bytes by address; None for no file.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


OWN_CHANGE = "in your proposal"
"""The end of a sentence about a page that the caller's own proposal deletes or moves."""


class _KeptTrash:
    """A trash from which nothing is removed."""

    def __init__(self, trash: Trash) -> None:
        self.items, self.content = trash.items, trash.content

    def discard(self, item: TrashItem) -> None:
        """Do nothing."""


class ServedView:
    """A `Store` that shows another one and is not written. Subclasses change what it shows.

    Args:
        served: The store that is shown.
        refusal: The reason why nothing can be written.
        hint: What to do instead.
    """

    def __init__(self, served: Store, refusal: str = "", hint: str = "") -> None:
        self.served = served
        """The store that is shown."""
        self._refusal = refusal
        self._hint = hint

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.served.name

    @property
    def identity(self) -> str:
        """The served folder's key."""
        return self.served.identity

    @property
    def history(self) -> History:
        """The served commits."""
        return self.served.history

    @property
    def past(self) -> PastCommits | None:
        """The files of each served commit; None without Git."""
        return self.served.past if isinstance(self.served, StoreWithPast) else None

    @property
    def read_only_reason(self) -> str:
        """The reason why nothing can be written; "" if writable."""
        return self._refusal

    @property
    def refusal(self) -> tuple[str, str]:
        """The reason why nothing can be written, and what to do instead; "" for none."""
        return self._refusal, self._hint

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file."""
        return self.served.scan(names_only=names_only)

    def skipped(self) -> list[tuple[str, str]]:
        """The files that the last scan skipped."""
        return self.served.skipped()

    def ignores(self, address: Address) -> bool:
        """Whether ignore files exclude a file."""
        return self.served.ignores(address)

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a file; None if there is none."""
        return self.served.stat(address)

    def read(self, address: Address) -> bytes:
        """The bytes of a file."""
        return self.served.read(address)

    def reading(self) -> AbstractContextManager[Callable[[Address], bytes]]:
        """A context with a cheaper `read` for many files."""
        return self.served.reading()

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder."""
        return self.served.files(folder)

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder."""
        return self.served.folders(folder)

    def changed(self) -> Mapping[Address, Revision]:
        """The files that differ from the served ones, with their revisions; "" for a deleted one."""
        return {}

    def moved(self) -> Mapping[Address, Address]:
        """The new address of each file that is elsewhere than the served one."""
        return {}

    def committing(self) -> Store:
        """This store itself."""
        return self

    @property
    def repository(self) -> None:
        """None: a proposal neither commits nor pushes what is served."""
        return

    @property
    def trash(self) -> Trash | None:
        """The trash of what is served. What is proposed takes texts from it, and removes none."""
        return _KeptTrash(self.served.trash) if self.served.trash else None

    def transaction(self, message: str, author: Author | None = None) -> AbstractContextManager[Transaction]:
        """Raises ReadOnlyError."""
        from commonplace.domain.errors import ReadOnlyError  # noqa: PLC0415 - reads need none

        del message, author
        raise ReadOnlyError(f"{self.name} takes no proposals: {self._refusal}.", kind="collection", hint=self._hint)

    def recover(self) -> list[str]:
        """An empty list: what is served recovers itself."""
        return []


_PROPOSING: ContextVar[bool] = ContextVar("proposing", default=False)
"""Whether the current call is a proposer's, so that it may not write what is served."""


@contextmanager
def only_proposing() -> Generator[None]:
    """Refuse every write of the block to what is served, by whatever way it comes."""
    token = _PROPOSING.set(True)
    try:
        yield
    finally:
        _PROPOSING.reset(token)


def require_no_proposer(name: str) -> None:
    """Check that a write to what is served is not that of a proposer.

    Raises:
        ReadOnlyError: it is.
    """
    if _PROPOSING.get():
        from commonplace.domain.errors import ReadOnlyError  # noqa: PLC0415 - reads need none

        raise ReadOnlyError(
            f"{name} cannot be written at the tier propose.", kind="collection", hint="Use a tool that proposes."
        )


_PROPOSED: ContextVar[dict[str, str] | None] = ContextVar("proposed", default=None)
"""The collections whose proposals a call shows or writes: id of the proposal by identity of the store."""


def record_proposed(identity: str, identifier: str) -> None:
    """Add a write to what `recording_proposed` collects, if it is active."""
    proposed = _PROPOSED.get()
    if proposed is not None:
        proposed[identity] = identifier


@contextmanager
def recording_proposed() -> Generator[Mapping[str, str]]:
    """Collect the proposals that the writes of the block go to: id by identity of the store."""
    proposed: dict[str, str] = {}
    token = _PROPOSED.set(proposed)
    try:
        yield proposed
    finally:
        _PROPOSED.reset(token)
