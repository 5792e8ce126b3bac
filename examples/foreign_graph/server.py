"""A small foreign graph: a stdio MCP server that offers `list_nodes` and `get_node`, written without any library.

It shows what a layer of source `mcp` needs, no more: `python server.py [nodes.json]`. The file holds an object of
nodes by id; without one, a few of its own are served.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NODES: dict[str, Any] = {
    "systems/tide-gauge": {
        "title": "Tide gauge",
        "kind": "Device",
        "facts": [
            {"topic": "Location", "text": "North quay, behind the crane.", "lastTouched": "2026-03-04"},
            {"topic": "Owner", "text": "Harbour office", "lastTouched": "2026-08-01"},
        ],
        "see_also": ["systems/booking"],
    },
    "systems/booking": {
        "title": "Booking",
        "kind": "System",
        "facts": [{"topic": "Owner", "text": "Harbour office", "lastTouched": "2026-09-15"}],
        "see_also": [],
    },
}
TOOLS = [
    {"name": "list_nodes", "description": "The ids of all nodes.", "inputSchema": {"type": "object"}},
    {
        "name": "get_node",
        "description": "A node by id, or null.",
        "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    },
]


def answer(method: str, params: dict[str, Any], nodes: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not known."""
    if method == "initialize":
        server = {"name": "foreign-graph", "version": "1.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method != "tools/call":
        return None
    arguments = params.get("arguments") or {}
    shown = {"nodes": sorted(nodes)} if params["name"] == "list_nodes" else nodes.get(arguments.get("id"))
    return {"content": [{"type": "text", "text": json.dumps(shown)}], "isError": False}


def main() -> None:
    """Answer one request a line until the input ends."""
    nodes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")) if len(sys.argv) > 1 else NODES
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {}, nodes)
        reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "Unknown method"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
