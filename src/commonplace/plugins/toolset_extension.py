"""Tools of plugins: what a handler needs, and how toolsets are extended by them."""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from types import CodeType, FunctionType, MethodType
from typing import TypeVar, cast
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.peers import Peer
from commonplace.faces.mcp.toolset import (
    PROPOSE,
    TIERS,
    BoundHandler,
    Call,
    ContentBlocks,
    JsonSchema,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceContents,
    Resources,
    ResourceTemplate,
    Tool,
    ToolResult,
    Toolset,
)
from commonplace.plugins.loader import Plugin, Plugins
from commonplace.plugins.open_index import TABLES, OpenIndex, seeing
from commonplace.plugins.values import (
    FaultSink,
    WrongValueError,
    built,
    function,
    is_name,
    items,
    kind_of,
    named,
    plain_object,
    shown,
    text,
    wrong,
)
from commonplace.settings import Tier

# Finds out, when a tool is loaded, whether its handler needs more of the older server than plugins are given.
#
# The handler's code is read, never run: the functions and methods of its own package that it names are followed.


MAX_FUNCTIONS = 200
"""Maximum number of functions that are followed for one tool."""
_WRITES = re.compile(
    r"\b(?:(?:INSERT|REPLACE)\b.*\bINTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|(?:CREATE|DROP|ALTER)\s+TABLE)\b"
)
_SELECT = re.compile(r"\bSELECT\b.*\bFROM\b", re.DOTALL)
_TABLE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)", re.IGNORECASE)
_OWN_WRITERS = ("pyrite.services.kb_service", "pyrite.storage.repository", "pyrite.storage.index")
"""Modules of the older server that write files of their own accord."""


def missing_for(handler: object) -> str:
    """The first thing that a tool needs and is not given; "" if none is seen."""
    for code in _codes(handler):
        for need in _needs(code):
            return need
    return ""


def _codes(handler: object) -> Iterator[CodeType]:
    """The code of a handler and of what it names in its own package, each once."""
    waiting, seen = [handler], set[CodeType]()
    while waiting and len(seen) < MAX_FUNCTIONS:
        function, owner = _function(waiting.pop())
        if function is None or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for code in _nested(function.__code__):
            yield code
            waiting += _named(code, function, owner)


def _named(code: CodeType, function: FunctionType, owner: object) -> Iterator[object]:
    """The things that a function's code names: methods of its object, functions of its package, and what it imports."""
    methods = [getattr(type(owner), name, None) for name in code.co_names] if owner is not None else []
    yield from (MethodType(method, owner) for method in methods if isinstance(method, FunctionType))
    package = function.__module__.partition(".")[0]
    for value in map(function.__globals__.get, code.co_names):
        if isinstance(value, FunctionType) and value.__module__.partition(".")[0] == package:
            yield value
    yield from _imported(code, function)


def _imported(code: CodeType, function: FunctionType) -> Iterator[object]:
    """Functions of the same package that a function imports when it runs, if their modules are loaded."""
    package = function.__module__.rpartition(".")[0]
    for module, names in _imports(code):
        loaded = sys.modules.get(f"{package}{module}" if module.startswith(".") else module)
        if loaded is not None and module.startswith("."):
            yield from (getattr(loaded, name, None) for name in names)


