"""Calls of plugins' functions with timeouts, and validated copies of the values that they return."""

from __future__ import annotations

import inspect
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass
from datetime import date
from enum import Enum
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar, cast

from commonplace.domain.errors import Stopped
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.peers import Level, Peer

# Validates and copies values that plugins return, so that no other module handles foreign objects.
#
# Each function runs in the thread of the call, because iterating over a value can run a plugin's code.


MAX_ITEMS = 10_000
"""Maximum number of items of a mapping or list."""
MAX_DEPTH = 32
"""Maximum nesting depth."""
MAX_INTEGER = 2**63
MAX_NAME = 200
"""Maximum length of a name in characters."""
MAX_SHOWN_CHARS = 60
"""Maximum length of a name in a message, in characters."""

_Item = TypeVar("_Item")
FaultSink: TypeAlias = Callable[[str], None]
"""Callback for a skipped item; its argument is the reason."""


class WrongValueError(Exception):
    """A value is invalid. The message states the value and the valid values."""


def wrong(value: object, expected: str) -> WrongValueError:
    """The error for a value.

    Args:
        value: The value.
        expected: Description of the valid values.
    """
    return WrongValueError(f"{kind_of(value)}; expected {expected}")


def built(make: Callable[[], _Item], what: str, tell: FaultSink) -> list[_Item]:
    """Convert a plugin's value to an item. Returns a list with the item; empty if an exception was raised and reported.

    Args:
        make: Creates the item; may run the plugin's code.
        what: Name of the value in the report.
        tell: Receives the report.
    """
    outcome = outcome_of(make)
    error = outcome.exception()
    if error is None:
        return [outcome.result()]
    tell(f"{what} is {error}" if isinstance(error, WrongValueError) else f"{what} failed: {error_summary(error)}")
    return []


def kind_of(value: object) -> str:
    """A short description of a value, without calling its methods."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__[:MAX_SHOWN_CHARS]}"
    if inspect.isroutine(value):
        return "a function"
    return f"a value of type {type(value).__name__[:MAX_SHOWN_CHARS]}"


def shown(value: object) -> str:
    """A name in a message."""
    return repr(value[:MAX_SHOWN_CHARS]) if isinstance(value, str) else kind_of(value)


def pairs(value: object, expected: str) -> list[tuple[object, object]]:
    """The items of a mapping.

    Raises:
        WrongValueError: the value is not a mapping, or too large.
    """
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return _few(cast("Mapping[object, object]", value).items())


def items(value: object, expected: str) -> list[object]:
    """The items of a list, tuple, set or generator.

    Raises:
        WrongValueError: the value is none of these, or too large.
    """
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong(cast("object", value), expected)
    return _few(cast("Iterable[object]", value))


def named(value: object, expected: str, tell: FaultSink) -> list[tuple[str, object]]:
    """The items of a mapping whose keys are names; others are reported and skipped.

    Raises:
        WrongValueError: the value is not a mapping, or too large.
    """
    keys: list[tuple[str, object]] = []
    for key, element in pairs(value, expected):
        if is_name(key):
            keys.append((cast("str", key), element))
        else:
            tell(
                f"the name of an item is {shown(key)}; expected a text of 1 to {MAX_NAME} characters that can be shown"
            )
    return keys


def is_name(value: object) -> bool:
    """Whether a value is a valid name."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable() and bool(value.strip())


