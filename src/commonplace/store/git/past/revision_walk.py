"""Walks a repository's commits: those that touched a path, what each of them changed, and what it renamed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush
from itertools import islice
from threading import Lock
from typing import NamedTuple

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address, is_document_path, parse_address
from commonplace.domain.changes import Author, Commit, CommitSpan, escaped_controls
from commonplace.domain.errors import InvalidInputError
from commonplace.store.git.objects import MODE_FOLDER
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees import TreeDiff

# Walks a repository's commits: those that touched a path, and what each of them changed.


Spans = dict[Address, CommitSpan]
"""First and last commit by document."""

MAX_COMMITS_BETWEEN = 1000
"""Maximum number of commits that are read to find changes since a commit; if exceeded, all documents count as changed.
"""


class DocumentChanges(NamedTuple):
    """The changes of one document in the history of a commit."""

    blobs: Mapping[str, str]
    """Commits in which the document differs from all parents, oldest first, with its blob in each; "" if deleted."""
    is_linear: bool
    """Whether no commit of the whole history has several parents."""


def _unknown_changes(_path: str) -> DocumentChanges | None:
    return None


def _same_commit(commit: pygit2.Commit, _path: str) -> pygit2.Commit:
    return commit


def _same_path(_trees: TreeDiff, _commit: pygit2.Commit, _parent: pygit2.Commit, path: str) -> str:
    return path


class PathFollower(NamedTuple):
    """Cached facts about a path for the walk over its commits, and the rule for its renames."""

    first: str = ""
    """The commit that first touched the path, at which the walk stops; "" if unknown."""
    changes: Callable[[str], DocumentChanges | None] = _unknown_changes
    """Returns the cached changes of a path; None if unknown. With them, only the trees of merges are read."""
    path_before: Callable[[TreeDiff, pygit2.Commit, pygit2.Commit, str], str] = _same_path
    """Returns the path that a commit's entry had in a parent. The default is to follow no rename."""
    trees: TreeDiff | None = None
    """A cache of the repository's trees."""
    next_of: Callable[[pygit2.Commit, str], pygit2.Commit] = _same_commit
    """Returns the commit or an ancestor, passing over commits with one parent that did not touch the path."""


def commits_touching(
    repository: GitRepository,
    head: str,
    path: str,
    follower: PathFollower | None = None,
    within: AbstractSet[str] | None = None,
) -> Iterator[tuple[pygit2.Commit, str]]:
    """The commits reachable from `head` that changed the entry at a path ("" for any entry), newest first.

    As in `git log`, a merge that took one parent's version unchanged is skipped, and only that parent is followed.

    Args:
        repository: The repository.
        head: A commit.
        path: Path in the repository.
        follower: Cached facts about the path, and the rule for its renames; None to follow no rename.
        within: Ids of the commits to walk below `head`: those that are not in the history of some commit; None for all.

    Yields:
        Each commit with the path that the entry had in it.
    """
    follower = follower or PathFollower()
    trees = follower.trees or TreeDiff(repository)
    last = follower.next_of(repository.commit(head), path)
    queue = [(-last.commit_time, 0, last, path)]
    met = {(str(last.id), path)}
    while queue:
        _, _, commit, path = heappop(queue)
        changes = follower.changes(path)
        touched, followed = _followed(commit, os.fsencode(path), trees, changes.blobs if changes else None)
        if touched:
            yield commit, path
        if str(commit.id) == follower.first:
            continue
        for parent in _those_in(within, followed):
            before = follower.path_before(trees, commit, parent, path) if touched else path
            earlier = follower.next_of(parent, before)
            if (str(earlier.id), before) not in met:
                met.add((str(earlier.id), before))
                heappush(queue, (-earlier.commit_time, len(met), earlier, before))


def count_touching(repository: GitRepository, head: str, path: str, known_pair: tuple[str, int]) -> int:
    """The number of commits that `commits_touching` yields.

    Args:
        repository: The repository.
        head: A commit.
        path: Path in the repository.
        known_pair: Another commit and its count, which is used if all commits after it have one parent.
    """
    total, is_line = 0, True
    for commit, _ in commits_touching(repository, head, path):
        if is_line and str(commit.id) == known_pair[0]:
            return total + known_pair[1]
        is_line = is_line and len(commit.parent_ids) == 1
        total += 1
    return total


def _followed(
    commit: pygit2.Commit, path: bytes, trees: TreeDiff, blobs: Mapping[str, str] | None
) -> tuple[bool, list[pygit2.Commit]]:
    """Whether a commit differs from all of its parents at the path, and the parents to follow."""
    parents = parents_of(commit)
    if blobs is not None and (len(parents) <= 1 or str(commit.id) in blobs):
        return str(commit.id) in blobs, parents
    mine = trees.at(str(commit.tree_id), path)
    same = next((parent for parent in parents if trees.at(str(parent.tree_id), path) == mine), None)
    return (bool(mine or parents), parents) if same is None else (False, [same])


