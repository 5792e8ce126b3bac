"""Notes in a folder here: `domain.wiki.Notes` over a collection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
)
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.domain.reading import read_document
from commonplace.domain.revisions import revision_of
from commonplace.domain.wiki import (
    Change,
    Note,
    Renamed,
    Saved,
    Summaries,
    Summary,
    Wanted,
    as_text,
    as_texts,
)
from commonplace.services import writing
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document
from commonplace.services.wiki import linking, locating
from commonplace.services.writing import Intent, Written

MAX_LOOKED_THROUGH = 1_000
"""Commits of a note among which a short revision is looked up."""


@dataclass(frozen=True, slots=True)
class Customs:
    """How this wiki writes."""

    author: Author | None = None
    """Who commits name; None for the configured identity."""
    retain_case: bool = True
    """Whether a new page keeps the case of its name; otherwise its file's name is lower case."""


USUAL = Customs()


class LocalNotes:
    """The notes of one collection."""

    def __init__(self, collection: Collection, customs: Customs) -> None:
        self._collection = collection
        self._customs = customs

    def list(self, wanted: Wanted) -> Summaries:
        """Notes, newest first, then by path."""
        query = ListQuery(filter=_filter(wanted), sort="updated_day", descending=True, offset=wanted.offset)
        if wanted.limit is None:
            records = tuple(every_document(self._collection, query))
            return Summaries(tuple(map(_summary, records[wanted.offset :])), len(records))
        page = self._collection.index.list(
            ListQuery(filter=query.filter, sort=query.sort, descending=True, offset=wanted.offset, limit=wanted.limit)
        )
        return Summaries(tuple(map(_summary, page.records)), page.total)

    def read(self, path: str, revision: str = "") -> Note:
        """A note, now or at a revision."""
        if revision:
            return self._at(path, revision)
        address = locating.require(self._collection, path)
        state = locating.state_of(self._collection, address)
        return self._note(
            address, state.raw, state.revision, locating.change_of(state.commit) if state.commit else None
        )

    def write(self, path: str, content: str, *, revision: str = "", message: str) -> Saved:
        """Create a note, or replace the one at this revision."""
        raw = _encoded(content)
        address = locating.locate(self._collection, path)
        if address is None:
            if revision:
                raise locating.conflict(path, "")
            return self._create(path, raw, message)
        if not revision:
            raise ConflictError(
                f"The page {address.id} exists, so a revision is required to write it.",
                kind="page",
                hint="Read the page and send the revision that it gives.",
                current_revision=locating.state_of(self._collection, address).revision,
            )
        return self._saved(
            address, lambda intent: writing.replace(self._collection, address, raw, intent), revision, message
        )

    def edit(self, path: str, change: tuple[str, str], *, revision: str, message: str) -> Saved:
        """Replace the one occurrence of the first text by the second."""
        address = locating.require(self._collection, path)
        old, new = change
        return self._saved(
            address,
            lambda intent: writing.replace_once(self._collection, address, old, new, intent),
            revision,
            message,
        )

    def delete(self, path: str, *, revision: str = "", message: str) -> str:
        """Delete a note; its path as it was."""
        address = locating.require(self._collection, path)
        blob = locating.expected_blob(self._collection, address, revision) if revision else ""
        try:
            writing.delete(self._collection, address, self._intent(message, blob))
        except ConflictError as error:
            raise self._told_again(address) from error
        return address.id

    def rename(self, path: str, new_path: str, *, message: str) -> Renamed:
        """Move a note with its attachments and rewrite the links that lead to them, in one commit."""
        address = locating.require(self._collection, path)
        new_address = self._new_address(new_path)
        files = {
            one: Address(f"{new_address.id}/{one.name}") for one, _ in locating.attached(self._collection, address)
        }
        written = writing.rename(self._collection, address, new_address, self._intent(message), files)
        return Renamed(
            address.id, new_address.id, self._revision(written), tuple(other.id for other in written.updated)
        )

    def history(self, path: str, limit: int) -> tuple[str, list[Change]]:
        """The note's path and the commits that touched it, newest first."""
        address = locating.locate(self._collection, path)
        commits = self._collection.store.history.log(address or locating.page_address(path), limit=limit)
        if address is None and not commits:
            address = locating.require(self._collection, path)
        shown = address.id if address else locating.page_address(path).id
        return shown, [locating.change_of(commit) for commit in commits]

    def _at(self, path: str, revision: str) -> Note:
        address = locating.locate(self._collection, path) or locating.page_address(path)
        history = self._collection.store.history
        try:
            raw = history.read(address, revision)
        except NotFoundError as error:
            locating.require(self._collection, path)
            raise NotFoundError(
                f"Revision not found: {revision} of {address.id}.",
                kind="revision",
                hint="Use the page's history to see its revisions.",
                reference=address.id,
            ) from error
        commits = history.log(address, limit=MAX_LOOKED_THROUGH)
        of_commit = next((one for one in commits if one.id.startswith(revision.lower())), None)
        known = of_commit.id if of_commit else revision_of(raw)
        return self._note(address, raw, known, locating.change_of(of_commit) if of_commit else None)

    def _note(self, address: Address, raw: bytes, revision: str, last: Change | None) -> Note:
        document = read_document(address, raw)
        return Note(
            path=address.id,
            content=document.text,
            frontmatter=document.frontmatter.values,
            links_to=linking.outgoing(address, self._collection.index.resolve(document)),
            linked_from=linking.incoming(self._collection, address),
            revision=revision,
            last_commit=last,
        )

    def _create(self, path: str, raw: bytes, message: str) -> Saved:
        address = self._new_address(path)
        try:
            written = writing.create(self._collection, address, raw, self._intent(message))
        except AlreadyExistsError as error:
            raise self._told_again(locating.locate(self._collection, path) or address) from error
        return Saved(address.id, self._revision(written), created=True)

    def _new_address(self, path: str) -> Address:
        return locating.page_address(path if self._customs.retain_case else path.lower())

    def _saved(self, address: Address, write: Callable[[Intent], Written], revision: str, message: str) -> Saved:
        blob = locating.expected_blob(self._collection, address, revision)
        try:
            written = write(self._intent(message, blob))
        except ConflictError as error:
            raise self._told_again(address) from error
        except NotFoundError as error:
            raise locating.conflict(address.id, "") from error
        return Saved(address.id, self._revision(written))

    def _told_again(self, address: Address) -> KnowledgeError:
        """A conflict met under the lock, with the wiki's word for the revision that won."""
        try:
            return locating.conflict(address.id, locating.state_of(self._collection, address).revision)
        except NotFoundError:
            return locating.conflict(address.id, "")

    def _intent(self, message: str, expected: str = "") -> Intent:
        return Intent(expected=expected, message=message, author=self._customs.author)

    def _revision(self, written: Written) -> str:
        """The wiki's word for what was written, which another writer may have replaced since."""
        if written.commit:
            return written.commit
        look = partial(locating.state_of, self._collection, written.address)
        state = written.answer_by.within(look, f"{written.address}: looking up its commit")
        return state.revision if state and state.blob == written.revision else written.revision


def _filter(wanted: Wanted) -> Filter:
    fields = [(key, value) for key, value in (("category", wanted.category), ("tags", wanted.tag)) if value]
    since = _day(wanted.updated_since) if wanted.updated_since else ""
    return Filter(prefix=wanted.prefix, fields=tuple(fields), updated_from=since)


def _day(text: str) -> str:
    try:
        when = datetime.fromisoformat(text)
        day = when.astimezone(UTC) if when.tzinfo else when
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"Invalid updated_since {text[:60]!r}: expected an ISO 8601 date such as 2026-03-08.",
            kind="date",
            hint="Give a day as YYYY-MM-DD.",
        ) from None
    return f"{day:%Y-%m-%d}".rjust(10, "0")


def _summary(record: Record) -> Summary:
    values = record.frontmatter
    return Summary(
        path=record.address.id,
        category=as_text(values.get("category")),
        tags=as_texts(values.get("tags")),
        last_updated=record.updated[:10],
        words=record.words,
    )


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            "Invalid content: it holds a lone surrogate, which is no text.", kind="content", hint="Send Unicode text."
        ) from error
