"""Moving several files at once: what each page reads afterwards, so that every link leads where it led before."""

from __future__ import annotations

from collections.abc import Collection as AbstractCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from commonplace.domain import edits
from commonplace.domain.addresses import Address, fold
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, LinkKind
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, StorageError
from commonplace.domain.links import MARKDOWN_KINDS, NamedDocument, name_keys, resolve_target
from commonplace.domain.ports import Transaction
from commonplace.domain.query import Record
from commonplace.services.collections import Collection
from commonplace.services.links import as_read_in
from commonplace.services.listing import every_document
from commonplace.services.writes.documents import existing, require_free


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What a move changes."""

    moves: Mapping[Address, Address]
    contents: Mapping[Address, bytes]
    """New bytes by address: of every moved file, and of the other pages whose links follow."""
    came: frozenset[Address]
    """The addresses of the moved files afterwards."""


def plan_moves(
    collection: Collection,
    transaction: Transaction,
    moves: Mapping[Address, Address],
    changed: AbstractCollection[Address] = (),
) -> MovePlan:
    """Return what a move of these files changes; nothing is written.

    Args:
        collection: Where they are.
        transaction: What is there.
        moves: New address by old address, of documents and other files.
        changed: Documents that the transaction has changed already, whose links the index does not know.

    Raises:
        NotFoundError: one of the files is not there.
        AlreadyExistsError: a new address is taken, or that of two files.
        InvalidInputError: a file would stay where it is.
        StorageError: a page that may link to a moved one cannot be read.
    """
    _require_free(collection, transaction, moves)
    after = _LinksAfter(collection, moves)
    contents = {new: transaction.read(old) for old, new in moves.items()}
    for source in _sources(collection, transaction, moves, changed):
        document = as_read_in(collection, read_document(source, transaction.read(source)))
        content = _relinked(collection, document, moves, after)
        if source in moves:
            contents[moves[source]] = content
        elif content != document.raw:
            contents[source] = content
    return MovePlan(dict(moves), contents, frozenset(moves.values()))


def preview_moves(
    collection: Collection, moves: Mapping[Address, Address], unsaved: Mapping[Address, bytes]
) -> MovePlan:
    """What a move of these files would change; nothing is written.

    Args:
        collection: Where they are.
        moves: New address by old address.
        unsaved: Texts that an editor has open, by address; they count instead of the files.

    Raises:
        KnowledgeError: as `plan_moves`, or the folder is read-only.
    """
    try:
        with collection.store.transaction("") as transaction:
            for address, text in unsaved.items():
                transaction.put(address, text)
            _end_with(plan_moves(collection, transaction, moves, unsaved))
    except _PreviewEnd as end:  # an exception is what keeps a transaction from being written
        return end.plan


def _end_with(plan: MovePlan) -> NoReturn:
    raise _PreviewEnd(plan)


class _PreviewEnd(Exception):  # noqa: N818 - no error
    def __init__(self, plan: MovePlan) -> None:
        super().__init__()
        self.plan = plan


def _require_free(collection: Collection, transaction: Transaction, moves: Mapping[Address, Address]) -> None:
    taken: set[str] = set()
    for old, new in moves.items():
        if fold(new.path) in taken:  # also on a case-insensitive file system
            raise AlreadyExistsError(
                f"Two of the files would become {new.path}.", kind="path", hint="Give each a path of its own."
            )
        taken.add(fold(new.path))
        if old == new:
            raise InvalidInputError("The new path is the old one.", kind="path", hint="Give another path.")
        if old.is_document:
            existing(collection, transaction, old)
        if new in moves:
            continue  # moves away itself
        if new.is_document:
            require_free(collection, transaction, new, besides=old)
        elif transaction.exists(new):
            raise AlreadyExistsError(
                f"There already is a file {new.path}, which would be overwritten.",
                kind="path",
                hint="Give another path, or move that file first.",
            )


def _sources(
    collection: Collection,
    transaction: Transaction,
    moves: Mapping[Address, Address],
    changed: AbstractCollection[Address],
) -> list[Address]:
    """The documents whose links may have to follow, by address: those that link to what moves, and what moves."""
    index = collection.index
    unreadable = dict(index.sync().unreadable)
    linking = {link.source for old in moves for link in index.links_to(old, sentences=False)}
    for one in sorted({*linking, *(old for old in moves if old.is_document)}):
        if one.path in unreadable:
            raise StorageError(
                f"{unreadable[one.path]} Links that a move must rewrite can stand in it, so nothing was changed.",
                kind="document",
                hint="Try again; if it stays so, check the file's permissions and its disk.",
                path=one.path,
            )
    written = {one for one in changed if one.is_document}
    found = {*linking, *written, *(old for old in moves if old.is_document)}
    return sorted(one for one in found if transaction.exists(one))


def _relinked(
    collection: Collection, document: Document, moves: Mapping[Address, Address], after: _LinksAfter
) -> bytes:
    """The document's bytes with each link leading where it led before the move."""
    here = moves.get(document.address, document.address)
    before: dict[int, Address] = {}
    targets: dict[int, Address] = {}
    for position, one in enumerate(collection.index.resolve(document)):
        target = one.target
        if target is None or target == document.address:
            continue
        new = moves.get(target, target)
        named = new != target and after.stays(target, one.link.target)
        if not named and (new != target or here != document.address):
            before[position], targets[position] = target, new

    def leads(path: str, kind: LinkKind) -> Address | None:
        return resolve_target(path, here, after, markdown=kind in MARKDOWN_KINDS)

    moved_to = here if here != document.address else None
    return edits.rewrite_links(document, targets, old=before, moved_to=moved_to, leads=leads)


class _LinksAfter:
    """`domain.links.LinkLookup` of the collection as it is after the move."""

    def __init__(self, collection: Collection, moves: Mapping[Address, Address]) -> None:
        self._collection = collection
        self._moves = moves
        self.sites = collection.index.surroundings().sites
        self._came = frozenset(moves.values())
        self._named: dict[str, list[NamedDocument]] = {}
        self._names: dict[Address, frozenset[str]] = {}
        for record in every_document(collection):
            named = _named_after(record, moves)
            for key in name_keys(named):
                self._named.setdefault(key, []).append(named)
            if record.address in moves:
                self._names[record.address] = _lasting_names(record)

    def at(self, path: str) -> Address | None:
        """The document or other file at exactly this path."""
        address = Address(path)
        if address in self._came:
            return address
        if address in self._moves:
            return None
        record = self._collection.index.record(address)
        return record.address if record else None

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every document that has this key among its names."""
        return self._named.get(key, ())

    def files(self, key: str) -> Sequence[Address]:
        """None: the names of files that are no documents are not asked for here."""
        del key
        return ()

    def stays(self, address: Address, target: str) -> bool:
        """Whether a link names a moved document by its id, title or alias, and so still leads to it."""
        return fold(target) in self._names.get(address, frozenset())


def _named_after(record: Record, moves: Mapping[Address, Address]) -> NamedDocument:
    address = moves.get(record.address, record.address)
    identifier = address.id if record.id == record.address.id else record.id
    title = address.stem if record.title == record.address.stem else record.title
    return NamedDocument(address, identifier, title, record.aliases)


def _lasting_names(record: Record) -> frozenset[str]:
    """The names by which a document is found wherever its file lies, folded."""
    address = record.address
    names = [record.title, *record.aliases, *([record.id] if record.id != address.id else [])]
    return frozenset(map(fold, names)) - {fold(address.id), fold(address.path), fold(address.stem)}
