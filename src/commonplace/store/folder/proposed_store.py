"""The served files with the changes of a proposal: reads are merged, and a write is a commit of the proposal's branch.

Nothing that is served is written: neither files, nor Git's index, nor a branch that was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from types import MappingProxyType

from pygit2.enums import SortMode

from commonplace.domain.activity import PlannedWrite, watching_write
from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, FileStat, Receipt, Revision
from commonplace.domain.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.domain.ports import Store, Transaction
from commonplace.domain.proposals import Proposal, ProposedFile, Proposer, ServedView, record_proposed
from commonplace.domain.revisions import revision_of
from commonplace.store.folder.branch_commits import BranchPart
from commonplace.store.folder.proposal_branches import BASE, MAX_SEARCHED, GitProposals
from commonplace.store.git.objects import id_of
from commonplace.store.git.repository import GitRepository
from commonplace.store.names import missing_file, require_moved

Check = Callable[[Mapping[Address, bytes | None]], None]
"""Raises what a write of these files to the folder would raise. Writes nothing."""
Hides = Callable[[Address], bool]


class FolderProposals(GitProposals):
    """`domain.proposals.ProposalBranches` of a folder on disk.

    Args:
        served: The folder.
        repository: Its repository.
        prefix: Path from the repository's root to the folder: "" or a path with a trailing slash.
        check: Raises what a write of files would raise.
        hides: Whether a file is ignored.
    """

    def __init__(self, served: Store, repository: GitRepository, prefix: str, check: Check, hides: Hides) -> None:
        super().__init__(repository, prefix)
        self._served = served
        self._check = check
        self._hides = hides

    def files(self, proposal: Proposal) -> Sequence[ProposedFile]:
        """The files below the folder that a proposal changes, by path, without ignored pages."""
        files = super().files(proposal)
        return [file for file in files if not (file.address.is_document and self._hides(file.address))]

    def store(self, identifier: str, proposer: Proposer | None = None) -> ProposedStore:
        """The served files with the changes of a proposal, which may not exist yet."""
        return ProposedStore(self._served, self, identifier, proposer, self._check, self._hides)

    def served_since(self, proposal: Proposal) -> Sequence[str]:
        """The latest served commits since a proposal began, newest first; at most `MAX_SEARCHED`."""
        head = self.repository.head
        commits = self.repository.walk(head, SortMode.TOPOLOGICAL, hidden=[proposal.fork]) if head else ()
        return [str(commit.id) for commit in islice(commits, MAX_SEARCHED)]

    def trial(self) -> TriedStore:
        """The served files with other contents, which nothing keeps."""
        return TriedStore(self._served, self, "tried", None, self._check, self._hides)


class ProposedStore(ServedView):
    """`domain.ports.Store` of the served files with the changes of a proposal.

    Args:
        served: The folder.
        branches: The proposals of the folder.
        identifier: The proposal.
        proposer: Who writes; None for whoever wrote the latest commit.
        check: Raises what a write of files would raise.
        hides: Whether a file is ignored.
    """

    def __init__(
        self,
        served: Store,
        branches: GitProposals,
        identifier: str,
        proposer: Proposer | None,
        check: Check,
        hides: Hides,
    ) -> None:
        super().__init__(served)
        self._branches = branches
        self._identifier = identifier
        self._proposer = proposer
        self._check = check
        self._hides = hides

    @property
    def proposal_id(self) -> str:
        """Id of the proposal."""
        return self._identifier

    @property
    def identity(self) -> str:
        """A key of the folder with this proposal."""
        return f"{self.served.identity}-{self._identifier}"

    def changed(self) -> Mapping[Address, Revision]:
        """The files of the proposal with their revisions; "" for a deleted one."""
        proposal = self._branches.open_proposal(self._identifier)
        return self._branches.changed_files(proposal) if proposal else {}

    def moved(self) -> Mapping[Address, Address]:
        """The new address of each file that the proposal moves."""
        proposal = self._branches.open_proposal(self._identifier)
        files = self._branches.files(proposal) if proposal else ()
        return {file.moved_from: file.address for file in files if file.moved_from}

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file, in no particular order."""
        changed = self.changed()
        served = self.served.scan(names_only=names_only)
        yield from ((address, stat) for address, stat in served if address not in changed)
        for address, revision in changed.items():
            if revision and address.is_document and not self._hides(address):
                yield address, self._facts(revision)

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a file; None if there is none."""
        revision = self.changed().get(address)
        if revision is None or (address.is_document and self._hides(address)):
            return self.served.stat(address)
        return self._facts(revision) if revision else None

    def read(self, address: Address) -> bytes:
        """The bytes of a file."""
        return self._read(self.changed(), address, self.served.read)

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], bytes]]:
        """A context with a cheaper `read` for many files."""
        changed = self.changed()
        with self.served.reading() as read:
            yield lambda address: self._read(changed, address, read)

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder."""
        changed = self.changed()
        found_pairs = [pair for pair in self.served.files(folder) if pair[0] not in changed]
        inside = [
            address for address, revision in changed.items() if revision and address.path.rpartition("/")[0] == folder
        ]
        return found_pairs + [(address, self._facts(changed[address])) for address in inside]

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder."""
        start = f"{folder}/" if folder else ""
        new = [
            address.path.removeprefix(start)
            for address, entry in self.changed().items()
            if entry and address.path.startswith(start)
        ]
        inside = {f"{start}{path.partition('/')[0]}" for path in new if "/" in path}
        return sorted({*self.served.folders(folder), *inside})

    @contextmanager
    def transaction(self, message: str, author: Author | None = None) -> Generator[Transaction]:
        """One write: checked as a write to the folder is, and one commit of the proposal's branch at its end."""
        with self._branches.locked():
            self._require_undecided()
            if self._proposer is not None:
                self._identifier = self._branches.gathering(self._identifier, self._proposer)
            draft = _ProposalDraft(self.served, self.changed(), self._branches, self._hides)
            yield draft
            changes = draft.changes()
            commit = ""
            if changes:
                self._check(changes)
                with watching_write(lambda: self._write_of(draft, changes)) as done:
                    commit = self._branches.commit(
                        self._identifier, self._parts(draft, changes, message), self._writer(), author
                    )
                    done(commit)
                record_proposed(self.identity, self._identifier)
            draft.acknowledge(commit)

    def _require_undecided(self) -> None:
        """Check that nobody decided on the proposal since the call began: its id must not name another one.

        Raises:
            ConflictError: kind "proposal": it is closed.
        """
        with suppress(NotFoundError):  # the first write begins it
            now = self._branches.proposal(self._identifier)
            if now.state != "open":
                raise ConflictError(
                    f"The proposal {now.id} was {now.state} meanwhile. Nothing was written.",
                    kind="proposal",
                    hint="Repeat the call: it begins another proposal, on what is served now.",
                )

    def _write_of(self, draft: _ProposalDraft, changes: Mapping[Address, bytes | None]) -> PlannedWrite:
        before = {address: draft.before(address) for address in changes}
        return PlannedWrite(self.name, self.served.identity, before, changes, self._identifier)

    def _parts(
        self, draft: _ProposalDraft, changes: Mapping[Address, bytes | None], message: str
    ) -> Sequence[BranchPart]:
        """The commits of a write: what the proposer saw of files that are new to the branch, and the change."""
        prefix = self._branches.prefix
        proposal = self._branches.open_proposal(self._identifier)
        tip = proposal.tip if proposal else self._branches.repository.head
        revisions = self.changed()
        seen: dict[str, bytes | None] = {}
        for address in changes:
            if address not in revisions:
                base = draft.before(address)
                entry = self._branches.repository.entry(tip, prefix + address.path)
                if id_of(entry) != (revision_of(base) if base is not None else ""):
                    seen[prefix + address.path] = base
        parts = [BranchPart(seen, "What was served", BASE)] if seen else []
        moved = {prefix + new.path: prefix + old.path for new, old in draft.moved_from.items() if new in changes}
        contents = {prefix + address.path: content for address, content in changes.items()}
        return [*parts, BranchPart(contents, message, moved_from=moved)]

    def _writer(self) -> Proposer:
        if self._proposer is not None:
            return self._proposer
        proposal = self._branches.open_proposal(self._identifier)
        return proposal.proposer if proposal else Proposer()

    def _read(self, changed: Mapping[Address, Revision], address: Address, served: Callable[[Address], bytes]) -> bytes:
        revision = changed.get(address)
        if revision is None:
            return served(address)
        content = self._content(revision)
        if content is None or (address.is_document and self._hides(address)):
            raise missing_file(address)
        return content

    def _content(self, revision: Revision) -> bytes | None:
        return self._branches.content(revision)

    def _facts(self, revision: Revision) -> FileStat:
        return FileStat(self._branches.repository.size(revision), 0, 0, int(revision[:15], 16))


