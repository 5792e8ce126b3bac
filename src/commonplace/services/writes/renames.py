"""Moves a document and rewrites the links to it, as one durable transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from commonplace.domain.addresses import Address
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection
from commonplace.services.writes.documents import existing, index_written
from commonplace.services.writes.moves import plan_moves
from commonplace.services.writes.overwrites import SeenEvidence, evidence_of, note_write, seen_by, takes_away
from commonplace.services.writes.requests import UNCONDITIONAL, RewrittenLinks, WriteReceipt, WriteRequest
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
    return on_latest(collection, lambda: _rename(collection, address, new_address, intent, files))


def _rename(
    collection: Collection,
    address: Address,
    new_address: Address,
    intent: WriteRequest,
    files: Mapping[Address, Address],
) -> WriteReceipt:
    message = intent.message or f"Rename: {address.id} -> {new_address.id}"
    moves = {address: new_address, **files}
    with collection.store.transaction(message, intent.author) as transaction:
        moved = existing(collection, transaction, address)
        evidence = evidence_of(collection, address, moved, intent)
        plan = plan_moves(collection, transaction, moves)
        contents, came_from = plan.contents, plan.came_from
        known = _known(collection, transaction, plan.others, intent)
        for old in moves:
            transaction.remove(old, keep=False)
        if evidence is not SeenEvidence.SHOWN and takes_away(moved, contents[new_address]):
            transaction.retain(address)
        for place, content in contents.items():  # the writer may not have seen these lines
            unseen = place not in plan.came and known.get(place) is not SeenEvidence.SHOWN
            transaction.put(place, content, keep=unseen, moved_from=came_from.get(place))
    note_write(collection, address, None, intent)
    for place, known_by in {new_address: evidence, **known}.items():
        note_write(collection, place, contents[place], intent, known_by)
    answer_by = index_written(collection, [*moves, *contents])
    receipt = transaction.receipt
    links = RewrittenLinks(tuple(plan.others), plan.pinned, plan.gained, plan.not_rewritten)
    return WriteReceipt(new_address, receipt.revisions[new_address], receipt.commit, links=links, answer_by=answer_by)


def _known(
    collection: Collection, transaction: Transaction, rewritten: Sequence[Address], intent: WriteRequest
) -> dict[Address, SeenEvidence]:
    """Evidence for the documents with rewritten links whose current state the session was shown."""
    known = {one: seen_by(collection, one, intent) for one in rewritten}
    return {
        one: SeenEvidence.SHOWN if seen.is_whole else SeenEvidence.PASSED
        for one, seen in known.items()
        if seen and seen.revision == revision_of(transaction.read(one))
    }
