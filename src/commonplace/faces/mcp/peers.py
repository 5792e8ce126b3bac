"""The client at the other end of a call, as what runs the call sees it: somebody who can be asked and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import JsonObject

Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""Of log messages, from the least to the most serious (RFC 5424)."""


class Peer(Protocol):
    """The client of one call."""

    def can(self, capability: str) -> bool:
        """Whether it declared a capability: `elicitation`, `sampling` or `roots`."""
        ...

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Answers by name, to requests such as `{"name": {"method": "elicitation/create", "params": {...}}}`.

        In the newer era the call ends here when an answer is missing, and begins anew from the start once the client
        has it; names must therefore be unique within the call, and what stands before `ask` must bear a repetition.

        Raises:
            UnableError: the client cannot do what is asked for.
            InvalidInputError: it refuses, or does not answer in time.
            InputNeeded: this call ends, to be repeated; not to be caught.
        """
        ...

    def log(self, level: Level, text: str) -> None:
        """Send a log message, if the client wants those of this level."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Tell how far the call is, if the client wants to know; `total` is 0 where nobody knows."""
        ...


@dataclass(frozen=True, slots=True)
class NullClient:
    """Where there is no client that could be asked."""

    def can(self, capability: str) -> bool:
        """False."""
        del capability
        return False

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Raises InvalidInputError."""
        del requests
        raise InvalidInputError("There is no client to ask.", kind="client")

    def log(self, level: Level, text: str) -> None:
        """Nothing."""
        del level, text

    def progress(self, done: int, total: int) -> None:
        """Nothing."""
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
    """Ends a call that cannot go on without the client's answers; no error, so nothing that handles those sees it."""

    def __init__(self, requests: Mapping[str, JsonObject], known: Mapping[str, JsonObject]) -> None:
        super().__init__("the client is asked")
        self.requests = requests
        """What is asked, by name."""
        self.known = known
        """What earlier rounds of this call answered, by name."""
