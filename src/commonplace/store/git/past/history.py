"""The commits of a folder, read-only."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

import pygit2

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, Revision
from commonplace.domain.errors import GitError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.folder import Folder
from commonplace.store.git.objects import MODE_GITLINK
from commonplace.store.git.past.ancestors import AncestorCache
from commonplace.store.git.past.document_spans import DocumentSpans
from commonplace.store.git.past.revision_names import checked, named_object
from commonplace.store.git.past.revision_walk import (
    changed_paths,
    commit_value,
    commits_touching,
    document_address,
    parents_of,
)
from commonplace.store.git.repository import GitRepository, guarded, object_at
from commonplace.store.git.trees.tree_diff import TreeDiff
from commonplace.store.git.worktree.filters import stored_form


class NoHistory:
    """`domain.ports.History` of a folder without Git: empty."""

    @property
    def available(self) -> bool:
        """Return false."""
        return False

    def log(self, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
        """No commits."""
        del address, limit, offset
        return []

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """No commits."""
        del address
        return iter(())

    def read(self, address: Address, revision: str) -> bytes:
        """Raises NotFoundError: there are no versions."""
        del revision
        raise _without_history(address)

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Raises NotFoundError: there are no versions."""
        del old, new
        raise _without_history(address)

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, tuple[Commit, Commit]]:
        """An empty dict."""
        del addresses
        return {}

    def touched_since(self, commit: str) -> set[Address] | None:
        """None: there are no commits."""
        del commit
        return None

    def uncommitted(self, known: Mapping[Address, Revision]) -> set[Address]:
        """All documents, because there are no commits."""
        return set(known)

    def head(self) -> str:
        """An empty string: there is no commit."""
        return ""


