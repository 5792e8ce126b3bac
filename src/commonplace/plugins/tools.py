"""The tools that plugins add to the `kb` toolset; they cannot be told apart from its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.dialect import TIERS, Bound, Call, Dialect, Schema, Shown, Tier, Tool
from commonplace.plugins.hooks import Handler, Plugin
from commonplace.plugins.loading import Plugins, offered

log = logging.getLogger(__name__)


def extended(dialect: Dialect, plugins: Plugins) -> Dialect:
    """The dialect with the plugins' tools behind its own; a name that is taken is skipped with a warning."""
    taken = {row.name for row in dialect.tools}
    added: list[Tool] = []
    for plugin in plugins.loaded:
        for row in _tools_of(plugin):
            if row.name in taken:
                log.warning("plugin %s: the tool %s is skipped: there already is one", plugin.name, row.name)
            else:
                taken.add(row.name)
                added.append(row)
    return replace(dialect, tools=(*dialect.tools, *added)) if added else dialect


def _tools_of(plugin: Plugin) -> list[Tool]:
    """Each tool at the lowest tier that returns it."""
    rows: dict[str, Tool] = {}
    for tier in TIERS:
        declared = offered(plugin, "get_mcp_tools", cast("Mapping[str, Mapping[str, object]]", {}), tier)
        for name, body in declared.items():
            if name not in rows:
                row = _tool(plugin, name, body, tier)
                if row is not None:
                    rows[name] = row
    return list(rows.values())


def _tool(plugin: Plugin, name: str, body: Mapping[str, object], tier: Tier) -> Tool | None:
    schema = cast("Schema", body.get("inputSchema") or {"type": "object"})
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        log.warning("plugin %s: the tool %s is skipped: %s", plugin.name, name, error.message)
        return None
    description = str(body.get("description", ""))
    run = partial(_run, cast("Handler", body["handler"]), Draft202012Validator(schema))
    title = name.replace("_", " ").capitalize()
    return Tool(
        name=name,
        title=title,
        description=description,
        bound=Bound(lambda: {"properties": dict[str, Json](), **schema}, run),
        output_schema={"type": "object"},
        tier=tier,
    )


def _run(handler: Handler, validator: Draft202012Validator, _: Call, arguments: JsonObject) -> Shown:
    found = cast("Iterator[ValidationError]", validator.iter_errors(dict(arguments)))  # pyright: ignore[reportUnknownMemberType]
    problems = [f"{'.'.join(map(str, error.path)) or '(arguments)'}: {error.message}" for error in found]
    if problems:
        raise InvalidInputError(f"Invalid arguments: {'; '.join(problems[:5])}.", kind="argument")
    return dict(handler(dict(arguments)))
