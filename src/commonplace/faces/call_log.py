"""The log of calls, the same for every face: trace id, verb, duration and outcome.

Arguments, content and results are never logged.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from commonplace.domain.errors import KnowledgeError

log = logging.getLogger("commonplace.calls")

CallListener = Callable[[str, str, float], None]
"""Called after every call with its verb, its outcome and its duration in seconds. Must not raise."""

_listeners: list[CallListener] = []


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
    try:
        yield trace
    except KnowledgeError as error:
        outcome = error.code
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
