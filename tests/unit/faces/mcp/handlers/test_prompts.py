"""Prompts over the protocol: listed, rendered, completed, and refused with what they take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.faces.mcp.handlers import PAGE_SIZE
from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.toolset import Call, Prompt, PromptArgument, PromptMessage, Toolset
from commonplace.services.collections import Collections
from commonplace.services.services import Services

T = TypeVar("T")


def complete(call: Call, typed: str, others: Mapping[str, str]) -> list[str]:
    del call
    return [f"{typed}{others.get('style', '')}{n}" for n in range(PAGE_SIZE + 5)]


def render(call: Call, given_values: Mapping[str, str]) -> str | list[PromptMessage]:
    del call
    match given_values["topic"]:
        case "two":
            text = {"type": "text", "text": "Answer."}
            return [PromptMessage("user", {"type": "text", "text": "Ask."}), PromptMessage("assistant", text)]
        case "bad":
            raise InvalidInputError("The topic is bad.", hint="Give another.")
        case "none":
            raise NotFoundError("No such topic.")
        case "broken":
            raise KeyError("secret")
        case topic:
            return f"Write about {topic} in {given_values.get('style', 'prose')}."


PROMPT = Prompt(
    name="write",
    title="Write",
    description="Write something.",
    arguments=(
        PromptArgument(name="topic", description="What", required=True, complete=complete),
        PromptArgument(name="style", description="How"),
    ),
    render=render,
)
TOOLSET = Toolset(name="x", server_name="x", instructions="", tools=(), show_error=str, prompts=(PROMPT,))
SERVER: Any = build_server(TOOLSET, Services(collections=Collections(list)), "read")


def ask(question: Callable[[Client], Awaitable[T]]) -> T:
    async def talk() -> T:
        async with Client(SERVER) as client:
            return await question(client)

    return anyio.run(talk)


def rendered(**arguments: str) -> types.GetPromptResult:
    found_result = ask(lambda client: client.get_prompt("write", arguments))
    assert isinstance(found_result, types.GetPromptResult)
    return found_result


def refusal(name: str = "write", **arguments: str) -> str:
    with pytest.raises((MCPError, ExceptionGroup)) as refused:
        ask(lambda client: client.get_prompt(name, arguments))
    error: BaseException = refused.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return str(error)


def test_prompts_are_listed_with_their_arguments() -> None:
    (prompt,) = ask(lambda client: client.list_prompts()).prompts
    assert (prompt.name, prompt.title, prompt.description) == ("write", "Write", "Write something.")
    assert [(argument.name, argument.required) for argument in prompt.arguments or ()] == [
        ("topic", True),
        ("style", False),
    ]


def test_a_text_is_one_message_of_the_user_and_several_are_as_they_are() -> None:
    (message,) = rendered(topic="tea", style="verse").messages
    assert message.role == "user"
    assert isinstance(message.content, types.TextContent)
    assert message.content.text == "Write about tea in verse."
    assert [message.role for message in rendered(topic="two").messages] == ["user", "assistant"]


def test_wrong_arguments_are_refused_with_those_that_there_are() -> None:
    assert "missing topic" in refusal()
    assert "missing topic" in refusal(topic=" ")
    assert "unknown other. It takes style, topic." in refusal(topic="tea", other="x")
    assert len(refusal(topic="tea", **{"x" * 5000: "x"})) < 400
    assert "Unknown prompt: none" in refusal("none")


def test_an_error_of_a_prompt_is_one_of_the_protocol_and_a_fault_says_nothing_of_its_cause() -> None:
    assert refusal(topic="bad") == "The topic is bad. Give another."
    assert refusal(topic="none") == "No such topic."
    assert "secret" not in refusal(topic="broken")


def completion(argument: str, typed: str, name: str = "write", **others: str) -> types.Completion:
    reference = types.PromptReference(name=name)
    given_values = {"name": argument, "value": typed}
    return ask(lambda client: client.complete(reference, given_values, others or None)).completion


def test_an_argument_is_completed_and_of_many_values_one_page_is_shown() -> None:
    found_completion = completion("topic", "t", style="-")
    assert (
        found_completion.values[0],
        len(found_completion.values),
        found_completion.total,
        found_completion.has_more,
    ) == ("t-0", PAGE_SIZE, PAGE_SIZE + 5, True)
    for name, argument in (("write", "style"), ("write", "none"), ("none", "topic")):
        assert completion(argument, "t", name).values == []
