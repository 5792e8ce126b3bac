"""Listing and calling the tools of a toolset."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import mcp_types as types
from mcp import MCPError
from pydantic import TypeAdapter
from pydantic_core import to_json

from commonplace.domain.changes import RetainedCopy, recording_retained, recording_waiting_index
from commonplace.domain.cluster import recording_written
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.proposals import recording_proposed
from commonplace.faces.access.callers import allows
from commonplace.faces.errors import ERROR_MAPPINGS
from commonplace.faces.lazy_module import LazyModule
from commonplace.faces.mcp.connected_peer import input_required, is_modern, unable
from commonplace.faces.mcp.peers import InputNeeded, UnableError
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.toolset import (
    PROPOSE,
    Blob,
    Call,
    ContentBlocks,
    LinkedContent,
    Tool,
    ToolContent,
    ToolResult,
    Toolset,
    allowed_tools,
)
from commonplace.faces.write_output import (
    in_no_commit,
    new_finding_json,
    new_finding_lines,
    read_call,
    restore_command,
    retained_lines,
    retained_list,
)
from commonplace.services.proposals.views import proposal_lines

if TYPE_CHECKING:
    from commonplace.domain.findings import NewFindings
    from commonplace.faces.mcp import confirmation
    from commonplace.services import findings, history
    from commonplace.services.services import Services
    from commonplace.services.writes import recorded, retries
else:
    confirmation = LazyModule("commonplace.faces.mcp.confirmation")
    history = LazyModule("commonplace.services.history")
    findings = LazyModule("commonplace.services.findings")
    recorded = LazyModule("commonplace.services.writes.recorded")
    retries = LazyModule("commonplace.services.writes.retries")

SOURCES_META_KEY = "commonplace/sources"
"""Key in `_meta` for the commits and index generations behind an answer."""
PARAM_HEADER = '"x-mcp-header"'
"""Schema key of a property that a client of the newer era repeats in a header."""
CallOutcome = types.CallToolResult | types.InputRequiredResult
Wire = dict[str, Json]
"""A tool result as JSON. The SDK validates it, so building a model here would be wasted work."""
_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)


class ToolHandlers:
    """Lists and calls the tools that the tier permits.

    Raises:
        ConfigError: there is no such tier.
    """

    def __init__(self, toolset: Toolset, runner: Runner) -> None:
        self._toolset = toolset
        self._runner = runner
        self._rows = {row.name: row for row in allowed_tools(toolset.tools, runner.tier)}
        self._header_schemas: dict[str, Mapping[str, object] | None] = {}

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """The permitted tools, in the toolset's order."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of tools has one page.")
        return types.ListToolsResult(tools=[_wire(row) for row in self._rows.values()])

    async def call(self, context: Context, params: types.CallToolRequestParams) -> CallOutcome:
        """Run a tool. Returns its result, its requests to the client, or its error."""
        # The SDK accepts a dictionary or a model from a handler, but its type names only the models.
        return cast("CallOutcome", await self._run(context, params))

    async def _run(self, context: Context, params: types.CallToolRequestParams) -> Wire | types.InputRequiredResult:
        row = self._rows.get(params.name)
        if row is None:
            raise MCPError(code=types.INVALID_PARAMS, message=self._unknown(params.name))
        arguments = params.arguments or {}
        try:
            return await self._runner.run(
                context,
                row.name,
                lambda call: self._run_tool(row, call, arguments),
                reads=row.read_only,
                ready=row.needs_index,
                unfinished=row.answers_unfinished,
            )
        except InputNeeded as needed:
            return input_required(needed)
        except KnowledgeError as error:
            if isinstance(error, UnableError) and is_modern(context):
                raise unable(error) from error
            return _error_result(self._toolset, error)

    def _unknown(self, name: str) -> str:
        """The message for a tool that is not served: the toolset does not have it, or not at this tier."""
        needed = next((tool.tier for tool in self._toolset.tools if tool.name == name), "")
        if not needed:
            return f"Unknown tool: {name}"
        return (
            f"Unknown tool at the tier {self._runner.tier}: {name} needs the tier {needed}. "
            f"Whoever starts the server can give --tier {needed}, or a key of that tier."
        )

    def _run_tool(self, row: Tool, call: Call, arguments: JsonObject) -> Wire:
        """Run a tool and add the sources of its answer.

        A write's sources include its own commits. A read's sources are taken before it runs, so that the answer is at
        least that new.
        """
        before = _sources(call.services) if row.read_only else None
        with (
            recording_retained() as copies,
            recording_waiting_index() as waiting,
            recording_written() as written,
            recording_proposed() as proposed,
        ):
            shown, more = self._confirmed(row, call, arguments)
        shown = _with_waiting(self._with_kept(shown, in_no_commit(copies)), waiting)
        # The tool that decides on proposals says itself what became of them, and none is in the past.
        if row.tier == PROPOSE or arguments.get("at"):
            call = replace(call, proposals={})
        result = _result(self._toolset, _with_proposals(shown, [*proposal_lines(proposed, call.proposals), *more]))
        sources = _sources(call.services, written) if before is None else _without_dropped(call.services, before)
        return {**result, "_meta": {SOURCES_META_KEY: sources}} if sources else result

    def _with_kept(self, shown: ToolResult, copies: Sequence[RetainedCopy]) -> ToolResult:
        """The answer with a list of old files that no commit contains, unless it has such a list already."""
        if not copies or isinstance(shown, Blob | ContentBlocks | LinkedContent | list):
            return shown
        if isinstance(shown, str):
            has_call = any(tool.name == "read" for tool in self._toolset.tools)
            return "\n".join([shown, "", *retained_lines(copies, read_call if has_call else restore_command)])
        return {"kept": retained_list(copies), **shown}

    def _confirmed(self, row: Tool, call: Call, arguments: JsonObject) -> tuple[ToolResult, Sequence[str]]:
        """Run a tool, after the client's person has agreed if this server asks first."""
        asks = call.services.confirm != "never" and allows(self._runner.tier, "write")
        if row.read_only or not asks:
            return _shown(row, call, arguments), ()
        ask = confirmation.decided if row.tier == PROPOSE else confirmation.confirmed
        if call.tier == PROPOSE:
            ask = confirmation.unasked
        elif not (self._toolset.proposes and self._toolset.repeats):
            row = replace(row, proposes=False)
        return ask(row, call, arguments, lambda tried: _shown(row, tried, arguments))

    @property
    def names(self) -> frozenset[str]:
        """Names of the tools."""
        return frozenset(self._rows)

    def header_schema(self, name: str) -> Mapping[str, object] | None:
        """The input schema of a tool that declares `Mcp-Param` headers; None for other tools and unknown names.

        The SDK traverses the schema twice for each call over HTTP, to compare these headers with the arguments.
        """
        if name not in self._header_schemas:
            row = self._rows.get(name)
            if row is None:
                return None
            schema = row.handler.input_schema()
            self._header_schemas[name] = schema if PARAM_HEADER in to_json(schema).decode() else None
        return self._header_schemas[name]


