"""The SDK's types as this face uses them, and what can be read from a request."""

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
    """Call something when the connection of a request ends.

    The SDK keeps a stack for this on the connection, to which its request contexts lead no other way.
    """
    context.session._connection.exit_stack.callback(callback)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def client_name(context: Context) -> str:
    """What the program at the other end calls itself, "" where it does not say."""
    told = context.session.client_params
    return (told.client_info.title or told.client_info.name) if told else ""


def session_of(context: Context) -> str:
    """The session of the older era that a request belongs to, "" for none."""
    scope = asgi_scope(context)
    if not scope:
        return ""
    request = HTTPConnection(dict(scope))
    return request.headers.get("mcp-session-id") or request.query_params.get("session_id", "")
