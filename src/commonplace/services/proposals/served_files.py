"""The served page that a file of a proposal changes, also if others have moved it since, and the merge of both.

A move by others is followed as Git follows it, and one of this program exactly: what is proposed lands on the page
under its new name, with the links that the moves would have given it. Where both sides moved the page to different
places, or one moved what the other deleted, there is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.merge import MergedText, TextConflict, with_rewritten
from commonplace.domain.proposals import Proposal, ProposalBranches, ProposedFile
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection, current_bytes, merged_text
from commonplace.services.history import moved_since, now_at
from commonplace.services.writes.moves import moved_text

ReadFile = Callable[[Address], "bytes | None"]
"""Returns the bytes of a served file; None for none."""


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file of a proposal beside the served page that it changes. Texts are None for no file."""

    address: Address
    """The served page: at its old address as long as it is there, else where others have moved it."""
    base: bytes | None
    """The text that the proposer saw, as it would be at that address."""
    proposed: bytes | None
    """The proposed text, as it would be at that address."""
    current: bytes | None
    meets: bool = False
    """Whether both sides moved the page to different places, or one moved what the other deleted."""

    def target(self, file: ProposedFile) -> Address:
        """The address at which the file is written."""
        return self.address if self.is_elsewhere(file) else file.address

    def is_elsewhere(self, file: ProposedFile) -> bool:
        """Whether others have moved the page to a place that the proposal does not know."""
        return self.address not in {file.address, file.moved_from}

    def merged(self, collection: Collection, file: ProposedFile) -> MergedText:
        """The three-way merge of the file."""
        if self.meets:
            base, proposed, current = (side or b"" for side in (self.base, self.proposed, self.current))
            return MergedText(None, (TextConflict(1, base, proposed, current, *self._reason(file)),))
        merged = merged_text(collection, file.address, self.base, self.proposed, self.current)
        if not merged.conflicts or None not in {self.base, self.proposed, self.current}:
            return merged
        reason, hint = self._reason(file)
        return MergedText(None, tuple(replace(conflict, reason=reason, hint=hint) for conflict in merged.conflicts))

    def _reason(self, file: ProposedFile) -> tuple[str, str]:
        """A sentence about what others did to the page that does not go with the proposal, and advice."""
        page, new = file.moved_from or file.address, file.address
        moves, final = f"moves it to {new}", "Or accept it with its final text"
        if self.current is None:
            does = moves if file.moved_from else "changes it"
            return f"{page} was deleted since, and the proposal {does}.", f"Restore it, then accept. {final}."
        if self.meets:
            hint = f"Move {self.address} to {new}, then accept. {final}: the page stays {self.address}."
            return f"{page} was moved since, and the proposal {moves}: the page is {self.address} now.", hint
        if self.proposed is None:
            now = f"moved since: the page is {self.address} now, and was changed" if self.is_elsewhere(file) else ""
            hint = f"Have it proposed anew on what is there now, or delete it by hand. {final}, and it stays."
            return f"{page} was {now or 'changed since'}. The proposal deletes it.", hint
        if file.moved_from is None:
            return f"{page} was created since, and the proposal creates it.", "Accept it with its final text."
        return place_taken(new, page)


def place_taken(address: Address, page: Address) -> tuple[str, str]:
    """A sentence about another page at the address to which a proposal brings one, and advice."""
    return (
        f"Another page is {address} now, where the proposal brings {page}.",
        "Move that page away, then accept. Or have the proposal amended.",
    )