def content_block(block: JsonObject) -> types.ContentBlock:
    """Validate a content block of the protocol.

    Raises:
        pydantic.ValidationError: the block is not valid.
    """
    return _BLOCK.validate_python(block)


def _wire(row: Tool) -> types.Tool:
    return types.Tool(
        name=row.name,
        title=row.title,
        description=row.description,
        input_schema=row.handler.input_schema(),
        output_schema=row.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=row.read_only,
            destructive_hint=row.destructive,
            idempotent_hint=row.idempotent,
            open_world_hint=row.open_world,
        ),
    )


def _shown(row: Tool, call: Call, arguments: JsonObject) -> ToolResult:
    """Run a tool, and add to the answer of a write what it newly causes.

    A write that fails because this server is behind its remote is repeated on the remote's state.
    """
    if row.read_only:
        return row.handler.run(call, arguments)
    with recorded.recording_writes() as writes:
        shown = retries.call_on_latest(call.services.collections.opened, lambda: row.handler.run(call, arguments))
    if not (writes.receipts or writes.findings):
        return shown
    return _with_findings(shown, findings.findings_of_writes(call.services.collections, writes))


def _sources(services: Services, written: Mapping[str, str] | None = None) -> list[JsonObject]:
    """Commit and index generation of every open collection; empty if they cannot be determined.

    Args:
        services: The services of the call.
        written: Commits made by the call, by the identity of their store. A replica's index contains them later.
    """
    opened = services.collections.opened
    try:
        states = [history.collection_state(collection) for collection in opened]
    except KnowledgeError:
        return []
    made = {collection.name: written.get(collection.store.identity) for collection in opened} if written else {}
    return [
        {
            "collection": state.collection,
            "commit": made.get(state.collection) or state.commit,
            "generation": state.generation,
        }
        for state in states
    ]