def _those_in(ids: AbstractSet[str] | None, commits: Sequence[pygit2.Commit]) -> Sequence[pygit2.Commit]:
    """The commits with these ids; all for None."""
    return commits if ids is None else [commit for commit in commits if str(commit.id) in ids]


def changed_paths(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> Collection[bytes]:
    """Paths below a folder at which a commit differs from all of its parents, relative to the folder."""
    return changed_blobs(trees, commit, folder).keys()


def changed_blobs(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> dict[bytes, bytes]:
    """The paths of `changed_paths`, each with the file's id in the commit (20 bytes); b"" if the commit lacks it."""
    mine = trees.at(str(commit.tree_id), folder)
    olds = [trees.at(str(parent.tree_id), folder) for parent in parents_of(commit)] or [""]
    return {path: blob for path, _, blob in trees.differences(olds[0], mine, *olds[1:])}


def parents_of(commit: pygit2.Commit) -> list[pygit2.Commit]:
    """A commit's parents that exist; a shallow clone may lack some."""
    return guarded(lambda: commit.parents)


def touched_between(
    repository: GitRepository, trees: TreeDiff, text: str, head: str, folder: str
) -> set[Address] | None:
    """Documents below a folder touched after `text` up to `head`; None if `text` is unrelated or too far behind."""
    if not (text and head and repository.has_object(text) and repository.holds(head, text)):
        return None
    commits = list(islice(oldest_first(repository, head, text), MAX_COMMITS_BETWEEN + 1))
    if len(commits) > MAX_COMMITS_BETWEEN:
        return None
    paths = {path for commit in commits for path in changed_paths(trees, commit, os.fsencode(folder))}
    return {address for path in paths if (address := document_address(path))}


def oldest_first(repository: GitRepository, head: str, known_text: str) -> Iterator[pygit2.Commit]:
    """The commits reachable from `head` and not from `known_text` ("" for none), parents before children."""
    return repository.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE, hidden=[known_text])


def document_address(path: bytes) -> Address | None:
    """The address of a path in Git; None if the path is not that of a document."""
    text = os.fsdecode(path)
    try:
        return parse_address(text) if is_document_path(text) else None
    except InvalidInputError:
        return None


def blobs_of(repository: GitRepository, commit: str, prefix: str) -> dict[bytes, str]:
    """The id of every file and link of a commit below a prefix, by its path without it.

    Raises:
        GitError: there are too many files.
    """
    tree = repository.tree_of(commit)
    if prefix:
        entry = repository.entry(commit, prefix.rstrip("/"))
        tree = entry.id if entry and entry.mode == MODE_FOLDER else ""
    return TreeDiff(repository).blobs_below(tree)


def commit_value(commit: pygit2.Commit, addresses: tuple[Address, ...] = ()) -> Commit:
    """The `Commit` value of a commit."""
    author = commit.author
    person = Author(_text(author.raw_name), _text(author.raw_email))
    return Commit(str(commit.id), person, author.time, _text(commit.raw_message), addresses, commit.commit_time)


def _text(raw: bytes) -> str:
    return escaped_controls(raw.decode("utf-8", "replace"))


# Finds the files that a commit renamed, by the rule of `git log -M`.
#
# Git stores no renames: they are derived from the files that a commit removed and those that it added. The rule is
# that of diffcore-rename.c and diffcore-delta.c in Git 2.47: equal bytes first, then a unique file name with three
# quarters of the bytes in common, then the most similar of the rest, from one half of the bytes. A removed file
# continues in one added file. Copies are no renames, because the copied page still exists and has its own history.


MOVED_TRAILER = "Moved: "
"""Beginning of the line of a commit's message that states a move which the rule alone does not find."""
TRAILER_ARROW = " => "
"""Separates the old path from the new one in a `MOVED_TRAILER` line."""
MIN_SIMILARITY = 0.5
"""Minimum share of bytes in common, 0 to 1, of a renamed file that was changed (`-M50%`)."""
MIN_SIMILARITY_OF_NAMESAKES = 0.75
"""The same for the only removed and the only added file of one name, which are compared with each other only."""
MAX_COMPARED_BYTES = 1_000_000
"""Maximum size in bytes of a file that is compared with others; larger files are renamed only with equal bytes."""
MAX_PAIRS = 10_000
"""Maximum number of pairs of a removed and an added file that are compared in a commit (Git: a million)."""
MAX_CACHED_RENAMES = 100_000
"""Maximum number of cached renames, and of commits; the cache is cleared when it is full."""
_CHUNK = re.compile(rb"[^\n]{0,63}\n|[^\n]{1,64}")
"""The units that are counted: lines, in pieces of up to 64 bytes."""
_TEXT_BYTES = 8_000
"""Number of bytes at the beginning of a file in which a NUL marks it as binary."""

Renames = Mapping[Address, Address]
"""The old address of each renamed file, by its new address."""
_Files = dict[bytes, bytes]
"""Blob ids (20 bytes) by path."""


class RenameFinder:
    """The renames of commits, below a folder. Thread-safe; results are cached, because commits never change.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        hides: Whether a file is ignored. The history of a page ends where it comes from an ignored file.
    """

    hides: Callable[[Address], bool]
    """Whether a file is ignored, and so shown at no commit."""

    def __init__(self, repository: GitRepository, folder: str, hides: Callable[[Address], bool]) -> None:
        self._repository = repository
        self._folder = os.fsencode(folder)
        self.hides = hides
        self._known: dict[tuple[str, str, str], Renames] = {}
        self._count = 0
        self._lock = Lock()

    def renames(self, trees: TreeDiff, commit: pygit2.Commit, parent: pygit2.Commit) -> Renames:
        """The files that a commit renamed since one of its parents.

        Args:
            trees: A cache of the repository's trees.
            commit: The commit.
            parent: One of its parents.
        """
        old, new = (trees.at(str(other_commit.tree_id), self._folder) for other_commit in (parent, commit))
        message = commit.raw_message.decode("utf-8", "replace") if MOVED_TRAILER.encode() in commit.raw_message else ""
        key = old, new, message
        with self._lock:
            renames = self._known.get(key)
        if renames is None:
            renames = self._found(list(trees.differences(old, new)) if old else [], message)
            with self._lock:
                if self._count > MAX_CACHED_RENAMES:
                    self._known.clear()
                    self._count = 0
                self._known[key] = renames
                self._count += 1 + len(renames)
        return renames

    def renames_since_parent(self, trees: TreeDiff, commit: pygit2.Commit, changed: Mapping[bytes, bytes]) -> Renames:
        """The files that a commit with one parent renamed; empty for a merge, whose branches have the renames.

        Args:
            trees: A cache of the repository's trees.
            commit: The commit.
            changed: The paths that the commit changed, each with its blob; b"" if the commit removed the file.
        """
        if len(commit.parent_ids) != 1 or all(changed.values()) or not any(changed.values()):
            return {}
        parents = parents_of(commit)
        return self.renames(trees, commit, parents[0]) if parents else {}

    def unchanged(
        self, trees: TreeDiff, commit: pygit2.Commit, changed: Mapping[bytes, bytes], renames: Renames
    ) -> frozenset[Address]:
        """The new addresses of the renamed files whose bytes the commit left as they were.

        Args:
            trees: A cache of the repository's trees.
            commit: The commit.
            changed: As for `renames_since_parent`, which returned the renames.
            renames: The renames of the commit.
        """
        if not renames:
            return frozenset()
        folder = f"{os.fsdecode(self._folder)}/" if self._folder else ""
        blobs = trees.blobs(str(parents_of(commit)[0].tree_id), [folder + old.path for old in renames.values()])
        return frozenset(
            new
            for new, blob in zip(renames, blobs, strict=True)
            if blob == changed.get(os.fsencode(new.path), b"").hex()
        )

    def _found(self, differences: Sequence[tuple[bytes, bytes, bytes]], message: str) -> Renames:
        removed = {path: before for path, before, after in differences if before and not after}
        added = {path: after for path, before, after in differences if after and not before}
        if not (removed and added):
            return {}
        prefix = self._folder + b"/" if self._folder else b""
        stated = [
            (source.removeprefix(prefix), target.removeprefix(prefix))
            for source, target in _stated(message)
            if source.startswith(prefix) and target.startswith(prefix)
        ]
        pairs = renames_of(removed, added, self._content, stated).items()
        addresses = ((_address(target), _address(source)) for target, source in pairs)
        return {
            target: source
            for target, source in addresses
            if target and source and target.is_document == source.is_document and not self.hides(source)
        }

    def _content(self, blob: bytes) -> bytes | None:
        """The bytes of a blob; None if it is too large to be compared."""
        identifier = blob.hex()
        small = self._repository.size(identifier) <= MAX_COMPARED_BYTES
        return self._repository.content(identifier) if small else None


def renames_of(
    removed: Mapping[bytes, bytes],
    added: Mapping[bytes, bytes],
    content: Callable[[bytes], bytes | None],
    stated: Iterable[tuple[bytes, bytes]] = (),
) -> dict[bytes, bytes]:
    """The renames among the files that a commit removed and added.

    Args:
        removed: Blob id by path.
        added: Blob id by path.
        content: Returns the bytes of a blob; None for one that is not compared.
        stated: Old and new path of moves that the commit states; each counts if the commit removed and added the paths.

    Returns:
        The old path by the new path.
    """
    left, new = dict(removed), dict(added)
    renames: dict[bytes, bytes] = {}

    def take(pairs: Iterable[tuple[bytes, bytes]]) -> None:
        for source, target in pairs:
            if source in left and target in new:
                renames[target] = source
                del left[source], new[target]

    texts = _Texts(content)
    take(stated)
    take(_equal(left, new))
    if left and new:
        take(_namesakes(left, new, texts))
    if left and new and len(left) * len(new) <= MAX_PAIRS:
        take(_similar(left, new, texts))
    return renames


class _Texts:
    """The chunks of blobs, each read once."""

    def __init__(self, content: Callable[[bytes], bytes | None]) -> None:
        self._content = content
        self._known: dict[bytes, tuple[int, Counter[bytes]]] = {}

    def similarity(self, old: bytes, new: bytes) -> float:
        """The similarity of two blobs; 0 if one is empty, too large, or less than half as long as the other."""
        (size, chunks), (new_size, new_chunks) = self._of(old), self._of(new)
        if min(size, new_size) < MIN_SIMILARITY * max(size, new_size, 1):
            return 0.0
        return _common(chunks, new_chunks) / max(size, new_size)

    def _of(self, blob: bytes) -> tuple[int, Counter[bytes]]:
        if blob not in self._known:
            text = self._content(blob) or b""
            self._known[blob] = len(text), _chunks(text)
        return self._known[blob]


def _chunks(text: bytes) -> Counter[bytes]:
    is_text = b"\0" not in text[:_TEXT_BYTES]
    return Counter(_CHUNK.findall(text.replace(b"\r\n", b"\n") if is_text else text))


def _common(old: Counter[bytes], new: Counter[bytes]) -> int:
    """Number of bytes in the chunks that two texts have in common."""
    fewer, more = (old, new) if len(old) < len(new) else (new, old)
    return sum(len(chunk) * min(count, more[chunk]) for chunk, count in fewer.items() if chunk in more)


def _stated(message: str) -> Iterator[tuple[bytes, bytes]]:
    for line in message.splitlines():
        parts = line.removeprefix(MOVED_TRAILER).split(TRAILER_ARROW) if line.startswith(MOVED_TRAILER) else []
        for at in range(1, len(parts)):
            yield TRAILER_ARROW.join(parts[:at]).encode(), TRAILER_ARROW.join(parts[at:]).encode()


def _equal(removed: _Files, added: _Files) -> Iterator[tuple[bytes, bytes]]:
    """Pairs with equal bytes, those of the same name first. Takes account of the pairs taken meanwhile."""
    for is_named in (True, False):
        sources: dict[tuple[bytes, bytes], list[bytes]] = {}
        for path in sorted(removed, reverse=True):
            sources.setdefault((removed[path], _name(path) if is_named else b""), []).append(path)
        for target in sorted(added):
            if same := sources.get((added[target], _name(target) if is_named else b"")):
                yield same.pop(), target


def _namesakes(removed: _Files, added: _Files, texts: _Texts) -> Iterator[tuple[bytes, bytes]]:
    """Similar pairs with a name that no other file of either side has."""
    counts = Counter(map(_name, removed)), Counter(map(_name, added))
    sources = {_name(path): path for path in removed}
    for target in sorted(added):
        name = _name(target)
        if counts[0][name] == counts[1][name] == 1:
            source = sources[name]
            if texts.similarity(removed[source], added[target]) >= MIN_SIMILARITY_OF_NAMESAKES:
                yield source, target


def _similar(removed: _Files, added: _Files, texts: _Texts) -> Iterator[tuple[bytes, bytes]]:
    """Similar pairs, the most similar first; among equally similar ones, those of the same name."""
    scores = (
        (texts.similarity(blob, new_blob), source, target)
        for source, blob in removed.items()
        for target, new_blob in added.items()
    )
    pairs = [row for row in scores if row[0] >= MIN_SIMILARITY]
    pairs.sort(key=lambda row: (-row[0], _name(row[1]) != _name(row[2]), row[2], row[1]))
    return ((source, target) for _, source, target in pairs)


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _address(path: bytes) -> Address | None:
    try:
        return parse_address(os.fsdecode(path))
    except InvalidInputError:
        return None
