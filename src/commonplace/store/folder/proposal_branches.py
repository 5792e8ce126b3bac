"""Proposals as branches: their facts are in the trailers of their commits, and nowhere else.

An open proposal is `refs/heads/proposals/<id>`. A closed one is `refs/commonplace/proposals/<id>`, with a last commit
that states how it ended. Besides the changes, a branch has commits that state a base: the bytes that the proposer saw
where these were in no commit, or what was accepted of a file since.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from operator import attrgetter

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address, address_or_none, has_direction
from commonplace.domain.budget import seconds_left
from commonplace.domain.changes import Author, Revision, escaped_controls, plain_message, uncredited
from commonplace.domain.errors import GitError, NotFoundError, StorageError, TooLargeError, UnavailableError
from commonplace.domain.proposals import (
    MAX_PROPOSAL_COMMITS,
    AcceptedBefore,
    AcceptedFiles,
    Decision,
    Proposal,
    ProposalState,
    ProposedChange,
    ProposedFile,
    Proposer,
    is_proposal_id,
)
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.folder.branch_commits import TOKEN_PREFIX, BranchCommits, BranchPart, RefMove, new_token
from commonplace.store.folder.writer_lock import WAIT_SECONDS, WriterLock
from commonplace.store.git import gitdir_files
from commonplace.store.git.commits import CommitMessage, commit_message, with_trailer
from commonplace.store.git.objects import FILE_MODES, TreeEntry, discard_unplaced, id_of
from commonplace.store.git.past.revision_walk import MOVED_TRAILER, TRAILER_ARROW
from commonplace.store.git.refs import RefUpdate, discard_left_over, temporary_name
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff

OPEN = "refs/heads/proposals/"
CLOSED = "refs/commonplace/proposals/"
PROPOSALS_LOCK = "commonplace-proposals.lock"
"""Name of the lock file in the folder that all work trees share."""
TRAILER = "Proposal"
"""Beginning of the names of the program's trailers. The line `Proposal: <id>` is in every commit of a branch."""
BASE = "base"
"""Value of the trailer `Proposal-Part` of a commit that states a base instead of a change."""
ACCEPTED_TIP = "Proposal-Tip"
"""Trailer of the commit that accepts the whole of a proposal: the proposal's latest commit."""
ACCEPTED = "Proposal-Accepted"
"""Trailer of a base that states what was accepted, as `AcceptedBefore.trailer` has it."""
EDITED = "Proposal-Edited"
"""Trailer of an acceptance that names the files whose text was edited before."""
REST = "rest"
"""Value of the trailer `Proposal-Part` of a commit with what stays proposed of earlier changes."""
MAX_LISTED = 10_000
"""Maximum number of open proposals of a repository."""
MAX_SEARCHED = 1_000
"""Number of the latest served commits in which acceptances are found whose process was killed before it was done."""
MAX_CLOSED = 1_000
"""Maximum number of closed proposals that are kept; the oldest go."""
_TRAILER_LINE = re.compile(r"(Proposal(?:-[A-Za-z]+)?): (.*)")
SETTLING_SECONDS = 5.0
"""Maximum time in seconds for which a report with a conflict waits for a decision that is under way."""
_NO_WORD = "Without what was accepted"
"""Message of a commit that states an acceptance without words."""
_STATES: Mapping[str, ProposalState] = {state: state for state in ("accepted", "declined", "withdrawn")}
"""The states of closed proposals, by the value of the trailer `Proposal-State`."""
_CACHED, _CACHED_FILES = 2_000, 100
Files = Mapping[str, TreeEntry | None]
"""New entries by path from the repository's root; None for a removed file."""


