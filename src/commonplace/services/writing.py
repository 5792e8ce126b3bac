"""Writing documents: create, replace, edit, rename with its incoming links, delete. Each is one durable transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from commonplace.domain import edits
from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import Author, Receipt, Revision
from commonplace.domain.documents import Document, LinkKind
from commonplace.domain.errors import (
    AlreadyExistsError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    StorageError,
    TooLargeError,
)
from commonplace.domain.ports import Transaction
from commonplace.domain.reading import find_section, read_document
from commonplace.domain.revisions import require_revision
from commonplace.services.collections import Collection
from commonplace.services.extending import entry_fields

MAX_BYTES = 16 * 1024 * 1024
"""The largest document that can be written."""

Change = Callable[[Document], bytes]
"""A pure function from the document as it is to its new bytes."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a writer says of a write besides its content."""

    expected: str = ""
    """The revision that the writer saw (7 or more digits of it), or "" to change whatever is there."""
    message: str = ""
    """The commit's message, or "" for the verb and the document's name."""
    author: Author | None = None
    """Who the commit names, or None for the configured identity."""


ANY = Intent()
NO_FILES: Mapping[Address, Address] = MappingProxyType({})

Draft = tuple[Address, bytes]
"""An address and what is to stand there."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write left."""

    address: Address
    revision: Revision
    """Of the document as written; "" when it was deleted."""
    commit: str
    """The commit's id, "" when nothing was committed."""
    created: bool = False
    updated: tuple[Address, ...] = ()
    """Other documents that the write changed too: those whose links a rename rewrote, by path."""


def create(collection: Collection, address: Address, content: bytes, intent: Intent = ANY) -> Written:
    """Write a new document; never overwrites.

    Raises:
        AlreadyExistsError: there is a file at the address, or one whose name differs only in case.
        TooLargeError: over `MAX_BYTES`.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    _check_size(content)
    with collection.store.transaction(intent.message or f"Create: {address.id}", intent.author) as transaction:
        _require_free(collection, transaction, address)
        transaction.put(address, content)
    return _done(collection, address, transaction.receipt, created=True)


def create_all(collection: Collection, drafts: Sequence[Draft], intent: Intent = ANY) -> list[Written | KnowledgeError]:
    """Write several new documents as one step: one transaction, and where writes are committed one commit.

    Args:
        collection: Where they go.
        drafts: Address and content of each.
        intent: As for any write.

    Returns:
        For each draft, in order, what was written, or why it may not be; the others are written all the same.

    Raises:
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was changed.
    """
    refused: dict[int, KnowledgeError] = {}
    with collection.store.transaction(intent.message or f"Create: {len(drafts)} documents", intent.author) as step:
        for position, (address, content) in enumerate(drafts):
            try:
                _check_size(content)
                _require_free(collection, step, address)
            except KnowledgeError as error:
                refused[position] = error
            else:
                step.put(address, content)
    receipt = step.receipt
    _take_in(collection, sorted(receipt.revisions))
    return [
        refused.get(position) or Written(address, receipt.revisions[address], receipt.commit, created=True)
        for position, (address, _) in enumerate(drafts)
    ]


def put_all(collection: Collection, drafts: Sequence[Draft], intent: Intent = ANY) -> None:
    """Write documents that nobody else writes, new or not, as one step."""
    if not drafts:
        return
    with collection.store.transaction(intent.message, intent.author) as transaction:
        for address, content in drafts:
            transaction.put(address, content)
    _take_in(collection, [address for address, _ in drafts])


def edit(collection: Collection, address: Address, change: Change, intent: Intent = ANY) -> Written:
    """Change a document under the writer's lock: what `change` sees is what it replaces, and what it raises stops it.

    Raises:
        NotFoundError: no such document.
        ConflictError: it is no longer at the expected revision; context holds `current_revision`.
    """
    with collection.store.transaction(intent.message or f"Update: {address.id}", intent.author) as transaction:
        raw = _existing(collection, transaction, address, intent)
        content = change(read_document(address, raw))
        _check_size(content)
        transaction.put(address, content)
    return _done(collection, address, transaction.receipt)


def replace(collection: Collection, address: Address, content: bytes, intent: Intent = ANY) -> Written:
    """Replace a document's whole text."""
    return edit(collection, address, lambda _: content, intent)


def edit_section(collection: Collection, address: Address, heading: str, text: str, intent: Intent = ANY) -> Written:
    """Replace the text under a heading (its own subsections included), leaving the heading as it is."""
    path = [part.strip() for part in heading.split(" > ")]
    return edit(
        collection,
        address,
        lambda document: edits.replace_section(document, find_section(document, path), text),
        intent,
    )


