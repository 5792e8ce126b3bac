"""The clone of a replica: a bare repository of this program, whose only branch follows the remote's branch.

A pushed commit is put on the clone's branch after the remote has accepted it.

The remote is untrusted. git runs in the temporary repository of `store.remotes`, checks each received object, and runs
no program that the remote names. The clone is derived data: it may be deleted at any time.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from subprocess import Popen

from pygit2.enums import SortMode

from commonplace.domain.budget import is_limited, seconds_left
from commonplace.domain.cluster import RemoteStatus
from commonplace.domain.errors import GitError, KnowledgeError, StorageError, UnavailableError
from commonplace.domain.timings import Step, timed
from commonplace.store.disk.folder import Folder
from commonplace.store.folder.folder_store import key_of
from commonplace.store.folder.publisher import PUSH_TIMEOUT, QUIET_SECONDS, is_unreached, own_programs
from commonplace.store.folder.writer_lock import WriterLock
from commonplace.store.git.layout import UntrustedRepositoryError
from commonplace.store.git.past.past_commits import BareStore
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git_command import EndedGitError, GitResult, TimeLimits
from commonplace.store.remotes import RemoteTransfer, exchange, gather
from commonplace.store.replica.clone_repository import (
    BRANCH,
    REMOTE,
    SHOWN_ID,
    ReplicaSource,
    cache_error,
    cache_errors,
    disk_problem,
    make_repository,
    readable_repository,
    set_branch,
    store_tags,
)
from commonplace.store.replica.writer_lease import LEASE_REF, WriterLease

log = logging.getLogger(__name__)

FETCH_SECONDS = 60.0
"""Timeout in seconds of a fetch into a clone that has the branch."""
FIRST_FETCH_SECONDS = 1800.0
"""Timeout in seconds of the first fetch, which transfers the whole history."""
STILL_SECONDS = 20.0
"""Timeout in seconds for a fetch without progress; four times as long for the first one."""
WAIT_SHARE = 0.2
"""The part of a write's time for which it waits for the fetch of another thread, before it fetches beside it."""
PUSH_SHARE = 0.7
"""The part of a write's time that its push may use; the rest is for finding out what became of it."""
REFUSAL = "it is a replica, which follows its remote; write to a server of the repository itself, or push to its remote"

_FETCHED = "refs/heads/fetched"
"""Target ref of a fetch, in the temporary repository."""
_LEASE = "refs/commonplace-fetched/writer"
_MISSING = "couldn't find remote ref"


HANGS_SECONDS = 4.0
"""Seconds after which a call to the remote counts as not answered."""
PUSH_MEMORY_SECONDS = 30.0
"""Seconds for which a push without an answer counts, although the remote answers fetches.

Without an end no caller would write again, so that no push could show that the remote has recovered.
"""
MAX_COUNTED = 10_000
"""Maximum number of packs that are counted."""