def _without_dropped(services: Services, sources: list[JsonObject]) -> list[JsonObject]:
    """Sources of an answer that was begun with them, without commits that a forced push has dropped meanwhile."""
    replicas = {item.name: item.replica for item in services.collections.opened if item.replica is not None}
    present: list[JsonObject] = []
    for source in sources:
        replica = replicas.get(str(source["collection"]))
        present.append({**source, "commit": replica.status(str(source["commit"])).commit} if replica else source)
    return present


def _with_findings(shown: ToolResult, new: NewFindings) -> ToolResult:
    """The answer with the findings that its writes newly cause."""
    if isinstance(shown, Blob | ContentBlocks | LinkedContent | list):
        return shown
    if isinstance(shown, str):
        return "\n".join([shown, *new_finding_lines(new)])
    return {**shown, **new_finding_json(new)}


def _with_waiting(shown: ToolResult, waiting: Sequence[str]) -> ToolResult:
    """An answer that says whether Git's index is older than what the call wrote."""
    if not waiting or isinstance(shown, Blob | ContentBlocks | LinkedContent | list):
        return shown
    if isinstance(shown, str):
        return "\n".join([shown, "", *waiting])
    return {**shown, "index_waits": " ".join(waiting)}


def _with_proposals(shown: ToolResult, lines: Sequence[str]) -> ToolResult:
    """An answer that says that what was written waits for a person, or that it shows what waits."""
    if not lines or isinstance(shown, Blob | ContentBlocks | list):
        return shown
    if isinstance(shown, LinkedContent):
        content = cast("ToolContent", _with_proposals(shown.content, lines))
        laid_out = shown.text is None or callable(shown.text)
        text = shown.text if laid_out else cast("ToolContent", _with_proposals(cast("ToolContent", shown.text), lines))
        return replace(shown, content=content, text=text)
    if isinstance(shown, str):
        return "\n".join([shown, "", *lines])
    return {**shown, "proposal": " ".join(lines)}


def _result(toolset: Toolset, shown: ToolResult) -> Wire:
    if isinstance(shown, Blob):
        blob = base64.b64encode(shown.content).decode()
        contents: Json = {"uri": shown.uri, "mimeType": shown.mime_type, "blob": blob}
        return _call_tool_result([{"type": "resource", "resource": contents}])
    if isinstance(shown, ContentBlocks):
        answer = _call_tool_result([_block_json(content_block(block)) for block in shown.content])
        return answer if shown.structured is None else {**answer, "structuredContent": shown.structured}
    if isinstance(shown, LinkedContent):
        links: list[Json] = [
            {"type": "resource_link", "uri": link.uri, "name": link.name, "mimeType": link.mime_type}
            for link in shown.links
        ]
        return _content_result(toolset, shown.content, links, _laid_out(shown))
    return _content_result(toolset, shown, [])


def _content_result(toolset: Toolset, said: ToolContent, links: list[Json], text: ToolContent | None = None) -> Wire:
    structured: Json = {"result": said} if isinstance(said, list) else None if isinstance(said, str) else dict(said)
    content: list[Json] = [{"type": "text", "text": _text(toolset, said if text is None else text)}, *links]
    answer = _call_tool_result(content)
    return answer if structured is None else {**answer, "structuredContent": structured}


def _call_tool_result(content: list[Json], *, is_error: bool = False) -> Wire:
    return {"content": content, "isError": is_error, "resultType": "complete"}


def _block_json(block: types.ContentBlock) -> Json:
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _error_result(toolset: Toolset, error: KnowledgeError) -> Wire:
    shown = toolset.show_error(error)
    if toolset.errors_as == "protocol":
        raise MCPError(code=ERROR_MAPPINGS[error.code].jsonrpc, message=_text(toolset, shown)) from error
    return _call_tool_result([{"type": "text", "text": _text(toolset, shown)}], is_error=True)


def _laid_out(shown: LinkedContent) -> ToolContent | None:
    return shown.text(shown.content) if callable(shown.text) else shown.text


def result_text(toolset: Toolset, shown: ToolResult) -> str:
    """The text block of a result; "" for a result without one."""
    if isinstance(shown, LinkedContent):
        text = _laid_out(shown)
        return _text(toolset, shown.content if text is None else text)
    return "" if isinstance(shown, Blob | ContentBlocks) else _text(toolset, shown)


def _text(toolset: Toolset, shown: ToolContent) -> str:
    if isinstance(shown, str):
        return shown
    if toolset.indent is None:
        return to_json(shown, inf_nan_mode="null").decode()
    return json.dumps(shown, ensure_ascii=False, indent=toolset.indent, allow_nan=False)