class ServedFiles:
    """The served pages that the files of a proposal change.

    Args:
        collection: The collection that is served.
        branches: Its proposals.
        proposal: The proposal.
    """

    def __init__(self, collection: Collection, branches: ProposalBranches, proposal: Proposal) -> None:
        self.collection = collection
        self.branches = branches
        self.proposal = proposal
        self.own_moves: Mapping[Address, Address] = {}
        """New address by old address of the moves of the proposal that are made together with what is merged."""

    def of(
        self,
        file: ProposedFile,
        base: bytes | None,
        proposed: bytes | None,
        read: ReadFile | None = None,
    ) -> ServedFile:
        """The served page that a file changes.

        Args:
            file: A file of `with_sources`.
            base: What the proposer saw.
            proposed: What is proposed, or the part of it that is accepted.
            read: Reads a served file; None for the folder as it is now.
        """
        read = read or self.read
        served = self._place(file, base, proposed, read)
        there = {old: self.own_moves.get(new, new) for old, new in self._moved.items() if read(old) is None}
        there |= {new: new for new in self.own_moves.values()}
        target, old = served.target(file), file.moved_from or file.address

        def followed(text: bytes | None, at: Address, to: Address) -> bytes | None:
            return None if text is None else moved_text(self.collection, at, to, text, there)

        base, proposed = served.base, served.proposed
        new_base, new = followed(base, old, served.address), followed(proposed, file.address, target)
        if base is not None and proposed is not None and new_base is not None and new is not None:
            new = with_rewritten(base, proposed, new, new_base)
        return replace(served, base=new_base, proposed=new)

    def side(self, file: ProposedFile) -> ServedFile:
        """The served page that all of a file of `with_sources` changes."""
        base, proposed = (self.branches.content(revision) for revision in (file.base, file.proposed))
        return self.of(file, base, proposed)

    @property
    def has_moved(self) -> bool:
        """Whether others have moved files since the proposal began."""
        return bool(self._moved)

    def read(self, address: Address) -> bytes | None:
        """The bytes of a served file; None for none."""
        return current_bytes(self.collection, address)

    def is_there(self, file: ProposedFile, address: Address, current: bytes | None) -> bool:
        """Whether the file at an address is the one that the proposer saw, and none that took its place since."""
        if current is None:
            return False
        return not file.base or address not in self._moved or self._was(address, file.base, current)

    def _was(self, address: Address, base: str, current: bytes) -> bool:
        """Whether the file at an address was as the proposer saw it since it is there."""
        if revision_of(current) == base:
            return True
        with suppress(KnowledgeError):
            versions = (content for _, content in self.collection.store.history.versions(address))
            return any(revision_of(content) == base for content in takewhile(bool, versions))
        return False

    @cached_property
    def _moved(self) -> Mapping[Address, Address]:
        """The present address by the old one of the files that others have moved since the proposal began."""
        return moved_since(self.collection, self.branches.served_since(self.proposal))

    def _place(self, file: ProposedFile, base: bytes | None, proposed: bytes | None, read: ReadFile) -> ServedFile:
        """The served page, with the texts as they are in the proposal."""
        there, old = read(file.address), file.moved_from or file.address
        if base is None or (file.moved_from is None and self.is_there(file, old, there)):
            return ServedFile(file.address, base, proposed, there)
        at_old = read(old)
        if self.is_there(file, old, at_old):
            taken_place = ServedFile(file.address, None, proposed, there)
            return ServedFile(old, base, proposed, at_old) if there is None else taken_place
        now = self._moved.get(old) or (now_at(self.collection, old) if at_old is None else None)
        return self._at(now, file, (base, proposed, there), read)

    def _at(
        self,
        now: Address | None,
        file: ProposedFile,
        texts: tuple[bytes, bytes | None, bytes | None],
        read: ReadFile,
    ) -> ServedFile:
        """The same for a page that others have moved, or deleted (None). The texts: base, proposed, there now."""
        base, proposed, there = texts
        old, current = file.moved_from or file.address, read(now) if now else None
        if now is None or current is None:  # deleted
            left = base if there is None else None
            return ServedFile(file.address, left, proposed, there, meets=old != file.address and there is None)
        return ServedFile(now, base, proposed, current, meets=file.address not in {old, now})


def with_sources(files: Sequence[ProposedFile]) -> Sequence[ProposedFile]:
    """The files, each moved one with the base that it had at its old place, and without that place itself."""
    bases = {file.address: file.base for file in files}
    moved = {file.moved_from for file in files}
    return [
        replace(file, base=bases.get(file.moved_from, file.base)) if file.moved_from else file
        for file in files
        if file.address not in moved
    ]
