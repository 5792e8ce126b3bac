"""The commits of the current branch by name and by date, the files of each, and the store of a bare repository."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, CommitSpan, FileStat, Revision
from commonplace.domain.errors import NotFoundError
from commonplace.domain.past import PastCommits
from commonplace.domain.ports import History, Store
from commonplace.store.disk.ignore_rules import (
    MAX_IGNORE_BYTES,
    OWN_FILE,
    IgnoreRules,
    OwnRules,
    Pattern,
    parse_patterns,
    verdict,
)
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, MODE_FOLDER, TreeEntry
from commonplace.store.git.past.history import GitHistory
from commonplace.store.git.past.revision_names import checked, named_object
from commonplace.store.git.past.revision_walk import (
    RenameFinder,
    Renames,
    Spans,
    changed_blobs,
    commit_value,
    document_address,
    oldest_first,
    parents_of,
)
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.tree_store import Hides, TreeSource, TreeStore
from commonplace.store.git.trees import TreeDiff

# The commits of the current branch by name and by date, and the files of each.


_REFUSAL = "it is a state of the past"

_Line = list[tuple[int, str]]
"""Date and id of commits, newest first."""


class CommitLookup:
    """`domain.past.PastCommits` of a folder in a repository. Thread-safe.

    Args:
        history: The current history of the folder, whose caches are used.
        name: The folder's name.
        identity: A stable key of the folder on this machine.
        rules: The ignore files on disk; None for a bare repository.
    """

    def __init__(self, history: GitHistory, name: str, identity: str, rules: IgnoreRules | None = None) -> None:
        repository, prefix, renames = history.repository, history.prefix, history.rename_finder
        self._history = history
        self._repository = repository
        self._name = name
        self._identity = identity
        self._prefix = prefix
        self._rules = rules
        self._ancestors = history.ancestors
        self._renames = renames
        self._touched = TouchedDocuments(repository, prefix.rstrip("/"), renames)
        self._line: tuple[str, _Line] = ("", [])
        self._arrivals = BranchArrivals(repository)
        self._lock = threading.Lock()

    def commit(self, name: str) -> Commit:
        """The commit with this id or tag on the current branch; a `^` after it means its first parent."""
        commit = named_object(self._repository, self._ancestors, self._repository.head, checked(name))
        if not isinstance(commit, pygit2.Commit):
            raise NotFoundError(
                f"There is no commit {name[:60]!r} in the current branch.",
                kind="revision",
                hint="Ask for the changes to see the commits.",
            )
        return commit_value(commit)

    def before(self, name: str, steps: int) -> tuple[Commit, int]:
        """The first parent so many steps before a commit, or the first commit of all; and the steps that there are."""
        commit = self.commit(name)
        if not steps:
            return commit, 0
        with self._lock:
            head, line = guarded(self._first_parents)
        if commit.id == head:  # its line is known already
            done = min(steps, len(line) - 1)
            return commit_value(self._repository.commit(line[done][1])), done
        ancestors = islice(self._newest_first(commit.id), steps + 1)
        done, last = guarded(lambda: deque(enumerate(ancestors), maxlen=1).pop())
        return commit_value(last), done

    def latest(self, until: float) -> Commit | None:
        """The newest commit of the first-parent line that is dated at or before a time.

        Dates are author dates, as in a history, but no commit is older than one before it on the line: after a rebase,
        or where a clock was wrong, its own date is.
        """
        with self._lock:
            head, line = guarded(self._first_parents)
        name = next((name for when, name in line if when <= until), "")
        if not name:
            return None
        self._ancestors.add(head, [name])
        return commit_value(self._repository.commit(name))

    def came(self, commit: str) -> int:
        """The time at which a commit came into the branch: the later one of both dates of it, or of its merge."""
        name = self._arrivals.arrival(*self._oldest_first(), commit)[1]
        return commit_value(self._repository.commit(name)).latest

    def is_later(self, commit: str, other: str) -> bool:
        """Whether a commit came into the branch after another one; of one merge, whether it is a descendant."""
        head, line = self._oldest_first()
        place, before = (self._arrivals.arrival(head, line, name)[0] for name in (commit, other))
        return place > before or (place == before and commit != other and self._repository.holds(commit, other))

    def _oldest_first(self) -> tuple[str, _Line]:
        with self._lock:
            return guarded(self._first_parents)

    def latest_with(self, address: Address, *, within: int) -> str:
        """Id of the newest commit of the first-parent line that contains a file; "" if none of the newest `within`."""
        trees, path = TreeDiff(self._repository), os.fsencode(self._prefix + address.path)
        line = islice(self._newest_first(self._repository.head), within)
        return guarded(lambda: next((str(commit.id) for commit in line if trees.at(str(commit.tree_id), path)), ""))

    def store(self, commit: str) -> Store:
        """The files of a commit."""
        repository, prefix = self._repository, self._prefix
        source = TreeSource(
            repository=repository,
            commit=lambda: commit,
            prefix=prefix,
            hides=self._hides(commit),
            mtime_ns=1_000_000_000 * repository.commit(commit).commit_time,
        )
        history = PastHistory(self._history, commit, self._touched)
        return PastStore(self._name, self._identity, source, history, _REFUSAL)

    def key(self, commit: str) -> str:
        """The commit's id, followed by a digest of the current ignore files if there are any."""
        digest = self._rules.digest() if self._rules else ""
        return f"{commit}-{digest}" if digest else commit

    def _hides(self, commit: str) -> Hides:
        """A test whether a current ignore file, or one of the commit, excludes an entry. Results are cached."""
        then = PastRules(self._repository, commit, self._prefix)
        now = self._rules
        rules: dict[str, tuple[OwnRules, ...]] = {}

        def hides(path: str, is_folder: bool) -> bool:
            folder = path.rpartition("/")[0]
            if folder not in rules:
                parts = folder.split("/") if folder else []
                both = (then.at(parts), now.now().at(folder).own if now else ())
                rules[folder] = tuple(filter(None, both))
            parts = path.split("/") if rules[folder] else []
            return any(verdict(own_rules, parts, is_folder=is_folder) is True for own_rules in rules[folder])

        return hides

    def _first_parents(self) -> tuple[str, _Line]:
        """The current commit and its first-parent line. Only commits since the last call are read."""
        head = self._repository.head
        known_text, line = self._line
        if head != known_text and not line and (cached := self._history.first_parents(head)) is not None:
            self._line = head, _dated_after(cached, 0)
        elif head != known_text:
            news: _Line = []
            met = False
            for commit in self._newest_first(head):
                if met := str(commit.id) == known_text:
                    break
                news.append((commit.author.time, str(commit.id)))
            self._line = head, [*_dated_after(news, line[0][0] if met else 0), *(line if met else ())]
        return self._line

    def _newest_first(self, head: str) -> Iterable[pygit2.Commit]:
        return self._repository.walk(head, SortMode.NONE, first_parent=True) if head else []


