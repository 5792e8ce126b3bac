"""Listing and reading the resources of a toolset."""

from __future__ import annotations

import base64

import mcp_types as types
from mcp import MCPError

from commonplace.domain.errors import NotFoundError
from commonplace.faces.mcp.connected_peer import is_modern
from commonplace.faces.mcp.handlers.pagination import PAGE_SIZE, cursor_of, offset_of, protocol
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.toolset import Call, Completer, Resource, ResourceContents, Resources

RESOURCE_NOT_FOUND = -32002
"""JSON-RPC error code for an unknown resource in the older era; the newer era uses -32602."""


class ResourceHandlers:
    """Listing and reading the resources of a toolset."""

    def __init__(self, resources: Resources, runner: Runner) -> None:
        self._resources = resources
        self._runner = runner

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """One page of the resources."""
        offset = offset_of(params.cursor if params else None)
        page, more = await protocol(
            self._runner, context, "resources/list", lambda call: self._resources.list(call, offset, PAGE_SIZE)
        )
        cursor = cursor_of(offset + PAGE_SIZE) if more else None
        return types.ListResourcesResult(resources=[wire(one) for one in page], next_cursor=cursor)

    async def templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """All resource templates, on one page."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list of templates has one page.")
        shown = [
            types.ResourceTemplate(
                uri_template=one.uri_template,
                name=one.name,
                title=one.title or None,
                description=one.description or None,
                mime_type=one.mime_type,
            )
            for one in self._resources.templates
        ]
        return types.ListResourceTemplatesResult(resource_templates=shown)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """The content of a resource."""
        uri = str(params.uri)
        content = await protocol(self._runner, context, "resources/read", lambda call: self._found(call, uri))
        if content is None:
            code = types.INVALID_PARAMS if is_modern(context) else RESOURCE_NOT_FOUND
            raise MCPError(code=code, message="Resource not found.", data={"uri": uri})
        return types.ReadResourceResult(contents=[wire_content(uri, content)])

    def _found(self, call: Call, uri: str) -> ResourceContents | None:
        try:
            return self._resources.read(call, uri)
        except NotFoundError:
            return None

    def completer(self, uri_template: str, argument: str) -> Completer | None:
        """The completer for a variable of a template; None if the variable has none."""
        found = [one for one in self._resources.templates if one.uri_template == uri_template]
        return found[0].complete.get(argument) if found else None


def wire(one: Resource) -> types.Resource:
    """A resource in the form used by lists."""
    return types.Resource(
        uri=one.uri,
        name=one.name,
        title=one.title or None,
        description=one.description or None,
        mime_type=one.mime_type,
        size=one.size,
        annotations=types.Annotations(last_modified=one.last_modified) if one.last_modified else None,
    )


def wire_content(uri: str, content: ResourceContents) -> types.TextResourceContents | types.BlobResourceContents:
    """The content of a resource, as text or bytes."""
    if isinstance(content.content, str):
        return types.TextResourceContents(uri=uri, mime_type=content.mime_type, text=content.content)
    blob = base64.b64encode(content.content).decode()
    return types.BlobResourceContents(uri=uri, mime_type=content.mime_type, blob=blob)
