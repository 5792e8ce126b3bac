"""The client of a call, as an interface for the code that runs the call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal, Protocol, TypeAlias, get_args

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import JsonObject

Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Levels of log messages, from least to most severe (RFC 5424)."""


class Peer(Protocol):
    """The client of one call."""

    def can(self, capability: str) -> bool:
        """Whether the client declared a capability: `elicitation`, `sampling` or `roots`."""
        ...

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Send requests to the client; returns the answers by name.

        Requests look like `{"name": {"method": "elicitation/create", "params": {...}}}`. In the newer era, the call
        ends here if an answer is missing. The client then repeats the call with its answers, and the call runs from
        the start. Names must therefore be unique within the call, and the code before `ask` must be safe to repeat.

        Raises:
            UnableError: the client lacks the required capability.
            InvalidInputError: the client refuses, or does not answer in time.
            InputNeeded: ends the call so that the client can repeat it; must not be caught.
        """
        ...

    def answered(self) -> Sequence[str]:
        """The names of this server's requests that the client has answered in this call; none in the older era."""
        ...

    def log(self, level: Level, text: str) -> None:
        """Send a log message if the client wants messages of this level."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Report progress if the client has requested it; `total` is 0 if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class NullClient:
    """A peer for calls without a client: requests fail, messages are discarded."""

    def can(self, capability: str) -> bool:
        """Return False."""
        del capability
        return False

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Raise InvalidInputError."""
        del requests
        raise InvalidInputError("There is no client to ask.", kind="client")

    def answered(self) -> Sequence[str]:
        """Return nothing."""
        return ()

    def log(self, level: Level, text: str) -> None:
        """Do nothing."""
        del level, text

    def progress(self, done: int, total: int) -> None:
        """Do nothing."""
        del done, total


NULL_CLIENT = NullClient()


class UnableError(InvalidInputError):
    """The client did not declare a capability that a call needs."""

    def __init__(self, capability: str) -> None:
        super().__init__(
            f"This needs a client that can do {capability or 'what is asked for'}, and this one did not say so.",
            kind="client",
            hint="Use a client that declares the capability.",
        )
        self.capability = capability


class InputNeeded(BaseException):
    """Ends a call that needs the client's answers. A `BaseException`, so that no error handler catches it."""

    def __init__(self, requests: Mapping[str, JsonObject], json_objects: Mapping[str, JsonObject]) -> None:
        super().__init__("the client is asked")
        self.requests = requests
        """The requests to the client, by name."""
        self.known = json_objects
        """The client's answers in earlier rounds of this call, by name."""


# Progress of a call, summed over its parts.


REPORT_SECONDS = 0.1
"""Minimum interval in seconds between two reports of a fast counter."""


@dataclass(slots=True)
class _Part:
    """Steps done in the current part, and in all parts before it."""

    before: int = 0
    done: int = 0


class ProgressCounter:
    """Sums the progress of a call's parts (waiting for the index, each collection). The sum never decreases."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._part = _Part()
        self._told = -1
        self._when = 0.0

    def counted(self, done: int, total: int) -> tuple[int, int] | None:
        """Steps done and in total over all parts so far (total 0: unknown); None if the number has not grown.

        Args:
            done: Steps done in the current part. A smaller number than before starts the next part.
            total: Total steps of the current part; 0 if unknown.
        """
        with self._lock:
            return self._counted(done, total)

    def sampled(self, done: int, total: int) -> tuple[int, int] | None:
        """Same as `counted`, but also None within `REPORT_SECONDS` of the last report, unless the part is complete."""
        with self._lock:
            now = time.monotonic()
            if done < total and done >= self._part.done and now - self._when < REPORT_SECONDS:
                self._part.done = done
                return None
            self._when = now
            return self._counted(done, total)

    def _counted(self, done: int, total: int) -> tuple[int, int] | None:
        part = self._part
        if done < part.done:
            self._part = part = _Part(before=part.before + part.done)
        part.done = done
        reached = part.before + done
        if reached <= self._told:
            return None
        self._told = reached
        return reached, part.before + total if total else 0
