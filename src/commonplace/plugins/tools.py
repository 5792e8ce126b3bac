"""The tools that plugins add to the `kb` toolset, which look like its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.peers import Peer
from commonplace.faces.mcp.toolset import (
    PROPOSE,
    TIERS,
    BoundHandler,
    Call,
    ContentBlocks,
    JsonSchema,
    Tool,
    ToolResult,
)
from commonplace.plugins.handler_needs import missing_for
from commonplace.plugins.loader import Plugin, Plugins
from commonplace.plugins.open_index import seeing
from commonplace.plugins.values import FaultSink, WrongValueError, built, function, items, named, plain_object, text
from commonplace.settings import Tier

HOOK = "get_mcp_tools"
EXPECTED = "a dict of names and dicts with description, inputSchema and handler"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""Valid names of tools in the protocol."""

Run = Callable[[Call, JsonObject], ToolResult]


@dataclass(frozen=True, slots=True)
class _Declared:
    """A validated tool of a plugin."""

    name: str
    description: str
    schema: JsonSchema
    answer: Callable[..., object]
    converses: bool


def added_tools(own: Sequence[Tool], plugins: Plugins) -> list[Tool]:
    """The plugins' tools, except those whose name is taken."""
    taken = {row.name for row in own}
    added: list[Tool] = []
    for plugin in plugins.loaded:
        for declared, tier in _tools_of(plugin):
            missing = missing_for(declared.answer)
            if missing:
                plugin.fault(HOOK, f"the tool {declared.name} needs porting and is not listed: {missing}")
            elif declared.name in taken:
                plugin.fault(HOOK, f"the tool {declared.name} is skipped: there already is one")
            else:
                taken.add(declared.name)
                added.append(_tool(plugin, declared, tier))
    return added


def _tools_of(plugin: Plugin) -> list[tuple[_Declared, Tier]]:
    """Each tool with the lowest tier that returns it."""
    rows: dict[str, tuple[_Declared, Tier]] = {}
    for tier in TIERS:
        if tier == PROPOSE:  # what a plugin writes is no proposal
            continue
        for declared in plugin.hook_result(HOOK, _checked_tools, [], tier):
            rows.setdefault(declared.name, (declared, tier))
    return list(rows.values())


def _checked_tools(value: object, tell: FaultSink) -> list[_Declared]:
    found: list[_Declared] = []
    for name, body in named(value, EXPECTED, tell):
        found += built(partial(_declared, name, body), f"the tool {name[:60]}", tell)
    return found


def _declared(name: str, body: object) -> _Declared:
    if not NAME.fullmatch(name):
        raise WrongValueError("a tool with such a name; expected letters, digits, `_`, `-` and `.`")
    if not isinstance(body, Mapping):
        raise WrongValueError(f"no dict; expected {EXPECTED}")
    given = cast("Mapping[object, object]", body)
    schema = plain_object(given.get("inputSchema") or {"type": "object"}, "a JSON schema as `inputSchema`")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise WrongValueError(f"a tool with a wrong inputSchema: {error.message[:100]}") from error
    if schema.get("type") != "object":
        raise WrongValueError("a tool whose inputSchema has another type; expected `object`")
    converse = given.get("converse")
    if given.get("handler") is None and converse is not None:
        answer = function(converse, 2, "a function converse(arguments, client)")
    else:
        answer = function(given.get("handler"), 1, "a function handler(arguments) as `handler`")
    description = text(given.get("description"), "its description")
    return _Declared(name, description, schema, answer, converses=given.get("handler") is None)


def _tool(plugin: Plugin, declared: _Declared, tier: Tier) -> Tool:
    run: Run = partial(_converse if declared.converses else _handle, plugin, declared)
    checked = partial(_checked, Draft202012Validator(declared.schema), run, tier != "read")
    return Tool(
        name=declared.name,
        title=declared.name.replace("_", " ").capitalize(),
        description=declared.description,
        handler=BoundHandler(lambda: {"properties": dict[str, Json](), **declared.schema}, checked),
        output_schema=None if declared.converses else {"type": "object"},
        tier=tier,
        proposes=False,
        asks=declared.converses,
    )


def _checked(
    validator: Draft202012Validator, run: Run, may_write: bool, call: Call, arguments: JsonObject
) -> ToolResult:
    found = cast("Iterator[ValidationError]", validator.iter_errors(dict(arguments)))  # pyright: ignore[reportUnknownMemberType]
    problems = [f"{'.'.join(map(str, error.path)) or '(arguments)'}: {error.message}" for error in found]
    if problems:
        raise InvalidInputError(f"Invalid arguments: {'; '.join(problems[:5])}.", kind="argument")
    with seeing(call.services.collections, may_write=may_write):
        return run(call, dict(arguments))


def _handle(plugin: Plugin, declared: _Declared, call: Call, arguments: JsonObject) -> ToolResult:
    def answer(_: Peer) -> JsonObject:
        return plain_object(declared.answer(arguments), "a dict as the answer of a tool")

    return plugin.serve(declared.name, answer, call)


def _converse(plugin: Plugin, declared: _Declared, call: Call, arguments: JsonObject) -> ToolResult:
    def answer(client: Peer) -> str | ContentBlocks:
        said = declared.answer(arguments, client)
        if isinstance(said, str):
            return text(said, "the answer")
        blocks = items(said, "text or a list of content blocks as the answer of a tool")
        return ContentBlocks(tuple(plain_object(block, "a content block as a dict") for block in blocks))

    return plugin.serve(declared.name, answer, call)
