"""Calls of plugins' functions: none lasts longer than its caller can wait, and none ends more than itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from commonplace.domain.errors import Stopped
from commonplace.domain.json import JsonObject
from commonplace.faces.mcp.peers import Level, Peer

LOAD_SECONDS = 20.0
"""How long a plugin may take to be loaded, with all that it imports."""
START_SECONDS = 5.0
"""How long each method may take that says what a plugin offers."""
ALL_SECONDS = 30.0
"""How long a start waits in all for plugins that do not return in these times."""
MIN_SECONDS = 0.5
"""What each call may take when that is used up."""
HOOK_SECONDS = 5.0
"""How long a write, check or orientation waits for one function of a plugin."""
TOOL_SECONDS = 60.0
"""How long a plugin's tool, prompt or resource may take; time in which it waits for the client does not count."""
LOOK_SECONDS = 0.1
"""Between two looks whether the client of a call is still there."""
MAX_WAITING = 1_000
"""Calls after writes that wait for one plugin."""

T = TypeVar("T")


class OverdueError(Exception):
    """A call was not done in time; it goes on in its thread, and nobody wants its result."""

    def __init__(self, call: Future[Any], stopped: Stopped | None = None) -> None:
        super().__init__("a plugin did not answer in time")
        self.call = call
        self.stopped = stopped
        """Why nobody waits for it, where that is not the time."""


class StartBudget:
    """How long one start still waits for plugins; safe enough from several threads, as it only ever shrinks."""

    def __init__(self) -> None:
        self._left = ALL_SECONDS

    def of(self, seconds: float) -> float:
        """How long a call may take that usually has so many seconds."""
        return min(seconds, max(self._left, MIN_SECONDS))

    def count_timeout(self, seconds: float) -> None:
        """Count a call that was waited for in vain."""
        self._left -= seconds


def call_with_timeout(function: Callable[[], T], seconds: float) -> Future[T]:
    """Call a function in a thread of its own; what it raises is in the result.

    Raises:
        OverdueError: it is not done within so many seconds.
    """
    outcome = start_call(function)
    if wait((outcome,), seconds).not_done:
        raise OverdueError(outcome)
    return outcome


def start_call(function: Callable[[], T]) -> Future[T]:
    """Begin to call a function, in a thread that ends with the process."""
    outcome: Future[T] = Future()
    threading.Thread(target=copy_context().run, args=(_settle, outcome, function), name="plugin", daemon=True).start()
    return outcome


class DeliveryQueue:
    """Calls of a plugin's functions after writes: in their order, in one thread, for which no write waits long."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[object], Callable[[], object]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._began: float | None = None
        """When the call that is going on began."""

    def deliver(self, function: Callable[[], object], seconds: float) -> Future[object] | None:
        """Call a function after all earlier ones, and wait for it; None where too many wait already."""
        if self._waiting.qsize() >= MAX_WAITING:
            return None
        outcome: Future[object] = Future()
        context = copy_context()
        self._waiting.put((outcome, lambda: context.run(function)))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="plugin", daemon=True)
                self._thread.start()
        wait((outcome,), 0.0 if self.overdue else seconds)
        return outcome

    @property
    def overdue(self) -> bool:
        """Whether the call that is going on has taken too long."""
        began = self._began
        return began is not None and time.monotonic() - began > HOOK_SECONDS

    def finish(self, seconds: float) -> None:
        """Wait until all is delivered, at most so long."""
        last: Future[object] = Future()
        with self._lock:
            if self._thread is None:
                return
            self._waiting.put((last, lambda: None))
        wait((last,), seconds)

    def _run(self) -> None:
        while True:
            try:
                outcome, function = self._waiting.get_nowait()
            except Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._thread = None
                        return
                continue
            self._began = time.monotonic()
            _settle(outcome, function)
            self._began = None


def _settle(outcome: Future[T], function: Callable[[], T]) -> None:
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001 - somebody else's code: even an exit ends nothing but this call
        outcome.set_exception(error)
    else:
        outcome.set_result(result)


@dataclass(frozen=True, slots=True)
class _Relay:
    """A client as a plugin's thread sees it: what it asks is asked by the thread that serves the call."""

    wanted: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
    peer: Peer
    over: threading.Event
    """Set when nobody serves the call any more."""

    def can(self, capability: str) -> bool:
        """Whether it declared a capability."""
        return self._asked(lambda: self.peer.can(capability))

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Answers by name; `Peer.ask` says what it raises."""
        return self._asked(lambda: self.peer.ask(requests))

    def log(self, level: Level, text: str) -> None:
        """Send a log message."""
        self._asked(lambda: self.peer.log(level, text))

    def progress(self, done: int, total: int) -> None:
        """Tell how far the call is."""
        self._asked(lambda: self.peer.progress(done, total))

    def _asked(self, question: Callable[[], T]) -> T:
        answer: Future[T] = Future()
        self.wanted.put((answer, question))
        while wait((answer,), HOOK_SECONDS).not_done:
            if self.over.is_set():
                raise Stopped("nobody waits for the call any more")
        return answer.result()


def call_with_client(
    function: Callable[[Peer], T], peer: Peer, seconds: float, go_on: Callable[[], None] = lambda: None
) -> Future[T]:
    """Call a function for a client, as `bounded` does; every question to the client gives it new time.

    Args:
        function: What to call; it may turn to the client.
        peer: The client.
        seconds: How long it may neither end nor ask anything.
        go_on: Asked now and then; raises `Stopped` when the client has gone.

    Raises:
        OverdueError: it takes too long, or the client has gone.
    """
    relay = _Relay(SimpleQueue(), peer, threading.Event())
    outcome = start_call(lambda: function(relay))
    outcome.add_done_callback(lambda _: relay.wanted.put(None))
    end = time.monotonic() + seconds
    while True:
        try:
            question = relay.wanted.get(timeout=max(0.0, min(LOOK_SECONDS, end - time.monotonic())))
        except Empty:
            try:
                go_on()
            except Stopped as stopped:
                relay.over.set()
                raise OverdueError(outcome, stopped) from stopped
            if time.monotonic() < end:
                continue
            relay.over.set()
            raise OverdueError(outcome) from None
        if question is None:
            return outcome
        _settle(*question)
        end = time.monotonic() + seconds
