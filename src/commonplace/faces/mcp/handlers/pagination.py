"""Pagination with opaque cursors, and the conversion of errors to protocol errors; shared by all handlers."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import TypeVar

import mcp_types as types
from mcp import MCPError

from commonplace.domain.errors import KnowledgeError
from commonplace.faces.errors import ERROR_MAPPINGS
from commonplace.faces.mcp.connected_peer import unable
from commonplace.faces.mcp.peers import UnableError
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context
from commonplace.faces.mcp.toolset import Call

PAGE_SIZE = 100
"""Maximum number of resources on one page of a list, and of completions in one answer."""

MAX_OFFSET = 10**9
"""Upper limit of the offset in a cursor."""

T = TypeVar("T")


async def protocol(runner: Runner, context: Context, verb: str, function: Callable[[Call], T]) -> T:
    """Run a function and convert its errors to protocol errors."""
    try:
        return await runner.run(context, verb, function)
    except UnableError as error:
        raise unable(error) from error
    except KnowledgeError as error:
        raise MCPError(code=ERROR_MAPPINGS[error.code].jsonrpc, message=f"{error} {error.hint}".strip()) from error


def cursor_of(offset: int) -> str:
    """An opaque cursor for an offset in a list."""
    return base64.urlsafe_b64encode(f"offset:{offset}".encode()).decode()


def offset_of(cursor: str | None) -> int:
    """The offset in a cursor; 0 without a cursor.

    Raises:
        MCPError: the cursor is not valid.
    """
    if cursor is None:
        return 0
    try:
        label, _, number = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if label == "offset" and number.isdecimal() and int(number) <= MAX_OFFSET:
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: use the one that the last page gave.")
