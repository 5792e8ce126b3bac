"""Resolves a path to a note, and determines the note's revision."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock

from commonplace.domain.addresses import Address, fold, parse_address, parse_document_address
from commonplace.domain.changes import Commit, FileStat
from commonplace.domain.documents import Document, LinkKind
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError, StorageError
from commonplace.domain.frontmatter import read_frontmatter
from commonplace.domain.links import lookup_keys
from commonplace.domain.past import StoreWithPast
from commonplace.domain.query import ResolvedLink
from commonplace.domain.revisions import is_revision, revision_of
from commonplace.domain.words.text_decoder import decoded
from commonplace.services.collections import Collection, record_of_new_file
from commonplace.services.writes.overwrites import changes_since
from commonplace.toolsets.wiki.rules import Note, NoteCommit, NoteLinks, note_name

MAX_READ_ATTEMPTS = 3
"""Maximum number of reads of a note if commits land during a read."""


@dataclass(frozen=True, slots=True)
class NoteState:
    """A note's bytes and revision."""

    raw: bytes
    revision: str
    """The wiki's revision: the last commit that changed the note; the blob id if that commit has other bytes."""
    commit: Commit | None
    """The last commit that changed the note, whether or not it contains these bytes; None if there is none."""
    is_reproducible: bool = False
    """Whether the bytes and the current commit alone decide this state; otherwise Git's settings do, too."""

    @property
    def blob(self) -> str:
        """The blob id, which the store compares under its lock."""
        return revision_of(self.raw)

    @property
    def names(self) -> tuple[str, ...]:
        """Every revision by which callers may name this state; answers show the first one."""
        return self.revision, self.blob


def page_address(path: str) -> Address:
    """The address of a page, existing or not. Unlike other parsing of addresses, rejects a leading `/`.

    Raises:
        InvalidInputError: the path is invalid.
    """
    return parse_address(path) if path.startswith("/") else parse_document_address(path)


def find_note(collection: Collection, path: str) -> Address | None:
    """The note with this exact name, else the only case-insensitive match; None if none or several match."""
    address = page_address(path)
    for candidate in (address, _other_suffix(address)):
        if collection.index.record(candidate) is not None:
            return candidate
    alike = collection.index.same_name(address)
    if len(alike) == 1:
        return alike[0]
    return None if alike or record_of_new_file(collection, address) is None else address


def require_note(collection: Collection, path: str) -> Address:
    """The address of the note; as `find_note`, but raises if there is none.

    Raises:
        NotFoundError: kind "page"; context holds `nearest`.
    """
    address = find_note(collection, path)
    if address is None:
        raise missing(collection, path)
    return address


def missing(collection: Collection, path: str) -> NotFoundError:
    """The error for a page that does not exist, or did not at the moment of a past state."""
    return NotFoundError(
        f"Page not found: {path}.",
        kind="page",
        hint="At that moment it was deleted, moved away or not there yet. List the pages of then, or read it as of now."
        if collection.is_past
        else "Create it, or list the pages to see which there are.",
        reference=path,
        nearest=[name for name in collection.index.nearest(path) if name != path],
    )


def state_of(collection: Collection, address: Address) -> NoteState:
    """The current state of the note.

    Raises:
        NotFoundError: kind "page": the note was deleted.
    """
    history = collection.store.history
    head = history.head()
    state = _state(collection, address, head)
    for _ in range(MAX_READ_ATTEMPTS):
        before, head = head, history.head()
        if head == before:
            break
        state = _state(collection, address, head)
    return state  # after too many commits: the bytes are current, and the store compares them again under its lock


def last_commit(collection: Collection, address: Address) -> Commit | None:
    """The last commit that changed a note; None if there is none."""
    spans = collection.store.history.touched([address])
    return spans[address].last if address in spans else None


def last_commit_at(collection: Collection, address: Address, revision: str) -> Commit | None:
    """The last commit that changed a note, up to another commit; None if the revision is not that of a commit."""
    past = collection.store.past if isinstance(collection.store, StoreWithPast) else None
    if past is None:
        return None
    try:
        store = past.store(past.commit(revision).id)
    except KnowledgeError:  # the id of a blob
        return None
    spans = store.history.touched([address])
    return spans[address].last if address in spans else None


def require_revision(text: str) -> None:
    """Reject a text that cannot be a revision, including "".

    Raises:
        InvalidInputError: kind "revision": the text cannot be a revision.
    """
    if not is_revision(text):
        raise InvalidInputError(
            f"Invalid revision {text[:60]!r}: expected 7 to 40 hex digits.",
            kind="revision",
            hint="Read the page and use the revision that it gives.",
        )


def require_current(collection: Collection, address: Address, state: NoteState, revision: str) -> None:
    """Reject a revision that is not the current one.

    Raises:
        InvalidInputError: kind "revision": the text cannot be a revision.
        ConflictError: another revision is current; context holds `current_revision`.
    """
    require_revision(revision)
    if not any(name.startswith(revision.lower()) for name in state.names):
        error = conflict(address.id, state.revision)
        error.changes = changes_since(collection, address, state.raw, revision)
        raise error


def attached(collection: Collection, note: Address) -> Iterator[tuple[Address, FileStat]]:
    """The attachments of a note by name: every file in the note's folder that is not a document."""
    for address, stat in sorted(collection.store.files(note.id)):
        if not address.is_document:
            yield address, stat


