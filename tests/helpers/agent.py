"""An agent: the official MCP client on the real process over stdio, driven from synchronous tests."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CallToolResult, TextContent, Tool

from deployments.deployment import Served, by_port, deployed, in_step
from forks.preloaded import preloaded
from remotes import canary

TIMEOUT = 60.0
"""Seconds that any one call may take."""
Mode = Literal["auto", "legacy"]
BODY = frozenset({"body", "body_truncated", "body_length", "body_offset", "body_chunk_size"})
TEXT_ALONE = frozenset({"text", "notice", "suggestion"}) | BODY
"""Keys that an answer of kb_search or kb_get within a budget has in its text block alone."""


class RefusedError(AssertionError):
    """A tool answered with an error; `shown` is what it said."""

    def __init__(self, result: CallToolResult) -> None:
        self.text = text_of(result)
        self.result = result
        super().__init__(self.text)

    @property
    def shown(self) -> dict[str, Any]:
        return json.loads(self.text)


class Agent:
    """A connected client whose calls return what a tool answered."""

    def __init__(
        self, portal: BlockingPortal, client: Client, served: Sequence[str | Path] = (), follows: Served | None = None
    ) -> None:
        self._served = served
        self._follows = follows or Served()
        self.portal = portal
        """The loop in which the client lives, in a thread of its own."""
        self._client = client

    def raw(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """The whole result of a call."""
        canary.plant(self._served)  # a store that was made meanwhile, too
        with in_step():
            needed = self._follows.needed()
            meta: Any = {"commonplace/at_least": needed} if needed else None
            result = self.portal.call(
                lambda: self._client.call_tool(tool, arguments, read_timeout_seconds=TIMEOUT, meta=meta)
            )
        assert isinstance(result, CallToolResult)
        return result

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The structured content of a call that succeeds; its text block must say the same.

        That of kb_search says less, and within a budget the text is in the text block alone.

        Raises:
            RefusedError: the tool answered with an error.
        """
        result = self.raw(tool, **arguments)
        if result.is_error:
            raise RefusedError(result)
        shown = result.structured_content
        assert shown is not None
        first, *notes = [json.loads(block.text) for block in result.content if isinstance(block, TextContent)]
        reported_value: Any = {"result": first} if isinstance(first, list) else first
        for note in notes:
            reported_value |= note
        is_divided = tool == "kb_search" or (tool == "kb_get" and "max_tokens" in arguments)
        assert _within(reported_value, shown) if is_divided else reported_value == shown
        return shown

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that succeeds."""
        result = self.raw(tool, **arguments)
        if result.is_error:
            raise RefusedError(result)
        return text_of(result)

    def refusal(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error object of a call that the tool rejects."""
        result = self.raw(tool, **arguments)
        assert result.is_error, text_of(result)
        assert result.structured_content is None
        return json.loads(text_of(result))

    def protocol_error(self, tool: str, /, **arguments: Any) -> MCPError:
        """The JSON-RPC error that a call ends with."""
        try:
            result = self.raw(tool, **arguments)
        except MCPError as error:
            return error
        raise AssertionError(f"no protocol error: {text_of(result)}")

    def tools(self) -> dict[str, Tool]:
        """The listed tools by name, in order."""
        return {tool.name: tool for tool in self.portal.call(self._client.list_tools).tools}

    @property
    def client(self) -> Client:
        """The connected client, for what has no method here."""
        return self._client

    def run(self, function: Any, /, *arguments: Any) -> Any:
        """Await a client's method from this thread."""
        return self.portal.call(function, *arguments)


def _within(report: Any, shown: Any) -> bool:
    """Whether a text says nothing but what the structured content says, of every item, besides text within a budget."""
    if isinstance(report, dict) and isinstance(shown, dict):
        said = {key: value for key, value in cast("Any", report).items() if key in shown or key not in TEXT_ALONE}
        return all(key in shown and _within(value, shown[key]) for key, value in said.items())
    if isinstance(report, list) and isinstance(shown, list):
        pairs = zip(cast("Any", report), cast("Any", shown), strict=False)
        return len(cast("Any", report)) == len(cast("Any", shown)) and all(_within(value, two) for value, two in pairs)
    return report == shown


@contextmanager
def agent(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    mode: Mode = "auto",
    log: Path | None = None,
    module: str = "commonplace",
    fresh: bool = False,
    **more: Any,
) -> Iterator[Agent]:
    """A client on a new process of `commonplace` or another module, with these arguments, such as `"mcp", folder`.

    Unless it must be `fresh`, the process is forked from one that has loaded the product. `more` is the client's.
    """
    environment = {**os.environ, **(env or {})}
    served = [*arguments, environment.get("KNOWLEDGE_MCP_HOME", ""), environment.get("COMMONPLACE_KB", "")]
    canary.plant(served)
    line_arguments, follows = deployed(arguments)
    if follows.checkouts:
        module = "commonplace"  # the programs of the toolsets take folders alone
    line = None if fresh else preloaded().stand_in(environment, module)
    command, *before = line or [sys.executable, "-m", module]
    server = StdioServerParameters(command=command, args=[*before, *map(str, line_arguments)], env=environment)
    with start_blocking_portal() as portal:
        if log is None:
            with portal.wrap_async_context_manager(Client(server, mode=mode, **more)) as client:
                yield Agent(portal, client, served, follows)
        else:
            with (
                log.open("w") as errors,
                portal.wrap_async_context_manager(
                    Client(stdio_client(server, errlog=errors), mode=mode, **more)
                ) as client,
            ):
                yield Agent(portal, client, served, follows)


class Told:
    """The notifications that a client received for one call."""

    def __init__(self) -> None:
        self.counts: list[tuple[float, float | None]] = []

    async def __call__(self, done: float, total: float | None, message: str | None) -> None:
        del message
        self.counts.append((done, total))

    @property
    def is_growing(self) -> bool:
        """Whether every count is more than the one before, as the protocol asks, and none is past its total."""
        done = [count for count, _ in self.counts]
        return done == sorted(set(done)) and all(total is None or count <= total for count, total in self.counts)


def start(client: Agent, tool: str, /, progress: ProgressFnT | None = None, **arguments: Any) -> Future[CallToolResult]:
    """Begin a call and go on; to cancel what comes back is to cancel the call, as programs do."""

    async def call() -> CallToolResult:
        result = await client.client.call_tool(
            tool, arguments, read_timeout_seconds=TIMEOUT, progress_callback=progress
        )
        assert isinstance(result, CallToolResult)
        return result

    return client.portal.start_task_soon(call)


@contextmanager
def online(url: str, *, mode: Mode = "auto", **more: Any) -> Iterator[Agent]:
    """A client on a running server, such as one at `http://127.0.0.1:1234/mcp/kb`; `more` is the client's."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(url, mode=mode, **more)) as client,
    ):
        yield Agent(portal, client, follows=by_port.get(urlsplit(url).port or 0))


def text_of(result: CallToolResult) -> str:
    """The text blocks of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def ids(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of rows, in order."""
    return [row["id"] for row in rows]
