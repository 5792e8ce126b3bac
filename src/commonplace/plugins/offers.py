"""What plugins add to the `kb` toolset as a whole: tools, and prompts and resources beside its own."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast
from urllib.parse import unquote

from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.faces.mcp.dialect import (
    Argument,
    Call,
    Content,
    Dialect,
    Message,
    Prompt,
    Resource,
    Resources,
    ResourceTemplate,
)
from commonplace.plugins.hooks import Plugin, Reader, Renderer
from commonplace.plugins.loading import Plugins, offered
from commonplace.plugins.open_index import seeing
from commonplace.plugins.tools import added_tools

log = logging.getLogger(__name__)

MAX_URI = 2_000
"""Characters of a URI that is looked at."""
Declared = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class _Readable:
    """A resource of a plugin, or a family of them."""

    uri: str
    pattern: re.Pattern[str]
    about: Mapping[str, object]
    read: Reader

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    @property
    def mime_type(self) -> str:
        return str(self.about.get("mimeType") or "text/plain")


def extended(dialect: Dialect, plugins: Plugins) -> Dialect:
    """The dialect with what the plugins add behind its own; a name that is taken is skipped with a warning."""
    tools = added_tools(dialect.tools, plugins)
    prompts = _prompts(dialect.prompts, plugins)
    return replace(
        dialect,
        tools=(*dialect.tools, *tools),
        prompts=(*dialect.prompts, *prompts),
        resources=_resources(dialect.resources, plugins),
        asks=dialect.asks or bool(prompts) or any(tool.asks for tool in tools),
    )


def _prompts(own: Sequence[Prompt], plugins: Plugins) -> list[Prompt]:
    taken = {prompt.name for prompt in own}
    added: list[Prompt] = []
    for plugin, name, body in _declared(plugins, "get_mcp_prompts", "render"):
        if name in taken:
            log.warning("plugin %s: the prompt %s is skipped: there already is one", plugin.name, name)
            continue
        taken.add(name)
        arguments = cast("Sequence[Mapping[str, object]]", body.get("arguments") or ())
        prompt = Prompt(
            name=name,
            title=str(body.get("title") or name.replace("_", " ").capitalize()),
            description=str(body.get("description", "")),
            arguments=tuple(_argument(one) for one in arguments),
            render=partial(_rendered, cast("Renderer", body["render"])),
        )
        added.append(prompt)
    return added


def _argument(one: Mapping[str, object]) -> Argument:
    return Argument(
        name=str(one["name"]), description=str(one.get("description", "")), required=bool(one.get("required"))
    )


def _rendered(render: Renderer, call: Call, given: Mapping[str, str]) -> str | Sequence[Message]:
    with seeing(call.services.collections):
        said = render(given, call.peer)
    return said if isinstance(said, str) else [_message(one) for one in said]


def _message(one: JsonObject) -> Message:
    role: Literal["user", "assistant"] = "assistant" if one["role"] == "assistant" else "user"
    return Message(role, cast("JsonObject", one["content"]))


def _resources(own: Resources | None, plugins: Plugins) -> Resources | None:
    added = [
        _Readable(uri, _pattern(uri), body, cast("Reader", body["read"]))
        for _, uri, body in _declared(plugins, "get_mcp_resources", "read")
    ]
    if not added:
        return own
    listed = tuple(_listed(one) for one in added if not one.is_template)
    templates = tuple(_template(one) for one in added if one.is_template)
    return Resources(
        templates=(*(own.templates if own else ()), *templates),
        list=partial(_page, listed, own),
        read=partial(_read, added, own),
        stands_for=own.stands_for if own else None,
        changes=partial(_listen, plugins, own),
    )


def _declared(plugins: Plugins, hook: str, needed: str) -> list[tuple[Plugin, str, Mapping[str, object]]]:
    rows: list[tuple[Plugin, str, Mapping[str, object]]] = []
    for plugin in plugins.loaded:
        for name, body in offered(plugin, hook, cast("Declared", {})).items():
            if callable(body.get(needed)):
                rows.append((plugin, name, body))
            else:
                log.warning("plugin %s: %s is skipped: it has no function %r", plugin.name, name, needed)
    return rows


def _pattern(uri: str) -> re.Pattern[str]:
    """What a URI or template matches: a `{variable}` stands for what holds no slash."""
    parts = re.split(r"\{(\w+)\}", uri)
    made = [f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
    return re.compile("".join(made))


def _listed(one: _Readable) -> Resource:
    about = one.about
    name, description = str(about.get("name") or one.uri), str(about.get("description", ""))
    return Resource(uri=one.uri, name=name, description=description, mime_type=one.mime_type)


def _template(one: _Readable) -> ResourceTemplate:
    about = one.about
    name, description = str(about.get("name") or one.uri), str(about.get("description", ""))
    return ResourceTemplate(uri_template=one.uri, name=name, description=description, mime_type=one.mime_type)


def _page(
    listed: Sequence[Resource], own: Resources | None, call: Call, offset: int, limit: int
) -> tuple[Sequence[Resource], bool]:
    """The plugins' resources, whose number is known, then the toolset's own."""
    page = list(listed[offset : offset + limit])
    if own is None:
        return page, offset + limit < len(listed)
    if len(page) == limit:
        return page, True
    rest, more = own.list(call, max(0, offset - len(listed)), limit - len(page))
    return [*page, *rest], more


def _read(added: Sequence[_Readable], own: Resources | None, call: Call, uri: str) -> Content:
    for one in added:
        match = one.pattern.fullmatch(uri) if len(uri) <= MAX_URI else None
        if match:
            variables = {name: unquote(value) for name, value in match.groupdict().items()}
            with seeing(call.services.collections):
                return Content(one.read(variables), one.mime_type)
    if own is None:
        raise NotFoundError(f"There is no resource {uri[:200]!r}.", kind="resource")
    return own.read(call, uri)


def _listen(plugins: Plugins, own: Resources | None, listener: Callable[[str], None]) -> None:
    plugins.changes.listen(listener)
    if own is not None and own.changes is not None:
        own.changes(listener)
