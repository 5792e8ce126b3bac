"""The commits of a folder, read-only: those of one path, and those of every document."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.changes import Commit, CommitSpan, Revision
from commonplace.domain.errors import GitError, InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.folder import Folder
from commonplace.store.git.objects import MODE_GITLINK
from commonplace.store.git.past.commit_listing import CommitListing
from commonplace.store.git.past.document_spans import DocumentSpans
from commonplace.store.git.past.revision_names import AncestorCache, checked, named_object
from commonplace.store.git.past.revision_walk import (
    DocumentChanges,
    PathFollower,
    RenameFinder,
    Renames,
    blobs_of,
    commit_value,
    commits_touching,
    count_touching,
    document_address,
    parents_of,
    renames_of,
)
from commonplace.store.git.repository import GitRepository, guarded, object_at
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git.worktree import stored_form

MAX_ADDED = 1_000
"""Maximum number of files that are not committed and are compared with deleted ones."""


class _Version(NamedTuple):
    """A document in a commit."""

    commit: pygit2.Commit
    address: Address
    """The document's address in the commit."""
    blob: str
    """Id of the document's bytes in the commit; "" if the commit lacks it."""


class GitHistory:
    """`domain.ports.History` of one collection in its repository."""

    def __init__(
        self,
        repository: GitRepository,
        prefix: str,
        folder: Folder | None,
        renames: RenameFinder,
        cache_dir: Path | None = None,
    ) -> None:
        """Create the history.

        Args:
            repository: The repository.
            prefix: Path from the repository's root to the collection: "" or a path with a trailing slash.
            folder: The current files; None for a bare repository.
            renames: The renames below the collection.
            cache_dir: As for `DocumentSpans`.
        """
        self.repository = repository
        self.prefix = prefix
        self._folder = folder
        self.rename_finder = renames
        self.absence = "nothing was committed in its Git repository yet"
        self._spans = DocumentSpans(repository, prefix.rstrip("/"), renames, cache_dir)
        self.ancestors = AncestorCache(repository, self._spans.contains)
        """Cached ancestors of the current commit."""
        self._listing = CommitListing(repository, prefix.rstrip("/"), self._spans, renames.hides)
        self._counted = ("", 0)
        """A commit, and the number of commits up to it that touched the folder."""
        self._committed = "", dict[bytes, str]()  # a commit, and the ids of its files
        self._later = ("", "", frozenset[str]())
        """A tip, a commit, and the ids of the commits up to the tip that are not in the history of that commit."""

    @property
    def available(self) -> bool:
        """Whether there is at least one commit."""
        return bool(self.head())

    @property
    def is_shallow(self) -> bool:
        """Whether the clone is shallow."""
        return bool(self.repository.handle.is_shallow)

    def head(self) -> str:
        """Id of the current commit; "" before the first."""
        return self.repository.head

    def first_parents(self, head: str) -> list[tuple[int, str]] | None:
        """Author's date and id of a commit, of its first parent, and so on; None if they are not cached."""
        return self._spans.first_parents(head)

    def log(
        self, address: Address | None, *, limit: int, offset: int = 0, after: str = "", below: str | None = None
    ) -> list[Commit]:
        """Commits that touched the document, or (None) anything in the folder, newest first.

        The commits of a document are followed through its renames, and each has the document's address in it. Commits
        of the folder include their touched documents; for a merge, only those that the merge itself changed. Ignored
        documents are not among them.
        """
        head = self.head()
        within = self._not_in(after) if after else None
        if address is not None:
            return list(islice(self._log_of(address, within), offset, offset + limit))
        if not head or within == frozenset():
            return []
        return self._listing.part(head, offset, limit, within, below)

    def _log_of(self, address: Address, within: AbstractSet[str] | None) -> Iterator[Commit]:
        """The commits of a document, newest first: of these ones if they are given."""
        with _naming(address):
            for version in () if self._hides(address) else self._versions(address):
                if within is None or str(version.commit.id) in within:
                    yield commit_value(version.commit, (version.address,))

    def _not_in(self, commit: str) -> frozenset[str]:
        """The ids of the commits of the current branch that are not in the history of one of them."""
        base = named_object(self.repository, self.ancestors, self.head(), checked(commit))
        if not isinstance(base, pygit2.Commit):
            raise _no_such_commit(commit)
        head, after = self.head(), str(base.id)
        if self._later[:2] != (head, after):
            walk = self.repository.walk(head, SortMode.NONE, hidden=[after])
            self._later = head, after, frozenset(str(later.id) for later in walk)
        return self._later[2]

    def count(self) -> int:
        """Number of commits that touched the folder, as `log` lists them. Without merges only new ones are read."""
        head, known_pair = self.head(), self._counted
        if head != known_pair[0]:
            path = self.prefix.rstrip("/")
            self._counted = known_pair = (head, count_touching(self.repository, head, path, known_pair) if head else 0)
        return known_pair[1]

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """The commits that touched the document, newest first, with its bytes in each; b"" if the commit lacks it."""
        with _naming(address):
            for version in () if self._hides(address) else self._versions(address):
                content = self.repository.content(version.blob) if version.blob else b""
                yield commit_value(version.commit, (version.address,)), content

    def address_at(self, address: Address, commit: str) -> Address | None:
        """The address that a file had in a commit; None if the commit does not contain the file."""
        with _naming(address):
            found_commit = self._object(address, checked(commit))
            version = self._version_at(found_commit, address) if isinstance(found_commit, pygit2.Commit) else None
            return version.address if version else None

    def has(self, address: Address, commit: str) -> bool:
        """Whether a commit has a file at this very path."""
        with _naming(address):
            named = self._object(address, checked(commit))
            return isinstance(named, pygit2.Commit) and isinstance(object_at(named, self._path(address)), pygit2.Blob)

    def renames(self, commit: str) -> Renames:
        """The old address of each file that a commit of the current branch renamed, by its new address."""
        found_commit = named_object(self.repository, self.ancestors, self.head(), checked(commit))
        if isinstance(found_commit, pygit2.Commit) and (parents := parents_of(found_commit)):
            return self.rename_finder.renames(TreeDiff(self.repository), found_commit, parents[0])
        return {}

    def changed(self, commit: str, *, limit: int = 0) -> Mapping[Address, tuple[bytes | None, bytes | None]]:
        """The bytes of the files that a commit of the current branch changed, before and after it."""
        found_commit = named_object(self.repository, self.ancestors, self.head(), checked(commit))
        if not isinstance(found_commit, pygit2.Commit):
            raise _no_such_commit(commit)
        parents = parents_of(found_commit)
        if len(parents) > 1:
            raise InvalidInputError(
                f"The commit {commit} is a merge, which has no changes of its own.",
                kind="revision",
                hint="Name the commits that it brought in.",
            )
        trees, folder = TreeDiff(self.repository), os.fsencode(self.prefix.rstrip("/"))
        old, new = (
            trees.at(str(commit.tree_id), folder) if commit else ""
            for commit in (parents[0] if parents else None, found_commit)
        )
        changed: dict[Address, tuple[bytes | None, bytes | None]] = {}
        for path, before, after in islice(trees.differences(old, new), limit or None):
            address = address_or_none(os.fsdecode(path))
            if address is not None and not self._hides(address):
                changed[address] = self._blob(before), self._blob(after)
        return changed

    def _hides(self, address: Address) -> bool:
        return address.is_document and self.rename_finder.hides(address)

    def _blob(self, identifier: bytes) -> bytes | None:
        return self.repository.content(identifier.hex()) if identifier else None

    def read(self, address: Address, revision: str) -> bytes:
        """The document as of a commit or tag, or its version with this blob id.

        If a commit has no file of this path, the file that was renamed to it is read. A `^` after a commit or tag means
        its first parent.

        Only commits of the current branch count, and only blobs that were versions of this document. A document that a
        `.commonplaceignore` excludes now has none.
        """
        revision = checked(revision)
        if self._hides(address):
            raise _no_such_revision(address, revision)
        current = self._current(address)
        if current is not None and revision_of(current).startswith(revision):
            return current
        with _naming(address):
            commit = self._object(address, revision)
            if isinstance(commit, pygit2.Commit):
                content = self._content_at(commit, address)
                if content is None:
                    raise _not_in_commit(address, revision)
            else:
                content = guarded(lambda: commit.data) if self._was(address, str(commit.id)) else None
        if content is None:
            raise _no_such_revision(address, revision)
        return content

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Unified diff of one document between two revisions. A missing document counts as empty.

        If `old` is "", the diff is that of the commit `new` against its first parent.
        """
        if self._hides(address):
            raise _no_such_revision(address, old or new)
        with _naming(address):
            before = self._version(address, old) if old else self._before(address, new)
            after = self._version(address, new) if new else self._current_as_stored(address)
        patch = guarded(lambda: pygit2.Patch.create_from(before, after, address.path, address.path))
        return patch.data.decode("utf-8", "replace")

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        """The span of each of these documents, or of all, that commits of the current branch touched."""
        head, spans = guarded(lambda: self._spans.current(addresses))
        if addresses is not None and spans:
            self.ancestors.add(head, {span.last.id for span in spans.values()})
        return spans

    def named(self, name: str) -> Sequence[Address] | None:
        """The documents that commits touched and whose path ends with a folded name."""
        return guarded(lambda: self._spans.named(head, name)) if (head := self.head()) else ()

    def latest(self, is_meant: Callable[[Address], bool], *, after: str = "") -> Iterator[tuple[Commit, bool]] | None:
        """The commits that last touched documents, newest first, as `last_touching`."""
        head = self.head()
        within = self._not_in(after) if after else None
        if (newest := guarded(lambda: self._spans.newest(head, is_meant, within)) if head else []) is None:
            return None

        def last(address: Address) -> Sequence[tuple[Commit, bool]]:
            commits = self.last_touching([address])
            if commits is None:  # the cache is in use
                return [(commit, not self.has(address, commit.id)) for commit in self.log(address, limit=1)]
            return commits

        pairs = (pair for address in newest for pair in last(address))
        return (pair for pair in pairs if within is None or pair[0].id in within)

    def last_touching(self, among: Collection[Address], at: str = "") -> Sequence[tuple[Commit, bool]] | None:
        """The commits that last touched documents, newest first, each with whether it took the document away.

        Args:
            among: The documents.
            at: Only this commit and its ancestors count; "" for the current commit.
        """
        head, documents = self.head(), [address for address in among if not self._hides(address)]
        last = guarded(lambda: self._spans.last_of(head, at or head, documents)) if head else {}
        if last is None:
            return None
        self.ancestors.add(head, {name for name, _ in last.values()})
        commits = [
            (commit_value(self.repository.commit(name), (address,)), is_gone)
            for address, (name, is_gone) in last.items()
        ]
        return sorted(commits, key=lambda pair: pair[0].when, reverse=True)

    def touched_since(self, commit: str) -> set[Address] | None:
        """Documents that commits of the current branch touched after this one; None if it is not a recent ancestor."""
        head = self.head()
        return guarded(lambda: self._spans.touched_between(commit, head))

    def differing(self, commit: str) -> set[Address]:
        """Documents that only one of the current commit and another has, or of which they have different versions."""
        trees, folder = TreeDiff(self.repository), os.fsencode(self.prefix.rstrip("/"))
        old, new = (trees.at(self.repository.tree_of(name), folder) for name in (commit, self.head()))
        return {address for path in trees.differing(old, new) if (address := document_address(path))}

    def uncommitted(self, revisions: Mapping[Address, Revision]) -> set[Address]:
        """Documents whose files differ from the current commit. Compares ids of trees; reads only files that differ.

        Documents of a repository inside this one, such as a submodule, have their own commits and are omitted.
        """
        head = self.head()
        if not head:
            return set(revisions)
        tree = str(self.repository.commit(head).tree_id)
        blobs = TreeDiff(self.repository).blobs(tree, [self.prefix + address.path for address in revisions])
        differing = [
            address
            for (address, revision), blob in zip(revisions.items(), blobs, strict=True)
            if blob != revision and not self._is_stored_as(address, blob)
        ]
        inner: dict[str, bool] = {"": False}
        return {address for address in differing if not self._is_inner(head, address.folder, inner)}

    def working_changes(self, revisions: Mapping[Address, Revision]) -> tuple[set[Address], set[Address]]:
        """The documents of `uncommitted`, and the documents of the current commit whose files are gone.

        `revisions` has all documents that are there. The commit's files are read once, and paths compared as bytes.
        """
        head = self.head()
        if not head:
            return set(revisions), set()
        if self._committed[0] != head:
            self._committed = head, blobs_of(self.repository, head, self.prefix)
        committed = self._committed[1]
        current = {os.fsencode(address.path): revision for address, revision in revisions.items()}
        differing = {Address(os.fsdecode(path)) for path, _ in current.items() - committed.items()}
        changed = self.uncommitted({address: revisions[address] for address in differing})
        return changed, self._gone(committed.keys() - current.keys())

    def _gone(self, paths: Collection[bytes]) -> set[Address]:
        """The documents among paths of the current commit whose files are gone."""
        if self._folder is None:
            return set()
        documents = (address for path in paths if (address := document_address(path)))
        return {address for address in documents if self._folder.stat(address) is None and not self._hides(address)}

    def moved(self, addresses: Collection[Address]) -> Mapping[Address, Address]:
        """The new address of each document of the current commit whose file was renamed since, by the rule of commits.

        Empty if more than `MAX_ADDED` documents are not in the commit, because each of them is read.
        """
        committed = blobs_of(self.repository, self.head(), self.prefix) if self.head() else {}
        current = {os.fsencode(address.path) for address in addresses}
        gone = self._gone(committed.keys() - current)
        if not gone:
            return {}
        added = {Address(os.fsdecode(path)) for path in current - committed.keys()}
        files = ((address, self._current_as_stored(address)) for address in added if len(added) <= MAX_ADDED)
        texts = {address: text for address, text in files if text is not None}
        contents = {bytes.fromhex(revision_of(text)): text for text in texts.values()}
        tree, trees = self.repository.tree_of(self.head()), TreeDiff(self.repository)
        pairs = renames_of(
            {os.fsencode(old.path): bytes.fromhex(trees.at(tree, os.fsencode(self._path(old)))) for old in gone},
            {os.fsencode(new.path): bytes.fromhex(revision_of(text)) for new, text in texts.items()},
            lambda blob: contents.get(blob) or self.repository.content(blob.hex()),
        )
        return {Address(os.fsdecode(old)): Address(os.fsdecode(new)) for new, old in pairs.items()}

    def _is_inner(self, head: str, folder: str, inner_folders: dict[str, bool]) -> bool:
        """Whether a folder of the collection belongs to a repository inside this one, by the commit `head`.

        `inner_folders` has cached results by folder; the result for this folder is added.
        """
        if folder not in inner_folders:
            path = self.prefix + folder
            has_own = self._folder is not None and os.path.lexists(self.repository.root / path / ".git")
            entry = None if has_own else self.repository.entry(head, path)
            is_root = has_own or (entry is not None and entry.mode == MODE_GITLINK)
            inner_folders[folder] = is_root or self._is_inner(head, folder.rpartition("/")[0], inner_folders)
        return inner_folders[folder]

    def _is_stored_as(self, address: Address, blob: str) -> bool:
        stored = self._current_as_stored(address) if blob else None
        return stored is not None and revision_of(stored) == blob

    def _version(self, address: Address, revision: str) -> bytes | None:
        """The document at a revision, like `read`; None for a commit in which the document does not exist."""
        try:
            return self.read(address, revision)
        except NotFoundError:
            if isinstance(self._object(address, checked(revision)), pygit2.Commit):
                return None
            raise

    def _before(self, address: Address, commit: str) -> bytes | None:
        """The document in the first parent of a commit; None if there is no parent or it lacks the document."""
        found_commit = self._object(address, checked(commit))
        parents = parents_of(found_commit) if isinstance(found_commit, pygit2.Commit) else []
        return self._content_at(parents[0], address) if parents else None

    def _object(self, address: Address, revision: str) -> pygit2.Commit | pygit2.Blob:
        """The commit of the current branch, or the blob, that a checked revision names."""
        commit = named_object(self.repository, self.ancestors, self.head(), revision)
        if commit is None:
            raise _no_such_revision(address, revision)
        return commit

    def _content_at(self, commit: pygit2.Commit, address: Address) -> bytes | None:
        version = self._version_at(commit, address)
        return self.repository.content(version.blob) if version else None

    def _version_at(self, commit: pygit2.Commit, address: Address) -> _Version | None:
        """The file of this address in a commit, else the one that was renamed to it; None if there is none."""
        blob = object_at(commit, self._path(address))
        if isinstance(blob, pygit2.Blob):
            return _Version(commit, address, str(blob.id))
        if self._is_later(address, str(commit.id)):
            return None
        trees = TreeDiff(self.repository)
        sources = self._sources(trees, address)
        if sources is None:
            return self._walked_version_at(commit, address, trees)
        older = [version for source in sources.items() if (version := self._version_in(trees, commit, *source))]
        if older and not (len(older) == 1 and _was_named_once(sources[older[0].address])):
            return self._walked_version_at(commit, address, trees)
        return older[0] if older else None

    def _is_later(self, address: Address, commit: str) -> bool:
        """Whether a document is known to be newer than a commit, under any of its names, or to be in no commit."""
        first = self._spans.begin_of(self.head(), address)
        return first == "" or (first not in {None, commit} and self.repository.holds(first or "", commit))

    def _version_in(
        self, trees: TreeDiff, commit: pygit2.Commit, address: Address, changes: DocumentChanges
    ) -> _Version | None:
        """The file at this address in a commit, if it is a version of the document with these changes."""
        blob = trees.at(str(commit.tree_id), os.fsencode(self._path(address)))
        return _Version(commit, address, blob) if blob and blob in changes.blobs.values() else None

    def _walked_version_at(self, commit: pygit2.Commit, address: Address, trees: TreeDiff) -> _Version | None:
        """The file that was renamed to this address, in a commit; found by reading the commits of its versions."""
        tree = str(commit.tree_id)
        older = (version for version in self._versions(address) if version.address != address and version.blob)
        return next(
            (version for version in older if trees.at(tree, os.fsencode(self._path(version.address))) == version.blob),
            None,
        )

    def _sources(self, trees: TreeDiff, address: Address) -> dict[Address, DocumentChanges] | None:
        """The changes of the pages that were renamed to this one, or to one of those; None if not all are cached."""
        head, sources, waiting = self.head(), dict[Address, DocumentChanges](), [address]
        while waiting:
            place = waiting.pop()
            changes = self._spans.changes_of(head, place)
            if changes is None:
                return None
            sources[place] = changes
            path = self._path(place)
            commits = [self.repository.commit(name) for name, blob in changes.blobs.items() if blob]
            before = {
                self._address(self._path_before(trees, commit, parent, path))
                for commit in commits
                for parent in parents_of(commit)
            }
            waiting += before - sources.keys() - set(waiting)
        del sources[address]
        return sources

    def _was(self, address: Address, blob: str) -> bool:
        """Whether a blob was ever a version of this document."""
        return any(version.blob == blob for version in self._versions(address))

    def _versions(self, address: Address) -> Iterator[_Version]:
        """The commits that changed a document, newest first, through its renames."""
        head = self.head()
        if not head:
            return iter(())
        if self._spans.begin_of(head, address) == "":
            return iter(())
        changes = self._spans.changes_of(head, address)
        if changes is not None and changes.is_linear:
            return self._listed(head, address, changes)
        return self._walked(head, address)

    def _listed(self, head: str, address: Address, changes: DocumentChanges) -> Iterator[_Version]:
        """The versions in a linear history of which all changes are cached."""
        trees = TreeDiff(self.repository)
        left = list(changes.blobs.items())
        while left:
            name, blob = left.pop()
            commit = self.repository.commit(name)
            yield _Version(commit, address, blob)
            is_new = blob and not (left and left[-1][1])
            parents = parents_of(commit) if is_new else []
            source = self.rename_finder.renames(trees, commit, parents[0]).get(address) if parents else None
            if source is None:
                continue
            earlier = self._spans.changes_of(head, source)
            if earlier is None:  # the cache is in use
                yield from self._walked(str(parents[0].id), source)
                return
            address = source
            # The commit of the rename removed the source, so that it is one of the source's changes.
            left = list(takewhile(lambda change, last=name: change[0] != last, earlier.blobs.items()))

    def _walked(self, head: str, address: Address) -> Iterator[_Version]:
        trees = TreeDiff(self.repository)
        current, first = self.head(), self._spans.first_of(address)

        @cache
        def changes(path: str) -> DocumentChanges | None:
            return self._spans.changes_of(current, self._address(path))

        @cache
        def stops(path: str) -> frozenset[bytes] | None:
            cached = changes(path)
            return frozenset(map(bytes.fromhex, (*cached.blobs, first))) if cached else None

        def next_of(commit: pygit2.Commit, path: str) -> pygit2.Commit:
            among = stops(path)
            name = self._spans.next_of(current, str(commit.id), among) if among is not None else ""
            return self.repository.commit(name) if name and name != str(commit.id) else commit

        follower = PathFollower(first, changes, self._path_before, trees, next_of)
        for commit, path in commits_touching(self.repository, head, self._path(address), follower):
            blob = trees.at(str(commit.tree_id), os.fsencode(path))
            yield _Version(commit, self._address(path), blob)

    def _path_before(self, trees: TreeDiff, commit: pygit2.Commit, parent: pygit2.Commit, path: str) -> str:
        raw = os.fsencode(path)
        if not trees.at(str(commit.tree_id), raw) or trees.at(str(parent.tree_id), raw):
            return path
        source = self.rename_finder.renames(trees, commit, parent).get(self._address(path))
        return self._path(source) if source else path

    def _path(self, address: Address) -> str:
        return self.prefix + address.path

    def _address(self, path: str) -> Address:
        return Address(path.removeprefix(self.prefix))

    def _current(self, address: Address) -> bytes | None:
        """The document in the work tree."""
        if self._folder is None:
            return self._content_at(self.repository.commit(self.head()), address) if self.available else None
        try:
            return self._folder.read(address)
        except NotFoundError:
            return None

    def _current_as_stored(self, address: Address) -> bytes | None:
        """The current document with line ends as Git stores them, so that they cause no difference."""
        content = self._current(address)
        if content is None or self._folder is None:
            return content
        try:
            return stored_form(self.repository, self.prefix + address.path, content)
        except GitError:  # the file cannot be committed here; compare its bytes
            return content


def _was_named_once(changes: DocumentChanges) -> bool:
    """Whether a path had one page only, so that all of its versions are versions of the page that was renamed."""
    return sum(not blob for blob in changes.blobs.values()) <= 1


@contextmanager
def _naming(address: Address) -> Generator[None]:
    """Name the document in the error of a damaged repository."""
    try:
        yield
    except GitError as error:
        if address.path in str(error):
            raise
        message = f"The history of {address.path} is damaged or cannot be read. {error}"
        raise GitError(message, kind=error.kind, hint=error.hint) from error


def _no_such_commit(commit: str) -> NotFoundError:
    return NotFoundError(
        f"The current branch has no commit {commit[:64]!r}.", kind="revision", hint="List the commits of the folder."
    )


def _no_such_revision(address: Address, revision: str) -> NotFoundError:
    return NotFoundError(
        f"{address} has no revision {revision} in the current branch.",
        kind="revision",
        hint="Ask for the document's history to see its revisions.",
        path=address.path,
    )


def _not_in_commit(address: Address, revision: str) -> NotFoundError:
    return NotFoundError(
        f"{address} is not in the commit {revision}: it was deleted, moved away or not there yet.",
        kind="revision",
        hint="Give an earlier or later commit of the document's history.",
        path=address.path,
    )
