"""The proposals of a replica: branches in the remote, so that every server has them and none is lost with a server.

The clone has copies of the branches, from which the proposals are read. A change is pushed first, and only if each
branch is where the clone last saw it (compare-and-swap); then the copy follows. Closing one is one atomic push.

The remote is untrusted, as in `replica.clone`: a branch that git refuses is left out, and the others are read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from heapq import nlargest
from subprocess import Popen
from typing import TYPE_CHECKING

from commonplace.domain.budget import WRITE_SECONDS, seconds_left, write_budget
from commonplace.domain.errors import GitError, KnowledgeError, ReadOnlyError
from commonplace.domain.proposals import Decision, Proposal, ProposalState, is_proposal_id
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.folder.branch_commits import BranchCommits, RefMove, changed_proposal, new_token
from commonplace.store.folder.proposal_branches import CLOSED, MAX_CLOSED, MAX_LISTED, OPEN
from commonplace.store.folder.proposed_store import Check, FolderProposals, Hides
from commonplace.store.folder.publisher import PUSH_TIMEOUT, QUIET_SECONDS, is_unreached, own_programs
from commonplace.store.git.refs import RefUpdate, remove_ref
from commonplace.store.git_command import EndedGitError, GitResult, TimeLimits
from commonplace.store.remotes import RemoteTransfer, exchange
from commonplace.store.replica.clone import FETCH_SECONDS, PUSH_SHARE, STILL_SECONDS, ReplicaClone, unknown_outcome
from commonplace.store.replica.clone_repository import REMOTE

if TYPE_CHECKING:
    from commonplace.domain.ports import Store

log = logging.getLogger(__name__)

MAX_PARTS = 40
"""Maximum number of fetches in which the branches that git refuses are found; the others wait for the next reading."""
PART = 500
"""Maximum number of branches of such a fetch."""
REFUSED_SECONDS = 600.0
"""Seconds after which a branch that git refused is fetched again."""
Tips = Mapping[str, str]
"""Commits by the full names of refs."""


class RemoteProposals(FolderProposals):
    """`domain.proposals.ProposalBranches` of a replica.

    Args:
        clone: The clone.
        served: The store of its documents.
        check: Raises what a write of files would raise.
        hides: Whether a file is ignored.
        seconds: Maximum time of a change in seconds.
        refusal: The reason why nothing can be changed; "" if it can.
    """

    def __init__(
        self,
        clone: ReplicaClone,
        served: Store,
        check: Check,
        hides: Hides,
        *,
        seconds: float = WRITE_SECONDS,
        refusal: str = "",
    ) -> None:
        super().__init__(served, clone.repository, "", check, hides)
        self._refusal = refusal
        self._clone = clone
        self._seconds = seconds
        self._since: float | None = None
        """Time of `time.monotonic` at which the last successful reading began; None before the first one."""
        self._refreshing = threading.Lock()
        """Held during the reading of `refresh`, which concurrent callers share."""
        self._refused: dict[str, float] = {}
        """Time of `time.monotonic` at which git refused a branch, by name."""
        self._problem = ""

    @property
    def branch(self) -> str:
        """Name of the branch that is followed; "" for the one that the remote's HEAD names."""
        return self._clone.source.branch.removeprefix("refs/heads/")

    def listed(self) -> list[Proposal]:
        """The open proposals, newest first. Those of the last reading; the first call of a process reads the remote."""
        self._read_first()
        return super().listed()

    def closed(self) -> list[Proposal]:
        """The closed proposals, newest first."""
        self._read_first()
        return super().closed()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock under which proposals of this clone change. The remote is read first.

        Raises:
            ReadOnlyError: this server does not write.
        """
        if self._refusal:
            raise ReadOnlyError(
                f"{self._served.name} takes no proposals here, and no decisions: {self._refusal}.",
                kind="collection",
                hint="Propose and decide at a server that was started with --replica-writes.",
            )
        with write_budget(self._seconds), super().locked():
            yield

    def refresh(self) -> None:
        """Read the proposals of the remote. Concurrent callers share one reading that begins after their calls."""
        start = time.monotonic()
        with self._refreshing:
            if self._since is None or self._since < start:
                self._read_remote()

    def close(self, proposal: Proposal, state: ProposalState, decision: Decision) -> Proposal:
        """Close a proposal as in a folder, unless another server accepts it meanwhile.

        What the remote's branch has was accepted, whatever the closed ref says: so the branch is read before and after.

        Raises:
            UnavailableError: it was accepted meanwhile, or the remote cannot be reached.
        """
        if state == "accepted":
            return super().close(proposal, state, decision)
        self._clone.fetch()
        if proposal.tip in self._acceptances():
            raise changed_proposal()
        closed = super().close(proposal, state, decision)
        self._clone.fetch()
        if proposal.tip in self._acceptances():
            raise changed_proposal()
        return closed

    def follow(self, started: Callable[[Popen[bytes]], None] | None = None) -> None:
        """Read the proposals of the remote in the background. A failure is logged, and tried again by the next call.

        Args:
            started: Called with each git process, so that it can be killed early.
        """
        problem = ""
        try:
            self._read_remote(started)
        except KnowledgeError as error:
            problem = str(error)
        if problem and problem != self._problem:
            log.warning("%s: the proposals cannot be read: %s", self._clone.source.name, problem)
        self._problem = problem

    def _read_first(self) -> None:
        if self._since is None:
            with suppress(KnowledgeError):  # then the copies of an earlier reading are shown, as of the documents
                self._read_remote()

    def _read_remote(self, started: Callable[[Popen[bytes]], None] | None = None) -> None:
        """Fetch the branches, and let the copies follow, except those that have changed meanwhile.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        began, before = time.monotonic(), self._tips()
        present = {name: tip for name, tip in before.items() if self.repository.has_object(tip)}
        try:
            with exchange(self.repository, REMOTE, [self._clone.tip()], started, refs=present) as own:
                remote = self._fetched(own)
        except EndedGitError as error:
            raise self._clone.unreadable(str(error).rstrip(".")) from error
        if remote != before:
            with nullcontext() if self._lock.is_mine else self._lock.held(seconds_left(FETCH_SECONDS)):
                now = self._tips()
                names = {name for name in {*before, *remote} if before.get(name) != remote.get(name)}
                self._copy({name: remote.get(name, "") for name in names if now.get(name) == before.get(name)})
        self._since = began

    def _fetched(self, own: RemoteTransfer) -> Tips:
        """The branches that the remote has: at most as many as are listed, the newest."""
        settings = {**own_programs(self.repository), "fetch.fsckObjects": ["true"]}
        now = time.monotonic()
        self._refused = {name: when for name, when in self._refused.items() if now - when < REFUSED_SECONDS}
        references = [*(f"+{folder}*:{folder}*" for folder in (OPEN, CLOSED)), *(f"^{name}" for name in self._refused)]
        outcome = self._fetch(own, references, settings, prune=True)
        if outcome.code:
            self._fetch_apart(own, settings)
        return {
            name: tip
            for folder, most in ((OPEN, MAX_LISTED), (CLOSED, 2 * MAX_CLOSED))
            for name, tip in nlargest(most, own.tips(folder).items())
            if is_proposal_id(name.removeprefix(folder))
        }

    def _fetch(
        self,
        own: RemoteTransfer,
        references: Sequence[str],
        settings: Mapping[str, Sequence[str]],
        *,
        prune: bool = False,
    ) -> GitResult:
        """Fetch refs. The result has a code if git refused one of them.

        Raises:
            UnavailableError: the remote cannot be reached.
        """
        limits = TimeLimits(seconds_left(FETCH_SECONDS), STILL_SECONDS)
        with self._clone.contact.call("fetch") as note:
            outcome = own.fetch(references, settings=settings, timeout=limits, prune=prune)
            is_answer = not (outcome.code and is_unreached(outcome))
            note(is_answer)
        if not is_answer:
            raise self._clone.unreadable(outcome.reason)
        return outcome

    def _fetch_apart(self, own: RemoteTransfer, settings: Mapping[str, Sequence[str]]) -> None:
        """Fetch the branches in parts, until those are known that git refuses: for their names, or their objects."""
        listing = own.list_refs([f"{OPEN}*", f"{CLOSED}*"], settings=settings, timeout=seconds_left(STILL_SECONDS))
        if listing.code:
            raise self._clone.unreadable(listing.reason)
        missing = _missing(own, listing.output)
        parts = [missing[at : at + PART] for at in range(0, len(missing), PART)]
        for _ in range(MAX_PARTS):
            if not parts:
                return
            part = parts.pop()
            outcome = self._fetch(own, [f"+{name}:{name}" for name in part if name not in self._refused], settings)
            if outcome.code and len(part) > 1:
                parts += [part[: len(part) // 2], part[len(part) // 2 :]]
            elif outcome.code:
                self._refused[part[0]] = time.monotonic()
                log.warning("%s: %s is left out: %s", self._clone.source.name, part[0], outcome.reason)

    def _tips(self) -> Tips:
        """The copies in the clone."""
        targets = self.repository.targets().items()
        return {name: tip for name, tip in targets if tip and name.startswith((OPEN, CLOSED))}

    def _copy(self, tips: Tips) -> None:
        """Set copies, or remove those without a commit."""
        common = self.repository.common
        moves = [(RefUpdate(common, new_token(), name), tip) for name, tip in tips.items() if tip]
        with storage_errors(f"to write the proposals of {self._clone.source.name}"):
            try:
                with Unsynced() as unsynced:
                    for move, tip in moves:
                        move.write(tip, unsynced)
                    unsynced.sync()
                for move, _ in moves:
                    move.perform("", lambda _: "")
            finally:
                for move, _ in moves:
                    move.discard()
        for name in tips.keys() - {name for name, tip in tips.items() if tip}:
            remove_ref(common, name)

    def _publish(self, new: BranchCommits, move: RefMove, *gone: RefMove) -> None:
        """Make commits durable, and push them."""
        new.place()
        self._push([move, *gone])

    def _remove(self, moves: Sequence[RefMove]) -> None:
        """Remove branches from the remote."""
        if moves:
            self._push(moves)

    def _close_accepted(self) -> None:
        """Close the proposals that a server accepted that was killed before it closed them."""
        with suppress(KnowledgeError):  # they count as accepted also with their branch; the next call tries again
            super()._close_accepted()

    def _push(self, moves: Sequence[RefMove]) -> None:
        """Move branches of the remote, all or none, and then their copies.

        Raises:
            UnavailableError: one of them has moved, or the remote cannot be reached: nothing was changed. Or kind
                "unknown": it may have accepted the push.
            GitError: the remote rejects it.
        """
        try:
            outcome = self._sent(moves)
        except EndedGitError as error:
            if not error.has_sent:
                raise self._clone.unreached(str(error).rstrip(".")) from error
            self._require_taken(moves, None, str(error).rstrip("."))
        else:
            if not outcome.code and all(outcome.is_pushed(reference) for reference, _, _ in moves):
                self._clone.contact.accepted()
            elif is_unreached(outcome):
                raise self._clone.unreached(outcome.reason)
            else:
                self._require_taken(moves, outcome, outcome.reason)
        try:
            self._copy({reference: target for reference, _, target in moves})
        except KnowledgeError as error:  # the remote has it: the next reading moves the copies
            log.warning("%s: %s", self._clone.source.name, error)

    def _sent(self, moves: Sequence[RefMove]) -> GitResult:
        tips = [tip for move in moves for tip in (move.expected, move.target)]
        leases = [f"--force-with-lease={reference}:{expected}" for reference, expected, _ in moves]
        with (
            exchange(self.repository, REMOTE, [self._clone.tip(), *tips]) as own,
            self._clone.contact.call("push") as note,
        ):
            outcome = own.push(
                [f"{target}:{reference}" for reference, _, target in moves],
                [*leases, *["--atomic"] * (len(moves) > 1)],
                settings=own_programs(self.repository),
                timeout=TimeLimits(seconds_left(PUSH_TIMEOUT, PUSH_SHARE), QUIET_SECONDS),
            )
            note(not (outcome.code and is_unreached(outcome)))
        return outcome

    def _require_taken(self, moves: Sequence[RefMove], outcome: GitResult | None, reason: str) -> None:
        """Check that the remote has what was pushed without an answer, or was refused.

        Raises:
            UnavailableError, GitError: as from `_push`.
        """
        try:
            self._read_remote()
        except KnowledgeError as error:
            raise unknown_outcome(self._clone.source.name, reason) from error
        tips = self._tips()
        if all(tips.get(reference, "") == target for reference, _, target in moves):
            return
        if any(tips.get(reference, "") != expected for reference, expected, _ in moves):
            raise changed_proposal()
        if outcome is None or any(outcome.is_pushed(reference) is None for reference, _, _ in moves):
            raise unknown_outcome(self._clone.source.name, reason)
        raise GitError(
            f"The remote of {self._clone.source.name} refused the proposal: {outcome.rejection or reason}.",
            kind="remote",
            hint="Its rules forbid it; its owner may allow branches below proposals/. Nothing was written.",
        )


def _missing(own: RemoteTransfer, listing: str) -> list[str]:
    """The branches of a listing that were not fetched, by the proposals' ids."""
    tips = {**own.tips(OPEN), **own.tips(CLOSED)}
    rows = (line.partition("\t") for line in listing.splitlines())
    return sorted((name for tip, _, name in rows if tips.get(name) != tip and _is_of_proposal(name)), key=_id_of)


def _is_of_proposal(name: str) -> bool:
    folder = OPEN if name.startswith(OPEN) else CLOSED
    return name.startswith(folder) and is_proposal_id(name.removeprefix(folder))


def _id_of(name: str) -> str:
    return name.rpartition("/")[2]
