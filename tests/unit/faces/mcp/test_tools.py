"""The SDK compares the `Mcp-Param` headers of a call with the schemas that declare such headers, and with no other."""

from __future__ import annotations

from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.tools import ToolHandlers
from commonplace.faces.mcp.toolset import BoundHandler, Call, Tool, Toolset
from commonplace.services.collections import Collections
from commonplace.services.services import Services

PLAIN: dict[str, Json] = {"type": "object", "properties": {"value": {"type": "string"}}}
DECLARING: dict[str, Json] = {"type": "object", "properties": {"value": {"type": "string", "x-mcp-header": "Value"}}}


def tool(name: str, schema: dict[str, Json]) -> Tool:
    def run(call: Call, arguments: JsonObject) -> str:
        return f"{call.tier} {arguments}"

    return Tool(name=name, title=name, description=name, handler=BoundHandler(lambda: schema, run))


def test_only_a_schema_that_declares_headers_is_walked_through_in_each_call() -> None:
    tools = (tool("plain", PLAIN), tool("declaring", DECLARING))
    toolset = Toolset(name="x", server_name="x", instructions="", tools=tools, show_error=str)
    handlers = ToolHandlers(toolset, Runner(Services(collections=Collections(list)), "read"))
    for _ in range(2):
        assert handlers.header_schema("plain") is None
        assert handlers.header_schema("declaring") == DECLARING
        assert handlers.header_schema("unknown") is None
