"""The tools that plugins add to the `kb` toolset; they cannot be told apart from its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.dialect import TIERS, Blocks, Bound, Call, Schema, Shown, Tier, Tool
from commonplace.plugins.hooks import Converser, Handler, Plugin
from commonplace.plugins.loading import Plugins, offered
from commonplace.plugins.open_index import seeing

log = logging.getLogger(__name__)

Run = Callable[[Call, JsonObject], Shown]


def added_tools(own: Sequence[Tool], plugins: Plugins) -> list[Tool]:
    """The plugins' tools; one whose name is taken is skipped with a warning."""
    taken = {row.name for row in own}
    added: list[Tool] = []
    for plugin in plugins.loaded:
        for row in _tools_of(plugin):
            if row.name in taken:
                log.warning("plugin %s: the tool %s is skipped: there already is one", plugin.name, row.name)
            else:
                taken.add(row.name)
                added.append(row)
    return added


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
    handler, converse = body.get("handler"), body.get("converse")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        log.warning("plugin %s: the tool %s is skipped: %s", plugin.name, name, error.message)
        return None
    if not callable(handler) and not callable(converse):
        log.warning("plugin %s: the tool %s is skipped: it has no handler", plugin.name, name)
        return None
    run: Run = partial(_converse, cast("Converser", converse)) if callable(converse) else _handling(handler)
    checked = partial(_checked, Draft202012Validator(schema), run)
    return Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=str(body.get("description", "")),
        bound=Bound(lambda: {"properties": dict[str, Json](), **schema}, checked),
        output_schema=None if callable(converse) else {"type": "object"},
        tier=tier,
        asks=callable(converse),
    )


def _checked(validator: Draft202012Validator, run: Run, call: Call, arguments: JsonObject) -> Shown:
    found = cast("Iterator[ValidationError]", validator.iter_errors(dict(arguments)))  # pyright: ignore[reportUnknownMemberType]
    problems = [f"{'.'.join(map(str, error.path)) or '(arguments)'}: {error.message}" for error in found]
    if problems:
        raise InvalidInputError(f"Invalid arguments: {'; '.join(problems[:5])}.", kind="argument")
    with seeing(call.services.collections):
        return run(call, dict(arguments))


def _handling(handler: object) -> Run:
    return lambda _, arguments: dict(cast("Handler", handler)(arguments))


def _converse(converse: Converser, call: Call, arguments: JsonObject) -> Shown:
    said = converse(arguments, call.peer)
    return said if isinstance(said, str) else Blocks(tuple(said))