def _imports(code: CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The modules that a function imports, with the names; those of its own package begin with a dot."""
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        level, names = steps[place - 2].argval, steps[place - 1].argval
        dot = "." if isinstance(level, int) and level else ""
        yield f"{dot}{step.argval}", cast("tuple[str, ...]", names) if isinstance(names, tuple) else ()


def _needs(code: CodeType) -> Iterator[str]:
    yield from _needed_tables(code)
    for module, _ in _imports(code):
        if module in _OWN_WRITERS:
            yield f"it writes files by {module}"
    steps = list(dis.get_instructions(code))
    for before, step in pairwise(steps):
        request = step.opname in {"LOAD_ATTR", "LOAD_METHOD"} and before.opname.startswith("LOAD_FAST")
        if request and before.argval == "db" and not hasattr(OpenIndex, str(step.argval)) and step.argval != "close":
            yield f"it uses db.{step.argval}"


def _needed_tables(code: CodeType) -> Iterator[str]:
    for constant in (value for value in code.co_consts if isinstance(value, str)):
        if _WRITES.search(constant):
            yield "it writes to tables of the older server"
        if _SELECT.search(constant):
            yield from (f"it reads the table {name}" for name in _TABLE.findall(constant) if name.lower() not in TABLES)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _function(value: object) -> tuple[FunctionType | None, object]:
    """The function that a handler calls, and the object that it belongs to."""
    while isinstance(value, partial):
        value = value.func
    if isinstance(value, MethodType):
        return (value.__func__, value.__self__) if isinstance(value.__func__, FunctionType) else (None, None)
    return (value, None) if isinstance(value, FunctionType) else (None, None)


# The tools that plugins add to the `kb` toolset, which look like its own.


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
    declareds: list[_Declared] = []
    for name, body in named(value, EXPECTED, tell):
        declareds += built(partial(_declared, name, body), f"the tool {name[:60]}", tell)
    return declareds


def _declared(name: str, body: object) -> _Declared:
    if not NAME.fullmatch(name):
        raise WrongValueError("a tool with such a name; expected letters, digits, `_`, `-` and `.`")
    if not isinstance(body, Mapping):
        raise WrongValueError(f"no dict; expected {EXPECTED}")
    given_body = cast("Mapping[object, object]", body)
    schema = plain_object(given_body.get("inputSchema") or {"type": "object"}, "a JSON schema as `inputSchema`")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise WrongValueError(f"a tool with a wrong inputSchema: {error.message[:100]}") from error
    if schema.get("type") != "object":
        raise WrongValueError("a tool whose inputSchema has another type; expected `object`")
    converse = given_body.get("converse")
    if given_body.get("handler") is None and converse is not None:
        answer = function(converse, 2, "a function converse(arguments, client)")
    else:
        answer = function(given_body.get("handler"), 1, "a function handler(arguments) as `handler`")
    description = text(given_body.get("description"), "its description")
    return _Declared(name, description, schema, answer, converses=given_body.get("handler") is None)


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
    errors = cast("Iterator[ValidationError]", validator.iter_errors(dict(arguments)))  # pyright: ignore[reportUnknownMemberType]
    problems = [f"{'.'.join(map(str, error.path)) or '(arguments)'}: {error.message}" for error in errors]
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


# The plugins' additions to the `kb` toolset: tools, prompts and resources.


MAX_URI = 2_000
"""Maximum length in characters of a URI that is matched."""
PROMPTS = "get_mcp_prompts"
RESOURCES = "get_mcp_resources"

_Body = Mapping[object, object]
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _PluginResource:
    """A resource of a plugin, or a resource template."""

    plugin: Plugin
    uri: str
    pattern: re.Pattern[str]
    name: str
    description: str
    mime_type: str
    read: Callable[..., object]

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def content(self, variables: Mapping[str, str], call: Call) -> str | bytes:
        """The content of the resource.

        Raises:
            KnowledgeError: the plugin fails.
        """

        def answer(_: Peer) -> str | bytes:
            value = self.read(dict(variables))
            return bytes(value) if isinstance(value, (bytes, bytearray)) else text(value, "a resource")

        return self.plugin.serve(f"{RESOURCES} {self.uri[:60]}", answer, call)


def with_plugins(toolset: Toolset, plugins: Plugins) -> Toolset:
    """The toolset with the plugins' additions after its own parts. An addition whose name is taken is skipped."""
    tools = added_tools(toolset.tools, plugins)
    prompts = _prompts(toolset.prompts, plugins)
    return replace(
        toolset,
        tools=(*toolset.tools, *tools),
        prompts=(*toolset.prompts, *prompts),
        resources=_resources(toolset.resources, plugins),
        asks=toolset.asks or bool(prompts) or any(tool.asks for tool in tools),
    )


def _prompts(own: Sequence[Prompt], plugins: Plugins) -> list[Prompt]:
    taken = {prompt.name for prompt in own}
    added: list[Prompt] = []
    for plugin in plugins.loaded:
        for prompt in plugin.hook_result(PROMPTS, partial(_checked_prompts, plugin), []):
            if prompt.name in taken:
                plugin.fault(PROMPTS, f"the prompt {prompt.name} is skipped: there already is one")
            else:
                taken.add(prompt.name)
                added.append(prompt)
    return added


def _checked_prompts(plugin: Plugin, value: object, tell: FaultSink) -> list[Prompt]:
    return _each(
        value, "a dict of names and dicts with description, arguments and render", partial(_prompt, plugin), tell
    )


def _prompt(plugin: Plugin, name: str, body: _Body) -> Prompt:
    render = function(body.get("render"), 2, "a function render(arguments, client) as `render`")
    return Prompt(
        name=name,
        title=text(body.get("title"), "its title") or name.replace("_", " ").capitalize(),
        description=text(body.get("description"), "its description"),
        arguments=tuple(_argument(element) for element in items(body.get("arguments") or (), "a list as `arguments`")),
        render=partial(_rendered, plugin, name, render),
    )


def _argument(element: object) -> PromptArgument:
    row = plain_object(element, "an argument as a dict with a name")
    name = row.get("name")
    if not is_name(name):
        raise WrongValueError(f"a prompt with an argument named {shown(name)}; expected a text as `name`")
    return PromptArgument(
        name=str(name),
        description=text(row.get("description"), "an argument's description"),
        required=row.get("required") is True,
    )


def _rendered(
    plugin: Plugin, name: str, render: Callable[..., object], call: Call, arguments: Mapping[str, str]
) -> str | Sequence[PromptMessage]:
    def answer(client: Peer) -> str | Sequence[PromptMessage]:
        said = render(dict(arguments), client)
        if isinstance(said, str):
            return text(said, "the prompt")
        return [_message(element) for element in items(said, "text or a list of messages as a prompt")]

    with seeing(call.services.collections):
        return plugin.serve(f"{PROMPTS} {name}", answer, call)


def _message(element: object) -> PromptMessage:
    row = plain_object(element, "a message as a dict with role and content")
    content = row.get("content")
    if not isinstance(content, Mapping):
        raise WrongValueError(f"a message whose content is {kind_of(content)}; expected a content block as a dict")
    return PromptMessage("assistant" if row.get("role") == "assistant" else "user", content)


def _resources(own: Resources | None, plugins: Plugins) -> Resources | None:
    added = [
        resource
        for plugin in plugins.loaded
        for resource in plugin.hook_result(RESOURCES, partial(_checked_resources, plugin), [])
    ]
    if not added:
        return own
    listed = tuple(_listed(resource) for resource in added if not resource.is_template)
    templates = tuple(_template(resource) for resource in added if resource.is_template)
    return Resources(
        templates=(*(own.templates if own else ()), *templates),
        list=partial(_page, listed, own),
        read=partial(_read, added, own),
        source_of=own.source_of if own else None,
        changes=partial(_listen, plugins, own),
    )


def _checked_resources(plugin: Plugin, value: object, tell: FaultSink) -> list[_PluginResource]:
    return _each(value, "a dict of URIs and dicts with name, description and read", partial(_readable, plugin), tell)


def _readable(plugin: Plugin, uri: str, body: _Body) -> _PluginResource:
    read = function(body.get("read"), 1, "a function read(variables) as `read`")
    return _PluginResource(
        plugin=plugin,
        uri=uri,
        pattern=_pattern(uri),
        name=text(body.get("name"), "its name") or uri,
        description=text(body.get("description"), "its description"),
        mime_type=text(body.get("mimeType"), "its mimeType") or "text/plain",
        read=read,
    )


def _each(value: object, expected: str, make: Callable[[str, _Body], Made], tell: FaultSink) -> list[Made]:
    """The items of a mapping, each created from its name and body; invalid ones are reported and skipped."""
    mades: list[Made] = []
    for name, body in named(value, expected, tell):
        mades += built(lambda name=name, body=body: make(name, _body(body, expected)), name[:60], tell)
    return mades


def _body(value: object, expected: str) -> _Body:
    if not isinstance(value, Mapping):
        raise wrong(value, expected)
    return cast("_Body", value)


def _pattern(uri: str) -> re.Pattern[str]:
    """The pattern of a URI or template: a `{variable}` matches text without slashes."""
    parts = re.split(r"\{(\w+)\}", uri)
    made = [f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
    try:
        return re.compile("".join(made))
    except re.error as error:
        raise WrongValueError(f"a URI template that is not valid: {error}") from error


def _listed(resource: _PluginResource) -> Resource:
    return Resource(
        uri=resource.uri, name=resource.name, description=resource.description, mime_type=resource.mime_type
    )


def _template(resource: _PluginResource) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=resource.uri, name=resource.name, description=resource.description, mime_type=resource.mime_type
    )


def _page(
    listed: Sequence[Resource], own: Resources | None, call: Call, offset: int, limit: int
) -> tuple[Sequence[Resource], bool]:
    """One page of the resources: first the plugins', whose number is known, then the toolset's own."""
    page = list(listed[offset : offset + limit])
    if own is None:
        return page, offset + limit < len(listed)
    if len(page) == limit:
        return page, True
    rest, more = own.list(call, max(0, offset - len(listed)), limit - len(page))
    return [*page, *rest], more


def _read(added: Sequence[_PluginResource], own: Resources | None, call: Call, uri: str) -> ResourceContents:
    for resource in added:
        match = resource.pattern.fullmatch(uri) if len(uri) <= MAX_URI else None
        if match:
            variables = {name: unquote(value) for name, value in match.groupdict().items()}
            with seeing(call.services.collections):
                return ResourceContents(resource.content(variables, call), resource.mime_type)
    if own is None:
        raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    return own.read(call, uri)


def _listen(plugins: Plugins, own: Resources | None, listener: Callable[[str], None]) -> None:
    plugins.changes.listen(listener)
    if own is not None and own.changes is not None:
        own.changes(listener)