def replace_once(collection: Collection, address: Address, old: str, new: str, intent: Intent = ANY) -> Written:
    """Replace the one occurrence of a text.

    Raises:
        InvalidInputError: the text is absent, occurs more than once, or equals its replacement.
    """
    return edit(collection, address, lambda document: edits.replace_once(document, old, new), intent)


def append(collection: Collection, address: Address, text: str, intent: Intent = ANY) -> Written:
    """Add text at a document's end, as a paragraph of its own."""
    return edit(collection, address, lambda document: edits.append(document, text), intent)


def delete(collection: Collection, address: Address, intent: Intent = ANY) -> Written:
    """Delete a document; its history stays.

    Raises:
        NotFoundError: no such document.
        ConflictError: it is no longer at the expected revision.
    """
    with collection.store.transaction(intent.message or f"Delete: {address.id}", intent.author) as transaction:
        _existing(collection, transaction, address, intent)
        transaction.remove(address)
    return _done(collection, address, transaction.receipt)


def rename(
    collection: Collection,
    address: Address,
    new_address: Address,
    intent: Intent = ANY,
    files: Mapping[Address, Address] = NO_FILES,
) -> Written:
    """Move a document and rewrite every link that leads to it, in one transaction.

    Links in the moved document that are written relative to its folder are rewritten as well.

    Args:
        collection: Where it is.
        address: The document.
        new_address: Where it goes.
        intent: As for any write.
        files: Where other files go that move with it; links to them follow too.

    Raises:
        NotFoundError: no such document.
        AlreadyExistsError: the new address, or that of a file, is taken.
        InvalidInputError: both addresses are the same.
    """
    _require_another(address, new_address)
    message = intent.message or f"Rename: {address.id} -> {new_address.id}"
    moves = {address: new_address, **files}
    with collection.store.transaction(message, intent.author) as transaction:
        moved = _existing(collection, transaction, address, intent)
        _require_free(collection, transaction, new_address, besides=address)
        rewritten = _rewritten(collection, transaction, address, moves)
        contents = {new: transaction.read(old) for old, new in files.items()}
        for new in contents:
            _require_no_file(transaction, new)
        contents[new_address] = rewritten.pop(new_address, moved)
        for old in moves:
            transaction.remove(old)
        for place, content in (contents | rewritten).items():
            transaction.put(place, content)
    _take_in(collection, [*moves, *moves.values(), *rewritten])
    receipt = transaction.receipt
    return Written(new_address, receipt.revisions[new_address], receipt.commit, updated=tuple(sorted(rewritten)))


def rename_preview(collection: Collection, address: Address, new_address: Address) -> list[Address]:
    """The other documents whose links `rename` would rewrite, by path; nothing is changed.

    Raises:
        KnowledgeError: what `rename` would raise.
    """
    _require_another(address, new_address)
    with collection.store.transaction("") as transaction:  # for what it sees; nothing is put
        _existing(collection, transaction, address, ANY)
        _require_free(collection, transaction, new_address, besides=address)
        rewritten = _rewritten(collection, transaction, address, {address: new_address})
    return sorted(rewritten.keys() - {new_address})


def _require_another(address: Address, new_address: Address) -> None:
    if address == new_address:
        raise InvalidInputError("The new path is the old one.", kind="path", hint="Give another path.")


def _rewritten(
    collection: Collection, transaction: Transaction, moved: Address, moves: Mapping[Address, Address]
) -> dict[Address, bytes]:
    """New bytes of each document in which a link must follow a move; the moved document under its new address."""
    sources = _sources_now(collection, transaction, moved, moves)
    changed: dict[Address, bytes] = {}
    kept = _names_that_stay(collection, moved)
    new = moves[moved]
    for source in sorted(sources - {moved}):
        document = read_document(source, transaction.read(source))
        before = _moved_links(collection, document, moves, kept)
        targets = {position: moves[old] for position, old in before.items()}
        leads = _leads(collection, source, (moved, new))
        content = edits.rewrite_links(document, targets, old=before, leads=leads)
        if content != document.raw:
            changed[source] = content
    own = read_document(moved, transaction.read(moved))
    before = _moved_links(collection, own, moves, kept)
    targets = _own_targets(collection, own, moved) | {position: moves[old] for position, old in before.items()}
    content = edits.rewrite_links(own, targets, old=before, moved_to=new, leads=_leads(collection, new, (moved, new)))
    if content != own.raw:
        changed[new] = content
    return changed


