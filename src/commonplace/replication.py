"""Replicas: each follows its remote in a thread, and knows which commit its answers contain.

If writes are permitted, each write is pushed before it is confirmed. The thread reads the remote after a webhook, after
a write, and when a caller waits for a commit. Otherwise it reads at intervals that grow while nothing changes.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import Popen

from commonplace.domain.budget import WRITE_SECONDS
from commonplace.domain.cluster import ReplicaStatus
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError, StorageError, UnavailableError
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Index, Store
from commonplace.domain.sources import url_parts
from commonplace.services.cluster import Tailer
from commonplace.settings import Settings
from commonplace.store.git_command import end_group
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import SHOWN_ID, changed_documents, common_commit, parse_source, path_of
from commonplace.store.replica.writable import ReplicaStore, WritableReplicaStore
from commonplace.store.replica.writer_lease import WriterLease, ask_state, format_results, parse_writes

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
"""Pause in seconds before the next read of a remote after a change or a first failure."""
BEHIND_PAUSE = 5.0
"""Maximum pause in seconds between two reads while a shared index lags behind."""
CHECK_PAUSE = 4.0
"""Maximum pause in seconds between two checks whether a shared index answers."""
GROWTH = 1.5
"""Growth factor of the pauses."""
WOKEN_PAUSE = 0.25
"""Delay in seconds before a read that was triggered by a webhook or a waiting caller."""
TAGS_PAUSE = 10.0
"""Minimum interval in seconds between two reads of a remote's tags and proposals, unless a webhook triggers one."""
INDEX_SECONDS = 60.0
"""Timeout in seconds for indexing changed documents. If it takes longer, it continues, and queries wait for it."""
FIRST_SECONDS = 10.0
"""Timeout in seconds of the start for the first fetch of a remote, which continues in the background."""
STOPPED = "This server follows its remote no longer; the log says why. Restart it."
CLOSE_SECONDS = 5.0
"""Timeout in seconds for the thread at shutdown."""


