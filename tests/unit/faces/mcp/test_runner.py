"""One request: run beside the loop, for its caller, and never with the text of an unexpected error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
import pytest
from mcp import Client

from commonplace.domain.changes import CURRENT_CLIENT
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Progress
from commonplace.faces.mcp.runner import READY_TIMEOUT
from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.toolset import BoundHandler, Call, Tool, ToolResult, Toolset
from commonplace.services.collections import UNFINISHED_SECONDS, Collections
from commonplace.services.services import Services
from indexed import Indexed

T = TypeVar("T")


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        yield Services(collections=base.collections)


def called(
    services: Services,
    run: Callable[[Call], ToolResult],
    *,
    answers_unfinished: bool = False,
    with_call: dict[str, Any] | None = None,
    **more: Any,
) -> types.CallToolResult:
    """The result of a call of a tool that does this."""

    def handler(call: Call, arguments: JsonObject) -> ToolResult:
        del arguments
        return run(call)

    bound = BoundHandler(lambda: {"type": "object"}, handler)
    tool = Tool(name="act", title="Act", description="Act.", handler=bound, answers_unfinished=answers_unfinished)
    toolset = Toolset(name="x", server_name="x", instructions="", tools=(tool,), show_error=lambda error: error.advice)
    server: Any = build_server(toolset, services, "read")

    async def talk() -> types.CallToolResult:
        async with Client(server, **more) as client:
            result = await client.call_tool("act", {}, **(with_call or {}))
            assert isinstance(result, types.CallToolResult)
            return result

    return anyio.run(talk)


def text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def test_a_call_runs_in_a_thread_of_its_own_and_has_a_trace(services: Services) -> None:
    main = threading.get_ident()
    seen: list[Call] = []

    def act(call: Call) -> str:
        seen.append(call)
        return str(threading.get_ident() != main)

    assert text(called(services, act)) == "True"
    assert len(seen[0].trace) == 32
    assert seen[0].tier == "read"
    assert seen[0].session is not None, "a process on standard input and output is one session"


class WaitedCollections(Collections):
    """Collections whose first index is not waited for; they note for how long they would have been."""

    seconds: float | None = None

    def wait_ready(self, timeout: float, progress: Progress) -> None:
        del progress
        self.seconds = timeout


@pytest.mark.parametrize(("patient", "waits"), [(False, UNFINISHED_SECONDS), (True, READY_TIMEOUT)])
def test_a_search_waits_long_for_the_first_index_only_if_progress_is_asked_for(
    services: Services, *, patient: bool, waits: float
) -> None:
    collections = WaitedCollections(lambda: services.collections.members)
    more = {"meta": {"progressToken": 1}} if patient else {}
    result = called(
        replace(services, collections=collections), lambda _: "answered", answers_unfinished=True, with_call=more
    )
    assert (text(result), collections.seconds) == ("answered", waits)


def test_a_commit_of_a_call_can_name_the_program_that_called(services: Services) -> None:
    def act(call: Call) -> str:
        del call
        client = CURRENT_CLIENT.get()
        return client.name if client else ""

    implementation = types.Implementation(name="test-agent", title="Test Agent", version="1")
    assert text(called(services, act, client_info=implementation)) == "Test Agent"
    assert CURRENT_CLIENT.get() is None


def test_a_refusal_is_told_and_a_fault_only_that_it_happened(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(call: Call) -> str:
        del call
        raise InvalidInputError("Too few.", hint="Give more.")

    def fail(call: Call) -> str:
        del call
        raise KeyError("secret path")

    refused = called(services, refuse)
    assert (refused.is_error, text(refused)) == (True, "Too few. Give more.")
    failed = called(services, fail)
    assert failed.is_error
    assert "secret path" not in text(failed)
    assert any("secret path" in str(record.exc_info) for record in caplog.records if record.exc_info)


def test_a_call_that_nobody_waits_for_is_told_to_stop_and_any_other_goes_on(services: Services) -> None:
    assert text(called(services, lambda call: str(call.go_on()))) == "None"