def _sources_now(
    collection: Collection, transaction: Transaction, moved: Address, moves: Mapping[Address, Address]
) -> set[Address]:
    """The documents that link to what moves, by what an editor or another process wrote a moment ago, too.

    Raises:
        StorageError: one of them, or the moved document, cannot be looked at, so that links in it would be missed.
    """
    index = collection.index
    before = [*_sources(collection, moves), *([moved] if index.record(moved) else [])]
    unreadable = dict(index.sync().unreadable)
    sources = _sources(collection, moves)
    for one in sorted({*before, *sources}):
        lost = index.record(one) is None and transaction.exists(one)
        if reason := unreadable.get(one.path, f"{one} could not be read." if lost else ""):
            raise StorageError(
                f"{reason} Links that a rename must rewrite can stand in it, so nothing was changed.",
                kind="document",
                hint="Try again; if it stays so, check the file's permissions and its disk.",
                path=one.path,
            )
    return sources


def _sources(collection: Collection, moves: Mapping[Address, Address]) -> set[Address]:
    """The documents that link to what moves."""
    return {link.source for old in moves for link in collection.index.links_to(old, sentences=False)}


def _moved_links(
    collection: Collection, document: Document, moves: Mapping[Address, Address], kept: frozenset[str]
) -> dict[int, Address]:
    """Where each link that must follow a move leads before it, by its position in `document.links`."""
    resolved = enumerate(collection.index.resolve(document))
    targets = {position: one.target for position, one in resolved if fold(one.link.target) not in kept}
    return {position: target for position, target in targets.items() if target is not None and target in moves}


def _own_targets(collection: Collection, own: Document, moved: Address) -> dict[int, Address]:
    """Where the links of the moved document lead, its links to itself left out."""
    resolved = enumerate(collection.index.resolve(own))
    return {position: one.target for position, one in resolved if one.target is not None and one.target != moved}


def _leads(
    collection: Collection, source: Address, move: tuple[Address, Address]
) -> Callable[[str, LinkKind], Address]:
    """Where a path in a link will lead after a move, as far as the index knows before it."""
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
    """Names by which a document is found wherever its file lies: its own id, title and aliases, folded."""
    record = collection.index.record(address)
    if record is None:
        return frozenset()
    names = [record.title, *record.aliases, *([record.id] if record.id != address.id else [])]
    return frozenset(fold(name) for name in names) - {fold(address.id), fold(address.path), fold(address.stem)}


def _existing(collection: Collection, transaction: Transaction, address: Address, intent: Intent) -> bytes:
    if not transaction.exists(address):
        raise NotFoundError(
            f"There is no document {address.id!r}.",
            kind="document",
            hint="Create it, or give one of the nearest ids.",
            reference=address.id,
            nearest=collection.index.nearest(address.id),
        )
    raw = transaction.read(address)
    if intent.expected:
        require_revision(raw, intent.expected)
    return raw


def _require_free(
    collection: Collection, transaction: Transaction, address: Address, besides: Address | None = None
) -> None:
    """Refuse an address that is taken, or would be on a file system that does not tell upper from lower case."""
    taken = transaction.exists(address)
    twins = [twin for twin in collection.index.same_name(address) if twin != besides and transaction.exists(twin)]
    if taken or twins:
        there = address if taken else twins[0]
        raise AlreadyExistsError(
            f"There already is a document {there.id!r}.",
            kind="document",
            hint="Read it and change it, or give another path.",
            reference=there.id,
        )


def _check_size(content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise TooLargeError(
            f"The document is {len(content):,} bytes; the limit is {MAX_BYTES:,}.",
            kind="document",
            hint="Split it into several documents.",
        )


def _done(collection: Collection, address: Address, receipt: Receipt, *, created: bool = False) -> Written:
    _take_in(collection, _touched(receipt, address))
    return Written(address, receipt.revisions.get(address, ""), receipt.commit, created=created)


def _take_in(collection: Collection, addresses: Sequence[Address]) -> None:
    """Bring the index up to date with a write; plugins that want to know are told of each document before."""
    if collection.extensions.hooks.get("before_index"):
        for address in addresses:
            if address.is_document and collection.store.stat(address) is not None:
                document = read_document(address, collection.store.read(address))
                collection.extensions.at("before_index", entry_fields(collection.name, document))
    collection.index.update(addresses)


def _touched(receipt: Receipt, address: Address) -> Sequence[Address]:
    return sorted({address, *receipt.revisions, *receipt.removed})
