"""Synchronizes a store with its remote `origin` in the background: fetch, rebase, push, retry.

Acknowledged commits are never lost. Local commits that the remote lacks are rebased onto it; on a conflict, the
remote's text wins in the file, and the local commits are preserved on a branch `rescue/<time>`. Commits that the remote
has dropped (a forced push) are preserved on such a branch and not pushed again. Therefore a push requires that the
remote's branch is at the commit known here; otherwise it is fetched first.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import pygit2
from pygit2.enums import FileMode, MergeFlag, SortMode

from commonplace.domain.errors import GitError, KnowledgeError
from commonplace.domain.ports import Progress
from commonplace.store.folder.writer_lock import WAIT_SECONDS
from commonplace.store.git.layout import require_plain_objects
from commonplace.store.git.refs import remove_ref, set_ref
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git_command import GitResult, end_group
from commonplace.store.names import BRANCHES, checked_ref
from commonplace.store.remotes import exchange, gather
from commonplace.toolsets.projects.remote.worktree import WorkTree
from commonplace.toolsets.projects.rules.merge import MergeSides, conflict_unit, merge_file
from commonplace.toolsets.projects.service.project_store import StorageStatus, SyncOutcome

FIRST_ANSWER_SECONDS = 3.0
"""Timeout in seconds of a caller that waits for the initial fetch."""
FLUSH_SECONDS = 5.0
"""Timeout in seconds of the push at the end of the process."""
FETCH_SECONDS = 30.0
PUSH_SECONDS = 30.0
SYNC_SECONDS = 10.0
"""Timeout in seconds of an explicit sync, for other writers and for the network."""
FETCH_ATTEMPTS = 5
"""Maximum fetch attempts when another process of the store accesses the remote concurrently."""
PUSH_ATTEMPTS = 3
"""Maximum push attempts when another client pushes concurrently."""

STEPS = 3
"""Number of steps of a sync: commit, integrate, push."""

_RESCUE = "refs/heads/rescue/"
_FETCHED = "refs/heads/fetched"
"""Target ref of a fetch, in the temporary repository."""

log = logging.getLogger(__name__)


class Origin:
    """`toolsets.projects.service.project_store.Upstream` of a store in a repository."""

    def __init__(self, tree: WorkTree, programs: Callable[[], dict[str, list[str]]]) -> None:
        """Create the remote's state; nothing runs before `start`.

        Args:
            tree: The files.
            programs: Returns settings for credentials and SSH.
        """
        self._tree = tree
        self._programs = programs
        self._starting = threading.Lock()
        self._network = threading.Lock()
        """Held during every exchange with the remote."""
        self._branchless = False
        """Whether the remote had no branch at the last request; guarded by `_network`."""
        self._wake = threading.Event()
        self._first = threading.Event()
        self._began = time.monotonic()
        self._deadline = float("inf")
        self._running: subprocess.Popen[bytes] | None = None
        """The last git process, which must not outlive this process."""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread that fetches and pushes. Does nothing if it is running."""
        with self._starting:
            if self._thread is None:
                self._began = time.monotonic()
                self._thread = threading.Thread(target=self._run, name="origin", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Finish a pending push within `FLUSH_SECONDS`."""
        self._deadline = time.monotonic() + FLUSH_SECONDS
        self._wake.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(FLUSH_SECONDS)
            if thread.is_alive():
                if self._running:
                    end_group(self._running)
                log.warning("the last commits were not pushed in time; the next start pushes them")

    def wait_started(self) -> None:
        """Start, and wait for the end of the first fetch, at most `FIRST_ANSWER_SECONDS` after the start."""
        self.start()
        self._first.wait(max(0.0, self._began + FIRST_ANSWER_SECONDS - time.monotonic()))

    def committed(self) -> None:
        """Trigger a push."""
        self._wake.set()

    def status(self) -> StorageStatus:
        """Local and remote status as of the last fetch. Makes no network call."""
        repository = self._repository
        head = repository.head
        rescued = [name for name in repository.references() if name.startswith(_RESCUE)]
        return StorageStatus(
            branch=repository.branch.removeprefix("refs/heads/"),
            last_commit=repository.commit(head).message.partition("\n")[0] if head else "",
            uncommitted=tuple(self._tree.uncommitted()),
            remote=self._standing(head),
            withheld=self.withheld(),
            rescued=tuple(name.removeprefix("refs/heads/") for name in sorted(rescued)),
        )

    def withheld(self) -> str:
        """The reason why commits are not pushed while another branch is checked out; "" if they are."""
        try:
            return reason_not_to_publish(self._repository) if self._configured else ""
        except KnowledgeError as error:  # raised after a write that succeeded
            log.warning("whether commits are pushed cannot be told: %s", error)
            return ""

    def sync(self, progress: Progress | None = None) -> SyncOutcome:
        """Commit every manual change, integrate the remote's commits, and push."""
        report = progress or _nobody
        until = time.monotonic() + SYNC_SECONDS
        with self._tree.writer.lock.held(SYNC_SECONDS):
            self._tree.writer.repair()
            files, message = self._tree.commit_all()
        report(1, STEPS)
        error = self._exchange(until, lambda: report(2, STEPS)) if self._configured else "No remote configured"
        report(STEPS, STEPS)
        return SyncOutcome(files=files, message=message, pushed=not error, error=error)

    def _exchange(self, until: float, fetched: Callable[[], None]) -> str:
        """Integrate the remote's commits and push. Returns why the remote lacks commits; "" if it has all."""
        if not self._network.acquire(timeout=_left(until)):
            return "an earlier request to the remote is still running"
        try:
            error = self._fetch_and_rebase(until)
            fetched()
            return error or self._push(until)
        finally:
            self._network.release()

    @property
    def _repository(self) -> GitRepository:
        return self._tree.repository

    @property
    def _configured(self) -> bool:
        return REMOTE in self._repository.remotes()

    def _run(self) -> None:
        """Thread function: fetches once, then pushes whenever there are new commits, until the end."""
        self._step(self._fetch_and_rebase)
        self._first.set()
        while True:
            # Checked before the push: a push that is running at the end may have started before the last commit.
            ending = self._deadline < float("inf")
            self._step(self._push)
            if ending:
                return
            self._wake.wait()
            self._wake.clear()

    def _step(self, act: Callable[[], str]) -> None:
        try:
            if self._configured:
                with self._network:
                    problem = act()
                if problem:
                    log.warning("%s: %s", REMOTE, problem)
        except (KnowledgeError, OSError) as error:  # the next write, or the next start, retries
            log.warning("%s: %s", REMOTE, error)

    def _standing(self, head: str) -> str:
        if not self._configured:
            return "No remote configured"
        name, remote = f"{REMOTE}/{BRANCH}", self._repository.tip(TRACKING)
        if not remote:
            return f"{name} ({len(local_commits(self._repository, head, []))} ahead, 0 behind)"
        ahead, behind = guarded(lambda: self._repository.handle.ahead_behind(head, remote)) if head else (0, 0)
        return f"{name} ({ahead} ahead, {behind} behind)" if ahead or behind else f"{name} (up to date)"

    def _fetch_and_rebase(self, until: float = float("inf")) -> str:
        """Fetch and integrate, until a time of the monotonic clock. Returns the error; "" on success."""
        for _ in range(FETCH_ATTEMPTS):
            if reason_not_to_publish(self._repository):  # reported by `_push`
                return ""
            known_texts = self._known()
            outcome, remote = self._fetch(min(FETCH_SECONDS, _left(until)))
            self._branchless = bool(outcome.code) and "couldn't find remote ref" in outcome.errors
            if outcome.code:
                return "" if self._branchless else f"fetch failed: {outcome.reason}"
            try:
                with self._tree.writer.lock.held(min(WAIT_SECONDS, _left(until))):
                    # Another process of this store may have pushed meanwhile. Then the fetched state is older than the
                    # known one, and the remote would seem to have dropped that push.
                    if self._known() != known_texts:
                        continue
                    if reason_not_to_publish(self._repository):
                        return ""
                    self._tree.writer.repair()
                    self._integrate(remote, known_texts)
            except KnowledgeError as error:
                return error.advice
            return ""
        return "fetch failed: other servers of this store keep exchanging with it"

    def _known(self) -> frozenset[str]:
        """Commits that the remote is known to have had."""
        return frozenset({self._repository.tip(SYNCED), self._repository.tip(TRACKING)} - {""})

    def _integrate(self, remote: str, known_texts: frozenset[str]) -> None:
        """Move branch and files to the remote's commit with the local ones on top. The caller holds the lock."""
        repository = self._repository
        self._tree.commit_all()
        head = repository.head
        dropped = any(local_commits(repository, tip, [remote]) for tip in known_texts if repository.holds(head, tip))
        if dropped or not repository.holds(head, remote):
            local = local_commits(repository, head, [remote, *known_texts])
            result = guarded(lambda: rebase(repository, local, remote))
            rescue = self._rescue(head, result.conflicts) if dropped or result.conflicts else ""
            try:
                self._tree.move(result.tip)
            except KnowledgeError:
                self._delete(rescue)
                raise
        self._note(remote)

    def _rescue(self, head: str, conflicts: tuple[str, ...]) -> str:
        """Preserve a commit on a new branch; return the branch."""
        time_text = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        number, name = 1, f"{_RESCUE}{time_text}"
        while self._repository.tip(name):
            number += 1
            name = f"{_RESCUE}{time_text}-{number}"
        set_ref(self._repository.common, name, head)
        what = f"{len(conflicts)} files conflicted" if conflicts else "the remote dropped commits"
        log.warning("%s; the local commits are on %s", what, name.removeprefix("refs/heads/"))
        return name

    def _push(self, until: float = float("inf")) -> str:
        """Push the commits that the remote lacks, until a time of the clock. Returns the error; "" on success."""
        self._tree.require_committable()  # during a rebase, HEAD is an intermediate commit
        for _ in range(PUSH_ATTEMPTS):
            problem = reason_not_to_publish(self._repository) or self._push_once(until)
            if problem is not None:
                return problem
            if problem := self._fetch_and_rebase(until):
                return problem
        return "push failed: others keep pushing to it"

    def _push_once(self, until: float) -> str | None:
        """Push as the remote was last seen. Returns the error; "" on success; None if the remote has other commits."""
        repository = self._repository
        head, synced, tracking = map(repository.tip, (published_branch(repository), SYNCED, TRACKING))
        expected, is_there = ("", False) if self._branchless else (synced or tracking, head == synced == tracking)
        if not head or is_there:
            return ""
        # A lease also permits a push that drops commits, but this push may only add to the expected commit.
        if expected and not repository.holds(head, expected):
            return None
        outcome = self._send(head, expected, min(PUSH_SECONDS, _left(until)))
        if not outcome.code:
            self._branchless = False
            self._note(head)
            return ""
        return None if "[rejected]" in outcome.output else f"push failed: {outcome.rejection or outcome.reason}"

    def _fetch(self, seconds: float) -> tuple[GitResult, str]:
        """Fetch the remote's branch; return its commit."""
        repository = self._repository
        tips = [repository.head, repository.tip(SYNCED), repository.tip(TRACKING)]
        try:
            with exchange(repository, REMOTE, tips, self._started) as own:
                settings = {**self._programs(), "fetch.fsckObjects": ["true"]}
                outcome = own.fetch(
                    f"+refs/heads/{BRANCH}:{_FETCHED}", settings=settings, timeout=self._within(seconds)
                )
                tip = own.tip(_FETCHED)
        except KnowledgeError as error:
            return GitResult(1, "", str(error)), ""
        try:
            gather(repository, REMOTE, self._started, loose=False)
        except KnowledgeError as error:
            log.warning("%s", error)
        return outcome, tip

    def _send(self, head: str, expected: str, seconds: float) -> GitResult:
        """Push a commit to the remote's branch if the branch is at the expected commit ("" if it must not exist)."""
        reference = f"refs/heads/{BRANCH}"
        lease = f"--force-with-lease={reference}:{expected}"
        try:
            with exchange(self._repository, REMOTE, [head, expected], self._started) as own:
                timeout = self._within(seconds)
                return own.push(f"{head}:{reference}", [lease], settings=self._programs(), timeout=timeout)
        except KnowledgeError as error:
            return GitResult(1, "", str(error))

    def _within(self, seconds: float) -> float:
        """The timeout of a command, limited by the end of the process."""
        return max(0.1, min(seconds, self._deadline - time.monotonic()))

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._running = process

    def _note(self, commit: str) -> None:
        """Record the remote's commit."""
        for name in (SYNCED, TRACKING):
            set_ref(self._repository.common, name, commit)

    def _delete(self, name: str) -> None:
        if name and self._repository.tip(name):
            remove_ref(self._repository.common, name)


def _left(until: float) -> float:
    """Seconds until a time of the monotonic clock; 0 if it has passed."""
    return max(0.0, min(until - time.monotonic(), threading.TIMEOUT_MAX))


def _nobody(done: int, total: int) -> None:
    """The progress callback if the caller has none."""
    del done, total


# Rebases local commits onto the remote's in the object database only, without work tree, index or programs.


_PLAIN = FileMode.BLOB


@dataclass(frozen=True, slots=True)
class RebaseResult:
    """The result of a rebase."""

    tip: str
    """The last commit."""
    conflicts: tuple[str, ...]
    """Paths in which the text of the new base won."""


def local_commits(repository: GitRepository, head: str, elsewhere: Sequence[str]) -> list[pygit2.Commit]:
    """Commits reachable from `head` and from none of the others ("" is ignored), parents first."""
    if not head:
        return []
    return list(repository.walk(head, SortMode.TOPOLOGICAL | SortMode.REVERSE, hidden=elsewhere))


def rebase(repository: GitRepository, commits: Sequence[pygit2.Commit], onto: str) -> RebaseResult:
    """Recreate the commits on top of another one, with their messages, authors and committers.

    On a conflict, the text of the new base stays in the file and the rest of the commit is applied. Commits whose
    changes exist already are dropped.
    """
    require_plain_objects(repository.objects)  # libgit2 writes into that folder
    tip = repository.commit(onto)
    trees = TreeDiff(repository)
    _require_bounded(trees, [tip, *commits])
    objects = guarded(lambda: _objects_only(repository))
    conflicts: list[str] = []
    for commit in commits:
        tree, met = guarded(lambda tip=tip, commit=commit: _merged(objects, trees, tip, commit))
        conflicts += met
        if tree == tip.tree_id:
            continue
        made = objects.create_commit(None, commit.author, commit.committer, commit.message, tree, [tip.id])
        tip = repository.commit(str(made))
    return RebaseResult(str(tip.id), tuple(conflicts))


def _objects_only(repository: GitRepository) -> pygit2.Repository:
    """A handle on the repository's objects alone: a merge with it reads no attributes, whose matching is unbounded."""
    handle = pygit2.Repository()
    repository.attach_objects(handle)
    return handle


def _require_bounded(trees: TreeDiff, commits: Sequence[pygit2.Commit]) -> None:
    """Reject commits whose trees libgit2 cannot traverse.

    Raises:
        GitError: a tree has too many files.
    """
    before = ""
    for tree in (str(commit.tree_id) for commit in commits):
        for _ in trees.differing(before, tree):
            pass
        before = tree


def _merged(
    handle: pygit2.Repository, trees: TreeDiff, tip: pygit2.Commit, commit: pygit2.Commit
) -> tuple[pygit2.Oid, list[str]]:
    """The tree of a commit applied to `tip`, and the paths in which `tip` won."""
    base = commit.parents[0].tree_id if commit.parents else handle.TreeBuilder().write()
    index = handle.merge_trees(base, tip.tree_id, commit.tree_id, flags=MergeFlag(0))
    lost: list[str] = []
    for sides in list(index.conflicts or ()):
        path = str(next(filter(None, sides)).path)
        merged = _reconciled(handle, path, *sides)
        if index.conflicts is not None:
            del index.conflicts[path]
        if entry := merged or sides[1]:
            index.add(entry)
        if merged is None:
            lost.append(path)
    for prefix in set(map(conflict_unit, lost)) - {""}:
        _restore(index, trees, str(tip.tree_id), prefix)
    return index.write_tree(handle), lost


def _reconciled(
    handle: pygit2.Repository,
    path: str,
    base: pygit2.IndexEntry | None,
    ours: pygit2.IndexEntry | None,
    theirs: pygit2.IndexEntry | None,
) -> pygit2.IndexEntry | None:
    """The entry with both sides' changes; None on a real conflict."""
    if ours is None or theirs is None:
        return None
    before = _content(handle, base.id) if base else b""
    sides = MergeSides(before, _content(handle, ours.id), _content(handle, theirs.id))
    text = merge_file(path, sides, lambda versions: _merge_lines(handle, versions))
    return None if text is None else pygit2.IndexEntry(path, handle.create_blob(text), ours.mode)


def _merge_lines(handle: pygit2.Repository, sides: MergeSides) -> bytes | None:
    """A three-way line merge by Git's own rules; None on conflict."""
    base, ours, theirs = (_tree_of_one(handle, content) for content in (sides.base, sides.ours, sides.theirs))
    index = handle.merge_trees(base, ours, theirs, flags=MergeFlag(0))
    return None if index.conflicts is not None else _content(handle, index["file"].id)


def _content(handle: pygit2.Repository, blob: pygit2.Oid) -> bytes:
    return handle[blob].read_raw()


def _tree_of_one(handle: pygit2.Repository, content: bytes) -> pygit2.Oid:
    builder = handle.TreeBuilder()
    builder.insert("file", handle.create_blob(content), _PLAIN)
    return builder.write()


def _restore(index: pygit2.Index, trees: TreeDiff, tree: str, prefix: str) -> None:
    """Restore everything below a prefix from a tree."""
    entries = cast("list[pygit2.IndexEntry]", list(index))
    for path in [str(entry.path) for entry in entries if str(entry.path).startswith(prefix)]:
        index.remove(path)
    for raw, entry in trees.files(tree):
        path = os.fsdecode(raw)
        if path.startswith(prefix):
            index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=entry.id), FileMode(entry.mode)))


