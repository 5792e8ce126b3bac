"""The plugins' additions to the `kb` toolset: tools, prompts and resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast
from urllib.parse import unquote

from commonplace.domain.errors import NotFoundError
from commonplace.faces.mcp.peers import Peer
from commonplace.faces.mcp.toolset import (
    Call,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceContents,
    Resources,
    ResourceTemplate,
    Toolset,
)
from commonplace.plugins.loader import Plugin, Plugins
from commonplace.plugins.open_index import seeing
from commonplace.plugins.tools import added_tools
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
            found = self.read(dict(variables))
            return bytes(found) if isinstance(found, (bytes, bytearray)) else text(found, "a resource")

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
        arguments=tuple(_argument(one) for one in items(body.get("arguments") or (), "a list as `arguments`")),
        render=partial(_rendered, plugin, name, render),
    )


def _argument(one: object) -> PromptArgument:
    given = plain_object(one, "an argument as a dict with a name")
    name = given.get("name")
    if not is_name(name):
        raise WrongValueError(f"a prompt with an argument named {shown(name)}; expected a text as `name`")
    return PromptArgument(
        name=str(name),
        description=text(given.get("description"), "an argument's description"),
        required=given.get("required") is True,
    )


def _rendered(
    plugin: Plugin, name: str, render: Callable[..., object], call: Call, given: Mapping[str, str]
) -> str | Sequence[PromptMessage]:
    def answer(client: Peer) -> str | Sequence[PromptMessage]:
        said = render(dict(given), client)
        if isinstance(said, str):
            return text(said, "the prompt")
        return [_message(one) for one in items(said, "text or a list of messages as a prompt")]

    with seeing(call.services.collections):
        return plugin.serve(f"{PROMPTS} {name}", answer, call)


def _message(one: object) -> PromptMessage:
    given = plain_object(one, "a message as a dict with role and content")
    content = given.get("content")
    if not isinstance(content, Mapping):
        raise WrongValueError(f"a message whose content is {kind_of(content)}; expected a content block as a dict")
    return PromptMessage("assistant" if given.get("role") == "assistant" else "user", content)


def _resources(own: Resources | None, plugins: Plugins) -> Resources | None:
    added = [
        one
        for plugin in plugins.loaded
        for one in plugin.hook_result(RESOURCES, partial(_checked_resources, plugin), [])
    ]
    if not added:
        return own
    listed = tuple(_listed(one) for one in added if not one.is_template)
    templates = tuple(_template(one) for one in added if one.is_template)
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
    found: list[Made] = []
    for name, body in named(value, expected, tell):
        found += built(lambda name=name, body=body: make(name, _body(body, expected)), name[:60], tell)
    return found


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


def _listed(one: _PluginResource) -> Resource:
    return Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.mime_type)


def _template(one: _PluginResource) -> ResourceTemplate:
    return ResourceTemplate(uri_template=one.uri, name=one.name, description=one.description, mime_type=one.mime_type)


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
    for one in added:
        match = one.pattern.fullmatch(uri) if len(uri) <= MAX_URI else None
        if match:
            variables = {name: unquote(value) for name, value in match.groupdict().items()}
            with seeing(call.services.collections):
                return ResourceContents(one.content(variables, call), one.mime_type)
    if own is None:
        raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    return own.read(call, uri)


def _listen(plugins: Plugins, own: Resources | None, listener: Callable[[str], None]) -> None:
    plugins.changes.listen(listener)
    if own is not None and own.changes is not None:
        own.changes(listener)