def _dated_after(line: _Line, date: int) -> _Line:
    """A line whose commits are dated no earlier than a date and than those before them. Dates in the future count not.

    Args:
        line: The commits, newest first.
        date: The date of the commit before them; 0 for none.
    """
    now, dated = time.time(), _Line()
    for when, name in reversed(line):
        date = when if not date else max(date, when if when <= now else 0)
        dated.append((date, name))
    return dated[::-1]


class BranchArrivals:
    """The place on the first-parent line at which each commit came into the branch. Thread-safe.

    Args:
        repository: The repository.
    """

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._places: dict[str, int] = {}
        """Place of each commit on the line of the last head, from the oldest on, or that of its merge."""
        self._line: list[str] = []
        self._merged = 0
        """Number of commits of the line whose merged commits have their places."""
        self._lock = threading.Lock()

    def arrival(self, head: str, line: _Line, commit: str) -> tuple[int, str]:
        """The place on the line at which a commit came into the branch, and the commit there; itself if unknown.

        Args:
            head: The current commit.
            line: Its first-parent line, newest first.
            commit: Id of a commit of the branch.
        """
        with self._lock:
            if not self._line or self._line[-1] != head:
                self._follow([name for _, name in reversed(line)])
            if commit not in self._places:
                guarded(self._place_merged)
            place = self._places.get(commit, -1)
            return place, self._line[place] if place >= 0 else commit

    def _follow(self, line: list[str]) -> None:
        """Take another line. That of a later head goes on with the one before."""
        count = len(self._line)
        if line[:count] != self._line:
            self._places, self._merged, count = {}, 0, 0
        self._line = line
        self._places.update((name, place) for place, name in enumerate(line[count:], count))

    def _place_merged(self) -> None:
        """Place the commits that merges brought."""
        for place in range(self._merged, len(self._line)):
            waiting = parents_of(self._repository.commit(self._line[place]))[1:]
            while waiting:
                commit = waiting.pop()
                if str(commit.id) not in self._places:
                    self._places[str(commit.id)] = place
                    waiting += parents_of(commit)
        self._merged = len(self._line)


