"""Moves a document and rewrites the links to it, as one durable transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from commonplace.domain import edits
from commonplace.domain.addresses import Address, fold
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, LinkKind
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, StorageError
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection
from commonplace.services.links import as_read_in
from commonplace.services.writes.documents import existing, require_free, take_in
from commonplace.services.writes.overwrites import Evidence, evidence_of, note_write, seen_by, takes_away
from commonplace.services.writes.requests import UNCONDITIONAL, WriteReceipt, WriteRequest

NO_FILES: Mapping[Address, Address] = MappingProxyType({})


def rename(
    collection: Collection,
    address: Address,
    new_address: Address,
    intent: WriteRequest = UNCONDITIONAL,
    files: Mapping[Address, Address] = NO_FILES,
) -> WriteReceipt:
    """Move a document and rewrite every link to it, in one transaction.

    Relative links in the moved document are rewritten as well. The old bytes of documents in which links change and
    whose current state the writer was not shown are retained.

    Args:
        collection: Collection of the document.
        address: The document.
        new_address: Its new address.
        intent: As for any write.
        files: New addresses of other files that move with it; links to them are rewritten too.

    Raises:
        NotFoundError: no such document.
        AlreadyExistsError: the new address, or that of a file, is taken.
        InvalidInputError: both addresses are the same.
    """
    _require_another(address, new_address)
    message = intent.message or f"Rename: {address.id} -> {new_address.id}"
    moves = {address: new_address, **files}
    with collection.store.transaction(message, intent.author) as transaction:
        moved = existing(collection, transaction, address)
        evidence = evidence_of(collection, address, moved, intent)
        require_free(collection, transaction, new_address, besides=address)
        rewritten = _rewritten(collection, transaction, address, moves)
        contents = _moved_files(transaction, files)
        contents[new_address] = rewritten.pop(new_address, moved)
        known = _known(collection, transaction, rewritten, intent)
        for old in moves:
            transaction.remove(old, keep=False)
        if evidence is not Evidence.SHOWN and takes_away(moved, contents[new_address]):
            transaction.retain(address)
        _put(transaction, contents, rewritten, known)
    note_write(collection, address, None, intent)
    for place, known_by in {new_address: evidence, **known}.items():
        note_write(collection, place, (contents | rewritten)[place], intent, known_by)
    answer_by = take_in(collection, [*moves, *moves.values(), *rewritten])
    receipt, updated = transaction.receipt, tuple(sorted(rewritten))
    return WriteReceipt(
        new_address, receipt.revisions[new_address], receipt.commit, updated=updated, answer_by=answer_by
    )


def rename_preview(collection: Collection, address: Address, new_address: Address) -> list[Address]:
    """The other documents whose links `rename` would rewrite, by path. Changes nothing.

    Raises:
        KnowledgeError: as `rename`.
    """
    _require_another(address, new_address)
    with collection.store.transaction("") as transaction:  # only for reading; nothing is written
        existing(collection, transaction, address)
        require_free(collection, transaction, new_address, besides=address)
        rewritten = _rewritten(collection, transaction, address, {address: new_address})
    return sorted(rewritten.keys() - {new_address})


def _put(
    transaction: Transaction,
    contents: Mapping[Address, bytes],
    rewritten: Mapping[Address, bytes],
    known: Mapping[Address, Evidence],
) -> None:
    """Put what moved, and the other documents; their old bytes are retained, as links may be in unseen lines."""
    for place, content in contents.items():
        transaction.put(place, content)
    for place, content in rewritten.items():
        transaction.put(place, content, keep=known.get(place) is not Evidence.SHOWN)


def _moved_files(transaction: Transaction, files: Mapping[Address, Address]) -> dict[Address, bytes]:
    contents = {new: transaction.read(old) for old, new in files.items()}
    for new in contents:
        _require_no_file(transaction, new)
    return contents


def _known(
    collection: Collection, transaction: Transaction, rewritten: Mapping[Address, bytes], intent: WriteRequest
) -> dict[Address, Evidence]:
    """Evidence for those of the documents with rewritten links that the session was shown in their current state."""
    known = {one: seen_by(collection, one, intent) for one in rewritten}
    return {
        one: Evidence.SHOWN if seen.is_whole else Evidence.PASSED
        for one, seen in known.items()
        if seen and seen.revision == revision_of(transaction.read(one))
    }


def _require_another(address: Address, new_address: Address) -> None:
    if address == new_address:
        raise InvalidInputError("The new path is the old one.", kind="path", hint="Give another path.")


def _rewritten(
    collection: Collection, transaction: Transaction, moved: Address, moves: Mapping[Address, Address]
) -> dict[Address, bytes]:
    """New bytes of each document with links to rewrite; the moved document under its new address."""
    sources = _sources_now(collection, transaction, moved, moves)
    changed: dict[Address, bytes] = {}
    kept = _names_that_stay(collection, moved)
    new = moves[moved]
    for source in sorted(sources - {moved}):
        document = as_read_in(collection, read_document(source, transaction.read(source)))
        before = _moved_links(collection, document, moves, kept)
        targets = {position: moves[old] for position, old in before.items()}
        leads = _leads(collection, source, (moved, new))
        content = edits.rewrite_links(document, targets, old=before, leads=leads)
        if content != document.raw:
            changed[source] = content
    own = as_read_in(collection, read_document(moved, transaction.read(moved)))
    before = _moved_links(collection, own, moves, kept)
    targets = _own_targets(collection, own, moved) | {position: moves[old] for position, old in before.items()}
    content = edits.rewrite_links(own, targets, old=before, moved_to=new, leads=_leads(collection, new, (moved, new)))
    if content != own.raw:
        changed[new] = content
    return changed


def _sources_now(
    collection: Collection, transaction: Transaction, moved: Address, moves: Mapping[Address, Address]
) -> set[Address]:
    """The documents that link to the moved files, including unsynced edits by others.

    Raises:
        StorageError: one of them, or the moved document, is unreadable, so that its links would be missed.
    """
    index = collection.index
    before = [*_sources(collection, moves), *([moved] if index.record(moved) else [])]
    unreadable = dict(index.sync().unreadable)
    sources = _sources(collection, moves)
    for one in sorted({*before, *sources}):
        lost = index.record(one) is None and transaction.exists(one)
        if reason := unreadable.get(one.path, f"{one} could not be read." if lost else ""):
            raise StorageError(
                f"{reason} It may contain links that a rename must rewrite, so nothing was changed.",
                kind="document",
                hint="Try again; if it persists, check the file's permissions and its disk.",
                path=one.path,
            )
    return sources


def _sources(collection: Collection, moves: Mapping[Address, Address]) -> set[Address]:
    """The documents that link to the moved files."""
    return {link.source for old in moves for link in collection.index.links_to(old, sentences=False)}


def _moved_links(
    collection: Collection, document: Document, moves: Mapping[Address, Address], kept: frozenset[str]
) -> dict[int, Address]:
    """Targets before the move of the links to rewrite, by position in `document.links`."""
    resolved = enumerate(collection.index.resolve(document))
    targets = {position: one.target for position, one in resolved if fold(one.link.target) not in kept}
    return {position: target for position, target in targets.items() if target is not None and target in moves}


def _own_targets(collection: Collection, own: Document, moved: Address) -> dict[int, Address]:
    """Targets of the moved document's links, except links to itself."""
    resolved = enumerate(collection.index.resolve(own))
    return {position: one.target for position, one in resolved if one.target is not None and one.target != moved}


def _leads(
    collection: Collection, source: Address, move: tuple[Address, Address]
) -> Callable[[str, LinkKind], Address]:
    """A function that resolves a path in a link after the move, as far as the index knows before it."""
    old, new = move

    def leads(path: str, _: LinkKind) -> Address:
        record = collection.index.find(path, source)
        return new if record is None or record.address == old else record.address

    return leads


def _require_no_file(transaction: Transaction, address: Address) -> None:
    if transaction.exists(address):
        raise AlreadyExistsError(
            f"There already is a file {address.path}, which would be overwritten.",
            kind="path",
            hint="Give another path, or move that file first.",
        )


def _names_that_stay(collection: Collection, address: Address) -> frozenset[str]:
    """Names that do not depend on the file's location: its own id, title and aliases, folded."""
    record = collection.index.record(address)
    if record is None:
        return frozenset()
    names = [record.title, *record.aliases, *([record.id] if record.id != address.id else [])]
    return frozenset(fold(name) for name in names) - {fold(address.id), fold(address.path), fold(address.stem)}
