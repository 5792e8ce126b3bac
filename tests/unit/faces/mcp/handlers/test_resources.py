"""Resources over the protocol: listed in pages, read as text or bytes, and not found."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from commonplace.domain.errors import NotFoundError
from commonplace.faces.mcp.handlers import PAGE_SIZE, RESOURCE_NOT_FOUND
from commonplace.faces.mcp.server import build_server
from commonplace.faces.mcp.toolset import Call, Resource, ResourceContents, Resources, ResourceTemplate, Toolset
from commonplace.services.collections import Collections
from commonplace.services.services import Services

T = TypeVar("T")
COUNT = PAGE_SIZE + 3
Mode = Literal["auto", "legacy"]


def listed(call: Call, offset: int, limit: int) -> tuple[list[Resource], bool]:
    del call
    numbers = range(offset, min(offset + limit, COUNT))
    resources = [Resource(uri=f"x://{n}", name=str(n), size=n, last_modified="2026-01-01T00:00:00Z") for n in numbers]
    return resources, offset + limit < COUNT


def read(call: Call, uri: str) -> ResourceContents:
    del call
    match uri:
        case "x://text":
            return ResourceContents("# Größe\n")
        case "x://bytes":
            return ResourceContents(b"\x00\xff", "image/png")
        case "x://broken":
            raise KeyError("secret")
        case _:
            raise NotFoundError("No such thing.")


def complete(call: Call, typed: str, others: Mapping[str, str]) -> list[str]:
    del call, others
    return [typed + "!"]


TEMPLATE = ResourceTemplate(uri_template="x://{name}", name="one", complete={"name": complete})
TOOLSET = Toolset(
    name="x",
    server_name="x",
    instructions="",
    tools=(),
    show_error=str,
    resources=Resources(templates=(TEMPLATE,), list=listed, read=read),
)
SERVER: Any = build_server(TOOLSET, Services(collections=Collections(list)), "read")


def ask(question: Callable[[Client], Awaitable[T]], mode: Mode = "auto") -> T:
    async def talk() -> T:
        async with Client(SERVER, mode=mode) as client:
            return await question(client)

    return anyio.run(talk)


def refusal(question: Callable[[Client], Awaitable[object]], mode: Mode = "auto") -> MCPError:
    with pytest.raises((MCPError, ExceptionGroup)) as refused:
        ask(question, mode)
    error: BaseException = refused.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MCPError)
    return error


def test_a_long_list_comes_in_pages_that_leave_nothing_out() -> None:
    async def pages(client: Client) -> list[list[str]]:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        return [[resource.name for resource in page.resources] for page in (first, second)]

    first, second = ask(pages)
    assert first + second == [str(n) for n in range(COUNT)]
    assert len(first) == PAGE_SIZE


def test_a_resource_is_listed_with_what_is_known_of_it() -> None:
    resource = ask(lambda client: client.list_resources()).resources[5]
    assert (resource.uri, resource.size, resource.mime_type, resource.title) == ("x://5", 5, "text/markdown", None)
    assert resource.annotations is not None
    assert resource.annotations.last_modified == "2026-01-01T00:00:00Z"


def test_a_resource_is_text_or_bytes() -> None:
    (text,) = ask(lambda client: client.read_resource("x://text")).contents
    assert isinstance(text, types.TextResourceContents)
    assert (text.text, text.mime_type) == ("# Größe\n", "text/markdown")
    (raw,) = ask(lambda client: client.read_resource("x://bytes")).contents
    assert isinstance(raw, types.BlobResourceContents)
    assert (base64.b64decode(raw.blob), raw.mime_type) == (b"\x00\xff", "image/png")


@pytest.mark.parametrize(("mode", "code"), [("auto", types.INVALID_PARAMS), ("legacy", RESOURCE_NOT_FOUND)])
def test_an_unknown_resource_is_not_found_in_the_words_of_each_era(mode: Mode, code: int) -> None:
    error = refusal(lambda client: client.read_resource("x://none"), mode)
    assert (error.error.code, error.error.data) == (code, {"uri": "x://none"})


def test_a_fault_says_nothing_of_its_cause() -> None:
    assert "secret" not in str(refusal(lambda client: client.read_resource("x://broken")))


def test_templates_are_one_page_and_their_variables_are_completed() -> None:
    (template,) = ask(lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == "x://{name}"
    assert "one page" in str(refusal(lambda client: client.list_resource_templates(cursor="x")))
    reference = types.ResourceTemplateReference(uri="x://{name}")
    values = ask(lambda client: client.complete(reference, {"name": "name", "value": "a"})).completion.values
    assert values == ["a!"]
    none = ask(lambda client: client.complete(reference, {"name": "other", "value": "a"})).completion
    assert (none.values, none.total) == ([], 0)
