"""Keeping a store in step with its remote `origin`, in the background: fetch, replay, push, and again.

What was acknowledged is never given up. Local commits that the remote lacks are replayed on top of it; where one
conflicts the remote's text wins in the file and the local commits stay on a branch `rescue/<time>`. Commits that the
remote had and dropped (a forced push) are kept on such a branch and not sent back. So a push goes through only where
the remote's branch is at the commit that is known here; otherwise it is fetched first.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from commonplace.domain.errors import KnowledgeError
from commonplace.domain.ports import Progress
from commonplace.domain.projects.ports import StorageStatus, SyncOutcome
from commonplace.store.git.refs import remove_ref, set_ref
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git_command import GitResult, end_group
from commonplace.store.remote.published_branch import (
    BRANCH,
    REMOTE,
    SYNCED,
    TRACKING,
    published_branch,
    reason_not_to_publish,
)
from commonplace.store.remote.rebase import local_commits, rebase
from commonplace.store.remote.worktree import WorkTree
from commonplace.store.remotes import exchange
from commonplace.store.writer_lock import WAIT_SECONDS

FIRST_ANSWER_SECONDS = 3.0
"""How long a caller waits for the fetch of the start."""
FLUSH_SECONDS = 5.0
"""How long the end of the process waits for a push."""
FETCH_SECONDS = 30.0
PUSH_SECONDS = 30.0
SYNC_SECONDS = 10.0
"""How long a synchronisation on request waits for other writers and for the network."""
FETCH_ATTEMPTS = 5
"""How often a fetch is made anew because another process of the store has exchanged with the remote meanwhile."""
PUSH_ATTEMPTS = 3
"""How often a push is made anew because others push at the same time."""

STEPS = 3
"""Of a synchronisation: committed, brought in, pushed."""

_RESCUE = "refs/heads/rescue/"
_FETCHED = "refs/heads/fetched"
"""Where a fetch leaves what it found, in the repository that is made for it."""

log = logging.getLogger(__name__)


class Origin:
    """`domain.projects.ports.Upstream` of a store in a repository."""

    def __init__(self, tree: WorkTree, programs: Callable[[], dict[str, list[str]]]) -> None:
        """Begin; nothing happens before `start`.

        Args:
            tree: The files.
            programs: Settings for credentials and SSH.
        """
        self._tree = tree
        self._programs = programs
        self._starting = threading.Lock()
        self._network = threading.Lock()
        """Held while there is anything to do with the remote."""
        self._branchless = False
        """Whether the remote had no branch when it was last asked; under `_network`."""
        self._wake = threading.Event()
        self._first = threading.Event()
        self._began = time.monotonic()
        self._deadline = float("inf")
        self._running: subprocess.Popen[bytes] | None = None
        """The last git command, which must not outlive this process."""
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Fetch and push in a thread of its own from now on, unless it does already."""
        with self._starting:
            if self._thread is None:
                self._began = time.monotonic()
                self._thread = threading.Thread(target=self._run, name="origin", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Let a pending push end, within `FLUSH_SECONDS`."""
        self._deadline = time.monotonic() + FLUSH_SECONDS
        self._wake.set()
        if self._thread is not None:
            self._thread.join(FLUSH_SECONDS)
            if self._thread.is_alive():
                if self._running:
                    end_group(self._running)
                log.warning("the last commits were not pushed in time; the next start pushes them")

    def wait_started(self) -> None:
        """Start, and return when the first fetch is over, or `FIRST_ANSWER_SECONDS` after the start."""
        self.start()
        self._first.wait(max(0.0, self._began + FIRST_ANSWER_SECONDS - time.monotonic()))

    def committed(self) -> None:
        """Push soon."""
        self._wake.set()

    def status(self) -> StorageStatus:
        """How things stand, by what is known here."""
        repository = self._repository
        head = repository.head
        rescued = [name for name in guarded(lambda: list(repository.handle.references)) if name.startswith(_RESCUE)]
        return StorageStatus(
            branch=repository.branch.removeprefix("refs/heads/"),
            last_commit=repository.commit(head).message.partition("\n")[0] if head else "",
            uncommitted=tuple(self._tree.uncommitted()),
            remote=self._standing(head),
            withheld=self.withheld(),
            rescued=tuple(name.removeprefix("refs/heads/") for name in sorted(rescued)),
        )

    def withheld(self) -> str:
        """Why commits stay here because of the branch that is checked out; "" for no such reason."""
        try:
            return reason_not_to_publish(self._repository) if self._configured else ""
        except KnowledgeError as error:  # asked after a write, which stands
            log.warning("whether commits are pushed cannot be told: %s", error)
            return ""

    def sync(self, progress: Progress | None = None) -> SyncOutcome:
        """Commit every change made by hand, bring in what the remote has, and push."""
        told = progress or _nobody
        until = time.monotonic() + SYNC_SECONDS
        with self._tree.writer.lock.held(SYNC_SECONDS):
            self._tree.writer.repair()
            files, message = self._tree.commit_all()
        told(1, STEPS)
        error = self._exchanged(until, lambda: told(2, STEPS)) if self._configured else "No remote configured"
        told(STEPS, STEPS)
        return SyncOutcome(files=files, message=message, pushed=not error, error=error)

    def _exchanged(self, until: float, fetched: Callable[[], None]) -> str:
        """Bring in what the remote has and push; why the remote does not have everything, "" when it has."""
        if not self._network.acquire(timeout=_left(until)):
            return "the remote has not answered an earlier request yet"
        try:
            error = self._brought_in(until)
            fetched()
            return error or self._pushed(until)
        finally:
            self._network.release()

    @property
    def _repository(self) -> GitRepository:
        return self._tree.repository

    @property
    def _configured(self) -> bool:
        return REMOTE in self._repository.remotes()

    def _run(self) -> None:
        """The thread: one fetch, then a push whenever there is something to push, until the end."""
        self._step(self._brought_in)
        self._first.set()
        while True:
            # Looked at before the push: one that is under way when the end comes may have begun before the last commit.
            ending = self._deadline < float("inf")
            self._step(self._pushed)
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
        except (KnowledgeError, OSError) as error:  # the next write, or the next start, tries again
            log.warning("%s: %s", REMOTE, error)

    def _standing(self, head: str) -> str:
        if not self._configured:
            return "No remote configured"
        name, remote = f"{REMOTE}/{BRANCH}", self._repository.tip(TRACKING)
        if not remote:
            return f"{name} ({len(local_commits(self._repository, head, []))} ahead, 0 behind)"
        ahead, behind = guarded(lambda: self._repository.handle.ahead_behind(head, remote)) if head else (0, 0)
        return f"{name} ({ahead} ahead, {behind} behind)" if ahead or behind else f"{name} (up to date)"

    def _brought_in(self, until: float = float("inf")) -> str:
        """Fetch and integrate, until a moment of the monotonic clock; what went wrong, "" for nothing."""
        for _ in range(FETCH_ATTEMPTS):
            if reason_not_to_publish(self._repository):  # `_pushed` tells
                return ""
            known = self._known()
            outcome, remote = self._fetch(min(FETCH_SECONDS, _left(until)))
            self._branchless = bool(outcome.code) and "couldn't find remote ref" in outcome.errors
            if outcome.code:
                return "" if self._branchless else f"fetch failed: {outcome.reason}"
            try:
                with self._tree.writer.lock.held(min(WAIT_SECONDS, _left(until))):
                    # Another process of this store may have pushed since: what was fetched is then older than what
                    # is known, and would look as if the remote had dropped that push.
                    if self._known() != known:
                        continue
                    if reason_not_to_publish(self._repository):
                        return ""
                    self._tree.writer.repair()
                    self._integrate(remote, known)
            except KnowledgeError as error:
                return error.advice
            return ""
        return "fetch failed: other servers of this store keep exchanging with it"

    def _known(self) -> frozenset[str]:
        """The commits that the remote is known to have had."""
        return frozenset({self._repository.tip(SYNCED), self._repository.tip(TRACKING)} - {""})

    def _integrate(self, remote: str, known: frozenset[str]) -> None:
        """Bring branch and files to the remote's commit with the local ones on top, under the lock."""
        repository = self._repository
        self._tree.commit_all()
        head = repository.head
        dropped = any(local_commits(repository, tip, [remote]) for tip in known if repository.holds(head, tip))
        if dropped or not repository.holds(head, remote):
            local = local_commits(repository, head, [remote, *known])
            result = guarded(lambda: rebase(repository, local, remote))
            rescue = self._rescue(head, result.conflicts) if dropped or result.conflicts else ""
            try:
                self._tree.move(result.tip)
            except KnowledgeError:
                self._delete(rescue)
                raise
        self._note(remote)

    def _rescue(self, head: str, conflicts: tuple[str, ...]) -> str:
        """Keep a commit on a branch of its own; the branch."""
        time_text = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        number, name = 1, f"{_RESCUE}{time_text}"
        while self._repository.tip(name):
            number += 1
            name = f"{_RESCUE}{time_text}-{number}"
        set_ref(self._repository.common, name, head)
        what = f"{len(conflicts)} files conflicted" if conflicts else "the remote dropped commits"
        log.warning("%s; the local commits are kept on %s", what, name.removeprefix("refs/heads/"))
        return name

    def _pushed(self, until: float = float("inf")) -> str:
        """Send what the remote lacks, until a moment of the clock; why not, "" when it has everything."""
        self._tree.require_committable()  # in the middle of a rebase the current commit is nobody's work yet
        for _ in range(PUSH_ATTEMPTS):
            repository = self._repository
            if withheld := reason_not_to_publish(repository):
                return withheld
            head, synced, tracking = map(repository.tip, (published_branch(repository), SYNCED, TRACKING))
            if not head or (head == synced == tracking and not self._branchless):
                return ""
            expected = "" if self._branchless else synced or tracking
            # A lease permits a push that drops commits, too; this one must only add to what is expected.
            if not expected or repository.holds(head, expected):
                outcome = self._sent(head, expected, min(PUSH_SECONDS, _left(until)))
                if not outcome.code:
                    self._branchless = False
                    self._note(head)
                    return ""
                if "[rejected]" not in outcome.output:
                    return f"push failed: {outcome.reason}"
            if problem := self._brought_in(until):
                return problem
        return "push failed: others keep pushing to it"

    def _fetch(self, seconds: float) -> tuple[GitResult, str]:
        """Fetch the remote's branch; the commit that it is at."""
        repository = self._repository
        known = [repository.head, repository.tip(SYNCED), repository.tip(TRACKING)]
        try:
            with exchange(repository, REMOTE, known, self._started) as own:
                settings = {**self._programs(), "fetch.fsckObjects": ["true"]}
                outcome = own.fetch(
                    f"+refs/heads/{BRANCH}:{_FETCHED}", settings=settings, timeout=self._within(seconds)
                )
                return outcome, own.tip(_FETCHED)
        except KnowledgeError as error:
            return GitResult(1, "", str(error)), ""

    def _sent(self, head: str, expected: str, seconds: float) -> GitResult:
        """Push a commit to the remote's branch if that is at the expected one; "" where there is to be none."""
        reference = f"refs/heads/{BRANCH}"
        lease = f"--force-with-lease={reference}:{expected}"
        try:
            with exchange(self._repository, REMOTE, [head, expected], self._started) as own:
                timeout = self._within(seconds)
                return own.push(f"{head}:{reference}", [lease], settings=self._programs(), timeout=timeout)
        except KnowledgeError as error:
            return GitResult(1, "", str(error))

    def _within(self, seconds: float) -> float:
        """The seconds that a command may take: no longer than the process may still last."""
        return max(0.1, min(seconds, self._deadline - time.monotonic()))

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._running = process

    def _note(self, commit: str) -> None:
        """Remember what the remote has."""
        for name in (SYNCED, TRACKING):
            set_ref(self._repository.common, name, commit)

    def _delete(self, name: str) -> None:
        if name and self._repository.tip(name):
            remove_ref(self._repository.common, name)


def _left(until: float) -> float:
    """Seconds until a moment of the monotonic clock, none when it has passed."""
    return max(0.0, min(until - time.monotonic(), threading.TIMEOUT_MAX))


def _nobody(done: int, total: int) -> None:
    """Where nobody wants to know how far it is."""
    del done, total
