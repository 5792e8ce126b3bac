"""The client of a call, through the SDK.

A request to the client blocks in the older era and ends the call in the newer.
"""

from __future__ import annotations

import concurrent.futures
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TypedDict, cast

import anyio.from_thread
import mcp_types as types
from mcp import MCPError
from mcp.server.connection import allowed_log_levels
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from commonplace.domain.errors import InvalidInputError, Stopped
from commonplace.domain.json import JsonObject
from commonplace.faces.mcp.peers import LEVELS, InputNeeded, Level, ProgressCounter, UnableError
from commonplace.faces.mcp.sdk import Context, session_of
from commonplace.faces.worker_threads import go_on

ASK_TIMEOUT = 300.0
"""Timeout in seconds for a person's answer in the older era."""
MAX_LOG_SESSIONS = 10_000
"""Maximum number of sessions with a stored log level.

Beyond it, the oldest sessions get messages of every level again.
"""
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""Client capability required by each method."""
_RESULTS: dict[str, type[types.Result]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
_REQUEST: TypeAdapter[types.InputRequest] = TypeAdapter(types.InputRequest)
_REQUESTS: TypeAdapter[types.InputRequests] = TypeAdapter(types.InputRequests)


class LogLevels:
    """Minimum level of log messages for clients of the older era, by session."""

    def __init__(self) -> None:
        self._least: OrderedDict[str, Level] = OrderedDict()
        self._lock = Lock()

    async def set(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Store the minimum level that a session has requested."""
        with self._lock:
            self._least[session_of(context)] = params.level
            while len(self._least) > MAX_LOG_SESSIONS:
                self._least.popitem(last=False)
        return types.EmptyResult()

    def wants(self, context: Context, level: Level) -> bool:
        """Whether the client of a request wants messages of this level."""
        with self._lock:
            least = self._least.get(session_of(context), LEVELS[0])
        asked_for = allowed_log_levels(context.protocol_version, cast("Mapping[str, object] | None", context.meta))
        return level in asked_for and LEVELS.index(level) >= LEVELS.index(least)


def wants_progress(context: Context) -> bool:
    """Whether a client has requested the progress of its request."""
    return progress_token_from_params(context.params) is not None


@dataclass(frozen=True, slots=True)
class ConnectedPeer:
    """The client of one request. For use in the worker thread that runs the call."""

    context: Context
    levels: LogLevels
    meter: ProgressCounter = field(default_factory=ProgressCounter)

    def can(self, capability: str) -> bool:
        """Whether the client declared a capability."""
        declared = getattr(self.context.session.client_capabilities, capability, None)
        if isinstance(declared, types.ElicitationCapability):  # a form is meant, which one with `url` alone cannot show
            return declared.form is not None or declared.url is None
        return declared is not None

    def ask(self, requests: Mapping[str, JsonObject]) -> Mapping[str, JsonObject]:
        """Send requests to the client; returns the answers by name. See `Peer.ask` for the errors."""
        for request in requests.values():
            capability = CAPABILITIES.get(str(request.get("method")), "")
            if not self.can(capability):
                raise UnableError(capability)
        if not is_modern(self.context):
            return {name: anyio.from_thread.run(self._sent, request) for name, request in requests.items()}
        answers = _answers(self.context)
        missing = {name: request for name, request in requests.items() if name not in answers}
        if missing:
            raise InputNeeded(missing, answers)
        return {name: answers[name] for name in requests}

    def answered(self) -> Sequence[str]:
        """The names of this server's requests that the client has answered in this call; none in the older era."""
        if not is_modern(self.context):
            return ()
        state, answers = _state(self.context), _answers(self.context)
        return tuple(name for name in (*state["answers"], *state["asked"]) if name in answers)

    def log(self, level: Level, text: str) -> None:
        """Send a log message if the client wants messages of this level."""
        if self.levels.wants(self.context, level):
            anyio.from_thread.run(self._logged, level, text)

    def progress(self, done: int, total: int) -> None:
        """Report progress if the client has requested it."""
        go_on()
        if wants_progress(self.context):
            self._tell(self.meter.counted(done, total))

    def step(self, done: int, total: int) -> None:
        """Report progress at a limited rate, for counters that change often."""
        go_on()
        if wants_progress(self.context):
            self._tell(self.meter.sampled(done, total))

    def _tell(self, count: tuple[int, int] | None) -> None:
        if count is None:
            return
        done, total = count
        try:
            anyio.from_thread.run(self.context.session.report_progress, done, total or None)
        except concurrent.futures.CancelledError:
            raise Stopped("the client has cancelled the call") from None

    async def _sent(self, request: JsonObject) -> JsonObject:
        parsed = _REQUEST.validate_python(request)
        try:
            result = await self.context.session.send_request(
                parsed,
                _RESULTS[parsed.method],
                ASK_TIMEOUT,
                ServerMessageMetadata(related_request_id=self.context.request_id),
            )
        except MCPError as error:
            raise InvalidInputError(f"The client did not answer: {error}.", kind="client") from error
        return _dumped(result)

    async def _logged(self, level: Level, text: str) -> None:
        params = types.LoggingMessageNotificationParams(level=level, data=text)
        message = types.LoggingMessageNotification(params=params)
        await self.context.session.send_notification(message, related_request_id=self.context.request_id)


def is_modern(context: Context) -> bool:
    """Whether a request is of the newer era, in which a server requests input by returning from the call."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def input_required(needed: InputNeeded) -> types.InputRequiredResult:
    """The result for a client of the newer era when a call needs its input."""
    requests = _REQUESTS.validate_python(dict(needed.requests))
    state = _State(answers=dict(needed.known), asked=list(needed.requests))
    return types.InputRequiredResult(input_requests=requests, request_state=json.dumps(state))


def unable(error: UnableError) -> MCPError:
    """The error for a client of the newer era that lacks a required capability."""
    required = {"requiredCapabilities": {error.capability: dict[str, object]()}}
    return MCPError(code=types.MISSING_REQUIRED_CLIENT_CAPABILITY, message=str(error), data=required)


def _answers(context: Context) -> dict[str, JsonObject]:
    """The client's answers in this and earlier rounds."""
    now = (context.params or {}).get("inputResponses")
    return _state(context)["answers"] | (cast("dict[str, JsonObject]", now) if isinstance(now, dict) else {})


class _State(TypedDict):
    """The state that a client carries from one round of a call to the next; its seal was verified before."""

    answers: dict[str, JsonObject]
    """The answers of earlier rounds."""
    asked: list[str]
    """The names of the requests of the last round."""


def _state(context: Context) -> _State:
    state = (context.params or {}).get("requestState")
    return cast("_State", json.loads(state)) if isinstance(state, str) else _State(answers={}, asked=[])


def _dumped(result: types.Result) -> JsonObject:
    return cast("JsonObject", result.model_dump(by_alias=True, mode="json", exclude_none=True))
