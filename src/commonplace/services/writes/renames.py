"""Moves a document or a folder and rewrites the links to it, as one durable transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection
from commonplace.services.writes.documents import existing, index_written
from commonplace.services.writes.moves import MovePlan, folder_moves, plan_moves
from commonplace.services.writes.new_paths import has_folder
from commonplace.services.writes.overwrites import (
    UNCONDITIONAL,
    RewrittenLinks,
    SeenEvidence,
    WriteReceipt,
    WriteRequest,
    evidence_of,
    note_write,
    seen_by,
    takes_away,
)
from commonplace.services.writes.recorded import record_write
from commonplace.services.writes.retries import on_latest

NO_FILES: Mapping[Address, Address] = MappingProxyType({})


def rename(
    collection: Collection,
    address: Address,
    new_address: Address,
    intent: WriteRequest = UNCONDITIONAL,
    files: Mapping[Address, Address] = NO_FILES,
) -> WriteReceipt:
    """Move a document and rewrite every link to it, in one transaction.

    Relative links in the moved document are rewritten as well, and links to other documents that the new name would
    redirect. If links of a document change and the writer was not shown its current state, its old bytes are retained.

    Args:
        collection: Collection of the document.
        address: The document.
        new_address: The new address.
        intent: As for any write.
        files: New addresses of other files that are moved with the document; links to these are rewritten, too.

    Raises:
        NotFoundError: no such document.
        AlreadyExistsError: the new address, or that of a file, is taken.
        InvalidInputError: both addresses are the same.
    """
    named = replace(intent, message=intent.message or f"Rename: {address.id} -> {new_address.id}")
    return on_latest(collection, lambda: _rename(collection, {address: new_address, **files}, named))


def rename_folder(
    collection: Collection, folder: str, target: str, intent: WriteRequest = UNCONDITIONAL
) -> tuple[Mapping[Address, Address], WriteReceipt]:
    """Move every file below a folder to the same relative path below another, and rewrite every link to these files.

    Args:
        collection: Collection of the folder.
        folder: Path of the folder, without a slash at its end.
        target: Its new path.
        intent: As for any write, without a revision.

    Returns:
        New address by old address of the moved files, and the receipt of the first of them.

    Raises:
        NotFoundError, AlreadyExistsError, InvalidInputError: as for `rename`, or from `require_moves`.
    """
    named = replace(intent, message=intent.message or f"Rename: {folder}/ -> {target}/")

    def move() -> tuple[Mapping[Address, Address], WriteReceipt]:
        moves = require_moves(collection, folder, target)
        receipt = _rename(collection, moves, named)
        return {old: new for old, new in moves.items() if old not in receipt.links.ignored}, receipt

    return on_latest(collection, move)


def require_moves(collection: Collection, folder: str, target: str) -> Mapping[Address, Address]:
    """New address by old address of the files below a folder that is moved.

    Raises:
        NotFoundError: there is no page below the folder.
        InvalidInputError: the new path is invalid, or lies below the folder.
    """
    if not has_folder(collection, folder):
        raise NotFoundError(
            f"There is no folder {folder!r} with pages.",
            kind="folder",
            hint="List the folder above it.",
            reference=folder,
            nearest=collection.index.nearest(folder),
        )
    if f"{target}/".startswith(f"{folder}/"):
        raise InvalidInputError(f"{target!r} lies in {folder!r} itself.", kind="path", hint="Give another folder.")
    return folder_moves(collection, folder, target)


def _rename(collection: Collection, moves: Mapping[Address, Address], intent: WriteRequest) -> WriteReceipt:
    with collection.store.transaction(intent.message, intent.author) as transaction:
        pages = {old: new for old, new in moves.items() if old.is_document and not transaction.is_ignored(old)}
        evidence = {new: _evidence(collection, transaction, old, intent) for old, new in pages.items()}
        plan = plan_moves(collection, transaction, moves)
        moves = plan.moves
        contents, came_from = plan.contents, plan.came_from
        evidences = _known(collection, transaction, plan.others, intent)
        unseen = [old for old, new in pages.items() if evidence[new] is not SeenEvidence.SHOWN]
        before = {old: transaction.read(old) for old in pages}
        taken = [old for old in unseen if takes_away(before[old], contents[pages[old]])]
        for old in moves:
            transaction.remove(old, keep=False)
        for old in taken:
            transaction.retain(old)
        for place, content in contents.items():  # the writer may not have seen these lines
            keep = place not in plan.came and evidences.get(place) is not SeenEvidence.SHOWN
            transaction.put(place, content, keep=keep, moved_from=came_from.get(place))
            if place not in plan.came:
                transaction.commit_change_only(place)
    for old in pages:
        note_write(collection, old, None, intent)
    for place, known_by in {**evidence, **evidences}.items():
        note_write(collection, place, contents[place], intent, known_by)
    answer_by = index_written(collection, [*moves, *contents])
    receipt = transaction.receipt
    links = links_of(plan)
    first = next(iter(moves.values()))
    written = WriteReceipt(first, receipt.revisions[first], receipt.commit, links=links, answer_by=answer_by)
    for old, new in pages.items():
        moved = replace(written, address=new, revision=receipt.revisions[new], before=before[old], moved_from=old)
        record_write(collection, moved)
    return written


def links_of(plan: MovePlan) -> RewrittenLinks:
    """The effect of a move on links, and the files that stay."""
    return RewrittenLinks(
        tuple(plan.others), plan.pinned, plan.gained, plan.rewritten, plan.ignored, plan.not_rewritten
    )


def _evidence(collection: Collection, transaction: Transaction, address: Address, intent: WriteRequest) -> SeenEvidence:
    return evidence_of(collection, address, existing(collection, transaction, address), intent)


def _known(
    collection: Collection, transaction: Transaction, rewritten: Sequence[Address], intent: WriteRequest
) -> dict[Address, SeenEvidence]:
    """Evidence for the documents with rewritten links whose current state the session was shown."""
    documents = {address: seen_by(collection, address, intent) for address in rewritten}
    return {
        address: SeenEvidence.SHOWN if seen.is_whole else SeenEvidence.PASSED
        for address, seen in documents.items()
        if seen and seen.revision == revision_of(transaction.read(address))
    }