class GitProposals:
    """The branches of the proposals of one folder.

    Args:
        repository: The repository.
        prefix: Path from the repository's root to the folder: "" or a path with a trailing slash.
    """

    def __init__(self, repository: GitRepository, prefix: str) -> None:
        self.repository = repository
        self.prefix = prefix
        self._lock = WriterLock(repository.common / PROPOSALS_LOCK)
        self._read = lru_cache(MAX_LISTED + MAX_CLOSED)(self._facts_or_none)
        self._below = lru_cache(MAX_LISTED + MAX_CLOSED)(self._is_below)
        self._changed = lru_cache(_CACHED)(self._changes)
        self._paths = lru_cache(MAX_LISTED)(self._paths_of)
        self._files = lru_cache(_CACHED_FILES)(self._files_of)
        self._revisions = lru_cache(_CACHED_FILES)(self._revisions_of)
        self._searched: tuple[str, Mapping[str, str]] = "", {}

    def listed(self) -> list[Proposal]:
        """The open proposals, newest first."""
        return self._of(OPEN)

    def closed(self) -> list[Proposal]:
        """The closed proposals, newest first."""
        return sorted([*self._of(CLOSED), *self._of_accepted()], key=_newest, reverse=True)

    def proposal(self, identifier: str) -> Proposal:
        """An open or closed proposal of this folder."""
        proposal = self.open_proposal(identifier) or self._at(CLOSED, identifier) or self._accepted(identifier)
        if proposal is None:
            raise NotFoundError(
                "There is no such proposal.", kind="proposal", hint="List the proposals to see what there is."
            )
        return proposal

    def open_proposal(self, identifier: str) -> Proposal | None:
        """An open proposal of this folder; None if there is none."""
        proposal = self._at(OPEN, identifier)
        if proposal is None:
            return None
        is_left_over = self._is_left_over(proposal, self.repository.tip(CLOSED + identifier), self._acceptances())
        return None if is_left_over else proposal

    def files(self, proposal: Proposal) -> Sequence[ProposedFile]:
        """The files below the folder that a proposal changes, by path."""
        return self._files(proposal.id, proposal.tip)

    def changed_files(self, proposal: Proposal) -> Mapping[Address, Revision]:
        """The same files with their revisions; "" for a deleted one."""
        return self._revisions(proposal.id, proposal.tip)

    def _revisions_of(self, identifier: str, tip: str) -> Mapping[Address, Revision]:
        return {file.address: file.proposed for file in self._files(identifier, tip)}

    def _files_of(self, identifier: str, commit: str) -> Sequence[ProposedFile]:
        bases, tip, moves = self._changed(identifier, commit)
        files: dict[Address, ProposedFile] = {}
        for path, base in bases.items():
            entry = tip[path]
            if (address := self._acceptable(path, base, entry)) is not None:
                files[address] = ProposedFile(address, id_of(base), id_of(entry))
        for new, old in moves.items():
            target, source = (files.get(self._address(path) or Address("")) for path in (new, old))
            if target and source and not target.base and not source.proposed:  # one is new, and the other gone
                files[target.address] = replace(target, moved_from=source.address)
        return tuple(sorted(files.values(), key=attrgetter("address")))

    def _acceptable(self, path: str, base: TreeEntry | None, entry: TreeEntry | None) -> Address | None:
        """The address of a changed path; None if it is unchanged, or one that cannot be accepted."""
        address = self._address(path)
        if address is None or entry == base or not (_is_file(entry) and _is_file(base)):
            return None
        return None if base is None and has_direction(address) else address

    def left_out(self, proposal: Proposal) -> Sequence[str]:
        """The changed paths, from the repository's root, that are none of `files`."""
        bases, tip, _ = self._changed(proposal.id, proposal.tip)
        files = {self.prefix + file.address.path for file in self.files(proposal)}
        return sorted(path for path, base in bases.items() if tip[path] != base and path not in files)

    def touching(self, address: Address) -> list[Proposal]:
        """The open proposals that change, move or delete a file, newest first."""
        path = self.prefix + address.path
        proposals = (proposal for proposal in self.listed() if path in self._paths(proposal.id, proposal.tip))
        return [proposal for proposal in proposals if address in self.changed_files(proposal)]

    def changes_below(self, proposal: Proposal, path: str) -> bool:
        """Whether a proposal changes, moves or deletes the file of a path, or one below it."""
        whole, start = self.prefix + path, f"{self.prefix}{path}/"
        if not any(other == whole or other.startswith(start) for other in self._paths(proposal.id, proposal.tip)):
            return False
        return any(
            address.path == path or address.path.startswith(f"{path}/") for address in self.changed_files(proposal)
        )

    def _paths_of(self, identifier: str, tip: str) -> frozenset[str]:
        return frozenset(self._changed(identifier, tip)[0])

    def content(self, revision: Revision) -> bytes | None:
        """The bytes of a blob; None for ""."""
        return self.repository.content(revision) if revision else None

    def changes(self, proposal: Proposal) -> Sequence[ProposedChange]:
        """The changes, oldest first."""
        trees = TreeDiff(self.repository)
        changes: list[ProposedChange] = []
        for commit in filter(_is_change, self._chain(proposal.id, proposal.tip)):
            before = self.repository.tree_of(str(commit.parent_ids[0]) if commit.parent_ids else "")
            after = str(commit.tree_id)
            blobs = {self._address(os.fsdecode(raw)): sides for raw, *sides in trees.differences(before, after)}
            files = frozenset(filter(None, blobs))
            created, deleted = ({address for address in files if not blobs[address][side]} for side in (0, 1))
            own = frozenset(created | deleted if created and deleted else files)
            changes.append(ProposedChange(_without_trailers(_text(commit)), files, own, (before, after)))
        return changes

    def content_in(self, tree: str, address: Address) -> bytes | None:
        """The bytes of a file in a tree of `ProposedChange`; None for no file."""
        return self.content(TreeDiff(self.repository).at(tree, os.fsencode(self.prefix + address.path)) if tree else "")

    @property
    def branch(self) -> str:
        """Name of the current branch; "" for a detached HEAD."""
        return self.repository.branch.removeprefix("refs/heads/")

    def new_id(self) -> str:
        """The date and six random hex digits."""
        while True:
            identifier = f"{time.strftime('%Y%m%d', time.gmtime())}-{secrets.token_hex(3)}"
            if not self.repository.tip(OPEN + identifier) and not self.repository.tip(CLOSED + identifier):
                return identifier

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock under which proposals change; removes what a killed process left."""
        with storage_errors("to lock the proposals"), self._lock.held(seconds_left(WAIT_SECONDS)):
            self._discard_left_over()
            self.refresh()
            self._close_accepted()
            yield

    def settled(self, proposal: Proposal) -> Proposal:
        """The proposal after a decision on it that is under way, for which at most `SETTLING_SECONDS` are waited."""
        wait = self._lock.held(seconds_left(SETTLING_SECONDS))
        with suppress(UnavailableError, StorageError), storage_errors("to lock the proposals"), wait:
            pass
        return self.proposal(proposal.id)

    def refresh(self) -> None:
        """Do nothing: the branches are in this repository."""

    def gathering(self, identifier: str, proposer: Proposer) -> str:
        """The proposal to which a write goes that was to begin one: another process may have begun it; needs the lock.

        Args:
            identifier: Id of the proposal that would be begun.
            proposer: Who writes.
        """
        if self.repository.tip(OPEN + identifier) or self.repository.tip(CLOSED + identifier):
            return identifier
        return next((proposal.id for proposal in self.listed() if proposer.gathers(proposal)), identifier)

    def commit(self, identifier: str, parts: Sequence[BranchPart], proposer: Proposer, author: Author | None) -> str:
        """Put commits on a proposal's branch, which is made if there is none; needs the lock. Returns the last one.

        Raises:
            UnavailableError: another program moves the branch. Nothing was changed.
            TooLargeError: the proposal has `MAX_PROPOSAL_COMMITS`.
            StorageError, GitError: nothing was changed.
        """
        self._require_room(identifier)
        reference, base = OPEN + identifier, self.repository.tip(OPEN + identifier)
        proposal = self._at(OPEN, identifier)
        fork = _fork(self.repository.commit(base)) if proposal else self.repository.head
        if base and proposal is None:
            raise _not_ours(identifier)
        stated = {
            TRAILER: identifier,
            "Proposal-Fork": fork or "none",
            "Proposal-Branch": proposal.branch if proposal else self.branch,
            **proposer.trailers,
        }
        with self._building(reference) as new:
            tip = base or fork
            for part in parts:
                words = commit_message(self.repository, part.message, author)
                all_stated = {**stated, "Proposal-Part": part.part, ACCEPTED: part.accepted, EDITED: part.edited}
                tip = new.add(tip, part, _with_trailers(words, all_stated, part.moved_from))
            self._publish(new, RefMove(reference, base, tip))
        return tip

    def settle(self, proposal: Proposal, accepted: AcceptedFiles, decision: Decision) -> Proposal:
        """Record that files, or parts of them, were accepted; needs the lock."""
        bases = {file.address: file.base for file in self.files(proposal)}
        taken = {self.prefix + address.path: self.content(bases[address]) for address in accepted}
        left = {self.prefix + address.path: pair for address, pair in accepted.items() if pair[0] != pair[1]}
        trailer = AcceptedBefore.of(accepted, decision).trailer
        parts = [BranchPart(taken, decision.word.strip() or _NO_WORD, BASE, accepted=trailer, edited=decision.edits)]
        if left:
            parts.append(BranchPart({path: base for path, (base, _) in left.items()}, "What was accepted", BASE))
            parts.append(BranchPart({path: rest for path, (_, rest) in left.items()}, "The rest", REST))
        tip = self.commit(proposal.id, parts, proposal.proposer, proposal.author)
        return self._facts(proposal.id, tip, OPEN)

    def take_up(self, proposal: Proposal, proposer: Proposer) -> Proposal:
        """Let the proposer's next writes go to a proposal; needs the lock."""
        part = BranchPart({}, "Taken up", BASE)
        return self._facts(proposal.id, self.commit(proposal.id, [part], proposer, proposal.author), OPEN)

    def discard(self, proposal: Proposal) -> None:
        """Remove an open proposal without a trace; needs the lock."""
        self._remove([RefMove(OPEN + proposal.id, proposal.tip)])

    def close(self, proposal: Proposal, state: ProposalState, decision: Decision) -> Proposal:
        """Close a proposal with a last commit, and remove its branch; needs the lock.

        The closed ref is there before the branch goes. A process that is killed between leaves a branch that its closed
        ref contains, which counts as closed.
        """
        proposer, reference = proposal.proposer, CLOSED + proposal.id
        stated = {
            TRAILER: proposal.id,
            "Proposal-Fork": _fork(self.repository.commit(proposal.tip)) or "none",
            "Proposal-Branch": proposal.branch,
            "Proposal-State": state,
            "Proposal-Commit": decision.commit,
            EDITED: decision.edits,
            **proposer.trailers,
        }
        words = commit_message(
            self.repository, plain_message(decision.word).strip() or state.capitalize(), decision.person
        )
        with self._building(reference) as new:
            part = BranchPart({}, "")
            tip = new.add(proposal.tip, part, _with_trailers(words, stated, None))
            move = RefMove(reference, self.repository.tip(reference), tip)
            self._publish(new, move, RefMove(OPEN + proposal.id, proposal.tip))
        if sum(name.startswith(CLOSED) for name in self.repository.targets()) > MAX_CLOSED:
            self._remove([RefMove(CLOSED + old.id, old.tip) for old in self._of(CLOSED)[MAX_CLOSED:]])
        return self._facts(proposal.id, tip, CLOSED)

    def _of(self, folder: str) -> list[Proposal]:
        """The proposals of the refs below a folder, newest first; every ref is read once."""
        targets, acceptances = self.repository.targets(), self._acceptances()
        tips = {name.removeprefix(folder): tip for name, tip in targets.items() if name.startswith(folder)}
        every = [proposal for name, tip in tips.items() if (proposal := self._read_at(folder, name, tip)) is not None]
        if folder == OPEN:
            closed = {row.id: targets.get(CLOSED + row.id, "") for row in every}
            every = [row for row in every if not self._is_left_over(row, closed[row.id], acceptances)]
        return sorted(every, key=_newest, reverse=True)

    def _of_accepted(self) -> list[Proposal]:
        """The proposals that were accepted by a process that was killed before it closed them."""
        tips = self._acceptances()
        names = (name.removeprefix(OPEN) for name, tip in self.repository.targets().items() if tip in tips)
        return [proposal for name in names if (proposal := self._accepted(name)) is not None]

    def _accepted(self, identifier: str) -> Proposal | None:
        """The same proposal as closed; None if it is not one of them."""
        proposal = self._at(OPEN, identifier)
        commit = self._acceptances().get(proposal.tip, "") if proposal else ""
        if proposal is None or not commit or self.repository.tip(CLOSED + identifier):
            return None
        return replace(proposal, state="accepted", commit=commit)

    def _acceptances(self) -> Mapping[str, str]:
        """The latest served commits that accepted the whole of a proposal, by the proposal's commit."""
        head = self.repository.head
        before, by_commit = self._searched
        if head == before:
            return by_commit
        if not before or not self.repository.holds(head, before):
            before, by_commit = "", {}
        new: dict[str, str] = {}
        commits = self.repository.walk(head, SortMode.TIME, hidden=[before]) if head else ()
        for commit in islice(commits, MAX_SEARCHED):
            if tip := _stated(commit).get(ACCEPTED_TIP):
                new.setdefault(tip, str(commit.id))
        self._searched = head, {**by_commit, **new}
        return self._searched[1]

    def _at(self, folder: str, identifier: str) -> Proposal | None:
        """The proposal of a ref; None for a ref that is none, or that has no files below this folder."""
        return self._read_at(folder, identifier, self.repository.tip(folder + identifier))

    def _read_at(self, folder: str, identifier: str, tip: str) -> Proposal | None:
        """The proposal of a ref that is at a commit; None as for `_at`, and for ""."""
        if not tip or not is_proposal_id(identifier):
            return None
        with suppress(GitError):  # not a commit
            proposal = self._read(identifier, tip, folder)
            if proposal and (not self.prefix or self._below(identifier, tip)):
                return proposal if proposal.state in {"open", "accepted"} else self._unless_accepted(proposal)
        return None

    def _unless_accepted(self, proposal: Proposal) -> Proposal:
        """A closed proposal; as accepted if a server accepted the whole of it while another one closed it."""
        acceptances = self._acceptances()
        tips = map(str, self.repository.commit(proposal.tip).parent_ids) if acceptances else ()
        commit = next((acceptances[tip] for tip in tips if tip in acceptances), "")
        return replace(proposal, state="accepted", word="", commit=commit) if commit else proposal

    def _facts_or_none(self, identifier: str, tip: str, folder: str) -> Proposal | None:
        """The same; None, which is remembered, too, if the ref was not made by this program."""
        with suppress(NotFoundError):
            return self._facts(identifier, tip, folder)
        return None

    def _is_below(self, identifier: str, tip: str) -> bool:
        bases, _, _ = self._changed(identifier, tip)
        return any(path.startswith(self.prefix) for path in bases)

    def _is_left_over(self, proposal: Proposal, closed: str, acceptances: Mapping[str, str]) -> bool:
        """Whether an open branch is what a killed process left of a proposal with this closed ref ("" for none)."""
        return self.repository.holds(closed, proposal.tip) if closed else proposal.tip in acceptances

    def _facts(self, identifier: str, tip: str, folder: str) -> Proposal:
        """A proposal by the trailers of its latest commit that has some."""
        chain = self._chain(identifier, tip)
        if not chain:
            raise NotFoundError("There is no such proposal.", kind="proposal")
        latest = next(commit for commit in reversed(chain) if _stated(commit).get(TRAILER) == identifier)
        changes = list(filter(_is_change, chain)) or [latest]
        stated = _stated(latest)
        state = _STATES.get(stated.get("Proposal-State", "") if folder == CLOSED else "", "open")
        return Proposal(
            id=identifier,
            tip=tip,
            state=state,
            proposer=Proposer.parsed(stated),
            author=Author(escaped_controls(changes[-1].author.name), escaped_controls(changes[-1].author.email)),
            message=_without_trailers(_text(changes[0])),
            more=len({_text(commit).partition("\n")[0] for commit in changes}) - 1,
            when=chain[-1].commit_time,
            word=_word(latest, state.capitalize()) if state != "open" else "",
            commit=stated.get("Proposal-Commit", "") if state != "open" else "",
            edited=", ".join(dict(_with_trailer(chain, EDITED))),
            branch=stated.get("Proposal-Branch", ""),
            fork=_fork(latest),
            accepted=tuple(
                AcceptedBefore.parsed(text, _word(commit, _NO_WORD)) for text, commit in _with_trailer(chain, ACCEPTED)
            ),
        )

    def _chain(self, identifier: str, tip: str) -> list[pygit2.Commit]:
        """The commits of a branch, oldest first: from the first one that states the id; later ones by anybody."""
        line: list[pygit2.Commit] = []
        first, fork = 0, None
        at = tip
        while at and at != fork and len(line) <= MAX_PROPOSAL_COMMITS:
            commit = self.repository.commit(at)
            line.append(commit)
            if _stated(commit).get(TRAILER) == identifier:
                first, fork = len(line), _fork(commit) or None
            at = str(commit.parent_ids[0]) if commit.parent_ids else ""
        return line[:first][::-1]

    def _changes(self, identifier: str, tip: str) -> tuple[Files, Files, Mapping[str, str]]:
        """Base and latest entry of each path that a proposal changes or changed, and the old path of moved files."""
        trees = TreeDiff(self.repository)
        bases: dict[str, TreeEntry | None] = {}
        moves: dict[str, str] = {}
        for commit in self._chain(identifier, tip):
            parent = str(commit.parent_ids[0]) if commit.parent_ids else ""
            is_base = _stated(commit).get("Proposal-Part") == BASE
            at = str(commit.id) if is_base else parent
            for raw in trees.differing(self.repository.tree_of(parent), str(commit.tree_id)):
                path = os.fsdecode(raw)
                if is_base or path not in bases:
                    bases[path] = self.repository.entry(at, path)
            for new, old in _moves(commit.raw_message.decode("utf-8", "replace"), bases):
                moves[new] = moves.pop(old, old)
        return bases, {path: self.repository.entry(tip, path) for path in bases}, moves

    def _address(self, path: str) -> Address | None:
        return address_or_none(path.removeprefix(self.prefix)) if path.startswith(self.prefix) else None

    def _require_room(self, identifier: str) -> None:
        tip = self.repository.tip(OPEN + identifier)
        if self.repository.tip(OPEN.rstrip("/")):
            raise GitError(
                "Nothing can be proposed: the repository has a branch named proposals.",
                kind="repository",
                hint="Rename that branch: git branch -m proposals other-name.",
            )
        if tip and len(self._chain(identifier, tip)) >= MAX_PROPOSAL_COMMITS - 2:
            raise TooLargeError(
                f"The proposal {identifier} has {MAX_PROPOSAL_COMMITS:,} commits, and takes no more.",
                kind="proposal",
                hint="Have it accepted, or withdraw it; then propose the next changes.",
            )
        if not tip and sum(name.startswith(OPEN) for name in self.repository.targets()) >= MAX_LISTED:
            raise TooLargeError(
                f"There are {MAX_LISTED:,} open proposals, and no more are taken.",
                kind="proposal",
                hint="Have some of them accepted or declined first.",
            )

    @contextmanager
    def _building(self, reference: str) -> Generator[BranchCommits]:
        new = BranchCommits(self.repository, reference)
        try:
            with storage_errors(f"to write {reference}"):
                yield new
        finally:
            new.discard()

    def _publish(self, new: BranchCommits, move: RefMove, *gone: RefMove) -> None:
        """Make commits durable, move a ref to the last of them, and remove other refs."""
        new.publish(move.expected, move.target)
        self._remove(gone)

    def _remove(self, moves: Sequence[RefMove]) -> None:
        """Remove refs, loose or packed, unless they have moved."""
        for reference, expected, _ in moves:
            move = RefUpdate(self.repository.common, new_token(), reference)
            with storage_errors(f"to remove {reference}"):
                if move.roll_back("", expected, self.repository.tip) and self.repository.tip(reference) == expected:
                    self.repository.remove_reference(reference)

    def _close_accepted(self) -> None:
        """Close the proposals that `_of_accepted` names."""
        for proposal in self._of_accepted():
            self.close(replace(proposal, state="open"), "accepted", Decision(commit=proposal.commit))

    def _discard_left_over(self) -> None:
        common = self.repository.common
        for left in common.glob(temporary_name(f"{TOKEN_PREFIX}*")):
            token = left.name.removeprefix("commonplace-").removesuffix(".ref")
            discard_unplaced(self.repository.objects, token)
            for folder in (OPEN, CLOSED):
                for lock in (common / folder).glob("*.lock"):
                    discard_left_over(common, left.name, f"{folder}{lock.name}")
            gitdir_files.unlink(common, left.name)


