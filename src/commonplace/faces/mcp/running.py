"""How one request runs: in a worker thread, noted, once the index is ready; shared by all that a server offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import anyio.from_thread
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from starlette.requests import HTTPConnection

from commonplace.domain.ports import Progress
from commonplace.faces.access.callers import caller_of
from commonplace.faces.mcp.dialect import Call, Tier
from commonplace.faces.observe import observed
from commonplace.services.services import Services

READY_TIMEOUT = 45.0
"""Seconds that a request waits for the first index."""

State = Mapping[str, object]
Context = ServerRequestContext[State]
McpServer = Server[State]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs requests on the services at one tier."""

    services: Services
    tier: Tier

    async def run(self, context: Context, verb: str, function: Callable[[Call], T], *, abandon: bool = True) -> T:
        """Call a function in a worker thread.

        Args:
            context: The request.
            verb: What the log names it.
            function: Given who calls and on what.
            abandon: Whether to leave it behind when the client cancels. A writer always finishes, so that its answer
                is true.
        """
        scope = _scope(context)
        caller = caller_of(scope) if scope else None
        services = self.services.only(caller.collections) if caller else self.services
        client = _session(scope) or caller.id if scope and caller else ""
        call = Call(services=services, tier=self.tier, progress=_reporter(context), client=client)
        return await anyio.to_thread.run_sync(partial(_run, verb, function, call), abandon_on_cancel=abandon)


def _scope(context: Context) -> Mapping[str, Any]:
    """The HTTP request's ASGI scope; empty on standard input and output."""
    request: object = context.request
    return cast("HTTPConnection[Any]", request).scope if isinstance(request, HTTPConnection) else {}


def _session(scope: Mapping[str, Any]) -> str:
    """The session of the older era that a request belongs to, "" for none."""
    request = HTTPConnection(dict(scope))
    return request.headers.get("mcp-session-id") or request.query_params.get("session_id", "")


def _run(verb: str, function: Callable[[Call], T], call: Call) -> T:
    with observed(verb) as trace:
        call.services.collections.wait_ready(READY_TIMEOUT, call.progress)
        return function(replace(call, trace=trace.id))


def _reporter(context: Context) -> Progress:
    """Progress from a worker thread to the client; nothing is sent to a client that did not ask for it."""

    def report(done: int, total: int) -> None:
        anyio.from_thread.run(context.session.report_progress, done, total or None)

    return report
