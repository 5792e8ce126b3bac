"""The graph port over a stdio MCP server with the tools `list_nodes` and `get_node`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from commonplace import __version__
from commonplace.domain.errors import UnavailableError
from commonplace.domain.json import Json, finite_json
from commonplace.toolsets.cascade.foreign.process import REFUSED, ServerProcess
from commonplace.toolsets.cascade.rules.foreign import BROKEN, Fact, ForeignNode
from commonplace.toolsets.cascade.rules.health import outside_line

REQUEST_SECONDS = 5.0
MAX_SHOWN_TOOLS = 5
"""Maximum number of a server's tools that a message names."""
PROTOCOL = "2025-06-18"
"""The requested protocol version. Any server that supports `initialize` answers with its own."""


class StdioGraph:
    """A graph whose server is started by the first request and runs until it fails or the graph is closed.

    Not thread-safe: the layer sends one request after the other.

    Args:
        command: Program and arguments.
        seconds: Timeout of each request.
    """

    def __init__(self, command: Sequence[str], seconds: float = REQUEST_SECONDS) -> None:
        self._command = tuple(command)
        self._seconds = seconds
        self._server: ServerProcess | None = None

    def node_ids(self) -> list[str]:
        """The ids of all nodes, each once. Raises the errors of the port."""
        answer = _mapping(self._call("list_nodes", {}))
        ids = answer.get("nodes")
        if not isinstance(ids, list):
            raise self._given_up('its answer to list_nodes has no list "nodes"', BROKEN)
        return list(dict.fromkeys(_text(one) for one in ids if isinstance(one, str)))

    def node(self, identifier: str) -> ForeignNode | None:
        """One node. Raises the errors of the port."""
        answer = self._call("get_node", {"id": identifier})
        if answer is None:
            return None
        if not isinstance(answer, dict):
            raise self._given_up("its answer to get_node is not a node", BROKEN)
        return _node(answer)

    def close(self) -> None:
        """Terminate the server if it is running."""
        server, self._server = self._server, None
        if server:
            server.close()

    def _call(self, tool: str, arguments: Mapping[str, Json]) -> Json:
        try:
            server = self._server or self._start()
            try:
                result = server.request("tools/call", {"name": tool, "arguments": arguments}, self._seconds)
                return _content(_mapping(result))
            except UnavailableError as error:
                if error.kind != REFUSED:
                    raise
                raise self._without(tool, server) or error from error
        except UnavailableError as error:
            kind = BROKEN if error.kind == BROKEN else ""
            raise self._given_up(f"{tool}: {error}" if self._server else str(error), kind) from error

    def _without(self, tool: str, server: ServerProcess) -> UnavailableError | None:
        """The error for a server that does not offer a tool; None if it does, or does not list its tools."""
        try:
            listed = _mapping(server.request("tools/list", {}, self._seconds)).get("tools")
        except UnavailableError:
            return None
        names = [_text(_mapping(one).get("name")) for one in listed] if isinstance(listed, list) else [tool]
        if tool in names:
            return None
        offered = ", ".join(map(outside_line, names[:MAX_SHOWN_TOOLS])) or "none"
        return UnavailableError(f"it offers no such tool, but {offered}", kind=BROKEN)

    def _start(self) -> ServerProcess:
        self._server = server = ServerProcess(self._command)
        client: dict[str, Json] = {"name": "commonplace", "version": __version__}
        hello: dict[str, Json] = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        server.request("initialize", hello, self._seconds)
        server.notify("notifications/initialized", self._seconds)
        return server

    def _given_up(self, reason: str, kind: str = "") -> UnavailableError:
        """Terminate a failed server, so that the next request starts a new one."""
        server, self._server = self._server, None
        if server:
            server.close(grace=0.0)
        return UnavailableError(reason, kind=kind)


def _content(result: Mapping[str, Json]) -> Json:
    """The result of a tool, from its text block.

    Raises:
        UnavailableError: the result is an error, or not JSON text.
    """
    if result.get("isError") is True:
        raise UnavailableError("it answered with an error", kind=REFUSED)
    blocks = result.get("content")
    text = _mapping(blocks[0] if isinstance(blocks, list) and blocks else None).get("text")
    if not isinstance(text, str):
        raise UnavailableError("its answer is no JSON text", kind=BROKEN)
    try:
        return cast("Json", finite_json(text))
    except ValueError:
        raise UnavailableError("its answer is no JSON text", kind=BROKEN) from None


def _node(fields: Mapping[str, Json]) -> ForeignNode:
    facts = fields.get("facts")
    see_also = fields.get("see_also")
    return ForeignNode(
        title=_text(fields.get("title")),
        kind=_text(fields.get("kind")),
        facts=tuple(_fact(one) for one in facts if isinstance(one, dict)) if isinstance(facts, list) else (),
        see_also=tuple(filter(None, map(_text, see_also))) if isinstance(see_also, list) else (),
    )


def _fact(fields: Mapping[str, Json]) -> Fact:
    return Fact(_text(fields.get("topic")), _text(fields.get("text")), _text(fields.get("lastTouched")) or None)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    """Text with one kind of line end and without lone surrogates, which JSON allows and UTF-8 does not."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return ""
    return str(value).replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode().strip()
