"""The open collections, and the resolution of names and references to collections and documents."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from threading import Lock
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize
from urllib.parse import unquote

from commonplace.domain.activity import record_read
from commonplace.domain.addresses import Address, address_or_none, is_document_path, parse_document_address
from commonplace.domain.errors import IndexingError, InvalidInputError, NotFoundError, UnavailableError
from commonplace.domain.graphs import BLOCK_REFERENCE, shown_title, title_case
from commonplace.domain.links import MAX_CUTS, documents_named
from commonplace.domain.markdown.paths import joined
from commonplace.domain.revisions import revision_of
from commonplace.services.deletions import with_deletion
from commonplace.services.extensions import NO_EXTENSIONS, Extensions

if TYPE_CHECKING:  # a server answers its client before it loads these modules
    from commonplace.domain.cluster import Replica
    from commonplace.domain.documents import Document
    from commonplace.domain.merge import FileMerge, MergedText
    from commonplace.domain.past import PastStates
    from commonplace.domain.ports import Index, Progress, Store, Transaction
    from commonplace.domain.proposals import ProposalStates
    from commonplace.domain.query import Record
    from commonplace.domain.semantic import Reranker, SemanticIndex
    from commonplace.domain.status import Status

log = logging.getLogger(__name__)

MAX_NEAREST_IDS = 3
"""Maximum number of similar names in an error."""
AMBIGUOUS_HINT = "Give the path of one of them."
"""Hint in an error for an id that several documents have."""
NEW_FILE_SECONDS = 1.0
"""Timeout in seconds for indexing a file of which the index was not notified."""
UNFINISHED_SECONDS = 5.0
"""Timeout in seconds of a search for the first index; then it answers with what is indexed so far."""
PROGRESS_SECONDS = 1.0
"""Seconds between two progress reports while waiting for an index."""
SOON_FILES = 256
"""Number of files that may be indexed soon."""
SOON_SECONDS = 0.02
"""Seconds after which it is looked how many files are left."""
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Collection:
    """One served folder of documents."""

    name: str
    """Name, unique among the open collections."""
    store: Store
    index: Index
    extensions: Extensions = NO_EXTENSIONS
    """Additions of plugins."""
    semantic_index: SemanticIndex | None = None
    """The semantic index; None if it is switched off."""
    past: PastStates | None = None
    """Past states; None without Git, and for a past state. A proposed state has those of what is served."""
    proposals: ProposalStates | None = None
    """Proposals to change it; None without Git, for a replica, and for a past or proposed state."""
    replica: Replica | None = None
    """The state of a collection that follows a remote; None for any other."""
    is_past: bool = False
    """Whether this is a past state of a collection."""
    reranker: Reranker | None = None
    """The cross-encoder that reorders the best hits by meaning; None if no server is set."""
    other_names: frozenset[str] = frozenset()
    """Further names by which links and callers mean it: `name` in `kb.yaml`, and the folder's."""
    day: str = ""
    """The day on which a past state is looked at, `YYYY-MM-DD`; "" for today."""
    in_title_case: Callable[[], bool] = _never
    """Whether the names of pages are shown in title case, as an Otterwiki with its default settings shows them."""
    status_names: Mapping[str, Status] | None = None
    """Statuses by the lower-case names that pages use; None for the built-in names."""
    merge_file: FileMerge | None = None
    """Merges files of a store of its own whose lines conflict; None for a folder of documents."""

    def shown_name(self, name: str) -> str:
        """The name of a page or folder, or a path of names without a suffix, as people are shown it."""
        return title_case(name) if self.in_title_case() else name

    def title_of(self, document: Document) -> str:
        """The title of a document, equal to the one in its record."""
        return shown_title(document.title, document.address.path) if self.in_title_case() else document.title

    def title_at(self, address: Address) -> str:
        """The title of the page at an address; of a page that is not indexed, its name."""
        record = self.index.record(address)
        return record.title if record else self.shown_name(address.stem)


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document and its collection."""

    collection: Collection
    record: Record


class Collections:
    """The open collections, in the order in which they were named.

    Args:
        open_all: Opens the collections. Called once, on the first use, so that a server can answer its client before.
    """

    def __init__(self, open_all: Callable[[], Sequence[Collection]]) -> None:
        self._open = open_all
        self._members: tuple[Collection, ...] | None = None
        self._opening = Lock()

    def __iter__(self) -> Iterator[Collection]:
        return iter(self.members)

    @property
    def members(self) -> tuple[Collection, ...]:
        """All collections."""
        with self._opening:
            if self._members is None:
                self._members = tuple(self._open())
            return self._members

    @property
    def opened(self) -> tuple[Collection, ...]:
        """The collections that are open already. Opens none."""
        return self._members or ()

    def named(self, name: str, home: Collection | None = None) -> Collection | None:
        """The collection that a name means; None if there is none, or if several have it among their other names.

        Args:
            name: The name.
            home: The collection whose document has the name in a link. Its own names mean itself.
        """
        if home is not None and (not name or name == home.name or name in home.other_names):
            return home
        for collection in self.members:
            if collection.name == name:
                return collection
        others = [collection for collection in self.members if name in collection.other_names]
        return others[0] if len(others) == 1 else None

    def get(self, name: str) -> Collection:
        """The collection with this name.

        Raises:
            NotFoundError: kind "collection"; context holds `nearest`.
        """
        collection = self.named(name)
        if collection is not None:
            return collection
        names = [collection.name for collection in self.members]
        alike = [collection.name for collection in self.members if name in collection.other_names]
        problem = f"{name!r} means several collections" if alike else f"There is no collection named {name!r}"
        raise NotFoundError(
            f"{problem}. Open: {', '.join(names)}.",
            kind="collection",
            hint="Give one of the open collections.",
            nearest=alike[:MAX_NEAREST_IDS] or get_close_matches(name, names, MAX_NEAREST_IDS),
        )

    def only(self, names: frozenset[str]) -> Collections:
        """A view with only the collections of these names."""
        return Collections(lambda: [collection for collection in self.members if collection.name in names])

    def select(self, name: str | None) -> tuple[Collection, ...]:
        """The named collection; all collections if the name is None."""
        return (self.get(name),) if name else self.members

    def locate(self, reference: str, name: str | None = None) -> FoundDocument:
        """The document with this id or path, in the named collection or the first that has it.

        Raises:
            NotFoundError: kind "document"; context holds `nearest`: the most similar ids, or the paths of several
                documents with this id.
            StorageError: the document exists and cannot be read.
        """
        chosen = self.select(name)
        for collection in chosen:
            record = record_of(collection.index, reference)
            if record is not None:
                record_read(collection.store.identity, record.address.path)
                return FoundDocument(collection, record)
        for collection in chosen:
            paths = [record.address.path for record in collection.index.by_id(reference)]
            if paths:
                raise _ambiguous(reference, collection.name, sorted(paths))
            unseen = _record_of_new_path(collection, reference)
            if unseen is not None:
                return FoundDocument(collection, unseen)
        nearest = [near for collection in chosen for near in collection.index.nearest(reference)][:MAX_NEAREST_IDS]
        where = f" in {name!r}" if name else ""
        raise NotFoundError(
            f"There is no document {reference!r}{where}.",
            kind="document",
            hint="Search for it, or give one of the nearest ids.",
            reference=reference,
            nearest=nearest,
        )

    def wait_watched(self, timeout: float) -> None:
        """Wait at most `timeout` seconds in all until every collection is being watched.

        Replicas are not watched, because the thread that follows the remote reports their changes.
        """
        deadline = time.monotonic() + timeout
        for collection in self.members:
            if collection.replica is None and not collection.index.wait_watched(max(0.0, deadline - time.monotonic())):
                log.warning("%s: changes are not noticed yet", collection.name)

    def wait_ready(self, timeout: float, progress: Progress) -> None:
        """Wait until every collection can be searched.

        Args:
            timeout: Timeout in seconds for all collections together.
            progress: Called about once a second with the progress of indexing.

        Raises:
            IndexingError: indexing timed out.
            UnavailableError: kind "remote": the remote of a replica was never read, and cannot be read now.
        """
        deadline = time.monotonic() + timeout
        for collection in self.members:
            while True:
                left = deadline - time.monotonic()
                try:
                    collection.index.wait_ready(max(0.0, min(PROGRESS_SECONDS, left)))
                    break
                except IndexingError as error:
                    if left <= PROGRESS_SECONDS:
                        raise _unread(collection) or error from error
                    progress(_number(error, "done"), _number(error, "total"))

    def wait_soon_ready(self, timeout: float) -> bool:
        """Wait as `wait_ready`, but stop when many files are known to be left; returns whether all can be searched."""
        deadline = time.monotonic() + timeout
        left = 0
        while left <= SOON_FILES and time.monotonic() < deadline:
            try:
                self.wait_ready(SOON_SECONDS, lambda _done, _total: None)
            except IndexingError as error:
                left = _number(error, "total") - _number(error, "done")
            else:
                return True
        return False

    def wait_searchable(self, timeout: float, progress: Progress) -> None:
        """Wait as `wait_ready`, but for a search, which then answers with what is indexed (`unfinished_notice`)."""
        with suppress(IndexingError):
            self.wait_ready(timeout, progress)


def unfinished_notice(collections: Sequence[Collection]) -> str:
    """A sentence about collections whose first index is still being built, for a search; "" without one."""
    notices: list[str] = []
    for collection in collections:
        try:
            collection.index.wait_ready(0)
        except IndexingError as error:
            notices.append(f"{collection.name}: {error} What it does not have yet is not searched.")
    return " ".join(notices)


def _unread(collection: Collection) -> UnavailableError | None:
    """The error for a replica whose remote was never read, so that it has no documents; None for other collections."""
    status = collection.replica.status() if collection.replica is not None else None
    if status is None or status.ready or not status.problem:
        return None
    return UnavailableError(
        f"{collection.name} has nothing to show yet: {status.problem}",
        kind="remote",
        hint="It is tried again. Check the address, the branch, the network and the credentials if it persists.",
        retry_after=1,
    )


def unique_name(name: str, opened: Sequence[Collection]) -> str:
    """A name that none of these collections has: the given name, followed by a number if it is taken."""
    taken = {collection.name for collection in opened}
    number = 2
    unused = name
    while unused in taken:
        unused = f"{name}-{number}"
        number += 1
    return unused


def _ambiguous(reference: str, name: str, paths: Sequence[str]) -> NotFoundError:
    return NotFoundError(
        f"{len(paths)} documents in {name!r} have the id {reference!r}: {', '.join(paths[:MAX_NEAREST_IDS])}.",
        kind="document",
        hint=AMBIGUOUS_HINT,
        reference=reference,
        nearest=list(paths[:MAX_NEAREST_IDS]),
    )


def _number(error: IndexingError, name: str) -> int:
    value = error.context.get(name, 0)
    return value if isinstance(value, int) else 0


def current_bytes(collection: Collection, address: Address) -> bytes | None:
    """The bytes of a page now; None if there is none."""
    try:
        return collection.store.read(address)
    except NotFoundError:
        return None


def merged_text(
    collection: Collection,
    address: Address,
    base: bytes | None,
    proposed: bytes | None,
    current: bytes | None,
    *,
    adjacent: bool = False,
) -> MergedText:
    """A three-way merge of a file, by lines, and where these conflict as the store of its collection merges files.

    Args:
        collection: The collection of the file.
        address: The file.
        base: The text that both sides come from; None for no file, as for the sides.
        proposed: One side.
        current: The side that is served.
        adjacent: As for `domain.merge.merge_texts`.
    """
    from commonplace.domain.merge import MergedText, merge_texts  # noqa: PLC0415 - reads need none

    merged = merge_texts(base, proposed, current, adjacent=adjacent)
    if not merged.conflicts or collection.merge_file is None or base is None or proposed is None or current is None:
        return merged
    content = collection.merge_file(address.path, base, proposed, current)
    return merged if content is None else MergedText(content)


class _TrialEndError(Exception):
    """Ends a transaction without a write."""


@contextmanager
def trial_transaction(store: Store) -> Generator[Transaction]:
    """A transaction that writes nothing: when its block ends, its changes are discarded."""
    with suppress(_TrialEndError), store.transaction("") as transaction:
        yield transaction
        raise _TrialEndError


def current_revision(collection: Collection, address: Address) -> str:
    """The revision of a page now; "" if there is none."""
    content = current_bytes(collection, address)
    return "" if content is None else revision_of(content)


def record_of(index: Index, reference: str) -> Record | None:
    """The document with this id or path: a unique id, else the path with or without its suffix.

    The path of a file that is no document names none, also if a document `a.png.md` is beside a file `a.png`.
    The Unicode normalization counts only if two documents differ in nothing else.
    """
    if is_other_file(index, reference):
        return None
    forms = [reference] if reference.isascii() else [reference, *(normalize(form, reference) for form in _FORMS)]
    for form in dict.fromkeys(forms):
        same_id = index.by_id(form)
        if len(same_id) == 1:
            return same_id[0]
    try:
        return index.record(as_stored(index, parse_document_address(reference)))
    except InvalidInputError:
        return None


def is_other_file(index: Index, reference: str) -> bool:
    """Whether a path is that of a file that is no document, such as `a.png` beside a document `a.png.md`."""
    if "." not in reference.rpartition("/")[2] or is_document_path(reference):
        return False
    there = index.lookup().at(reference)
    return there is not None and not there.is_document


def as_stored(index: Index, address: Address) -> Address:
    """The path of a document in the Unicode normalization of its file; as given without such a document.

    macOS and the programs on it decompose letters in the names of files (NFD); keyboards and agents compose them (NFC).
    """
    if address.path.isascii() or index.record(address) is not None:
        return address
    composed = normalize("NFC", address.path)
    alike = [element for element in index.same_name(address) if normalize("NFC", element.path) == composed]
    return alike[0] if len(alike) == 1 else address


def find_document(collections: Collections, reference: str, name: str | None = None) -> FoundDocument:
    """The document that a reader means: by id or path, otherwise the target of a link with this text.

    Args:
        collections: The open collections.
        reference: An id, path, title or alias; also `base:target`, `target#heading`, `[[target|label]]` and
            `[[label|target]]`.
        name: The collection; None for the first that has it.

    Raises:
        NotFoundError: no document matches, as for `Collections.locate`.
    """
    try:
        return collections.locate(reference, name)
    except NotFoundError as error:
        inside = reference.strip().removeprefix("[[").removesuffix("]]")
        sides = [side.strip() for side in inside.partition("|")[::2] if side.strip()]
        for side in sides:
            document = _linked_document(collections, side, name)
            if document is not None:
                return document
        for side in sides if error.hint != AMBIGUOUS_HINT else ():  # which has said it already, of an id
            chosen, target = _within(collections, side, name)
            if several := several_named(chosen, target.partition("#")[0].strip()):
                raise several from error
        raise with_deletion(error, [collection.store for collection in collections.select(name)], inside) from error


def several_named(chosen: Sequence[Collection], name: str) -> NotFoundError | None:
    """The error for a title, alias or file name that several documents have; None if it is one's or nobody's."""
    documents = [(base, page) for base in chosen for page in documents_named(name, None, base.index.lookup())]
    if not documents:
        return None
    paths = [f"{base.name}:{page.path}" if len(chosen) > 1 else page.path for base, page in documents]
    return NotFoundError(
        f"{name[:120]!r} names {len(paths)} pages.",
        kind="document",
        hint=AMBIGUOUS_HINT,
        reference=name,
        nearest=paths[:MAX_NEAREST_IDS],
    )


def _within(collections: Collections, target: str, name: str | None) -> tuple[Sequence[Collection], str]:
    """The collections in which a target is looked for, and the target without the name of its collection."""
    base, colon, rest = target.partition(":")
    named = collections.named(base) if colon else None
    if named is not None and name in {None, named.name, *named.other_names}:
        return (named,), rest
    return collections.select(name), target


def _linked_document(collections: Collections, target: str, name: str | None) -> FoundDocument | None:
    """The document that a link with this target names."""
    chosen, target = _within(collections, target, name)
    for wanted_text, _ in reference_splits(target):
        for collection in chosen if wanted_text else ():
            record = collection.index.find(wanted_text)
            if record is not None:
                return FoundDocument(collection, record)
    return None


def declared_page(index: Index, reference: str, source: Address | None) -> Record | None:
    """The page that a front matter or citation names without a fragment; None if there is none or several.

    A path with its suffix counts from the folder of its page, as in a link, and from the root if nothing is there. Any
    other reference is a name, as in a wikilink.

    Args:
        index: The index of the collection.
        reference: The reference, without the fragment.
        source: The page that has it; None for the root.
    """
    for name in dict.fromkeys((reference, unquote(reference))):
        if is_document_path(name) and not name.startswith("/"):
            place = joined(source.folder if source else "", name)
            address = address_or_none(place) if place else None
            if address and (record := index.record(address)):
                return record
        if record := index.find(name, source):
            return record
    return None


def reference_from_base(index: Index, reference: str, source: Address) -> str:
    """The reference of a call, whose path counts from the root, as the front matter of a page can have it.

    It begins with `/` if it would name another page from the folder of its page.
    """
    path = reference.partition("#")[0]
    at_root = address_or_none(path) if is_document_path(path) else None
    if at_root is None or index.record(at_root) is None:
        return reference
    page = declared_page(index, path, source)
    return reference if page is None or page.address == at_root else f"/{reference}"


def reference_splits(text: str) -> list[tuple[str, str]]:
    """Every split of a reference into name and fragment, the longest name first, because a name may have a `#`."""
    if block := BLOCK_REFERENCE.fullmatch(text):
        return [(text.lower(), f"^{block[1].lower()}")]
    splits = [(text, "")]
    at = text.rfind("#")
    while at > 0 and len(splits) <= MAX_CUTS:
        splits.append((text[:at].strip(), text[at + 1 :].strip()))
        at = text.rfind("#", 0, at)
    return splits


def record_of_new_file(collection: Collection, address: Address) -> Record | None:
    """The record of a document whose file is not indexed yet; None if there is no such file.

    Raises:
        StorageError: the file exists and cannot be read.
    """
    try:
        collection.store.read(address)
    except NotFoundError:
        return None
    collection.index.update([address], NEW_FILE_SECONDS)
    return collection.index.record(address)


def _record_of_new_path(collection: Collection, reference: str) -> Record | None:
    with suppress(InvalidInputError):
        return record_of_new_file(collection, parse_document_address(reference))
    return None


# The pages of a folder by the files alone, while its first index is being built.


def pages_in(store: Store, folder: str) -> Iterator[Address]:
    """The pages directly in a folder that are not ignored, sorted; each is looked at only when it is its turn."""
    named = sorted(address for address, _ in store.files(folder) if address.is_document)
    return (address for address in named if store.stat(address) is not None)


def is_served_page(store: Store, address: Address) -> bool:
    """Whether a page is in its folder and not ignored, and the folder is reached as `is_served_folder` says."""
    is_there = address.is_document and any(address == named for named, _ in store.files(address.folder))
    return is_there and store.stat(address) is not None and is_served_folder(store, address.folder)


def is_served_folder(store: Store, folder: str) -> bool:
    """Whether a folder is reached from the top, without links, hidden folders and those of other programs."""
    parents = folder.split("/") if folder else []
    return all(
        "/".join(parents[: depth + 1]) in store.folders("/".join(parents[:depth])) for depth in range(len(parents))
    )
