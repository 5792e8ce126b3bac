"""The served page that a file of a proposal changes, also if others have moved it since, and the merge of both.

A move by others is followed as Git follows it, and one of this program exactly: what is proposed lands on the page
under its new name, with the links that the move would have given it. Where both sides moved the page to different
places, or one moved what the other deleted, there is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.merge import MergedText, TextConflict
from commonplace.domain.proposals import ProposedFile
from commonplace.services.collections import Collection, merged_text
from commonplace.services.history import now_at
from commonplace.services.writes.moves import moved_text


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
        return file.address if self.address in {file.address, file.moved_from} else self.address

    def merged(self, collection: Collection, file: ProposedFile) -> MergedText:
        """The three-way merge of the file."""
        if self.meets:
            sides = (side or b"" for side in (self.base, self.proposed, self.current))
            return MergedText(None, (TextConflict(1, *sides),))
        return merged_text(collection, file.address, self.base, self.proposed, self.current)


def served_file(
    collection: Collection,
    file: ProposedFile,
    base: bytes | None,
    proposed: bytes | None,
    read: Callable[[Address], bytes | None],
) -> ServedFile:
    """The served page that a file changes.

    Args:
        collection: The collection that is served.
        file: A file of `with_sources`.
        base: What the proposer saw.
        proposed: What is proposed, or the part of it that is accepted.
        read: Returns the bytes of a served file; None for none.
    """
    there = read(file.address)
    if base is None or (file.moved_from is None and there is not None):
        return ServedFile(file.address, base, proposed, there)
    old = file.moved_from or file.address
    at_old = read(old)
    if at_old is not None and there is None:
        return ServedFile(old, base, proposed, at_old)
    if at_old is not None:  # the place of the move is taken by another page
        return ServedFile(file.address, None, proposed, there)
    return _moved_by_others(collection, replace(file, moved_from=old), (base, proposed, there), read)


def _moved_by_others(
    collection: Collection,
    file: ProposedFile,
    texts: tuple[bytes, bytes | None, bytes | None],
    read: Callable[[Address], bytes | None],
) -> ServedFile:
    """The same for a page that is no longer at its old address. `texts` are base, proposed, and at the new address."""
    base, proposed, there = texts
    old = file.moved_from or file.address
    moves = old != file.address
    now = now_at(collection, old)
    current = read(now) if now else None
    if now is None or current is None:  # deleted
        left = base if there is None else None
        return ServedFile(file.address, left, proposed, there, meets=moves and there is None)
    mine = proposed if proposed is None else moved_text(collection, file.address, now, proposed)
    return ServedFile(now, moved_text(collection, old, now, base), mine, current, meets=moves and now != file.address)


def with_sources(files: Sequence[ProposedFile]) -> Sequence[ProposedFile]:
    """The files, each moved one with the base that it had at its old place, and without that place itself."""
    bases = {file.address: file.base for file in files}
    moved = {file.moved_from for file in files}
    return [
        replace(file, base=bases.get(file.moved_from, file.base)) if file.moved_from else file
        for file in files
        if file.address not in moved
    ]
