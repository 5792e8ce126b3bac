"""Pages on the command line: which pages a command means, by name or by filter, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.addresses import Address, parse_document_address
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError, StorageError
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, Record, SortKey
from commonplace.domain.snippets import marked_spans
from commonplace.domain.status import TextStatus
from commonplace.faces.cli.options import MAX_LIMIT, pair
from commonplace.faces.cli.output import BOLD, FAINT, Output, one_line
from commonplace.faces.cli.session import Session
from commonplace.services.collections import Collection, Collections, FoundDocument, reference_splits, several_named
from commonplace.services.deletions import with_deletion


def located(collections: Collections, reference: str) -> FoundDocument:
    """The page for a reference: an exact path or id, or a title or alias that is unique.

    If several folders are open, `NAME:PAGE` also names the folder.

    Raises:
        NotFoundError: no such page; the context has `nearest`.
    """
    name, page = _split(collections, reference)
    try:
        return collections.locate(page, name)
    except NotFoundError as error:
        chosen = collections.select(name)
        for collection in chosen:
            record = collection.index.find(page)
            if record is not None:
                return FoundDocument(collection, record)
        if several := several_named(chosen, page):
            raise several from error
        raise with_deletion(error, [collection.store for collection in chosen], page) from error


def located_at(now: Collections, then: Collections, reference: str) -> FoundDocument:
    """The page that a reference names, at a moment; `now` and `then` are the same for the present.

    It is the page that has the name now, under its name of then; else the one that had the name.

    Raises:
        NotFoundError: no such page; the context has `nearest`.
    """
    if then is not now:
        from commonplace.services.past import document_then

        with suppress(NotFoundError):
            if document := document_then(located(now, reference), then):
                return document
    return located(then, reference)


def addressed(collections: Collections, reference: str) -> tuple[Collection, Address]:
    """Like `located`, but also accepts the path of a deleted or unreadable page."""
    try:
        document = located(collections, reference)
    except (NotFoundError, StorageError):
        name, page = _split(collections, reference)
        return collections.select(name)[0], parse_document_address(page)
    return document.collection, document.record.address


def named_part(collections: Collections, page: str, at: str = "") -> tuple[Collection, Address, str]:
    """The page and the part after `#`. The longest name that a page has decides, because a name may have a `#`.

    With `at`, the page may be deleted.
    """
    *longer, (name, part) = reference_splits(page)
    for whole, rest in longer:
        with suppress(KnowledgeError):
            document = located(collections, whole)
            return document.collection, document.record.address, rest
    if at:
        return *addressed(collections, name), part
    found_document = located(collections, name)
    return found_document.collection, found_document.record.address, part


def _split(collections: Collections, reference: str) -> tuple[str | None, str]:
    name, colon, page = reference.partition(":")
    if colon and len(collections.members) > 1 and any(collection.name == name for collection in collections):
        return name, page.removeprefix("./")
    return None, reference.removeprefix("./")


def place_json(collection: Collection, record: Record) -> dict[str, Json]:
    """The identity of a page: the common first keys of JSON objects about pages."""
    return {
        "collection": collection.name,
        "id": record.id,
        "path": record.address.path,
        "title": record.title,
        "revision": record.revision,
    }


def status_json(status: TextStatus | None) -> dict[str, Json]:
    """The status of a page or section as JSON; empty if it declares none."""
    return {} if status is None else {"status": {"status": status.status.value, "by": status.by}}


def record_json(document: FoundDocument) -> dict[str, Json]:
    """The catalogue's record of a page as JSON."""
    record = document.record
    return {
        **place_json(document.collection, record),
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
    """The path in the form that commands accept: with the folder's name if several folders are open."""
    return f"{collection.name}:{address.path}" if len(collections.members) > 1 else address.path


def file_of(session: Session, collections: Collections, collection: Collection, address: Address) -> Path | None:
    """The absolute path of a page's file; None if the collections are not the folders of the settings."""
    folders = () if session.settings.replica_of else session.settings.kb
    if len(folders) != len(collections.members):
        return None
    folder = next(
        (path for path, member in zip(folders, collections.members, strict=True) if member is collection), None
    )
    return folder.expanduser().absolute() / address.path if folder else None


def page_name(session: Session, collections: Collections, collection: Collection, address: Address) -> str:
    """The escaped result of `path_of`; on a terminal in bold, and as a hyperlink to the file if supported."""
    out, path = session.out, path_of(collections, collection, address)
    return out.file(path, file_of(session, collections, collection, address) if out.terminal.links else None)


def record_line(session: Session, collections: Collections, document: FoundDocument) -> str:
    """A page on one line: path, title, type, tags and date; separated by tabs if the output is not a terminal."""
    out, record = session.out, document.record
    date = record.date[:10]
    if not out.terminal.interactive:
        path = path_of(collections, document.collection, record.address)
        return "\t".join(map(one_line, (path, record.title, record.type, ",".join(record.tags), date)))
    marks = " ".join(filter(None, [record.type, *(f"#{tag}" for tag in record.tags), date]))
    name = page_name(session, collections, document.collection, record.address)
    return "  ".join(filter(None, [name, one_line(record.title), out.styled(FAINT, one_line(marks))]))


ListSort: TypeAlias = Literal["path", "title", "type", "date", "created", "updated"]
SearchSort: TypeAlias = Literal["score", ListSort]

NEWEST_FIRST: frozenset[SortKey] = frozenset({"created", "updated", "date", "score"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Options that filter pages."""

    type_: Annotated[
        list[str], typer.Option("--type", "-t", metavar="TYPE", help="Of this type or category; repeated: of either.")
    ] = field(default_factory=list[str])
    tag: Annotated[
        list[str], typer.Option("--tag", metavar="TAG", help="With this tag or one below it; repeated: with all.")
    ] = field(default_factory=list[str])
    prefix: Annotated[str, typer.Option("--prefix", "-p", metavar="PATH", help="Under this path, as in notes/.")] = ""
    field_: Annotated[
        list[str], typer.Option("--field", "-f", metavar="KEY=VALUE", help="With this front-matter field.")
    ] = field(default_factory=list[str])
    from_: Annotated[str, typer.Option("--from", metavar="DAY", help="Dated this day (2024-05-31) or later.")] = ""
    to: Annotated[str, typer.Option("--to", metavar="DAY", help="Dated this day or earlier.")] = ""

    def filter(self) -> Filter:
        """The filter that these options describe.

        Raises:
            ConfigError: a day is not valid, or a field has no `=`.
        """
        return Filter(
            prefix=self.prefix.removeprefix("./"),
            types=tuple(self.type_),
            tags=tuple(self.tag),
            fields=tuple(pair("--field", text) for text in self.field_),
            date_from=_day("--from", self.from_),
            date_to=_day("--to", self.to),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagingOptions:
    """Options for one page of a long answer."""

    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=MAX_LIMIT, metavar="N", help="Maximum number of results.")
    ] = 20
    offset: Annotated[
        int, typer.Option("--offset", min=0, metavar="N", help="Number of results to skip.", show_default=False)
    ] = 0

    def more(self, shown: int, total: int) -> str:
        """The line with the option for the next results; "" if all are shown."""
        after = self.offset + shown
        if after >= total:
            return ""
        return f"Showing {shown:,} of {total:,}; pass --offset {after} for more."


def newest_first(sort: SortKey, *, reverse: bool) -> bool:
    """Whether the sort order is descending: dates and scores by default, other keys only if `reverse` is set."""
    return (sort in NEWEST_FIRST) != reverse


def _day(option: str, text: str) -> str:
    if not text:
        return ""
    try:
        day = date.fromisoformat(text).isoformat()
    except ValueError:
        day = ""
    if day != text:  # other ISO forms, such as 20240531, are compared as text and would never match
        raise ConfigError(f"Invalid {option} {text!r}: expected a day such as 2024-05-31.", kind="option")
    return day


def highlighter(out: Output, query: str) -> Callable[[str], str]:
    """A function that returns a text as one safe line, with the words of the query in bold if styles are shown."""
    mark = marker(query, lambda word: out.styled(BOLD, word))
    return lambda text: mark(one_line(text))


def marker(query: str, mark: Callable[[str], str]) -> Callable[[str], str]:
    """A function that marks the words of a query in a safe text.

    Args:
        query: The query as typed.
        mark: Returns a word with styles.
    """
    spans = marked_spans(query)

    def marked(text: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end in spans(text):
            parts += [text[at:start], mark(text[start:end])]
            at = end
        return "".join([*parts, text[at:]])

    return marked
