"""The log of calls, the same for every face: trace id, verb, duration and outcome.

Arguments, content and results are never logged.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TextIO, TypeAlias

from commonplace.domain.activity import CallFacts, recording_facts
from commonplace.domain.errors import Code, KnowledgeError

log = logging.getLogger("commonplace.calls")

CallListener = Callable[[str, str, float], None]
"""Called after every call with its verb, its outcome and its duration in seconds. Must not raise."""

_listeners: list[CallListener] = []


class RequestCaller(Protocol):
    """The caller of a request."""

    @property
    def id(self) -> str:
        """Public id of its key; "" without one."""
        ...

    @property
    def name(self) -> str:
        """Name of the key or the person; "" if unknown."""
        ...


@dataclass(slots=True)
class RequestRecord:
    """One request over HTTP, as it is logged and counted."""

    route: str
    """Method and prefix of the route; never a path or a query, which may have contents."""
    when: float = field(default_factory=time.time)
    began: float = field(default_factory=time.perf_counter)
    caller: RequestCaller | None = None
    address: str = ""
    client: str = ""
    tool: str = ""
    """Tool or endpoint; "" for a route without."""
    trace: str = ""
    bases: tuple[str, ...] = ()
    reason: str = ""
    """Kind of the error; "" without one."""
    code: Code | None = None
    """Code of the error; None without one."""
    status: int = 0
    sent: int = 0
    """Bytes of the answer's body."""
    is_open: bool = True
    """Whether the request is not answered yet. A session of the older era goes on in the context of its first one."""

    def fail(self, error: KnowledgeError) -> None:
        """Record why the request was refused."""
        self.reason, self.code = error.kind or str(error.code), error.code

    @property
    def name(self) -> str:
        """Name of the caller's key, or of the person; else its id; "" without a key."""
        return "" if self.caller is None else self.caller.name or self.caller.id

    def row(self) -> dict[str, object]:
        """The line of the log, without what is empty."""
        return {
            "time": moment(self.when),
            "level": "info",
            "event": "request",
            "caller": self.name,
            "key": self.caller.id if self.caller else "",
            "address": self.address,
            "client": self.client,
            "route": self.route,
            "tool": self.tool,
            "bases": list(self.bases),
            "status": self.status,
            "reason": self.reason,
            "ms": round((time.perf_counter() - self.began) * 1000, 1),
            "bytes": self.sent,
            "trace": self.trace,
        }


RequestListener: TypeAlias = Callable[[RequestRecord], None]
_request_listeners: list[RequestListener] = []
_REQUEST: ContextVar[RequestRecord | None] = ContextVar("request", default=None)
_lines: list[Callable[[dict[str, object]], None]] = []
"""Functions that write a line for each call, if that was asked for."""


def listen_to_requests(listener: RequestListener) -> None:
    """Register a listener for all further requests over HTTP. It must not raise."""
    _request_listeners.append(listener)


def write_lines(write: Callable[[dict[str, object]], None]) -> None:
    """Write a line for each further call."""
    _lines.append(write)


class JsonFormatter(logging.Formatter):
    """Formats a record of the log as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        row: dict[str, object] = {"time": moment(record.created), "level": record.levelname.lower(), "event": "log"}
        row |= {"logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            row["error"] = self.formatException(record.exc_info)
        return _line(row)


def log_as_json(stream: TextIO) -> None:
    """Make the log JSON, one object a line, with one line for each call."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonFormatter())
    lock = threading.Lock()

    def write(row: dict[str, object]) -> None:
        with lock, suppress(OSError, ValueError):  # whoever read the log is gone
            stream.write(f"{_line(row)}\n")
            stream.flush()

    write_lines(write)


def _line(row: dict[str, object]) -> str:
    return json.dumps(row, ensure_ascii=True, separators=(",", ":"))


def current_request() -> RequestRecord | None:
    """The request that is being answered in this context; None outside of one."""
    record = _REQUEST.get()
    return record if record is not None and record.is_open else None


def identify(address: str = "", client: str = "", caller: RequestCaller | None = None) -> None:
    """Record who makes the request of this context, if it is known by now."""
    request = current_request()
    if request is not None:
        request.address, request.client = address or request.address, client or request.client
        request.caller = caller or request.caller


@contextmanager
def recorded_request(record: RequestRecord) -> Generator[None]:
    """Record what the block does for a request, then tell the listeners and write its line."""
    token = _REQUEST.set(record)
    try:
        yield
    finally:
        record.is_open = False
        _REQUEST.reset(token)
        for listener in _request_listeners:
            listener(record)
        _write(record.row())


def moment(when: float) -> str:
    """A time in ISO 8601, UTC, with milliseconds."""
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write(row: dict[str, object]) -> None:
    for write in _lines:
        write({name: value for name, value in row.items() if value not in ("", [], None)})


def listen(listener: CallListener) -> None:
    """Register a listener for all further calls."""
    _listeners.append(listener)


@dataclass(frozen=True, slots=True)
class Trace:
    """One call, as named in the log."""

    id: str
    """32 hex digits from a secure source."""
    verb: str


@contextmanager
def traced_call(verb: str, *, log_name: str = "the server's log") -> Generator[Trace]:
    """Log the outcome of the block: at INFO for a success or an expected error, with the stack for an unexpected error.

    Faces run calls in this block, so that every exception that reaches them is a `KnowledgeError`.

    Args:
        verb: The tool, route or command.
        log_name: Name of the log with the details of an unexpected error, used in the message.

    Raises:
        KnowledgeError: raised by the block; or code INTERNAL with the block's exception as its cause.
    """
    trace = Trace(secrets.token_hex(16), verb)
    began = time.perf_counter()
    outcome = "ok"
    request = current_request()
    facts = CallFacts()
    try:
        with recording_facts() as facts:
            yield trace
    except KnowledgeError as error:
        outcome = error.code
        if request is not None:
            request.fail(error)
        raise
    except Exception as error:
        outcome = type(error).__name__
        log.exception("%s failed, trace %s", verb, trace.id)
        raise KnowledgeError(f"Internal error; {log_name} has the details.") from error
    except BaseException as error:
        outcome = type(error).__name__
        raise
    finally:
        seconds = time.perf_counter() - began
        log.info("%s %s %.1f ms, trace %s", verb, outcome, seconds * 1000, trace.id)
        for listener in _listeners:
            listener(verb, outcome, seconds)
        if request is not None:
            request.tool, request.trace, request.bases = verb, trace.id, tuple(facts.bases)
        elif _lines:
            _write(_row(trace, outcome, seconds, facts))


def _row(trace: Trace, outcome: str, seconds: float, facts: CallFacts) -> dict[str, object]:
    """The line of a call that is in no request: over standard input, or in a session of the older era."""
    actor = facts.actor
    return {
        "time": moment(time.time() - seconds),
        "level": "info",
        "event": "call",
        "caller": (actor.name or actor.caller) if actor else "",
        "key": actor.caller if actor else "",
        "address": actor.address if actor else "",
        "client": actor.client if actor else "",
        "tool": trace.verb,
        "bases": list(facts.bases),
        "status": outcome,
        "ms": round(seconds * 1000, 1),
        "trace": trace.id,
    }
