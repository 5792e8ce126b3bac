"""Listing and calling the tools of a dialect."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import mcp_types as types
from mcp import MCPError
from pydantic import TypeAdapter
from pydantic_core import to_json

from commonplace.domain.changes import Kept, noting_kept
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.errors import FORMS
from commonplace.faces.kept import in_no_commit, kept_lines, kept_list
from commonplace.faces.late import Late
from commonplace.faces.mcp.asking import input_required, is_modern, unable
from commonplace.faces.mcp.dialect import Blob, Blocks, Call, Dialect, Linked, Said, Shown, Tool, within
from commonplace.faces.mcp.peers import InputNeeded, UnableError
from commonplace.faces.mcp.running import Runner
from commonplace.faces.mcp.sdk import Context

if TYPE_CHECKING:
    from commonplace.services import history
    from commonplace.services.services import Services
else:
    history = Late("commonplace.services.history")

SOURCES = "commonplace/sources"
"""Key in `_meta`: what an answer came from."""
Result = types.CallToolResult | types.InputRequiredResult
Wire = dict[str, Json]
"""A result as it stands on the wire: the SDK checks it once more, and a model between would be made and taken apart."""
_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)


class Tools:
    """The tools that a tier allows, and no others.

    Raises:
        ConfigError: there is no such tier.
    """

    def __init__(self, dialect: Dialect, runner: Runner) -> None:
        self._dialect = dialect
        self._runner = runner
        self._rows = {row.name: row for row in within(dialect.tools, runner.tier)}

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """All of them, in the dialect's order."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of tools has one page.")
        return types.ListToolsResult(tools=[_wire(row) for row in self._rows.values()])

    async def call(self, context: Context, params: types.CallToolRequestParams) -> Result:
        """Run one and show what it returned, what it needs to know first, or why it did not."""
        # The SDK takes either from a handler, and names only the models.
        return cast("Result", await self._called(context, params))

    async def _called(self, context: Context, params: types.CallToolRequestParams) -> Wire | types.InputRequiredResult:
        row = self._rows.get(params.name)
        if row is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
        arguments = params.arguments or {}
        try:
            return await self._runner.run(
                context,
                row.name,
                lambda call: self._answered(row, call, arguments),
                reads=row.read_only,
            )
        except InputNeeded as needed:
            return input_required(needed)
        except KnowledgeError as error:
            if isinstance(error, UnableError) and is_modern(context):
                raise unable(error) from error
            return _refused(self._dialect, error)
        except Exception:  # noqa: BLE001 - the face is where the unforeseen ends; `observed` has logged it
            return _refused(self._dialect, KnowledgeError("Internal error; the server's log has the details."))

    def _answered(self, row: Tool, call: Call, arguments: JsonObject) -> Wire:
        """What a tool returned, with the state that it came from: a write's own is in it, a read's is at least that."""
        before = _sources(call.services) if row.read_only else None
        with noting_kept() as kept:
            shown = row.bound.run(call, arguments)
        result = _answered(self._dialect, _with_kept(shown, in_no_commit(kept)))
        sources = _sources(call.services) if before is None else before
        return {**result, "_meta": {SOURCES: sources}} if sources else result

    @property
    def names(self) -> frozenset[str]:
        """Of all of them."""
        return frozenset(self._rows)

    def input_schema(self, name: str) -> Mapping[str, object] | None:
        """What one takes; None for one that is not there."""
        row = self._rows.get(name)
        return row.bound.input_schema() if row else None


def content_block(block: JsonObject) -> types.ContentBlock:
    """A block as the protocol writes it.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return _BLOCK.validate_python(block)


def _wire(row: Tool) -> types.Tool:
    return types.Tool(
        name=row.name,
        title=row.title,
        description=row.description,
        input_schema=row.bound.input_schema(),
        output_schema=row.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=row.read_only,
            destructive_hint=row.destructive,
            idempotent_hint=row.idempotent,
            open_world_hint=False,
        ),
    )


def _sources(services: Services) -> list[Json]:
    """The commit and the generation of the index of every open collection; none where that cannot be told now."""
    try:
        found = [history.standing(collection) for collection in services.collections.opened]
    except KnowledgeError:
        return []
    return [{"collection": one.collection, "commit": one.commit, "generation": one.generation} for one in found]


def _with_kept(shown: Shown, kept: Sequence[Kept]) -> Shown:
    """An answer that names what the call took away and no commit has, unless it does so itself."""
    if not kept or isinstance(shown, Blob | Blocks | Linked | list):
        return shown
    if isinstance(shown, str):
        return "\n".join([shown, "", *kept_lines(kept)])
    return {"kept": kept_list(kept), **shown}


def _answered(dialect: Dialect, shown: Shown) -> Wire:
    if isinstance(shown, Blob):
        blob = base64.b64encode(shown.content).decode()
        contents: Json = {"uri": shown.uri, "mimeType": shown.mime_type, "blob": blob}
        return _wired([{"type": "resource", "resource": contents}])
    if isinstance(shown, Blocks):
        return _wired([_dumped(content_block(block)) for block in shown.content])
    if isinstance(shown, Linked):
        links: list[Json] = [
            {"type": "resource_link", "uri": one.uri, "name": one.name, "mimeType": one.mime_type}
            for one in shown.links
        ]
        return _said(dialect, shown.said, links)
    return _said(dialect, shown, [])


def _said(dialect: Dialect, said: Said, links: list[Json]) -> Wire:
    structured: Json = {"result": said} if isinstance(said, list) else None if isinstance(said, str) else dict(said)
    content: list[Json] = [{"type": "text", "text": _text(dialect, said)}, *links]
    answer = _wired(content)
    return answer if structured is None else {**answer, "structuredContent": structured}


def _wired(content: list[Json], *, is_error: bool = False) -> Wire:
    return {"content": content, "isError": is_error, "resultType": "complete"}


def _dumped(block: types.ContentBlock) -> Json:
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _refused(dialect: Dialect, error: KnowledgeError) -> Wire:
    shown = dialect.show_error(error)
    if dialect.errors_as == "protocol":
        raise MCPError(code=FORMS[error.code].jsonrpc, message=_text(dialect, shown)) from error
    return _wired([{"type": "text", "text": _text(dialect, shown)}], is_error=True)


def _text(dialect: Dialect, shown: Said) -> str:
    if isinstance(shown, str):
        return shown
    if dialect.indent is None:
        return to_json(shown, inf_nan_mode="null").decode()
    return json.dumps(shown, ensure_ascii=False, indent=dialect.indent, allow_nan=False)
