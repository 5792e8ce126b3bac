"""Attachments of a page: files beside it, which its text links to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from commonplace.domain.activity import attached_to
from commonplace.domain.addresses import Address, parse_address, portable_name
from commonplace.domain.attachment_types import require_attachment
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.domain.markdown.paths import relative_path
from commonplace.services.collections import Collection, current_bytes
from commonplace.services.writes.documents import index_written
from commonplace.services.writes.overwrites import WriteRequest

FOLDER = "attachments"
"""Folder of the attachments of a page that has none yet, beside the page."""
MAX_NAMES = 1_000
"""Maximum number of names that are tried until one is free."""
_PICTURES = frozenset(["png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "bmp"])


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    """A file that was stored, or was there already with the same bytes."""

    address: Address
    markdown: str
    """The link to it from the page: a picture is embedded."""
    created: bool


def attach(collection: Collection, page: Address, name: str, content: bytes, intent: WriteRequest) -> StoredAttachment:
    """Store a file as an attachment of a page. Nothing is overwritten: another file of its name keeps it.

    Args:
        collection: Collection of the page.
        page: The page, which need not exist yet.
        name: Name of the file, whose suffix says its type.
        content: The bytes.
        intent: As for any write.

    Raises:
        InvalidInputError, TooLargeError: from `require_attachment`, or the name is invalid.
        ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was written.
    """
    plain = name.replace("\\", "/").rpartition("/")[2].strip()
    stored = portable_name(plain) or plain
    require_attachment(stored, content)
    stem, dot, suffix = stored.rpartition(".")
    folder = attachment_folder(collection, page)
    message = intent.message or f"Attach: {plain}"
    with (
        attached_to(page, current_bytes(collection, page)),
        collection.store.transaction(message, intent.author) as transaction,
    ):
        for number in range(1, MAX_NAMES):
            mark = f"-{number}" if number > 1 else ""
            address = parse_address(f"{folder}{stem}{mark}{dot}{suffix.lower()}")
            if transaction.is_ignored(address):
                raise _ignored(address)
            if not transaction.exists(address):
                transaction.put(address, content)
                created = True
                break
            if transaction.read(address) == content:
                created = False
                break
        else:
            raise InvalidInputError("Too many files have this name.", kind="attachment", hint="Give it another name.")
    index_written(collection, [address])
    path = markdown_path(relative_path(address.path, page.folder))
    is_picture = suffix.lower() in _PICTURES
    label = stem.translate(str.maketrans(dict.fromkeys("[]", " "))).strip()
    return StoredAttachment(address, f"![{label}]({path})" if is_picture else f"[{label}.{suffix}]({path})", created)


def _ignored(address: Address) -> InvalidInputError:
    """The error for an attachment that is ignored."""
    include = "" if address.skipped_folder else f"Include it with !/{address} in .commonplaceignore, or place"
    return InvalidInputError(
        f"{address} {address.ignored_by}, so it would not be shown. Nothing was changed.",
        kind="attachment",
        hint=f"{include or 'Place'} the page's files elsewhere.",
    )


def attachment_folder(collection: Collection, page: Address) -> str:
    """The folder of most files that a page links to, with a slash; `FOLDER` beside the page if it links to none."""
    raw = current_bytes(collection, page)
    links = collection.index.resolve(read_document(page, raw)) if raw is not None else []
    folders = Counter(link.target.folder for link in links if link.target is not None and not link.target.is_document)
    beside = f"{page.folder}/{FOLDER}" if page.folder else FOLDER
    folder = max(folders, key=lambda other_folder: (folders[other_folder], other_folder)) if folders else beside
    return f"{folder}/" if folder else ""
