"""The one decision on whether a caller may write, and the record of what each session reads and writes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from commonplace.domain.activity import (
    NO_LIMITS,
    Access,
    AccessLog,
    Actor,
    HourlyUse,
    HourlyUses,
    PlannedWrite,
    WriteLimits,
    attached_page,
    record_fact,
    record_write,
    watched_by,
)
from commonplace.domain.addresses import Address, document_suffixes
from commonplace.domain.changes import committed_by, person_of, written_by
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ForbiddenError, RateLimitedError, TooLargeError
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of
from commonplace.services.collections import Collection, Collections, current_bytes

_OF_PROPOSAL = re.compile(r"-[0-9]{8}-[0-9a-f]{6}$")
"""End of the identity of a view, behind that of the served store."""
MAX_READ = 50
"""Maximum number of pages of one call that are recorded as read."""


@dataclass(slots=True)
class CallWatch:
    """`domain.activity.WriteWatch` of one call."""

    actor: Actor
    log: AccessLog
    uses: HourlyUses
    collections: Collections
    limits: WriteLimits = NO_LIMITS
    reads: bool = False
    """Whether the call only reads, so that the pages that it names count as read."""
    _read: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])

    @contextmanager
    def writing(self, write: PlannedWrite) -> Generator[Callable[[str], None]]:
        """Allow a write for the duration of a `with` block; yields what is called with its commit when it is done."""
        write = self._named(write)
        self._require_allowed(write)
        record_fact(write.name)
        release = _counted(self.limits, write, self.actor, self.uses)
        done = False

        def finish(commit: str) -> None:
            nonlocal done
            done = True
            self.log.add(_written(self.actor, write, commit))
            record_write(self.actor)

        try:
            yield finish
        finally:
            if not done:
                release()

    def deciding(self, write: PlannedWrite) -> None:
        """Check that the caller may write these files, without counting a write."""
        self._require_allowed(self._named(write))

    def _require_allowed(self, write: PlannedWrite) -> None:
        if self.limits.folders or self.limits.types:
            require_allowed(named_limits(self.limits, self.collections), write, self.collections.named(write.name))

    def _named(self, write: PlannedWrite) -> PlannedWrite:
        """The write with the name of its collection, which can be another than that of its folder."""
        for collection in self.collections.members:
            if _OF_PROPOSAL.sub("", collection.store.identity) == write.base:
                return replace(write, name=collection.name)
        return write

    def reading(self, base: str, path: str) -> None:
        """Record that a page was read."""
        for collection in self.collections.opened:
            if collection.store.identity == base:
                record_fact(collection.name)
        if self.reads and len(self._read) < MAX_READ:
            self._read[_OF_PROPOSAL.sub("", base), path] = None

    def finish(self) -> None:
        """Add what was read to the log."""
        for base in dict.fromkeys(base for base, _ in self._read):
            paths = tuple(path for other, path in self._read if other == base)
            self.log.add(Access(when=time.time(), actor=self.actor, base=base, read=paths))


@contextmanager
def watched(watch: CallWatch) -> Generator[None]:
    """Let a watch see the reads and writes of the block.

    A caller with a name is author and committer of every write that names no other, in every face.
    """
    record_fact(actor=watch.actor)
    person = person_of(watch.actor.name)
    with watched_by(watch), written_by(person), committed_by(person):
        try:
            yield
        finally:
            watch.finish()


def named_limits(limits: WriteLimits, collections: Collections) -> WriteLimits:
    """The limits with the names of the collections, where their folders have other names of these."""
    folders: list[str] = []
    for folder in limits.folders:
        name, colon, path = folder.rpartition(":")
        collection = collections.named(name) if colon else None
        folders.append(f"{collection.name}:{path}" if collection else folder)
    return replace(limits, folders=tuple(folders))


def require_allowed(limits: WriteLimits, write: PlannedWrite, collection: Collection | None) -> None:
    """Check that a caller may write these files. Every face, every tool and every decision on a proposal asks here.

    An attachment belongs to a page, whose folder and type decide as well.

    Args:
        limits: The limits of the caller's key.
        write: The write.
        collection: The collection of the files, in which the pages of attachments are looked up; None for none.

    Raises:
        ForbiddenError: kind "limit": a file is in another folder, or of another type.
    """
    attached = attached_page()
    for address in (*write.after, *([attached[0]] if attached else [])):
        if limits.folders and not _is_below(address, write.name, limits.folders):
            raise ForbiddenError(
                f"This key writes in {_listed([*map(_shown_folder, limits.folders)])} only; {write.name}:{address} is "
                "not there. Nothing was written.",
                kind="limit",
                hint="Write there, or ask for a key without this limit.",
            )
    for address in write.after if limits.types else ():
        for name in _types(address, write, collection):
            if name not in limits.types:
                owner = f"{address} has" if address.is_document else f"a page of {address} has"
                raise ForbiddenError(
                    f"This key writes pages of type {_listed(limits.types)} only; "
                    f"{_said_type(name, owner, address)}. Nothing was written.",
                    kind="limit",
                    hint="Write pages of these types, or ask for a key without this limit.",
                )


def _said_type(name: str | None, owner: str, address: Address) -> str:
    if name is None:
        return f"no page of {address} is known"
    return f"{owner} {f'the type {name[:60]}' if name else 'none'}"


def _counted(limits: WriteLimits, write: PlannedWrite, actor: Actor, uses: HourlyUses) -> Callable[[], None]:
    """Count a write; returns what takes the count back, for a write that was not made.

    Raises:
        RateLimitedError: kind "limit": the key has written too much in the last hour.
        TooLargeError: kind "limit": the write alone is more than the key writes in an hour.
    """
    if not limits.is_hourly:
        return lambda: None
    pages, size = len(write.after), sum(len(content or b"") for content in write.after.values())

    def check(use: HourlyUse) -> None:
        for name, most, used, requested_number in (
            ("pages", limits.pages, use.pages, pages),
            ("bytes", limits.size, use.size, size),
        ):
            if most is not None and requested_number > most:
                raise _never_allowed(name, most, requested_number)
            if most is not None and used + requested_number > most:
                raise _too_much(name, most, used, requested_number, use.until)

    return uses.reserve(actor.caller, pages, size, check)


def _is_below(address: Address, name: str, folders: Sequence[str]) -> bool:
    """Whether an address of the collection of this name lies below one of the folders of a key."""
    named = [folder.rpartition(":") for folder in folders]
    paths = [path for collection, colon, path in named if not colon or collection == name]
    return any(not path or address.path.startswith(f"{path}/") for path in paths)


def _shown_folder(folder: str) -> str:
    return folder if folder.endswith(":") else f"{folder}/"


def _types(address: Address, write: PlannedWrite, collection: Collection | None) -> Iterator[str | None]:
    """The types that a page, or each page of an attachment, has before and after a write; None if it has no page."""
    if address.is_document:
        yield from _types_of(address, (write.before.get(address), write.after[address]))
        return
    declared = attached_page()
    if declared:
        yield from _types_of(declared[0], (declared[1] or b"",))
    pages = _pages_of(address, write, collection)
    for page, contents in pages.items():
        yield from _types_of(page, contents)
    if not pages and not declared:
        yield None


def _types_of(page: Address, contents: Iterable[bytes | None]) -> Iterator[str]:
    for content in contents:
        if content is not None:
            yield str(build_record(read_document(page, content), revision_of(content)).type or "")


def _pages_of(
    file: Address, write: PlannedWrite, collection: Collection | None
) -> dict[Address, tuple[bytes | None, ...]]:
    """The pages to which a file belongs, with their texts: that of its folder, else those that link to it."""
    own = {page: _texts(page, write, collection) for page in map(Address, _names_of_folder(file))}
    own = {page: texts for page, texts in own.items() if any(text is not None for text in texts)}
    if own:
        return own
    links = collection.index.links_to(file, sentences=False) if collection else []
    linking = {page: _texts(page, write, collection) for page in dict.fromkeys(link.source for link in links)}
    for page in write.after:
        texts = _texts(page, write, collection) if page.is_document else ()
        if any(text is not None and _names(page, text, file) for text in texts):
            linking[page] = texts
    return linking


def _names_of_folder(file: Address) -> list[str]:
    return [f"{file.folder}{suffix}" for suffix in document_suffixes()] if file.folder else []


def _texts(page: Address, write: PlannedWrite, collection: Collection | None) -> tuple[bytes | None, ...]:
    """The text of a page before and after a write."""
    if page in write.after:
        return write.before.get(page), write.after[page]
    return (current_bytes(collection, page) if collection else None,)


def _names(page: Address, text: bytes, file: Address) -> bool:
    """Whether a page links to a file of this name."""
    return any(link.target.rpartition("/")[2] == file.name for link in read_document(page, text).links)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _never_allowed(name: str, most: int, request: int) -> TooLargeError:
    return TooLargeError(
        f"This key writes {most:,} {name} an hour, and this write alone has {request:,}. Nothing was written.",
        kind="limit",
        hint=f"Write at most {most:,} {name} at once, or ask for a key without this limit.",
    )


def _too_much(name: str, most: int, used: int, request: int, until: float) -> RateLimitedError:
    left = max(0, most - used)
    wait = max(1, int(until) + 1)
    return RateLimitedError(
        f"This key writes {most:,} {name} an hour: {used:,} are written, {left:,} are left, and this write has "
        f"{request:,}. Nothing was written.",
        kind="limit",
        hint=f"Wait {wait} s, or write at most {left:,} {name}.",
        retry_after=wait,
    )


def _written(actor: Actor, write: PlannedWrite, commit: str) -> Access:
    files = {
        address.path: (_revision(write.before.get(address)), _revision(content))
        for address, content in write.after.items()
    }
    return Access(
        when=time.time(),
        actor=actor,
        base=write.base,
        name=write.name,
        commit=commit,
        proposal=write.proposal,
        paths=tuple(address.path for address in write.after),
        files=files,
    )


def _revision(content: bytes | None) -> str:
    return "" if content is None else revision_of(content)