def text(value: object, what: str) -> str:
    """A string; "" for None.

    Raises:
        WrongValueError: the value is of another type.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongValueError(f"{what} is {kind_of(value)}; expected a text")
    return _clean(value)


def plain(value: object, depth: int = 0) -> Json:
    """A copy as JSON: dates become strings, tuples and sets lists, non-finite numbers None.

    Raises:
        WrongValueError: a value has no JSON form, is nested too deep, or is too large.
    """
    if depth > MAX_DEPTH:
        raise WrongValueError(f"it is deeper than {MAX_DEPTH} levels; expected less")
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {_key(key): plain(element, depth + 1) for key, element in _few(mapping.items())}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(element, depth + 1) for element in _few(cast("Iterable[object]", value))]
    return _scalar(value)


def plain_object(value: object, expected: str) -> dict[str, Json]:
    """A copy of a mapping as JSON.

    Raises:
        WrongValueError: same as `plain`; or the value is not a mapping.
    """
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return cast("dict[str, Json]", plain(cast("object", value)))


def function(value: object, arguments: int, expected: str, *, least: int | None = None) -> Callable[..., object]:
    """A callable that accepts this number of arguments, or at least `least`.

    Raises:
        WrongValueError: the value is not such a callable.
    """
    if not callable(value) or isinstance(value, type):
        raise wrong(value, expected)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some functions not written in Python have no signature
        return value
    taken = len(fitting(value, [None] * arguments)) if least is not None else arguments
    try:
        signature.bind(*[None] * max(taken, least or 0))
    except TypeError as error:
        raise WrongValueError(f"a function that takes other arguments ({error}); expected {expected}") from error
    return value


def fitting(method: Callable[..., object], arguments: Sequence[object]) -> Sequence[object]:
    """The arguments that a plugin's method takes: all, or without the last ones that it does not know."""
    for count in range(len(arguments), -1, -1):
        try:
            inspect.signature(method).bind(*arguments[:count])
        except (TypeError, ValueError):
            continue
        return arguments[:count]
    return arguments


def _scalar(value: object) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise WrongValueError("a whole number of more than 64 bits; expected a smaller one")
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    raise wrong(value, "text, numbers, true, false, None, lists and dicts with texts as keys")


def _key(value: object) -> str:
    if not isinstance(value, str):
        raise wrong(value, "a text as key")
    return _clean(value)


def _clean(value: str) -> str:
    """Text that can be encoded: lone surrogates are replaced."""
    return str.encode(value, "utf-8", "replace").decode()


def _few(found_values: Iterable[_Item]) -> list[_Item]:
    kept_found_values = list(islice(found_values, MAX_ITEMS + 1))
    if len(kept_found_values) > MAX_ITEMS:
        raise WrongValueError(f"more than {MAX_ITEMS:,} items; expected fewer")
    return kept_found_values


# Calls of plugins' functions with timeouts. A failing call affects no other call.


LOAD_SECONDS = 20.0
"""Timeout in seconds for loading a plugin with all its imports."""
START_SECONDS = 5.0
"""Timeout in seconds of each method that returns a plugin's additions."""
ALL_SECONDS = 30.0
"""Maximum total seconds that a start waits for timed-out plugins."""
MIN_SECONDS = 0.5
"""Timeout in seconds of each call after that total is used up."""
HOOK_SECONDS = 5.0
"""Timeout in seconds of a plugin's function in a write, check or orientation."""
TOOL_SECONDS = 60.0
"""Timeout in seconds of a plugin's tool, prompt or resource. Requests to the client restart the timeout."""
LOOK_SECONDS = 0.1
"""Polling interval in seconds for whether the client of a call is still connected."""
MAX_WAITING = 1_000
"""Maximum number of queued calls after writes, per plugin."""

T = TypeVar("T")


class OverdueError(Exception):
    """A call timed out. It continues in its thread, and its result is discarded."""

    def __init__(self, call: Future[Any], stopped: Stopped | None = None) -> None:
        super().__init__("a plugin did not answer in time")
        self.call = call
        self.stopped = stopped
        """The cancellation, if the client has disconnected; None for a timeout."""


class StartBudget:
    """The remaining time that a start waits for plugins. Shared by threads without a lock: it only decreases."""

    def __init__(self) -> None:
        self._left = ALL_SECONDS

    def of(self, seconds: float) -> float:
        """The timeout of a call whose normal timeout is `seconds`."""
        return min(seconds, max(self._left, MIN_SECONDS))

    def count_timeout(self, seconds: float) -> None:
        """Subtract the time of a call that timed out."""
        self._left -= seconds