def conflict(path: str, current: str) -> ConflictError:
    """The error for a writer who has not seen the current revision, which is "" for a deleted note."""
    return ConflictError(
        f"The page {path} was modified since it was last read." if current else f"The page {path} no longer exists.",
        kind="page",
        hint="Read the page again to get the current version, then retry."
        if current
        else "Write it without a revision to create it again.",
        current_revision=current,
    )


def name_at(collection: Collection, address: Address) -> str:
    """The name of a note from its current file; from its path if the file was deleted."""
    try:
        raw = collection.store.read(address)
    except (NotFoundError, StorageError):
        raw = b""
    bom = len(BOM_UTF8) if raw.startswith(BOM_UTF8) else 0
    return note_name(address.id, read_frontmatter(decoded(raw).encode(), bom).values)


def note_commit(commit: Commit, pages: tuple[str, ...] = ()) -> NoteCommit:
    """A commit as a value of the wiki."""
    return NoteCommit(commit.id, commit.author.name, moment(commit.when), commit.message.strip(), pages)


def moment(seconds: float) -> str:
    """Unix seconds as ISO 8601 in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _other_suffix(address: Address) -> Address:
    return Address(f"{address.id}.markdown")


def _state(collection: Collection, address: Address, head: str) -> NoteState:
    try:
        raw = collection.store.read(address)
    except NotFoundError as error:
        raise NotFoundError(
            f"Page not found: {address.id}.", kind="page", hint="It was just deleted.", reference=address.id
        ) from error
    last = last_commit(collection, address) if head else None
    if last is None:
        return NoteState(raw, revision_of(raw), None, is_reproducible=True)
    history = collection.store.history
    try:
        if history.read(address, last.id) == raw:
            return NoteState(raw, last.id, last, is_reproducible=True)
        # Ignore differences in line ends that Git converts.
        return NoteState(raw, revision_of(raw) if history.diff(address, last.id) else last.id, last)
    except NotFoundError:
        return NoteState(raw, revision_of(raw), last)


# A cache of recently read notes. An entry is valid for the same bytes and the same last commit.


MAX_NOTES = 1024
MAX_BYTES = 4_000_000
"""Maximum total bytes of the cached notes; a parsed note takes about four times its bytes in memory."""


@dataclass(frozen=True, slots=True)
class CachedNote:
    """A note with the data from which it was created."""

    head: str
    """A current commit at which the entry was valid; "" without Git."""
    state: NoteState
    document: Document
    note: Note
    """The note without its links, which depend on other files."""


class NoteCache:
    """The most recently read notes of one collection, up to `MAX_NOTES` and `MAX_BYTES`. Thread-safe.

    Every lookup compares the bytes of the file and the current commit. If the current commit has changed, it also
    compares the note's last commit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._notes: OrderedDict[Address, CachedNote] = OrderedDict()
        self._bytes = 0

    def get(
        self, address: Address, head: str, raw: bytes, last_commit: Callable[[], Commit | None]
    ) -> CachedNote | None:
        """The cached note; None if its bytes or its last commit differ.

        Args:
            address: Address of the note.
            head: The current commit; "" without Git.
            raw: The bytes of the note's file.
            last_commit: Returns the note's last commit, None if there is none. Called only if the current commit has
                changed.
        """
        with self._lock:
            note = self._notes.get(address)
            if note is None or note.state.raw != raw:
                return None
            self._notes.move_to_end(address)
        if note.head != head:
            if last_commit() != note.state.commit:
                return None
            earlier, note = note, replace(note, head=head)
            with self._lock:
                if self._notes.get(address) is earlier:
                    self._notes[address] = note
        return note

    def put(self, address: Address, cached: CachedNote) -> None:
        """Replace the cached note, unless its revision depends on more than the bytes and the commit."""
        with self._lock:
            earlier = self._notes.pop(address, None)
            self._bytes -= len(earlier.state.raw) if earlier else 0
            if not cached.state.is_reproducible or len(cached.state.raw) > MAX_BYTES:
                return
            self._notes[address] = cached
            self._bytes += len(cached.state.raw)
            while len(self._notes) > MAX_NOTES or self._bytes > MAX_BYTES:
                _, oldest = self._notes.popitem(last=False)
                self._bytes -= len(oldest.state.raw)


# The links of notes as paths of notes.


def outgoing(source: Address, links: Iterable[ResolvedLink]) -> tuple[str, ...]:
    """Paths of the notes to which a note links, in order of first occurrence, without the note itself.

    A `[[wikilink]]` to a missing note counts as written, because wikis grow through such links.
    """
    paths: dict[str, None] = {}
    for link in links:
        if is_wanted(link):
            paths[link.link.target] = None
        elif link.target is not None and link.target.is_document and link.target != source:
            paths[link.target.id] = None
    return tuple(paths)


def incoming(collection: Collection, address: Address) -> tuple[str, ...]:
    """Sorted paths of the notes that link to a note, without the note itself."""
    sources = {link.source for link in collection.index.links_to(address, sentences=False)} - {address}
    return tuple(sorted(source.id for source in sources))


def is_wanted(link: ResolvedLink) -> bool:
    """Whether a link is a wikilink to a note that does not exist."""
    return (
        link.target is None and link.link.kind is LinkKind.WIKI and not link.link.collection and bool(link.link.target)
    )


def wanted(collection: Collection, path: str) -> NoteLinks | None:
    """The links to a missing note, whose name is compared case-insensitively; None if there are no links."""
    named = collection.index.links_named(sorted(lookup_keys(path)))
    links = [link for link in named if is_wanted(link) and fold(link.link.target) == fold(path)]
    sources = sorted({link.source.id for link in links})
    return NoteLinks(links[0].link.target, (), tuple(sources)) if links else None