def _newest(proposal: Proposal) -> tuple[int, str]:
    return proposal.when, proposal.id


def _is_file(entry: TreeEntry | None) -> bool:
    return entry is None or entry.mode in FILE_MODES


def _text(commit: pygit2.Commit) -> str:
    return escaped_controls(commit.raw_message.decode("utf-8", "replace"))


def _is_change(commit: pygit2.Commit) -> bool:
    return not {"Proposal-Part", "Proposal-State"} & _stated(commit).keys()


def _fork(commit: pygit2.Commit) -> str:
    """The served commit on which a branch began; "" for none."""
    fork = _stated(commit).get("Proposal-Fork", "")
    return fork if re.fullmatch(r"[0-9a-f]{40}", fork) else ""


def _stated(commit: pygit2.Commit) -> dict[str, str]:
    """The program's trailers of a commit. Only the last paragraph counts, and the last line of each name."""
    last = _text(commit).rstrip("\n").rpartition("\n\n")[2]
    matches = (_TRAILER_LINE.fullmatch(line) for line in last.split("\n"))
    return {match[1]: match[2].strip() for match in matches if match}


def _with_trailer(chain: Sequence[pygit2.Commit], name: str) -> list[tuple[str, pygit2.Commit]]:
    """The commits that have a trailer, each with its value."""
    return [(value, commit) for commit in chain if (value := _stated(commit).get(name))]