# The branch that a store publishes: the branch on which the store was created or adopted.
#
# A symbolic ref of the repository names the branch, so `git symbolic-ref` reads and changes it. A store without that
# ref was created by an older version or by hand.


REMOTE, BRANCH = "origin", "main"
"""The remote and its branch to which a store is pushed."""
TRACKING = f"refs/remotes/{REMOTE}/{BRANCH}"
SYNCED = "refs/commonplace/synced"
"""Ref with the remote's commit at the last synchronization. Unlike the tracking branch, no other program moves it."""
_MARK = "refs/commonplace/branch"


def published_branch(repository: GitRepository) -> str:
    """The full name of the branch; "" if it is not known yet.

    Raises:
        GitError: the repository cannot be read, or the symbolic ref is invalid.
    """
    target = guarded(lambda: _target(repository))
    if not isinstance(target, str) or not target.startswith(BRANCHES):
        return _unmarked(repository)
    current = repository.branch
    gone = target != current and not repository.tip(checked_ref(target))
    return current if gone and _was_renamed(repository, target, current) else target


def mark_published_branch(repository: GitRepository, *, current: bool = False) -> None:
    """Record the published branch unless it is recorded already.

    Args:
        repository: The store's repository.
        current: Whether the current branch becomes the published one.

    Raises:
        GitError, StorageError, UnavailableError: the ref cannot be read or written.
    """
    branch = repository.branch if current else published_branch(repository)
    if branch and branch != guarded(lambda: _target(repository)):
        set_ref(repository.common, _MARK, f"ref: {branch}")


