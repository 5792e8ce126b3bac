"""The Git repository of a space: bodies of all versions, the state of the last sync, and changes of the folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pygit2
from pygit2.enums import FileMode

from commonplace.domain.errors import ConfigError, StorageError, UnavailableError
from commonplace.domain.private_files import user_modes

STATE_REF = "refs/commonplace/confluence"
"""Commits of the state: the tree holds `state.json` and one body for each page and version, so that gc keeps them."""
PARTIAL_REF = "refs/commonplace/confluence-partial"
"""Bodies that an unfinished run has fetched."""
_JOURNAL = "commonplace-confluence.journal"
_SOURCE = "commonplace-confluence.source"
_LOCK = "commonplace-confluence.lock"


@dataclass(frozen=True, slots=True)
class FolderChange:
    """Change of the folder by a sync, all or nothing."""

    files: Mapping[str, str]
    """Digest of the new content by path in the work tree, as `store` gives it; "" removes the file."""
    committed: Mapping[str, str]
    """The same for the commit; it lacks the edits of people who have not committed them."""
    message: str
    seen: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digest by path of the content from which a file was merged; another one meanwhile is an edit, and stays."""


class SpaceRepository:
    """A space's folder with its Git repository.

    Args:
        folder: The folder; its root is the repository's.

    Raises:
        ConfigError: the folder is not the root of a Git repository.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        try:
            self._git = pygit2.Repository(str(self.folder), pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
        except pygit2.GitError:
            raise ConfigError(
                "The space's folder is no Git repository, so its pages have no base to compare with.",
                kind="space",
                hint="Run 'cn clone' into a new folder.",
            ) from None
        self._private = Path(self._git.path)

    @classmethod
    def create(cls, folder: Path, source: str) -> SpaceRepository:
        """Make a folder with an empty repository, or open the one that an unfinished clone of the same source left.

        Args:
            folder: The folder.
            source: Names the space on its site; what was cloned from another one is removed.
        """
        mark = folder / ".git" / _SOURCE
        if folder.is_dir() and not (mark.is_file() and mark.read_text() == source):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        pygit2.init_repository(str(folder), initial_head="main")
        mark.write_text(source)
        return cls(folder)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the folder for one sync, and finish first what a killed one began.

        Raises:
            UnavailableError: another sync is running.
        """
        with (self._private / _LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UnavailableError(
                    "Another cn is syncing this folder.", kind="space", hint="Wait for it."
                ) from None
            self._recover()
            yield

    # State and bodies.

    def state(self) -> dict[str, Any]:
        """The state of the last sync; {} before the first."""
        commit = self._commit(STATE_REF)
        if commit is None:
            return {}
        return cast("dict[str, Any]", json.loads(self._blob(commit.tree["state.json"].id)))

    def body(self, page: str, version: int) -> bytes | None:
        """The exact body of a version of a page; None if it was never fetched."""
        for ref in (PARTIAL_REF, STATE_REF):
            commit = self._commit(ref)
            if commit is None:
                continue
            with contextlib.suppress(KeyError):
                return self._blob(commit.tree["bodies"][_body_name(page, version)].id)  # type: ignore[index]
        return None

    def bodies(self) -> set[tuple[str, int]]:
        """Page and version of the bodies that there are, with those that an unfinished run has fetched."""
        commits = [commit for ref in (PARTIAL_REF, STATE_REF) if (commit := self._commit(ref)) is not None]
        names = (entry.name or "" for commit in commits for entry in cast("pygit2.Tree", commit.tree["bodies"]))
        return {(page, int(version)) for page, _, version in (name.rpartition("-") for name in names)}

    def keep_bodies(self, bodies: Iterable[tuple[str, int, bytes]]) -> None:
        """Record fetched bodies before the sync is whole."""
        old = self._commit(PARTIAL_REF)
        tree = self._bodies_tree(old, bodies)
        builder = self._git.TreeBuilder()
        builder.insert("bodies", tree, FileMode.TREE)
        self._point(PARTIAL_REF, self._write_commit(builder.write(), [], "Bodies of an unfinished run"))

    def save(self, state: Mapping[str, Any], bodies: Iterable[tuple[str, int, bytes]]) -> None:
        """Record the state and the bodies that belong to it."""
        self._point(STATE_REF, self._state_commit(state, bodies))

    def _state_commit(self, state: Mapping[str, Any], bodies: Iterable[tuple[str, int, bytes]]) -> pygit2.Oid:
        old = self._commit(STATE_REF)
        builder = self._git.TreeBuilder()
        content = json.dumps(state, ensure_ascii=False, sort_keys=True).encode("utf-8", "backslashreplace")
        builder.insert("state.json", self._git.create_blob(content), FileMode.BLOB)
        builder.insert("bodies", self._bodies_tree(old, bodies), FileMode.TREE)
        return self._write_commit(builder.write(), [old.id] if old is not None else [], "State of the space")

    def _bodies_tree(self, old: pygit2.Commit | None, bodies: Iterable[tuple[str, int, bytes]]) -> pygit2.Oid:
        tree = cast("pygit2.Tree", old.tree["bodies"]) if old is not None else None
        builder = self._git.TreeBuilder(tree) if tree is not None else self._git.TreeBuilder()
        partial = self._commit(PARTIAL_REF)
        for entry in cast("pygit2.Tree", partial.tree["bodies"]) if partial is not None else ():
            builder.insert(entry.name or "", entry.id, FileMode.BLOB)
        for page, version, body in bodies:
            builder.insert(_body_name(page, version), self._git.create_blob(body), FileMode.BLOB)
        return builder.write()

    # The folder.

    def read(self, path: str) -> bytes | None:
        """The bytes of a file in the work tree; None if there is none."""
        try:
            return (self.folder / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def exists(self, path: str) -> bool:
        """Whether the work tree has a file."""
        return os.path.isfile(f"{self.folder}/{path}")

    def write(self, path: str, content: bytes) -> None:
        """Write a file of the work tree."""
        self._write_file(self.folder / path, content)

    def committed(self, path: str) -> bytes | None:
        """The bytes of a file in the last commit; None if it is not there."""
        commit = self._commit("HEAD")
        if commit is None:
            return None
        try:
            return self._blob(commit.tree[path].id)
        except KeyError:
            return None

    def store(self, content: bytes) -> str:
        """Keep a content as an object, and return its digest."""
        return str(self._git.create_blob(content))

    def digest(self, content: bytes | None) -> str:
        """The name that Git gives to a content; "" for no file."""
        return "" if content is None else str(pygit2.hash(content))

    def apply(self, change: FolderChange, state: Mapping[str, Any], bodies: Iterable[tuple[str, int, bytes]]) -> None:
        """Change the folder, the branch and the state. A killed run is finished by the next one."""
        head = self._commit("HEAD")
        expected = {path: change.seen.get(path, self.digest(self.read(path))) for path in change.files}
        commit = self._folder_commit(head, change)
        journal = {
            "files": {path: [expected[path], written] for path, written in change.files.items()},
            "commit": str(commit or ""),
            "before": str(head.id) if head is not None else "",
            "state": str(self._state_commit(state, bodies)),
            "committed": list(change.committed),
        }
        self._write_file(self._private / _JOURNAL, json.dumps(journal).encode())
        self._recover()

    def _folder_commit(self, head: pygit2.Commit | None, change: FolderChange) -> pygit2.Oid | None:
        index = pygit2.Index()
        if head is not None:
            index.read_tree(head.tree)
        for path, digest in change.committed.items():
            if not digest:
                with contextlib.suppress(OSError, KeyError):
                    index.remove(path)
            else:
                index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=digest), FileMode.BLOB))
        tree = index.write_tree(self._git)
        if head is not None and tree == head.tree.id:
            return None
        return self._write_commit(tree, [head.id] if head is not None else [], change.message)

    def _recover(self) -> None:
        """Finish the change that the journal describes, if there is one. Does nothing twice."""
        path = self._private / _JOURNAL
        try:
            journal = json.loads(path.read_bytes())
        except FileNotFoundError:
            return
        except ValueError:
            path.unlink()  # it was never whole, so nothing had begun
            return
        removed: list[str] = []
        for name, (expected, written) in journal["files"].items():
            current = self.digest(self.read(name))
            if current != expected or current == written:
                continue  # done already, or somebody edited the file meanwhile: the edit stays
            if written:
                self._write_file(self.folder / name, self._blob(pygit2.Oid(hex=written)))
            else:
                removed.append(name)
        for name in removed:
            self.remove(name)
        if journal["commit"]:
            self._move_branch(journal)
        self._point(STATE_REF, pygit2.Oid(hex=journal["state"]))
        with contextlib.suppress(KeyError):
            self._git.references.delete(PARTIAL_REF)
        path.unlink()

    def _move_branch(self, journal: Mapping[str, Any]) -> None:
        head = self._commit("HEAD")
        if (str(head.id) if head is not None else "") == journal["before"]:
            branch = self._git.lookup_reference("HEAD").target
            self._point(str(branch), pygit2.Oid(hex=journal["commit"]))
        commit = cast("pygit2.Commit", self._git[journal["commit"]])
        index = self._git.index
        index.read()
        for path in journal["committed"]:
            with contextlib.suppress(OSError, KeyError):
                index.remove(path)
            with contextlib.suppress(KeyError):
                index.add(pygit2.IndexEntry(path, commit.tree[path].id, FileMode.BLOB))
        index.write()

    def _write_file(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name[:40]}.cn-draft")  # a killed run's is written again
        with user_modes(path.parent), draft.open("wb") as file:
            file.write(content)
            file.flush()
            if path.parent == self._private:
                os.fsync(file.fileno())
        try:
            draft.replace(path)
        except IsADirectoryError:
            draft.unlink()
            raise StorageError(f"{path.name} is a folder, so the page cannot be written there.", kind="file") from None

    def remove(self, name: str) -> None:
        """Remove a file of the work tree, and folders that it leaves empty."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        for folder in path.relative_to(self.folder).parents:
            if folder == Path():
                return
            try:
                (self.folder / folder).rmdir()
            except OSError:
                return

    # Git's objects.

    def _commit(self, ref: str) -> pygit2.Commit | None:
        try:
            return cast("pygit2.Commit", self._git.revparse_single(ref))
        except KeyError:
            return None

    def _blob(self, oid: pygit2.Oid | str) -> bytes:
        return cast("pygit2.Blob", self._git[oid]).data

    def _write_commit(self, tree: pygit2.Oid, parents: list[pygit2.Oid], message: str) -> pygit2.Oid:
        person = self._person()
        return self._git.create_commit(None, person, person, message, tree, parents)

    def _person(self) -> pygit2.Signature:
        try:
            return self._git.default_signature
        except KeyError:
            return pygit2.Signature("cn", "cn@localhost")

    def _point(self, ref: str, oid: pygit2.Oid) -> None:
        self._git.references.create(ref, oid, force=True)


def _body_name(page: str, version: int) -> str:
    return f"{page}-{version}"
