"""Sources of a base: a file or a web page is stored as it came, with a page beside it that is searched and cited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError, TooLargeError
from commonplace.domain.ports import Transaction
from commonplace.domain.revisions import revision_of
from commonplace.domain.sources import (
    DIGEST_KEY,
    MAX_SOURCE_BYTES,
    ConvertedText,
    SourceFile,
    SourceReader,
    digest_of,
    kind_of,
    source_page,
    stored_name,
)
from commonplace.services.collections import Collection
from commonplace.services.health.page_rules import stored_file
from commonplace.services.writes.documents import index_written
from commonplace.services.writes.overwrites import UNCONDITIONAL, WriteReceipt, WriteRequest, note_write
from commonplace.services.writes.recorded import record_write

FOLDER = "sources"
"""Folder of the sources."""
MAX_NAMES = 1_000
"""Maximum number of names that are tried until one is free."""


@dataclass(frozen=True, slots=True)
class AddedSource:
    """A source that was stored, or was there already with the same bytes."""

    file: Address
    page: Address
    """The page with its text; the file itself if that is a page."""
    title: str
    kind: str
    size: int
    """Size of the file in bytes."""
    created: bool
    commit: str
    notes: tuple[str, ...] = ()
    """The parts that were not converted, a sentence each."""
    has_headings: bool = True
    """Whether a part of the page can be cited by its heading."""


def is_url(reference: str) -> bool:
    """Whether a source is named by its URL."""
    return reference.startswith(("http://", "https://"))


def add_source(
    collection: Collection,
    source: SourceFile,
    reader: SourceReader,
    title: str = "",
    intent: WriteRequest = UNCONDITIONAL,
) -> AddedSource:
    """Store a source, and beside it a page with its text. The same bytes are one source, whatever their name.

    Args:
        collection: Where the source is to be.
        source: The source.
        reader: Converts it.
        title: The page's title; "" for the source's own.
        intent: As for any write.

    Raises:
        InvalidInputError, ConfigError: it is none that can be read, or libraries are missing. Nothing was written.
        TooLargeError: it has more than `MAX_SOURCE_BYTES`.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was written.
    """
    if len(source.content) > MAX_SOURCE_BYTES:
        raise too_large(len(source.content))
    kind = kind_of(source)
    if earlier := _earlier(collection, source.content):
        file, page = earlier
        if collection.store.stat(page) is not None:
            record = collection.index.record(page)
            size = len(source.content)
            title, headed = record.title if record else page.stem, _has_headings(collection, page)
            return AddedSource(file, page, title, kind, size, created=False, commit="", has_headings=headed)
    converted = ConvertedText("") if kind == "md" else reader.convert(kind, source)
    return _stored(collection, source, (kind, converted, title), intent)


def too_large(size: int) -> TooLargeError:
    """The error for a source of this size in bytes."""
    return TooLargeError(
        f"The source has {size:,} bytes; the limit is {MAX_SOURCE_BYTES:,}.",
        kind="source",
        hint="Add the part that matters.",
    )


def _stored(
    collection: Collection, source: SourceFile, what: tuple[str, ConvertedText, str], intent: WriteRequest
) -> AddedSource:
    kind, converted, title = what
    name = stored_name(source, kind)
    title = title or converted.title or name.rpartition(".")[0]
    origin = source.url or source.name
    message = intent.message or f"Add source: {name}" + (f" from {origin}" if origin != name else "")
    day = moment_of_write().date().isoformat()
    with collection.store.transaction(message, intent.author) as transaction:
        # Another process may have added the same bytes while these were being converted.
        file, page = _earlier(collection, source.content) or _free(transaction, name)
        created = not transaction.exists(page)
        text = source_page(source, (file.name, file.path), converted, title, day).encode()
        drafts = {page: text, file: source.content}  # a source that is a page stays as it came
        for address, content in drafts.items():
            if not transaction.exists(address):
                transaction.put(address, content)
    index_written(collection, sorted(drafts))
    receipt = transaction.receipt
    if created:
        note_write(collection, page, drafts[page], intent)
        record_write(collection, WriteReceipt(page, receipt.revisions[page], receipt.commit, created=True))
    size = len(source.content)
    headed = _has_headings(collection, page)
    return AddedSource(file, page, title, kind, size, created, receipt.commit, converted.notes, headed)


def _earlier(collection: Collection, content: bytes) -> tuple[Address, Address] | None:
    """The stored source with the same bytes, wherever it was moved to, and its page; None if there is none."""
    revision, digest = revision_of(content), digest_of(content)
    for record in collection.index.records():
        if record.revision == revision:
            return record.address, record.address
        if record.frontmatter.get(DIGEST_KEY) == digest:
            file = stored_file(collection, record)
            if file is not None and collection.store.read(file) == content:
                return file, record.address
    for address, stat in collection.store.files(FOLDER):  # the index may not have it yet
        if stat.size == len(content) and collection.store.read(address) == content:
            return address, _page_of(address)
    return None


def _has_headings(collection: Collection, page: Address) -> bool:
    """Whether a page has headings beside that of its title."""
    document = read_document(page, collection.store.read(page))
    return any(section.level and section.heading != document.title for section in document.sections)


def _page_of(file: Address) -> Address:
    return file if file.is_document else parse_address(f"{file.path.rpartition('.')[0]}.md")


def _free(transaction: Transaction, name: str) -> tuple[Address, Address]:
    """The first address of a name that neither a file nor a page has, and that of its page."""
    stem, _, suffix = name.rpartition(".")
    for number in range(1, MAX_NAMES):
        file = parse_address(f"{FOLDER}/{stem}{f'-{number}' if number > 1 else ''}.{suffix}")
        if not transaction.exists(file) and not transaction.exists(_page_of(file)):
            return file, _page_of(file)
    raise InvalidInputError("Too many sources have this name.", kind="source", hint="Give it another name.")


def citation_lines(added: AddedSource) -> Sequence[str]:
    """Lines that say what a page of its own lacks, and how a source is cited: its page, and pages or slides of it."""
    part = {"pdf": "#page-N", "pptx": "#slide-N"}.get(added.kind, "#HEADING") if added.has_headings else ""
    markdown = ["It is Markdown: it stays as it came and is its own page."] if added.kind == "md" else []
    return [*markdown, f"Cite: sources: [{added.page.path}{part}]"]