class PastHistory(GitHistory):
    """`domain.ports.History` as of a commit.

    Args:
        current: The current history of the folder, whose caches are used.
        commit: Id of the commit.
        touched: The touched documents of the repository's commits.
    """

    def __init__(self, current: GitHistory, commit: str, touched: TouchedDocuments) -> None:
        super().__init__(current.repository, current.prefix, None, current.rename_finder)
        self._current_history = current
        self._commit = commit
        self._documents_touched = touched
        self._dates: Spans | None = None

    def head(self) -> str:
        """Id of the commit."""
        return self._commit

    def named(self, name: str) -> Sequence[Address] | None:
        """The documents whose path ends with a folded name; also those that only later commits touched."""
        return self._current_history.named(name)

    def last_touching(self, among: Collection[Address], at: str = "") -> Sequence[tuple[Commit, bool]] | None:
        """The commits up to this one that last touched documents, newest first."""
        return self._current_history.last_touching(among, at or self._commit)

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        """The span of each of these documents, or of all, up to this commit."""
        if self._dates is None:
            self._dates = self._documents_touched.spans(self._commit)
        spans = self._dates
        return dict(spans) if addresses is None else {item: spans[item] for item in addresses if item in spans}

    def uncommitted(self, revisions: Mapping[Address, Revision]) -> set[Address]:
        """An empty set: the files are those of a commit."""
        del revisions
        return set()

    def moved(self, addresses: Collection[Address]) -> Mapping[Address, Address]:
        """No renames: the files are those of a commit."""
        del addresses
        return {}

    def working_changes(self, revisions: Mapping[Address, Revision]) -> tuple[set[Address], set[Address]]:
        """Empty sets: the files are those of a commit."""
        del revisions
        return set(), set()


