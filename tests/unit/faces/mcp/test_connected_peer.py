"""The client of a call, asked in mid-call: while the call waits in the older era, by a second call in the newer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
import pytest
from mcp import Client

from commonplace.domain.json import JsonObject
from commonplace.faces.mcp.peers import Level
from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.toolset import BoundHandler, Call, Tool, ToolResult, Toolset
from commonplace.services.collections import Collections
from commonplace.services.services import Services

Mode = Literal["auto", "legacy"]
T = TypeVar("T")
MODES: tuple[Mode, ...] = ("auto", "legacy")
FORM: JsonObject = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Which one?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


def called(run: Callable[[Call], ToolResult], mode: Mode, **more: Any) -> types.CallToolResult:
    """The result of a call of a tool that does this."""

    async def talk(client: Client) -> types.CallToolResult:
        result = await client.call_tool("act", {})
        assert isinstance(result, types.CallToolResult)
        return result

    return served(run, talk, mode=mode, **more)


def served(run: Callable[[Call], ToolResult], talk: Callable[[Client], Awaitable[T]], **more: Any) -> T:
    """What a client gets of a server whose tool does this."""

    def handler(call: Call, arguments: JsonObject) -> ToolResult:
        del arguments
        return run(call)

    bound = BoundHandler(lambda: {"type": "object"}, handler)
    tool = Tool(name="act", title="Act", description="Act.", handler=bound, asks=True)
    toolset = Toolset(name="x", server_name="x", instructions="", tools=(tool,), show_error=str, asks=True)
    server: Any = build_server(toolset, Services(collections=Collections(list)), "read")

    async def connected() -> T:
        async with Client(server, **more) as client:
            return await talk(client)

    return anyio.run(connected)


def text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def answer(context: object, params: object) -> types.ElicitResult:
    del context, params
    return types.ElicitResult(action="accept", content={"name": "tea"})


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_can_is_asked_and_its_answer_comes_to_the_call(mode: Mode) -> None:
    def act(call: Call) -> str:
        assert call.peer.can("elicitation")
        found_value: Any = call.peer.ask({"which": FORM})["which"]
        return f"{found_value['action']} {found_value['content']['name']}"

    assert text(called(act, mode, elicitation_callback=answer)) == "accept tea"


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_cannot_is_not_asked(mode: Mode) -> None:
    def act(call: Call) -> str:
        return str((call.peer.can("elicitation"), call.peer.can("sampling"), call.peer.can("roots")))

    assert text(called(act, mode)) == "(False, False, False)"


def test_a_call_that_needs_more_than_the_client_can_is_refused_in_the_older_era() -> None:
    refused = called(lambda call: str(call.peer.ask({"which": FORM})), "legacy")
    assert refused.is_error
    assert "elicitation" in text(refused)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_messages_below_the_level_that_a_session_asked_for_are_not_sent() -> None:
    received: list[str] = []

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        received.append(str(params.data))

    def act(call: Call) -> str:
        levels: list[Level] = ["debug", "warning", "error"]
        for level in levels:
            call.peer.log(level, level)
        return "done"

    def handler(call: Call, arguments: JsonObject) -> ToolResult:
        del arguments
        return act(call)

    bound = BoundHandler(lambda: {"type": "object"}, handler)
    tool = Tool(name="act", title="Act", description="Act.", handler=bound)
    toolset = Toolset(name="x", server_name="x", instructions="", tools=(tool,), show_error=str, asks=True)
    server: Any = build_server(toolset, Services(collections=Collections(list)), "read")

    async def talk() -> None:
        async with Client(server, mode="legacy", logging_callback=logged) as client:
            await client.call_tool("act", {})
            await client.set_logging_level("warning")
            await client.call_tool("act", {})

    anyio.run(talk)
    assert received == ["debug", "warning", "error", "warning", "error"]


def test_an_answer_counts_as_asked_for_only_with_the_state_that_asked() -> None:
    answered: list[Sequence[str]] = []

    def run(call: Call) -> ToolResult:
        answered.append(call.peer.answered())
        call.peer.ask({"one": FORM})
        return "done"

    async def both(client: Client) -> None:
        asked = await client.session.call_tool("act", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        given: Any = {"one": types.ElicitResult(action="accept", content={"name": "x"})}
        for state in (None, asked.request_state):
            await client.session.call_tool("act", {}, input_responses=given, request_state=state)

    served(run, both, elicitation_callback=answer)
    assert answered == [(), (), ("one",)]
