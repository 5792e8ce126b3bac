"""Calls that belong to somebody's trace are at work in it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import TextContent
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
def test_a_call_is_at_work_in_the_trace_that_it_names(meta: dict[str, Any] | None, trace: str) -> None:
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
