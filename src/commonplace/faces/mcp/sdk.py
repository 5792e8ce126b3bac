"""Aliases of the SDK's types, and accessors for data of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from mcp.server import Server, ServerRequestContext
from starlette.requests import HTTPConnection

State: TypeAlias = Mapping[str, object]
Context: TypeAlias = ServerRequestContext[State]
McpServer: TypeAlias = Server[State]


def asgi_scope(context: Context) -> Mapping[str, Any]:
    """The HTTP request's ASGI scope; empty on standard input and output."""
    request: object = context.request
    return cast("HTTPConnection[Any]", request).scope if isinstance(request, HTTPConnection) else {}


def at_end(context: Context, callback: Callable[[], None]) -> None:
    """Register a callback for the end of a request's connection.

    The SDK has an exit stack for each connection, but no public access to it from a request context.
    """
    context.session._connection.exit_stack.callback(callback)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def client_name(context: Context) -> str:
    """The client program's own name; "" if not stated."""
    params = context.session.client_params
    return (params.client_info.title or params.client_info.name) if params else ""


def client_version(context: Context) -> str:
    """The version that the client program states; "" if it states none."""
    params = context.session.client_params
    return params.client_info.version if params else ""


def session_of(context: Context) -> str:
    """Id of the request's session in the older era; "" if there is none."""
    scope = asgi_scope(context)
    if not scope:
        return ""
    request = HTTPConnection(dict(scope))
    return request.headers.get("mcp-session-id") or request.query_params.get("session_id", "")
