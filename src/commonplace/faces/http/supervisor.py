"""The supervisor: owns the port, starts workers, replaces those that end or hang, and forwards connections."""

from __future__ import annotations

import logging
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.domain.errors import ConfigError
from commonplace.domain.private_files import user_umask
from commonplace.faces.access.used_once import SECRET_BYTES
from commonplace.faces.http.inherited import (
    GROW_SECONDS,
    MAX_WORKERS,
    SHARED_BYTES,
    Board,
    Channel,
    Frame,
    Inherited,
    Kind,
    channel_pair,
    serving_line,
    write_secret,
)

log = logging.getLogger(__name__)

PAUSES = (0.0, 1.0, 2.0, 5.0, 10.0)
"""Delay in seconds before a worker is replaced, by the number of consecutive failures; the last value repeats."""
SETTLED_SECONDS = 60.0
"""Minimum run time in seconds of a worker after which its end counts as the first failure again."""
PING_SECONDS = 5.0
"""Interval in seconds between two probes of a worker's event loop."""
HUNG_SECONDS = 30.0
"""Timeout in seconds of a probe, after which the worker is killed."""
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_WAKE_BYTES = 64


@dataclass(slots=True, eq=False)
class _Running:
    """A running worker."""

    number: int
    row: int
    process: subprocess.Popen[bytes]
    channel: Channel
    started: float = field(default_factory=time.monotonic)
    looked: float = field(default_factory=time.monotonic)
    """Time of the last successful probe."""
    serving: bool = False
    asked: float = 0.0
    """Time of the pending probe, or of the end of the channel; 0 if nothing is pending."""
    left: bool = False
    """Whether the channel is closed."""


@dataclass(slots=True)
class _Place:
    """A row of the board and its restart state."""

    row: int
    ends: int = 0
    """Number of consecutive failures."""
    due: float | None = None
    """Time at which to start a worker; None while one runs, and before the first worker has started."""