class RemoteContact:
    """The times at which a remote last answered, and since which it does not. Thread-safe.

    Args:
        clock: Returns seconds from any beginning.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[int, float] = {}
        """Beginnings of the calls that were not answered yet, by thread."""
        self._answered: float | None = None
        self._pushed: float | None = None
        self._silent: float | None = None
        """Beginning of the first call that failed since the last answer."""
        self._unpushed: tuple[float, float] | None = None
        """Beginning of the first push that failed since the last answer to a push, and end of the last one."""
        self._refusal: tuple[float, str] | None = None
        """Time at which a rule of the remote forbade a push, and its words; until it accepts one."""

    @contextmanager
    def call(self, step: Step) -> Generator[Callable[[bool], None]]:
        """A call to the remote; yields what is called with whether it answered. Without that it did not."""
        began, thread = self._clock(), threading.get_ident()
        answered = False

        def note(is_answer: bool) -> None:
            nonlocal answered
            answered = is_answer

        with self._lock:
            self._running[thread] = began
        try:
            with timed(step):
                yield note
        finally:
            with self._lock:
                self._running.pop(thread, None)
                now = self._clock()
                if answered:
                    self._answered, self._silent = now, None
                elif self._silent is None:
                    self._silent = began
                if step == "push":
                    self._unpushed = None if answered else ((self._unpushed or (began,))[0], now)

    def accepted(self) -> None:
        """Record that the remote has accepted a push."""
        with self._lock:
            self._pushed, self._refusal = self._clock(), None

    def refused(self, words: str) -> None:
        """Record that a rule of the remote forbids a push."""
        with self._lock:
            self._refusal = self._clock(), words

    def status(self) -> RemoteStatus:
        """The state now. A call that lasts longer than `HANGS_SECONDS` counts as not answered from its beginning on."""
        with self._lock:
            now = self._clock()
            waiting = [began for began in self._running.values() if now - began > HANGS_SECONDS]
            if self._silent is not None:
                waiting.append(self._silent)
            if self._unpushed and now - self._unpushed[1] < PUSH_MEMORY_SECONDS:
                waiting.append(self._unpushed[0])
            times = self._answered, self._pushed, min(waiting) if waiting else None
            refused = (now - self._refusal[0], self._refusal[1]) if self._refusal else None
        answered, pushed, silent = (None if when is None else now - when for when in times)
        return RemoteStatus(answered, pushed, silent, refused)


class ReplicaClone:
    """The clone of one remote. Several processes may share it. A deleted or damaged clone is created again.

    Args:
        folder: Folder of all clones of this user.
        source: The remote.

    Raises:
        StorageError: the clone cannot be created.
        UnavailableError: another process has been creating it for too long.
        GitError: the clone belongs to another user, or leads elsewhere.
    """

    def __init__(self, folder: Path, source: ReplicaSource) -> None:
        self.source = source
        self.path = (folder / source.folder).absolute()
        self._make_folder()
        self.path = self.path.resolve()
        self._lock = WriterLock(self.path / "commonplace.lock")
        """Held during a fetch, and while the clone is created."""
        if not self._is_made:
            with self._lock.held(FETCH_SECONDS):
                self._make()
        self.repository = self._opened()
        self.key = key_of(Folder(self.path))
        """A stable key of the clone on this machine."""
        self._moving = WriterLock(self.path / "commonplace-branch.lock")
        """Held while the branch moves."""
        self._target = ""
        """The remote's branch that pushes update; "" if not known yet."""
        self.contact = RemoteContact()
        """The answers of the remote."""
        self._followed = 0.0
        """Time of `time.monotonic` at which the last fetch began that moved the branch."""
        self._lost = 0
        """Number of consecutive pushes that failed because the remote's branch had moved."""
        self.lease: WriterLease | None = None
        """The lease that names the server that writes to the remote; None if no other server is configured."""
        self._tags_problem = ""
        """The reason why the last reading of the tags failed; "" if it succeeded."""
        self._gathering_problem = ""
        """The reason why the last gathering failed; "" if none has failed."""
        self._counted = ("", 0)
        """The last commit whose ancestors were counted, and their number."""

    @property
    def _is_made(self) -> bool:
        return os.path.exists(self.path / "HEAD")

    def _make_folder(self) -> None:
        with cache_errors(self.source.name):
            self.path.mkdir(parents=True, exist_ok=True)

    def _make(self) -> None:
        """Create the repository if it is not there. Needs the lock."""
        with cache_errors(self.source.name):
            if not self._is_made:
                make_repository(self.path, self.source.url)

    def _opened(self) -> GitRepository:
        """The repository; created again if it cannot be read."""
        try:
            return readable_repository(self.path)
        except UntrustedRepositoryError:
            raise
        except GitError as error:
            problem = error
        with self._lock.held(FETCH_SECONDS):
            with suppress(GitError):  # another process may have created it again meanwhile
                return readable_repository(self.path)
            log.warning("%s: the clone is damaged and is made anew: %s", self.source.name, problem)
            with cache_errors(self.source.name):
                (self.path / "HEAD").unlink(missing_ok=True)
            self._make()
        return GitRepository(self.path)

    def store(self) -> BareStore:
        """A read-only store of the documents on the clone's branch."""
        return BareStore(self.repository, self.key, REFUSAL, self.path)

    def tip(self) -> str:
        """The commit that the clone's branch is at; "" before the first fetch, and for a remote without commits."""
        return self.repository.tip(BRANCH)

    def fetch(
        self, started: Callable[[Popen[bytes]], None] | None = None, until: str = "", *, tags: bool = False
    ) -> str:
        """Fetch the remote's branch and move the clone's branch to its commit, even if that is not a fast-forward.

        Args:
            started: Called with each git process, so that it can be killed early.
            until: The needed commit; "" for the latest. Nothing is fetched if a concurrent fetch has brought it, or if
                the source names the commit that the clone is at.
            tags: Whether to read the tags, too. If that fails, the clone retains its earlier tags.

        Returns:
            The commit; "" for a remote without commits.

        Raises:
            UnavailableError: the remote cannot be read now, or no longer has the branch. The clone is unchanged.
            StorageError: the clone cannot be written.
        """
        self._make_folder()
        known_tip = self.tip() if self._is_made else ""
        seconds = FETCH_SECONDS if known_tip else FIRST_FETCH_SECONDS
        with self._turn(seconds):
            began = time.monotonic()
            last_tip = self.tip()
            if self.holds(last_tip, until) or (last_tip and last_tip == self.source.commit):
                return last_tip
            try:
                with self.contact.call("fetch") as note:
                    outcome, tip, listing = self._fetched(last_tip, seconds, started, tags=tags)
                    note(not outcome.code or _MISSING in outcome.errors or bool(disk_problem(outcome.errors)))
            except GitError as error:
                raise self.unreadable(str(error).rstrip(".")) from error
            if outcome.code:
                self._require_no_commits(outcome, last_tip)
                return ""
            self.repository.commit(tip)  # raises unless the clone received it
            return self._follow(last_tip, tip, listing, began)

    def _require_no_commits(self, outcome: GitResult, last_tip: str) -> None:
        """Raise what a failed fetch means, unless it means that the remote has no commits yet."""
        if _MISSING in outcome.errors:
            if last_tip or self.source.branch:
                raise self._without_branch()
        elif problem := disk_problem(outcome.errors):
            raise cache_error(self.source.name, problem)
        else:
            raise self.unreadable(outcome.reason)

    @contextmanager
    def _turn(self, seconds: float) -> Generator[None]:
        """Hold the lock of fetches. A write waits for a part of its time only: the fetch of another thread may hang."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._lock.held(seconds_left(seconds, WAIT_SHARE)))
                self._make()
            except UnavailableError:
                if not is_limited():
                    raise
            yield

    def free(self) -> int | None:
        """Free space in bytes on the disk of the clone for this user; None if it cannot be read."""
        try:
            disk = os.statvfs(self.path)
        except OSError:
            return None
        return disk.f_bavail * disk.f_frsize

    def packs(self) -> int | None:
        """Number of packs, at most `MAX_COUNTED`; None if their folder cannot be read."""
        try:
            with os.scandir(self.path / "objects" / "pack") as entries:
                return sum(1 for _ in islice((entry for entry in entries if entry.name.endswith(".pack")), MAX_COUNTED))
        except OSError:
            return None

    def gather(self, started: Callable[[Popen[bytes]], None] | None = None) -> None:
        """Gather what fetches and writes have left, see `packs.gather`. Failures are logged, as nothing depends on it.

        Args:
            started: Called with each git process, so that it can be killed early.
        """
        try:
            with self._lock.held(0):
                gather(self.repository, REMOTE, started, loose=True)
        except UnavailableError:  # another process fetches or gathers
            return
        except (GitError, StorageError) as error:
            if str(error) != self._gathering_problem:
                log.warning("%s: %s", self.source.name, error)
            self._gathering_problem = str(error)

    def push(self, commit: str, expected: str) -> bool:
        """Push a commit if the remote's branch is at `expected`, and move the clone's branch, too.

        Args:
            commit: The commit, made on top of `expected`.
            expected: The commit that the remote's branch must be at; "" for a branch that does not exist.

        Returns:
            Whether the remote has the commit. If not, its branch is at another commit, and the clone's branch follows.

        Raises:
            UnavailableError: the remote cannot be reached. It did not receive the commit. Or kind "unknown": it did not
                answer in time, and may have accepted it.
            GitError: the remote rejected it.
        """
        if not commit or (expected and not self.holds(commit, expected)):
            raise ValueError("a push must not drop commits: its commit must be on top of the expected one")
        try:
            with self.contact.call("push") as note:
                outcome = self._sent(commit, expected)
                note(outcome.is_pushed(self._target) is not None)
        except EndedGitError as error:
            if not error.has_sent:
                raise self.unreached(str(error).rstrip(".")) from error
            return self._took(commit, str(error).rstrip("."))
        pushed = outcome.is_pushed(self._target)
        if pushed:
            self._lost = 0
            self.contact.accepted()
            try:
                self._advance(expected, commit)
            except (StorageError, UnavailableError) as error:  # the remote has it: the next fetch moves the branch
                log.warning("%s: %s", self.source.name, error)
            return True
        if pushed is not None:
            return self._moved(expected, outcome)
        if not is_unreached(outcome):
            return self._took(commit, outcome.reason)
        raise self.unreached(outcome.reason)

    def advance(self, commit: str) -> str:
        """Move the branch to a commit that the remote has accepted.

        Returns:
            The branch's commit; "" if the clone lacks the commit, or the branch is not at an ancestor of it.
        """
        with self._moving.held():
            now = self.tip()
            if not now or not self.holds(commit, now):
                return ""
            set_branch(self.repository, commit, self.source.name)
        return commit

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one of its ancestors; false for a commit that the clone lacks."""
        return bool(tip) and self.has(commit) and self.has(tip) and self.repository.holds(tip, commit)

    def has(self, commit: str) -> bool:
        """Whether the clone has a commit, on its branch or from an earlier fetch; false for ""."""
        return bool(commit) and self.repository.has_object(commit)

    def number(self, commit: str) -> int:
        """Number of commits in the history of a commit, including itself.

        Raises:
            GitError: the clone lacks the commit, or a part of its history.
        """
        last_tip, before = self._counted
        handle = self.repository.handle
        if last_tip and self.holds(commit, last_tip):
            number = before + guarded(lambda: handle.ahead_behind(commit, last_tip))[0]
        else:
            number = guarded(lambda: sum(1 for _ in handle.walk(commit, SortMode.NONE)))
        self._counted = (commit, number)
        return number

    def _sent(self, commit: str, expected: str) -> GitResult:
        """Push a commit, together with a new lease if the lease is due for renewal; returns the result."""
        renewal = self.lease.renewal() if self.lease else None
        tips = [commit, expected, *(renewal or ())]
        with exchange(self.repository, REMOTE, tips) as own:
            settings = own_programs(self.repository)
            self._target = self._target or self.source.branch
            if not self._target:
                self._target = own.default_branch(settings, seconds_left(FETCH_SECONDS, PUSH_SHARE))
            references, leases = [f"{commit}:{self._target}"], [f"--force-with-lease={self._target}:{expected}"]
            if renewal:
                references.append(f"{renewal[0]}:{LEASE_REF}")
                leases.append(f"--force-with-lease={LEASE_REF}:{renewal[1]}")
            limits = TimeLimits(seconds_left(PUSH_TIMEOUT, PUSH_SHARE), QUIET_SECONDS)
            outcome = own.push(references, leases, settings=settings, timeout=limits)
        if self.lease and renewal and outcome.is_pushed(LEASE_REF):
            self.lease.observe(renewal[0])
        return outcome

    def _follow(self, last_tip: str, tip: str, listing: str | None, began: float) -> str:
        """Move the tags (unless None), and the branch to a fetched commit; returns the branch's commit.

        The branch stays if a push or a later fetch has moved it.
        """
        if listing is not None:
            store_tags(self.repository, listing)
        with self._moving.held():
            now = self.tip()
            if now != last_tip and (began < self._followed or self.repository.holds(now, tip)):
                return now
            self._followed = began
            if tip != now:
                set_branch(self.repository, tip, self.source.name)
        if now and not self.holds(tip, now):
            forced = "%s: the remote was force-pushed from %s to %s; pages of the dropped commits are gone"
            log.warning(forced, self.source.name, now[:SHOWN_ID], tip[:SHOWN_ID])
        return tip

    def _advance(self, expected: str, commit: str) -> None:
        """Move the branch to a pushed commit, unless a fetch has moved it there or further."""
        with self._moving.held():
            now = self.tip()
            if now == expected or not self.repository.holds(now, commit):
                set_branch(self.repository, commit, self.source.name)

    def _moved(self, expected: str, outcome: GitResult) -> bool:
        """Fetch after a rejected push; returns false if the remote's branch is no longer at the expected commit.

        Raises:
            GitError: the branch is at the expected commit, so a rule of the remote forbids the push.
        """
        if self.fetch() != expected:
            self._lost += 1
            if self._lost > 1:  # the remote may have another default branch by now
                self._target = ""
            return False
        self._target = ""
        words = outcome.rejection or outcome.reason
        self.contact.refused(words)
        raise GitError(
            f"The remote of {self.source.name} refused the write: {words}.",
            kind="remote",
            hint="Its rules forbid it; ask its owner. Nothing was written.",
        )

    def _took(self, commit: str, reason: str) -> bool:
        """Fetch after a push without a result; returns true if the remote has the commit.

        Raises:
            UnavailableError: kind "unknown": the remote does not have the commit now, or cannot be read.
        """
        try:
            tip = self.fetch()
        except KnowledgeError as error:
            raise unknown_outcome(self.source.name, reason) from error
        if self.holds(tip, commit):
            return True
        raise unknown_outcome(self.source.name, reason)

    def _fetched(
        self, last_tip: str, seconds: float, started: Callable[[Popen[bytes]], None] | None, *, tags: bool
    ) -> tuple[GitResult, str, str | None]:
        """The result of a fetch, the fetched commit, and the remote's tags (None if not read), listed before."""
        with exchange(self.repository, REMOTE, [last_tip], started) as own:
            settings = {**own_programs(self.repository), "fetch.fsckObjects": ["true"]}
            listing = self._listed_tags(own, settings) if tags else None
            references = [f"+{self.source.commit or self.source.branch or 'HEAD'}:{_FETCHED}"]
            if self.lease:
                references.append(f"+{LEASE_REF}*:{_LEASE}*")
            limits = TimeLimits(seconds_left(seconds), STILL_SECONDS if last_tip else 4 * STILL_SECONDS)
            outcome = own.fetch(references, settings=settings, timeout=limits)
            if self.lease and not outcome.code:
                self.lease.observe(own.tip(_LEASE))
            return outcome, own.tip(_FETCHED), listing

    def _listed_tags(self, own: RemoteTransfer, settings: Mapping[str, Sequence[str]]) -> str | None:
        """The remote's tags; None if the listing failed. The following fetch reports an unreachable remote."""
        try:
            outcome = own.list_tags(settings=settings, timeout=STILL_SECONDS)
            problem = outcome.reason if outcome.code else ""
        except GitError as error:
            outcome, problem = None, str(error)
        if problem and problem != self._tags_problem:
            log.warning("%s: the tags cannot be read: %s", self.source.name, problem)
        self._tags_problem = problem
        return outcome.output if outcome and not problem else None

    def _without_branch(self) -> UnavailableError:
        name = self.source.branch.removeprefix("refs/heads/")
        branch = f"branch {name!r}" if name else "default branch"
        return UnavailableError(
            f"The remote of {self.source.name} cannot be read: it answers, and has no {branch}.",
            kind="remote",
            hint="Push the branch again, or follow another one: URL#BRANCH.",
        )

    def unreached(self, reason: str) -> UnavailableError:
        """The error for a push that the remote did not receive."""
        return UnavailableError(
            f"The remote of {self.source.name} cannot be reached: {reason}. Nothing was written.",
            kind="remote",
            hint="Try again when it answers; check the network, the address and the credentials if it persists.",
            retry_after=1,
        )

    def unreadable(self, reason: str) -> UnavailableError:
        """The error for a fetch that failed."""
        return UnavailableError(
            f"The remote of {self.source.name} cannot be read: {reason}.",
            kind="remote",
            hint="It is tried again; check the network, the address and the credentials if it persists.",
        )


def unknown_outcome(name: str, reason: str) -> UnavailableError:
    """The error for a push without a result: the remote may have accepted the commits."""
    return UnavailableError(
        f"Whether the remote of {name} has the write is unknown: {reason}.",
        kind="unknown",
        hint="Read it again. The same write sent again is not made twice.",
        retry_after=1,
    )
