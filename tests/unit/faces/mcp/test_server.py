"""Calls that belong to somebody's trace are at work in it, and a refused handshake is explained."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_PARAMS, JSONRPCError, JSONRPCRequest, TextContent
from opentelemetry.trace import format_trace_id, get_current_span

from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.toolset import Call, Parameters, Tool, Toolset, bind
from commonplace.services.collections import Collections
from commonplace.services.services import Services

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Nothing(Parameters):
    """No parameters."""


def trace_of(_call: Call, _given: Nothing) -> str:
    return format_trace_id(get_current_span().get_span_context().trace_id)


@pytest.mark.parametrize(
    ("meta", "trace"), [({"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}, TRACE), (None, "0" * 32)]
)
def test_a_call_is_at_work_in_the_trace_that_it_names(meta: Any, trace: str) -> None:
    tool = Tool(name="trace", title="Trace", description="The trace.", handler=bind(Nothing, trace_of))
    toolset = Toolset(name="one", server_name="one", instructions="", tools=(tool,), show_error=str)
    server = build_server(toolset, Services(collections=Collections(list)), "read")

    async def said() -> str:
        with anyio.fail_after(20):
            async with Client(server) as client:
                (block,) = (await client.call_tool("trace", {}, meta=meta)).content
        assert isinstance(block, TextContent)
        return block.text

    assert anyio.run(said) == trace


def test_a_handshake_that_lacks_something_is_told_what() -> None:
    toolset = Toolset(name="one", server_name="one", instructions="", tools=(), show_error=str)
    whole: dict[str, Any] = {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"},
    }  # fmt: skip
    cases: list[tuple[str, dict[str, Any] | None, str]] = [
        ("initialize", {**whole, "clientInfo": None}, "lacks clientInfo,"),
        ("initialize", {**whole, "clientInfo": {"version": "1"}}, "lacks clientInfo.name,"),
        ("initialize", {"clientInfo": {"name": "a"}}, "lacks capabilities, clientInfo.version, protocol"),
        ("initialize", None, "lacks params,"),
        ("ping", {"_meta": 3}, "Invalid request parameters"),
    ]

    async def refused(method: str, params: dict[str, Any] | None) -> JSONRPCError:
        server = build_server(toolset, Services(collections=Collections(list)), "read")
        to_server, requests = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        answers, from_server = anyio.create_memory_object_stream[SessionMessage](1)
        answer: object = None
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks, to_server, from_server:
                tasks.start_soon(server.run, requests, answers, server.create_initialization_options())
                request = JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)
                await to_server.send(SessionMessage(request))
                answer = (await from_server.receive()).message
                tasks.cancel_scope.cancel()
        assert isinstance(answer, JSONRPCError)
        return answer

    for method, params, text in cases:
        error = anyio.run(refused, method, params).error
        assert (error.code, text in error.message) == (INVALID_PARAMS, True), error