def reason_not_to_publish(repository: GitRepository) -> str:
    """The reason why nothing is pushed or fetched now, with the remedy; "" if the published branch is current."""
    current, published = repository.branch, published_branch(repository)
    if current == published or not current:  # a detached HEAD is reported elsewhere
        return ""
    name, other = published.removeprefix(BRANCHES), current.removeprefix(BRANCHES)
    there, way = (
        (", which is gone,", "Publish")
        if not repository.tip(published)
        else (",", f"Run git switch {name}, or publish")
    )
    return (
        f"the store publishes its branch {name}{there} and {other} is checked out. {way} {other} from now on: "
        f"git symbolic-ref {_MARK} {current}"
    )


def _target(repository: GitRepository) -> pygit2.Oid | str | None:
    try:
        return repository.handle.lookup_reference(_MARK).target
    except KeyError:
        return None


def _was_renamed(repository: GitRepository, before: str, now: str) -> bool:
    """Whether the reflog of a branch shows that it was renamed from another name (`git branch -m`)."""
    try:
        entries = list(guarded(lambda: repository.handle.lookup_reference(now).log())) if now else []
    except GitError:  # an unborn branch
        return False
    return any(entry.message.startswith(f"Branch: renamed {before} to ") for entry in entries)


def _unmarked(repository: GitRepository) -> str:
    """`main` if it exists, else the current branch. If both exist, the one that contains the last pushed commit."""
    current, main = repository.branch, f"{BRANCHES}{BRANCH}"
    if current == main or not repository.tip(main):
        return current
    pushed = repository.tip(SYNCED) or repository.tip(TRACKING)
    only_current = (
        current
        and pushed
        and repository.holds(repository.tip(current), pushed)
        and not repository.holds(repository.tip(main), pushed)
    )
    return current if only_current else main
