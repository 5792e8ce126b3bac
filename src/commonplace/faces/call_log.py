"""What is noted of every call, whichever face it came through: a trace id, the verb, how long, how it ended.

Never arguments, content or results.
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
"""Told of every call: its verb, how it ended, and how many seconds it took. Must not raise."""

_listeners: list[CallListener] = []


def listen(listener: CallListener) -> None:
    """Tell a listener of every call from now on."""
    _listeners.append(listener)


@dataclass(frozen=True, slots=True)
class Trace:
    """One call, as the log names it."""

    id: str
    """32 hex digits from a secure source."""
    verb: str


@contextmanager
def traced_call(verb: str) -> Generator[Trace]:
    """Log how the block ended: at INFO when it went well or was the caller's mistake, with the stack when it was ours.

    Args:
        verb: The tool, route or command.
    """
    trace = Trace(secrets.token_hex(16), verb)
    began = time.perf_counter()
    outcome = "ok"
    try:
        yield trace
    except KnowledgeError as error:
        outcome = error.code
        raise
    except BaseException as error:
        outcome = type(error).__name__
        if isinstance(error, Exception):
            log.exception("%s failed, trace %s", verb, trace.id)
        raise
    finally:
        seconds = time.perf_counter() - began
        log.info("%s %s %.1f ms, trace %s", verb, outcome, seconds * 1000, trace.id)
        for listener in _listeners:
            listener(verb, outcome, seconds)