class PastStore(TreeStore):
    """The files of one commit. Each folder is listed once, and each file looked up once, because neither changes."""

    def __init__(self, name: str, identity: str, source: TreeSource, history: History, refusal: str) -> None:
        super().__init__(name, identity, source, history, refusal)
        self._documents_by_path: dict[str, tuple[TreeEntry, FileStat]] = {}
        self._others: dict[str, TreeEntry] = {}
        self._servable_by_folder: dict[str, list[tuple[Address, TreeEntry]]] = {}
        self._trees: dict[str, str] = {}
        """Id of each folder's tree, by its path from the repository's root; "" if it is not there."""
        self._stats: dict[str, FileStat] = {}
        self._is_listed = False
        self._listing = threading.Lock()

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every Markdown file of the commit, in no particular order."""
        del names_only
        self._list()
        return ((Address(path), stat) for path, (_, stat) in self._documents_by_path.items())

    def other_files(self) -> Iterable[str]:
        """Paths of the regular files that are not documents, except hidden ones."""
        self._list()
        return self._others

    def _entry(self, address: Address) -> TreeEntry | None:
        if not self._is_listed:  # a single file costs its own folders only
            return super()._entry(address)
        document = self._documents_by_path.get(address.path)
        return document[0] if document else self._others.get(address.path)

    def _looked_up(self, path: str) -> TreeEntry | None:
        folder, _, name = path.rpartition("/")
        if folder not in self._trees:
            self._trees[folder] = self._tree(folder)
        return self._source.repository.child(self._trees[folder], name) if self._trees[folder] else None

    def _tree(self, folder: str) -> str:
        if not folder:
            return self._source.repository.tree_of(self._source.commit())
        entry = super()._looked_up(folder)
        return entry.id if entry and entry.mode == MODE_FOLDER else ""

    def _servable_in(self, folder: str) -> list[tuple[Address, TreeEntry]]:
        if folder not in self._servable_by_folder:
            self._servable_by_folder[folder] = super()._servable_in(folder)
        return self._servable_by_folder[folder]

    def _facts(self, entry: TreeEntry) -> FileStat:
        if entry.id not in self._stats:
            self._stats[entry.id] = super()._facts(entry)
        return self._stats[entry.id]

    def _list(self) -> None:
        with self._listing:
            if not self._is_listed:
                found_pairs = ((address.path, entry) for address, entry in self._documents())
                self._documents_by_path = {path: (entry, self._facts(entry)) for path, entry in found_pairs}
                self._others = dict(self._other_entries())
                self._is_listed = True

    def _other_entries(self) -> Iterator[tuple[str, TreeEntry]]:
        """The regular files that are not documents. As on disk, ignored files are included as targets of links."""
        pending = [""]
        while pending:
            folder = pending.pop()
            pending += self.folders(folder)
            for address, entry in self._servable_in(folder):
                if entry.mode in {MODE_FILE, MODE_EXECUTABLE} and not address.is_document:
                    yield address.path, entry


class PastRules:
    """The `.commonplaceignore` files of a commit.

    Files that only `.gitignore` excludes are served, because the commit tracks them.
    """

    def __init__(self, repository: GitRepository, commit: str, prefix: str) -> None:
        self._repository = repository
        self._commit = commit
        self._prefix = prefix
        self._patterns: dict[str, tuple[Pattern, ...]] = {}

    def at(self, folder: Sequence[str]) -> OwnRules:
        """The non-empty files that apply to the entries of a folder, nearest first, each with its depth."""
        depths = range(len(folder), -1, -1)
        return tuple((depth, patterns) for depth in depths if (patterns := self._of("/".join(folder[:depth]))))

    def _of(self, folder: str) -> tuple[Pattern, ...]:
        if folder not in self._patterns:
            path = f"{folder}/{OWN_FILE}" if folder else OWN_FILE
            self._patterns[folder] = self._read(self._prefix + path)
        return self._patterns[folder]

    def _read(self, path: str) -> tuple[Pattern, ...]:
        entry = self._repository.entry(self._commit, path)
        if entry is None or entry.mode not in {MODE_FILE, MODE_EXECUTABLE}:
            return ()
        if self._repository.size(entry.id) > MAX_IGNORE_BYTES:
            return ()
        return parse_patterns(self._repository.content(entry.id).decode("utf-8", "replace"))


# Caches the documents that each commit touched, and derives the dates of documents at any commit.


MAX_CACHED_COMMITS = 200_000
"""Maximum number of cached commits, of about 200 bytes each; the cache is cleared when it is full."""


class TouchedDocuments:
    """The touched documents below a folder, by commit. Thread-safe.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        renames: The renames below the folder.
    """

    def __init__(self, repository: GitRepository, folder: str, renames: RenameFinder) -> None:
        self._repository = repository
        self._renames = renames
        self._folder = os.fsencode(folder)
        self._known: dict[str, tuple[Address, ...]] = {}
        self._sources: dict[str, Renames] = {}
        """The renames of the cached commits that have some."""
        self._unchanged: dict[str, frozenset[Address]] = {}
        """The renamed documents of these commits whose bytes stayed the same."""
        self._addresses: dict[bytes, Address | None] = {}
        self._lock = threading.Lock()

    def spans(self, head: str, addresses: Collection[Address] | None = None) -> Spans:
        """The span of each of these documents (None: all), among a commit and its ancestors."""
        with self._lock:
            return guarded(lambda: self._spans(head, addresses))

    def _spans(self, head: str, addresses: Collection[Address] | None) -> Spans:
        trees = TreeDiff(self._repository)
        if len(self._known) > MAX_CACHED_COMMITS:
            self._known.clear()
            self._sources.clear()
            self._unchanged.clear()
        ends: dict[Address, tuple[str, str, str]] = {}
        for commit in oldest_first(self._repository, head, ""):
            name = str(commit.id)
            touched = self._known.get(name)
            if touched is None:
                changed = changed_blobs(trees, commit, self._folder)
                if sources := self._renames.renames_since_parent(trees, commit, changed):
                    self._sources[name] = sources
                    self._unchanged[name] = self._renames.unchanged(trees, commit, changed, sources)
                touched = self._known[name] = tuple(filter(None, map(self._address, changed)))
            before = {new: ends.get(old) for new, old in self._sources.get(name, {}).items()}
            same = self._unchanged.get(name, frozenset())
            for address in touched:
                span = before.get(address) or ends.get(address) or (name, name, name)
                ends[address] = span[0], name, span[2] if address in same else name
        rows = ends if addresses is None else {address: ends[address] for address in addresses if address in ends}
        names = {name for span in rows.values() for name in span}
        commits = {name: commit_value(self._repository.commit(name)) for name in names}
        return {address: CommitSpan(*(commits[name] for name in span)) for address, span in rows.items()}

    def _address(self, path: bytes) -> Address | None:
        if path not in self._addresses:
            self._addresses[path] = document_address(path)
        return self._addresses[path]


# The store of a bare repository: the documents of its current branch, read from Git objects. Read-only.


MAX_FOLDERS = 10_000
"""Maximum number of folders whose ignore rules are cached."""
_READ_ONLY = "it is a bare repository; serve a clone of it to write"


class BareStore(TreeStore):
    """`domain.ports.Store` of a bare repository.

    Args:
        repository: The repository.
        identity: A stable key of the repository on this machine.
        refusal: The reason why it cannot be written, and what to do instead.
        cache_dir: As for `DocumentSpans`.
    """

    def __init__(
        self, repository: GitRepository, identity: str, refusal: str = _READ_ONLY, cache_dir: Path | None = None
    ) -> None:
        name = repository.gitdir.name.removesuffix(".git")
        hides = _CurrentRules(repository).hides
        source = TreeSource(repository=repository, commit=lambda: repository.head, hides=hides)
        renames = RenameFinder(repository, "", self._hidden)
        history = GitHistory(repository, "", None, renames, cache_dir)
        super().__init__(name, identity, source, history, refusal)
        self._past = CommitLookup(history, name, identity)

    @property
    def past(self) -> PastCommits | None:
        """The commits of the current branch."""
        return self._past


class _CurrentRules:
    """The ignore rules of the current commit. Thread-safe."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._at = lru_cache(MAX_FOLDERS)(self._read)

    def hides(self, path: str, is_folder: bool) -> bool:
        """Whether an entry is ignored, by its path; the folders above it are not considered."""
        rules = self._at(self._repository.head, path.rpartition("/")[0])
        return bool(rules) and bool(verdict(rules, path.split("/"), is_folder=is_folder))

    def _read(self, commit: str, folder: str) -> OwnRules:
        return PastRules(self._repository, commit, "").at(folder.split("/") if folder else [])