def _moves(message: str, paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """New and old path of the moves that a commit states, if it changed both."""
    for line in message.splitlines():
        parts = line.removeprefix(MOVED_TRAILER).split(TRAILER_ARROW) if line.startswith(MOVED_TRAILER) else []
        for at in range(1, len(parts)):
            old, new = TRAILER_ARROW.join(parts[:at]), TRAILER_ARROW.join(parts[at:])
            if old in paths and new in paths:
                yield new, old


def _with_trailers(words: CommitMessage, stated: Mapping[str, str], moved: Mapping[str, str] | None) -> CommitMessage:
    message = words.message
    for new, old in (moved or {}).items():
        message = with_trailer(message, f"{MOVED_TRAILER}{old}{TRAILER_ARROW}{new}")
    for name, value in stated.items():
        if value:
            message = with_trailer(message, f"{name}: {_line(value)}")
    return replace(words, message=message)


def _without_trailers(message: str) -> str:
    """A message without the program's trailers, and those of moves."""
    head, _, last = message.rstrip("\n").rpartition("\n\n")
    lines = [row for row in last.split("\n") if not _TRAILER_LINE.fullmatch(row) and not row.startswith(MOVED_TRAILER)]
    return "\n\n".join([head, "\n".join(lines)]).strip("\n")


def _word(commit: pygit2.Commit, default: str) -> str:
    """The word of a decision, without the line that names the program through which it was made; "" for the default."""
    text = uncredited(_without_trailers(_text(commit)))
    return "" if text == default else text


def _line(text: str) -> str:
    """A text on one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)[:500].strip()


def _not_ours(identifier: str) -> GitError:
    return GitError(
        f"The branch proposals/{identifier} was not made by this program.",
        kind="repository",
        hint="Propose anew, without that id.",
    )
