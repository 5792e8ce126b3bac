"""A folder in a Git repository to which changes can be proposed: `with ProposedBase(tmp_path, {...}) as base`."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from commonplace.domain.addresses import Address
from commonplace.domain.proposals import Proposal, Proposer
from commonplace.index import open_index, open_past, open_proposals
from commonplace.index.local import LocalIndex
from commonplace.services.collections import Collection, Collections
from commonplace.services.proposals import decisions
from commonplace.services.proposals.decisions import AcceptReceipt, FoundProposal
from commonplace.services.proposals.selection import AcceptRequest
from commonplace.services.proposals.views import proposer_of, proposing
from commonplace.services.services import Services
from commonplace.store import open_store
from support import GitRepo, digests, new_repo

AGENT = proposer_of("key:agent", "session 1", client="an agent")
"""Who proposes unless a test says otherwise."""


class ProposedBase:
    """A served folder with its index and its proposals."""

    def __init__(
        self, place: Path, files: Mapping[str, str | bytes], commit: Literal["auto", "manual"] = "auto", below: str = ""
    ) -> None:
        folder = place / "base"
        self.repo: GitRepo = GitRepo(folder) if folder.exists() else new_repo(folder, files)
        self.store = open_store(self.repo.path / below, commit=commit, state_dir=place / "state")
        self.index = open_index(self.store, place / "cache")
        self.index.sync()
        self.states = open_proposals(self.store, self.index, place / "cache", LocalIndex)
        self.past = open_past(self.store, place / "cache")
        self.collection = Collection(self.store.name, self.store, self.index, past=self.past, proposals=self.states)
        self.services = Services(collections=Collections(lambda: [self.collection]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for states in (self.states, self.past):
            if states is not None:
                states.close()
        self.index.close()

    @contextmanager
    def view(self, proposer: Proposer = AGENT, *, writes: bool = True) -> Generator[Collection]:
        """The collection as a proposer has it."""
        with proposing(self.services, proposer, writes=writes) as view:
            yield view.services.collections.members[0]

    def found(self, identifier: str = "") -> FoundProposal:
        """The proposal with an id, else the newest open one."""
        if identifier:
            return decisions.find(self.services.collections, identifier)
        return decisions.listed(self.services.collections)[0]

    def accept(self, identifier: str = "", request: AcceptRequest | None = None) -> AcceptReceipt:
        """Accept a proposal."""
        return decisions.accept(self.found(identifier), request or AcceptRequest())

    def open_ids(self) -> list[str]:
        """Ids of the open proposals, newest first."""
        return [proposal.proposal.id for proposal in decisions.listed(self.services.collections)]

    def closed(self, identifier: str) -> Proposal:
        """A proposal that is expected to be closed."""
        proposal = self.found(identifier).proposal
        assert proposal.state != "open"
        return proposal

    def served(self) -> dict[str, object]:
        """Everything of what is served: files, branch, Git's index, reflogs of HEAD and the search index."""
        root = self.repo.path
        files = digests(root)
        gitdir = root / ".git"
        own = {name: _bytes(gitdir / name) for name in ("HEAD", "index", "logs/HEAD", "packed-refs")}
        heads = [line for line in self.repo.git("for-each-ref").splitlines() if "/proposals/" not in line]
        return {"files": files, "git": own, "refs": heads, "index": self.index.revisions()}

    def texts(self) -> dict[str, bytes]:
        """The bytes of each page."""
        return {address.path: self.store.read(address) for address, _ in self.store.scan()}


def text_of(collection: Collection, path: str) -> bytes:
    """The bytes of a page in a view."""
    return collection.store.read(Address(path))


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