class Supervisor:
    """Starts workers and keeps them running until a signal ends the process.

    Args:
        command: The command line of a worker.
        count: Number of workers, 1 to `MAX_WORKERS`.
        listener: The socket on which they listen; closed at the end.

    Raises:
        ConfigError: there are too many workers.
    """

    def __init__(self, command: Sequence[str], count: int, listener: socket.socket) -> None:
        if count > MAX_WORKERS:
            raise ConfigError(f"{count} workers are too many.", kind="workers", hint=f"{MAX_WORKERS} are the most.")
        self._command = tuple(command)
        self._listener = listener
        self._places = [_Place(row) for row in range(count)]
        self._running: dict[int, _Running] = {}
        self._selector = selectors.DefaultSelector()
        self._next = 0
        self._signals = 0
        self._told = 0
        """Number of signals that were forwarded to the workers."""
        self._served = False
        self._code: int | None = None
        self._stack = ExitStack()

    def run(self) -> int:
        """Serve until a signal ends the process; returns the exit code."""
        with self._stack:
            self._prepare()
            self._places[0].due = time.monotonic()
            while self._code is None:
                for key, events in self._selector.select(self._patience()):
                    self._look(key.data, events)
                self._care()
        return self._code

    def _prepare(self) -> None:
        shared = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        shared.truncate(SHARED_BYTES)
        self._shared = shared.fileno()
        write_secret(self._shared, secrets.token_bytes(SECRET_BYTES))
        self._board = Board(self._shared, len(self._places))
        self._stack.callback(self._board.close)
        folder = tempfile.TemporaryDirectory(prefix="commonplace-", ignore_cleanup_errors=True)
        self._metrics = Path(self._stack.enter_context(folder))
        self._stack.callback(self._selector.close)
        self._stack.callback(self._kill_all)
        self._stack.callback(self._listener.close)
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
            self._stack.callback(end.close)
        self._selector.register(woken, selectors.EVENT_READ, woken)
        self._stack.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False))
        for number in (signal.SIGINT, signal.SIGTERM):
            self._stack.callback(signal.signal, number, signal.signal(number, self._signalled))

    def _signalled(self, number: int, frame: object) -> None:
        del number, frame
        self._signals += 1

    def _patience(self) -> float:
        due = [place.due for place in self._places if place.due is not None]
        return max(0.0, min([PING_SECONDS / 5, *(element - time.monotonic() for element in due)]))

    def _look(self, source: _Running | socket.socket, events: int) -> None:
        if isinstance(source, socket.socket):
            with suppress(BlockingIOError):
                source.recv(_WAKE_BYTES)
            return
        try:
            if events & selectors.EVENT_WRITE:
                source.channel.flush()
            frames = source.channel.receive() if events & selectors.EVENT_READ else []
        except (EOFError, OSError):
            self._leave(source)
            return
        for frame in frames:
            self._hear(source, frame)
        self._register(source)

    def _hear(self, worker: _Running, frame: Frame) -> None:
        if frame.kind is Kind.SERVING:
            worker.serving = True
            if not self._served:
                self._served = True
                sys.stderr.write(serving_line(self._listener))
                sys.stderr.flush()
        elif frame.kind is Kind.INDEXED:
            self._grow(0.0)
        elif frame.kind is Kind.PONG:
            worker.looked, worker.asked = time.monotonic(), 0.0
        elif frame.kind is Kind.CONNECTION and frame.descriptor is not None:
            try:
                self._pass_on(worker, frame)
            finally:
                os.close(frame.descriptor)

    def _pass_on(self, giver: _Running, frame: Frame) -> None:
        """Forward a connection to the worker that owns its session.

        If that worker is gone, return it to the sender, which responds with an error.
        """
        holder = self._running.get(frame.number)
        others = [running for running in self._running.values() if running.serving and running is not giver]
        takers = [giver, *others] if holder is None or holder.left else [holder, giver, *others]
        for taker in takers:
            if not taker.left and self._send(taker, replace(frame, number=0)):
                return

    def _send(self, worker: _Running, frame: Frame) -> bool:
        try:
            worker.channel.send(frame)
        except OSError:
            return False
        self._register(worker)
        return True

    def _register(self, worker: _Running) -> None:
        if not worker.left:
            wanted_number = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.channel.waits else 0)
            self._selector.modify(worker.channel, wanted_number, worker)

    def _leave(self, worker: _Running) -> None:
        if not worker.left:
            worker.left, worker.asked = True, time.monotonic()
            self._selector.unregister(worker.channel)
            worker.channel.close()

    def _forward_signals(self) -> None:
        """Let the workers end their work, once for each signal; one that does not serve yet is terminated."""
        if self._signals > self._told:
            self._told = self._signals
            for worker in self._running.values():
                if not worker.serving or not self._send(worker, Frame(Kind.END)):
                    worker.process.terminate()

    def _care(self) -> None:
        """Do the work that is due: forward signals, probe workers, kill hung ones, replace ended ones."""
        now = time.monotonic()
        self._forward_signals()
        for worker in list(self._running.values()):
            if worker.process.poll() is not None:
                self._ended(worker, now)
            else:
                self._ask(worker, now)
        if self._signals:
            if not self._running and self._code is None:
                self._code = 0
            return
        for place in self._places:
            if place.due is not None and place.due <= now and self._code is None:
                self._start(place)

    def _ask(self, worker: _Running, now: float) -> None:
        if not worker.asked:
            if worker.serving and now - worker.looked >= PING_SECONDS:
                worker.asked = now
                self._send(worker, Frame(Kind.PING))
        elif now - worker.asked >= HUNG_SECONDS and not self._signals:
            log.error("worker %d has not answered for %d s and is replaced", worker.number, HUNG_SECONDS)
            worker.process.kill()

    def _ended(self, worker: _Running, now: float) -> None:
        self._leave(worker)
        del self._running[worker.number]
        self._board.enter(worker.row, 0)
        code = worker.process.returncode
        if self._signals:
            return
        if not self._served:
            self._code = code if code > 0 else 1
            return
        place = self._places[worker.row]
        place.ends = place.ends + 1 if now - worker.started < SETTLED_SECONDS else 1
        pause = PAUSES[min(place.ends, len(PAUSES)) - 1]
        place.due = now + pause
        log.error("worker %d ended with code %d and is replaced", worker.number, code)

    def _start(self, place: _Place) -> None:
        place.due = None
        self._next += 1
        channel, theirs = channel_pair()
        with theirs:
            inherited = Inherited(
                self._next, place.row, len(self._places), self._listener.fileno(), theirs.fileno(), self._shared
            )
            self._board.enter(place.row, inherited.number)
            try:
                process = subprocess.Popen(  # noqa: S603 - this program again, with its own arguments
                    self._command,
                    stdin=subprocess.DEVNULL,
                    pass_fds=inherited.files,
                    env=self._environment(inherited),
                    umask=user_umask(),
                    process_group=0,  # the supervisor alone gets a terminal's signals and forwards each once
                )
            except OSError as error:
                channel.close()
                self._board.enter(place.row, 0)
                log.error("a worker cannot be started: %s", error.strerror)  # noqa: TRY400 - the reason suffices
                place.ends += 1
                place.due = time.monotonic() + PAUSES[-1]
                return
        worker = _Running(inherited.number, place.row, process, channel)
        self._running[inherited.number] = worker
        self._selector.register(channel, selectors.EVENT_READ, worker)
        if inherited.number == 1:
            self._grow(GROW_SECONDS)

    def _grow(self, seconds: float) -> None:
        """Start the workers that wait for the first one, after at most this many seconds."""
        due = time.monotonic() + seconds
        used = {worker.row for worker in self._running.values()}
        for place in self._places:
            if place.row not in used and not place.ends:
                place.due = due if place.due is None else min(place.due, due)

    def _environment(self, inherited: Inherited) -> Mapping[str, str]:
        return {**os.environ, **inherited.in_environment(), METRICS_VARIABLE: str(self._metrics)}

    def _kill_all(self) -> None:
        """Kill the remaining workers after an error of the supervisor."""
        for worker in self._running.values():
            worker.process.kill()
            worker.process.wait()
            self._leave(worker)


def supervise(arguments: Sequence[str], count: int, listener: socket.socket) -> int:
    """Serve with several workers until a signal ends the process; returns the exit code.

    Args:
        arguments: The command line of this process, without the program's name.
        count: Number of workers.
        listener: The socket on which they listen.
    """
    # -P: workers must not import modules from the working directory.
    command = [sys.executable, "-P", "-m", "commonplace", *arguments]
    return Supervisor(command, count, listener).run()


def default_count() -> int:
    """Number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_WORKERS)