class Follower:
    """Implementation of `domain.cluster.Replica` for one clone.

    Args:
        clone: The clone.
        longest_pause: Maximum pause in seconds between two reads of the remote.
        writes: Whether documents can be written; writes are pushed to the remote.
        secret: Secret shared with other servers that write to the remote; "" if there are none.
        optional: Whether requests are answered from other collections if the remote was never read.
        write_seconds: Maximum time of a write in seconds.
    """

    def __init__(
        self,
        clone: ReplicaClone,
        longest_pause: float,
        *,
        writes: bool = False,
        secret: str = "",
        optional: bool = False,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        self.clone = clone
        self.write_seconds = write_seconds
        self._optional = optional
        self._written = (
            WritableReplicaStore(clone, self._on_pushed, self._refusal, secret, write_seconds) if writes else None
        )
        self._store = self._written or ReplicaStore(clone)
        self._longest = max(FIRST_PAUSE, longest_pause)
        self._wake = threading.Event()
        self._read = threading.Event()
        """Whether the next step reads the remote; otherwise it indexes the writes that this process has pushed."""
        self._tags_due = -math.inf
        """Monotonic time in seconds after which a read of the remote includes its tags."""
        self._tags_requested = threading.Event()
        self._ending = threading.Event()
        self._changed = threading.Condition()
        """Guards the fields below; notified after each read of the remote."""
        self._commit: str | None = None
        self._steps = 0
        """Number of attempts to read or index, including failed ones."""
        self._reads = 0
        """Number of successful reads whose commit has been indexed."""
        self._read_at: float | None = None
        self._problem = ""
        self._tailer: Tailer | None = None
        self._running: Popen[bytes] | None = None
        """The last git process, which is terminated at shutdown."""

    def _fetch_first(self) -> None:
        """Wait at most `FIRST_SECONDS` for the first fetch, so that the name declared in `kb.yaml` is known."""
        if self.clone.tip() or self._problem:
            return
        thread = threading.Thread(target=self._fetch_quietly, name="first fetch", daemon=True)
        thread.start()
        thread.join(FIRST_SECONDS)

    def _fetch_quietly(self) -> None:
        with suppress(KnowledgeError, OSError):  # the replica's thread retries and logs the failure
            self.clone.fetch(self._started, tags=True)

    def fetch_once(self) -> str:
        """Fetch for a single command. Returns "" on success, else the problem if the command can continue anyway.

        Raises:
            UnavailableError: the remote cannot be read, is not optional, and the clone is empty.
        """
        try:
            self._commit = self.clone.fetch(tags=True)
        except UnavailableError as error:
            self._commit, self._problem = self.clone.tip() or None, str(error)
            if self._commit:
                return f"{error} Shown as of {self._commit[:SHOWN_ID]}."
            if not self._optional:
                raise
            return str(error)
        self.clone.gather()
        return ""

    def store(self) -> Store:
        """The store of the documents, writable or not. Waits for the first fetch, see `_fetch_first`."""
        self._fetch_first()
        return self._store

    def take_writes(self, body: bytes) -> dict[str, list[dict[str, str]]] | None:
        """Push writes that another server has forwarded. Returns None if they are for a different remote."""
        base, writes = parse_writes(body)
        if self._written is None or base != self.clone.source.key:
            return None
        return {"results": format_results(self._written.apply(writes))}

    def start(self, index: Index, closing: ExitStack, tailer: Tailer | None = None) -> None:
        """Follow the remote and keep the index current. Returns at once.

        Args:
            index: The index of the clone's documents.
            closing: Stops the work when it is closed.
            tailer: Updates the shared index of several servers; None without one.
        """
        self._tailer = tailer
        thread = threading.Thread(target=self._run, args=(index,), name="replica", daemon=True)
        thread.start()
        closing.callback(self._stop, thread)

    def status(self, begun_at: str = "") -> ReplicaStatus:
        """The current state. A forced push moves the branch before the index contains its commit."""
        with self._changed:
            age = None if self._read_at is None else time.monotonic() - self._read_at
            ready, problem = self._commit is not None, self._problem
            commit = self._commit or ""
        if begun_at:
            commit = common_commit(self.clone.repository, begun_at)
        engine = None if self._tailer is None else self._tailer.status()
        writer = None if self._written is None else self._written.status()
        if writer is not None and problem:
            writer = replace(writer, problem=problem)
        return ReplicaStatus(
            commit, ready, age, problem, self._shared_index(), engine, writer,
            self.clone.contact.status(), self.clone.free(), self.clone.packs(),
        )  # fmt: skip

    def _shared_index(self) -> str | None:
        if self._tailer is None:
            return None
        problem = self._tailer.problem or self._tailer.status().failure
        return problem or ("current" if self._tailer.is_current else "behind")

    def follows(self, url: str) -> bool:
        """Whether both URLs have the same path. Hosts are not compared, as a Git host has several addresses."""
        try:
            return _repository_path(url) == _repository_path(self.clone.source.url)
        except ValueError:  # invalid brackets in the host
            return False

    def refresh(self, *, now: bool = False) -> None:
        """Read the remote soon in the background; or, with `now`, in the caller's thread before returning."""
        if not now:
            self._tags_requested.set()
            self._read_soon()
        elif self._written is not None:
            self._written.catch_up()

    def wait_for(self, commit: str, timeout: float) -> None:
        """Wait until the index contains a commit. Reads the remote if necessary."""
        deadline = time.monotonic() + timeout
        first = self._reads
        while True:
            with self._changed:
                tip, reads, steps = self._commit, self._reads, self._steps
            if tip and self.clone.holds(tip, commit):
                return
            # The first read may have started before the caller's commit was pushed, so only a later one is conclusive.
            if reads > first + 1 and self.clone.has(commit):
                raise self._dropped(commit)
            self._read_soon()
            with self._changed:
                if not self._changed.wait_for(lambda steps=steps: self._steps > steps, deadline - time.monotonic()):
                    raise self._behind(commit, timeout)

    def _dropped(self, commit: str) -> NotFoundError:
        return NotFoundError(
            f"The branch of {self.clone.source.name} no longer contains {commit[:SHOWN_ID]}.",
            kind="commit",
            hint="It was replaced by a forced push. Ask without at_least for the branch as it is.",
        )

    def _behind(self, commit: str, timeout: float) -> UnavailableError:
        status = self.status()
        at = status.commit[:SHOWN_ID] or "no commit"
        reason = f" {status.problem}" if status.problem else ""
        return UnavailableError(
            f"{self.clone.source.name} is at {at} and has not received {commit[:SHOWN_ID]} in {timeout:.0f} s.{reason}",
            kind="commit",
            hint="Try again, or ask without at_least for an older answer.",
            retry_after=1,
        )

    def _run(self, index: Index) -> None:
        """Body of the thread: index the clone's earlier state, then read the remote until shutdown."""
        try:
            self._follow(index)
        finally:
            if not self._ending.is_set():  # an internal error, which is logged
                with self._changed:
                    self._problem = STOPPED
                    self._changed.notify_all()

    def _follow(self, index: Index) -> None:
        pause = FIRST_PAUSE
        self._step(index, partial(self._earlier_or_empty, index))
        while not self._ending.is_set():
            before = self._commit
            changed = self._step(index, self._fetched, reads=True) and self._commit != before
            self.clone.gather(self._started)
            behind = self._tailer is not None and not self._tailer.is_current
            pause = FIRST_PAUSE if changed else min(pause * GROWTH, BEHIND_PAUSE if behind else self._longest)
            if self._is_woken(index, pause):
                pause = FIRST_PAUSE

    def _is_woken(self, index: Index, pause: float) -> bool:
        """Wait before the next read of the remote. In the meantime, index writes that this process pushes.

        Returns:
            Whether a read was requested during the pause.
        """
        due = time.monotonic() + pause
        while (left := due - time.monotonic()) > 0 or self._wake.is_set():
            if not self._wake.wait(min(max(left, 0.0), CHECK_PAUSE)):
                if self._tailer is not None and left > CHECK_PAUSE:
                    self._tailer.check()
                continue
            self._ending.wait(WOKEN_PAUSE)
            self._wake.clear()
            if self._read.is_set() or self._ending.is_set():
                self._read.clear()
                return True
            self._step(index, self._earlier)
        return False

    def _on_pushed(self) -> None:
        """Called after a push by this process has moved the clone's branch. The writer indexes its own documents."""
        if self._tailer is not None:
            self._tailer.expect()
        self._wake.set()

    def _refusal(self) -> str:
        """Reason why writes are not possible now; "" if the last read of the remote succeeded."""
        with self._changed:
            problem = self._problem
        if problem:
            self._read_soon()
        return problem

    def _read_soon(self) -> None:
        self._read.set()
        self._wake.set()

    def _earlier(self) -> str | None:
        return self.clone.tip() or None

    def _earlier_or_empty(self, index: Index) -> str | None:
        """The commit of an earlier run.

        Without one, an optional remote gets an empty index, which can be searched at once.
        """
        if self._optional and not self.clone.tip():
            index.sync()
        return self._earlier()

    def _fetched(self) -> str | None:
        now = time.monotonic()
        tags = now >= self._tags_due or self._tags_requested.is_set()
        if tags:
            self._tags_requested.clear()  # before the reading, so that a request in the meantime leads to another one
            self._tags_due = now + TAGS_PAUSE
        commit = self.clone.fetch(self._started, tags=tags)
        if tags and not self._optional:
            self._store.proposals.follow(self._started)
        return commit

    def _step(self, index: Index, tip: Callable[[], str | None], *, reads: bool = False) -> bool:
        """Get a commit with `tip` and index it. Returns whether both succeeded."""
        problem = ""
        try:
            commit = tip()
            if commit != self._commit:
                self._bring(index, commit)
        except (KnowledgeError, OSError) as error:
            if self._ending.is_set():
                return False
            commit, problem = self._commit, _reason(error)
            if problem != self._problem:
                log.warning("%s: %s", self.clone.source.name, problem)
        with self._changed:
            self._commit, self._problem = commit, problem
            self._steps += 1
            if reads and not problem:
                self._reads += 1
                self._read_at = time.monotonic()
            self._changed.notify_all()
        if commit and self._tailer is not None:
            self._tailer.follow(commit)
        return not problem

    def _bring(self, index: Index, commit: str | None) -> None:
        """Index the differences between the current commit and a new one, and tell the cluster's index of them."""
        changed = changed_documents(self.clone.repository, self._commit, commit) if self._commit and commit else None
        if changed is None:
            index.sync()
        else:
            index.update(changed, INDEX_SECONDS)
        if self._tailer is not None:
            self._tailer.expect()
        log.info("%s: at %s", self.clone.source.name, (commit or "no commit")[:SHOWN_ID])

    def _started(self, process: Popen[bytes]) -> None:
        self._running = process
        if self._ending.is_set():
            end_group(process)

    def _stop(self, thread: threading.Thread) -> None:
        self._ending.set()
        self._wake.set()
        if self._running is not None:
            end_group(self._running)
        thread.join(CLOSE_SECONDS)


def _lease(settings: Settings, clone: ReplicaClone) -> WriterLease | None:
    """The lease by which one of several servers writes; None if this one writes alone or not at all."""
    if not (settings.replica_writes and settings.peer and settings.cluster_secret):
        return None
    return WriterLease(
        clone.repository, settings.node_url or "", settings.peer, clone.source.key, name=clone.source.name
    )


def open_followers(settings: Settings) -> dict[Path, Follower]:
    """A follower for each remote of `replica_of`, by the folder of its clone. Makes no network call.

    Raises:
        ConfigError: a remote is invalid or named twice.
        StorageError: a clone cannot be created.
    """
    for url in (*([settings.node_url] if settings.node_url else []), *settings.peer):
        _require_url(url)
    followers: dict[Path, Follower] = {}
    for text in settings.replica_of:
        clone = ReplicaClone(settings.cache_dir / "replicas", parse_source(text))
        if clone.path in followers:
            raise ConfigError(f"The remote {clone.source.name} is named twice.", kind="replica", hint="Name it once.")
        if clone.source.commit and settings.replica_writes:
            raise ConfigError(
                f"The remote {clone.source.name} stays at one commit, so it cannot be written.",
                kind="replica",
                hint="Name a branch after #, or leave out replica_writes.",
            )
        clone.lease = _lease(settings, clone)
        followers[clone.path] = Follower(
            clone,
            float(settings.replica_poll),
            writes=settings.replica_writes,
            secret=settings.cluster_secret or "",
            write_seconds=float(settings.write_timeout),
        )
    return followers


def state_of_peer(settings: Settings, url: str) -> JsonObject | str:
    """The state of another server; or the reason why it is unknown."""
    if not settings.cluster_secret:
        return "It cannot be asked without a cluster_secret."
    return ask_state(url, settings.cluster_secret, settings.node_url or "")


def open_layer_follower(remote: str, settings: Settings) -> Follower:
    """A follower of a read-only remote; if it fails, other layers still answer. Makes no network call.

    Raises:
        ConfigError: the remote is invalid.
        StorageError: the clone cannot be created.
    """
    clone = ReplicaClone(settings.cache_dir / "replicas", parse_source(remote))
    return Follower(clone, float(settings.replica_poll), optional=True)


def _require_url(url: str) -> None:
    parts = url_parts(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(
            "A URL of a server is invalid.", kind="replica", hint="node_url and peer are http or https URLs of servers."
        )


def _repository_path(url: str) -> str:
    return path_of(url).strip("/").removesuffix(".git").casefold()


def _reason(error: KnowledgeError | OSError) -> str:
    """The reason of a failure, without paths of this machine; of the disk's also what to do."""
    if isinstance(error, StorageError):
        return error.advice
    return str(error) if isinstance(error, KnowledgeError) else error.strerror or type(error).__name__