class GitHistory:
    """`domain.ports.History` of one collection in its repository."""

    def __init__(self, repository: GitRepository, prefix: str, folder: Folder | None) -> None:
        """Create the history.

        Args:
            repository: The repository.
            prefix: Path from the repository's root to the collection: "" or a path with a trailing slash.
            folder: The current files; None for a bare repository.
        """
        self._repository = repository
        self._prefix = prefix
        self._folder = folder
        self._spans = DocumentSpans(repository, prefix.rstrip("/"))
        self._ancestors = AncestorCache(repository)

    @property
    def available(self) -> bool:
        """Whether there is at least one commit."""
        return bool(self.head())

    def head(self) -> str:
        """Id of the current commit; "" before the first."""
        return self._repository.head

    def log(self, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
        """Commits that touched the document, or (None) anything in the folder, newest first.

        Commits of the folder include their touched documents; for a merge, only those that the merge itself changed.
        """
        head = self.head()
        if not head:
            return []
        path = self._prefix.rstrip("/") if address is None else self._prefix + address.path
        first = self._spans.first_of(address) if address else ""
        changes = self._spans.changes_of(head, address) if address else None
        found = commits_touching(self._repository, head, path, first, changes=changes)
        chosen = islice(found, offset, offset + limit)
        if address is not None:
            return [commit_value(commit) for commit in chosen]
        trees = TreeDiff(self._repository)
        return [commit_value(commit, self._documents(trees, commit)) for commit in chosen]

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """The commits that touched the document, newest first, with its bytes in each; b"" if the commit lacks it."""
        head = self.head()
        if not head:
            return
        for commit, blob in self._blobs(head, address):
            yield commit_value(commit), self._repository.content(blob) if blob else b""

    def read(self, address: Address, revision: str) -> bytes:
        """The document as of a commit or tag, or its version with this blob id.

        A `^` after a commit or tag means its first parent.

        Only commits of the current branch count, and only blobs that were versions of this document.
        """
        revision = checked(revision)
        current = self._current(address)
        if current is not None and revision_of(current).startswith(revision):
            return current
        found = self._object(address, revision)
        if isinstance(found, pygit2.Commit):
            content = self._content_at(found, address)
            if content is None:
                raise _not_in_commit(address, revision)
        else:
            content = guarded(lambda: found.data) if self._was(address, str(found.id)) else None
        if content is None:
            raise _no_such_revision(address, revision)
        return content

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Unified diff of one document between two revisions. A missing document counts as empty.

        If `old` is "", the diff is that of the commit `new` against its first parent.
        """
        before = self._version(address, old) if old else self._before(address, new)
        after = self._version(address, new) if new else self._current_as_stored(address)
        patch = guarded(lambda: pygit2.Patch.create_from(before, after, address.path, address.path))
        return patch.data.decode("utf-8", "replace")

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, tuple[Commit, Commit]]:
        """First and last commit of each of these documents, or of all, that commits of the current branch touched."""
        head, found = guarded(lambda: self._spans.current(addresses))
        if addresses is not None and found:
            self._ancestors.add(head, {last.id for _, last in found.values()})
        return found

    def touched_since(self, commit: str) -> set[Address] | None:
        """Documents that commits of the current branch touched after this one; None if it is not a recent ancestor."""
        head = self.head()
        return guarded(lambda: self._spans.touched_between(commit, head))

    def uncommitted(self, known: Mapping[Address, Revision]) -> set[Address]:
        """Documents whose files differ from the current commit. Compares ids of trees; reads only files that differ.

        Documents of a repository inside this one, such as a submodule, have their own commits and are omitted.
        """
        head = self.head()
        if not head:
            return set(known)
        tree = str(self._repository.commit(head).tree_id)
        blobs = TreeDiff(self._repository).blobs(tree, [self._prefix + address.path for address in known])
        differing = [
            address
            for (address, revision), blob in zip(known.items(), blobs, strict=True)
            if blob != revision and not self._is_stored_as(address, blob)
        ]
        inner: dict[str, bool] = {"": False}
        return {address for address in differing if not self._is_inner(head, address.folder, inner)}

    def _is_inner(self, head: str, folder: str, known: dict[str, bool]) -> bool:
        """Whether a folder belongs to a repository inside this one.

        Args:
            head: The current commit.
            folder: Path in the collection.
            known: Cached results by folder; the result for this folder is added.
        """
        if folder not in known:
            path = self._prefix + folder
            has_own = self._folder is not None and os.path.lexists(self._repository.root / path / ".git")
            entry = None if has_own else self._repository.entry(head, path)
            is_root = has_own or (entry is not None and entry.mode == MODE_GITLINK)
            known[folder] = is_root or self._is_inner(head, folder.rpartition("/")[0], known)
        return known[folder]

    def _is_stored_as(self, address: Address, blob: str) -> bool:
        stored = self._current_as_stored(address) if blob else None
        return stored is not None and revision_of(stored) == blob

    def _documents(self, trees: TreeDiff, commit: pygit2.Commit) -> tuple[Address, ...]:
        paths = changed_paths(trees, commit, os.fsencode(self._prefix.rstrip("/")))
        return tuple(sorted(address for path in paths if (address := document_address(path))))

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
        found = self._object(address, checked(commit))
        parents = parents_of(found) if isinstance(found, pygit2.Commit) else []
        return self._content_at(parents[0], address) if parents else None

    def _object(self, address: Address, revision: str) -> pygit2.Commit | pygit2.Blob:
        """The commit of the current branch, or the blob, that a checked revision names."""
        found = named_object(self._repository, self._ancestors, self.head(), revision)
        if found is None:
            raise _no_such_revision(address, revision)
        return found

    def _content_at(self, commit: pygit2.Commit, address: Address) -> bytes | None:
        blob = object_at(commit, self._prefix + address.path)
        return guarded(lambda: blob.data) if isinstance(blob, pygit2.Blob) else None

    def _was(self, address: Address, blob: str) -> bool:
        """Whether a blob was ever a version of this document."""
        return any(one == blob for _, one in self._blobs(self.head(), address))

    def _blobs(self, head: str, address: Address) -> Iterator[tuple[pygit2.Commit, str]]:
        """The commits that touched a document, newest first, with its blob in each; "" if the commit lacks it."""
        trees, path = TreeDiff(self._repository), self._prefix + address.path
        first, changes = self._spans.first_of(address), self._spans.changes_of(head, address)
        for commit in commits_touching(self._repository, head, path, first, trees, changes):
            known = changes.blobs.get(str(commit.id)) if changes else None
            yield commit, trees.at(str(commit.tree_id), os.fsencode(path)) if known is None else known

    def _current(self, address: Address) -> bytes | None:
        """The document in the work tree."""
        if self._folder is None:
            return self._content_at(self._repository.commit(self.head()), address) if self.available else None
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
            return stored_form(self._repository, self._prefix + address.path, content)
        except GitError:  # the file cannot be committed here; compare its bytes
            return content


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


def _without_history(address: Address) -> NotFoundError:
    return NotFoundError(
        f"{address} has no earlier versions: its folder is not in a Git repository.",
        kind="revision",
        hint="Run git init in the folder to have a history from now on.",
        path=address.path,
    )