class TriedStore(ProposedStore):
    """`domain.proposals.TrialStore`: the contents are in memory."""

    contents: Mapping[Address, bytes | None] = MappingProxyType({})

    def changed(self) -> Mapping[Address, Revision]:
        """The files of the trial with their revisions; "" for one that is gone."""
        return {address: "" if raw is None else revision_of(raw) for address, raw in self.contents.items()}

    @contextmanager
    def transaction(self, message: str, author: Author | None = None) -> Generator[Transaction]:
        """Raises ReadOnlyError: what is tried is not written."""
        with ServedView(self.served, "it is a trial").transaction(message, author) as draft:
            yield draft

    def _facts(self, revision: Revision) -> FileStat:
        return FileStat(len(self._content(revision) or b""), 0, 0, int(revision[:15], 16))

    def _content(self, revision: Revision) -> bytes | None:
        return next((raw for raw in self.contents.values() if raw is not None and revision_of(raw) == revision), None)


class _ProposalDraft:
    """`domain.ports.Transaction` on the served files with the changes of a proposal."""

    def __init__(
        self, served: Store, changed: Mapping[Address, Revision], branches: GitProposals, hides: Hides
    ) -> None:
        self._served = served
        self._proposed = changed
        self._branches = branches
        self._hides = hides
        self._seen: dict[Address, bytes | None] = {}
        self._changes: dict[Address, bytes | None] = {}
        self._receipt: Receipt | None = None
        self.moved_from: dict[Address, Address] = {}
        """The removed file whose place a new one takes, by its address."""

    def read(self, address: Address) -> bytes:
        """The bytes of a file, with the changes of the proposal and of this transaction."""
        content = self._changes[address] if address in self._changes else self.before(address)
        if content is None:
            raise missing_file(address)
        return content

    def exists(self, address: Address) -> bool:
        """Whether the file exists, with the changes of the proposal and of this transaction."""
        if address in self._changes:
            return self._changes[address] is not None
        if address in self._proposed:
            return bool(self._proposed[address])
        return address in self._seen or self._stat(address) is not None

    def is_ignored(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._hides(address)

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        """Create or replace a file. Replaced bytes need not be retained, because the branch has them."""
        del keep
        parts = address.path.split("/")
        for depth in range(1, len(parts)):
            above = Address("/".join(parts[:depth]))
            if self.exists(above):
                raise InvalidInputError(
                    f"{address} cannot be written: {above} is a file.", kind="path", hint="Write to another path."
                )
        self.before(address)
        self._changes[address] = content
        if moved_from is not None:
            require_moved(moved_from, self._hides)
            self.moved_from[address] = moved_from

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file."""
        del keep
        if not self.exists(address):
            raise missing_file(address)
        self.before(address)
        self._changes[address] = None

    def commit_change_only(self, address: Address) -> None:
        """Do nothing, because a proposal has only its own changes."""

    def retain(self, address: Address) -> None:
        """Do nothing, because the branch has the old bytes."""

    @property
    def receipt(self) -> Receipt:
        """The result of the transaction; valid after the `with` block has ended."""
        if self._receipt is None:
            raise RuntimeError("a transaction has no receipt before its block has ended without an error")
        return self._receipt

    def before(self, address: Address) -> bytes | None:
        """The bytes of a file before this transaction, read once; None for no file."""
        if address not in self._seen:
            if address in self._proposed:
                self._seen[address] = self._branches.content(self._proposed[address])
            else:
                self._seen[address] = self._served.read(address) if self._stat(address) is not None else None
        return self._seen[address]

    def changes(self) -> dict[Address, bytes | None]:
        """The changes, without those that change nothing."""
        return {address: content for address, content in self._changes.items() if content != self.before(address)}

    def acknowledge(self, commit: str) -> None:
        """Set the receipt."""
        written = {address: revision_of(content) for address, content in self._changes.items() if content is not None}
        removed = tuple(address for address, content in self._changes.items() if content is None)
        self._receipt = Receipt(commit, written, removed)

    def _stat(self, address: Address) -> FileStat | None:
        try:
            return self._served.stat(address)
        except NotFoundError:
            return None