def call_with_timeout(function: Callable[[], T], seconds: float) -> Future[T]:
    """Call a function in its own thread. The future has its result or exception.

    Raises:
        OverdueError: the call timed out.
    """
    outcome = start_call(function)
    if wait((outcome,), seconds).not_done:
        raise OverdueError(outcome)
    return outcome


def start_call(function: Callable[[], T]) -> Future[T]:
    """Start a call in a daemon thread."""
    outcome: Future[T] = Future()
    threading.Thread(
        target=copy_context().run, args=(outcome_of, function, outcome), name="plugin", daemon=True
    ).start()
    return outcome


class DeliveryQueue:
    """A plugin's calls after writes, run in order by one thread; writes wait for a limited time."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[object], Callable[[], object]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._began: float | None = None
        """Start time of the current call."""

    def deliver(self, function: Callable[[], object], seconds: float) -> Future[object] | None:
        """Queue a call and wait at most `seconds` for its end. Returns None if the queue is full."""
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
        """Whether the current call has timed out."""
        began = self._began
        return began is not None and time.monotonic() - began > HOOK_SECONDS

    def finish(self, seconds: float) -> None:
        """Wait at most `seconds` until the queue is empty."""
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
            outcome_of(function, outcome)
            self._began = None


def outcome_of(function: Callable[[], T], outcome: Future[T] | None = None) -> Future[T]:
    """Call a plugin's function in this thread. Every exception is caught, including SystemExit.

    Args:
        function: The function.
        outcome: Receives the function's result or exception; None for a new future.

    Returns:
        The finished future.
    """
    outcome = Future() if outcome is None else outcome
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001 - the code is not ours
        outcome.set_exception(error)
    else:
        outcome.set_result(result)
    return outcome


def is_failure(error: BaseException) -> bool:
    """Whether an exception is a failure of the plugin and not its refusal: SystemExit, or exhausted resources."""
    return not isinstance(error, Exception) or isinstance(error, (RecursionError, MemoryError, EOFError))


def error_summary(error: BaseException) -> str:
    """The type and message of an error from a plugin."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def message_of(error: BaseException) -> str:
    """The message of an error; "" if it has none or `str` fails."""
    outcome = outcome_of(lambda: str(error)[:200])
    return "" if outcome.exception() else outcome.result()


@dataclass(frozen=True, slots=True)
class _Relay:
    """Passes a plugin's requests for the client to the thread that serves the call."""

    wanted: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
    peer: Peer
    over: threading.Event
    """Set when the call is no longer served."""

    def can(self, capability: str) -> bool:
        """Whether the client declared a capability."""
        return self._ask(lambda: self.peer.can(capability))

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Send requests to the client; returns the answers by name. Raises the same errors as `Peer.ask`."""
        return self._ask(lambda: self.peer.ask(requests))

    def answered(self) -> Sequence[str]:
        """The names of the requests that the client has answered in this call; none in the older era."""
        return self._ask(self.peer.answered)

    def log(self, level: Level, text: str) -> None:
        """Send a log message."""
        self._ask(lambda: self.peer.log(level, text))

    def progress(self, done: int, total: int) -> None:
        """Report the call's progress."""
        self._ask(lambda: self.peer.progress(done, total))

    def _ask(self, question: Callable[[], T]) -> T:
        answer: Future[T] = Future()
        self.wanted.put((answer, question))
        while wait((answer,), HOOK_SECONDS).not_done:
            if self.over.is_set():
                raise Stopped("the call is no longer served")
        return answer.result()


def call_with_client(
    function: Callable[[Peer], T], peer: Peer, seconds: float, go_on: Callable[[], None] = lambda: None
) -> Future[T]:
    """Like `call_with_timeout`, with access to the client. Every request to the client restarts the timeout.

    Args:
        function: The function to call with the client.
        peer: The client.
        seconds: Timeout between two requests to the client.
        go_on: Called at intervals; raises `Stopped` if the client has disconnected.

    Raises:
        OverdueError: the call timed out, or the client has disconnected.
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
        answer, ask = question
        outcome_of(ask, answer)
        end = time.monotonic() + seconds
