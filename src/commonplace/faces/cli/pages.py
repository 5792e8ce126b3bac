"""Pages on the command line: how one is named, and how it looks as JSON and on a line."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address, parse_document_address
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.json import Json
from commonplace.domain.query import Record
from commonplace.faces.cli.output import FAINT, one_line
from commonplace.faces.cli.session import Session
from commonplace.services.collections import Collection, Collections, FoundDocument


def located(collections: Collections, reference: str) -> FoundDocument:
    """The page that a person means: an exact path or id, else a title or alias that only one page has.

    With several folders `NAME:PAGE` names the folder too.

    Raises:
        NotFoundError: no such page; context holds `nearest`.
    """
    name, page = _split(collections, reference)
    try:
        return collections.locate(page, name)
    except NotFoundError:
        for collection in collections.select(name):
            record = collection.index.find(page)
            if record is not None:
                return FoundDocument(collection, record)
        raise


def addressed(collections: Collections, reference: str) -> tuple[Collection, Address]:
    """Like `located`, but also accepts the path of a deleted or unreadable page."""
    try:
        found = located(collections, reference)
    except (NotFoundError, StorageError):
        name, page = _split(collections, reference)
        return collections.select(name)[0], parse_document_address(page)
    return found.collection, found.record.address


def _split(collections: Collections, reference: str) -> tuple[str | None, str]:
    name, colon, page = reference.partition(":")
    if colon and len(collections.members) > 1 and any(one.name == name for one in collections):
        return name, page.removeprefix("./")
    return None, reference.removeprefix("./")


def place_json(collection: Collection, record: Record) -> dict[str, Json]:
    """The page's identity: the keys with which every JSON object about a page begins."""
    return {
        "collection": collection.name,
        "id": record.id,
        "path": record.address.path,
        "title": record.title,
        "revision": record.revision,
    }


def record_json(found: FoundDocument) -> dict[str, Json]:
    """The catalogue's record of a page as JSON."""
    record = found.record
    return {
        **place_json(found.collection, record),
        "type": record.type,
        "tags": list(record.tags),
        "description": record.description,
        "date": record.date,
        "created": record.created,
        "updated": record.updated,
        "words": record.words,
        "size": record.size,
    }


def path_of(collections: Collections, collection: Collection, address: Address) -> str:
    """The path in the form that a command accepts: with its folder's name if several are open."""
    return f"{collection.name}:{address.path}" if len(collections.members) > 1 else address.path


def file_of(session: Session, collections: Collections, collection: Collection, address: Address) -> Path | None:
    """The absolute path of a page's file; None where the collections are not the folders of the settings."""
    folders = () if session.settings.replica_of else session.settings.kb
    if len(folders) != len(collections.members):
        return None
    folder = next((one for one, member in zip(folders, collections.members, strict=True) if member is collection), None)
    return folder.expanduser().absolute() / address.path if folder else None


def page_name(session: Session, collections: Collections, collection: Collection, address: Address) -> str:
    """As `path_of`, made safe; a person sees it bold, and a click opens the file where the terminal can."""
    out, path = session.out, path_of(collections, collection, address)
    return out.file(path, file_of(session, collections, collection, address) if out.terminal.links else None)


def record_line(session: Session, collections: Collections, found: FoundDocument) -> str:
    """A page on one line: path, title, type, tags and date; separated by tabs where a program reads it."""
    out, record = session.out, found.record
    date = record.date[:10]
    if not out.terminal.interactive:
        path = path_of(collections, found.collection, record.address)
        return "\t".join(map(one_line, (path, record.title, record.type, ",".join(record.tags), date)))
    marks = " ".join(filter(None, [record.type, *(f"#{tag}" for tag in record.tags), date]))
    name = page_name(session, collections, found.collection, record.address)
    return "  ".join(filter(None, [name, one_line(record.title), out.styled(FAINT, one_line(marks))]))
