"""Cursors of lists, and errors of the domain as errors of the protocol."""

from __future__ import annotations

import base64

import mcp_types as types
import pytest
from mcp import MCPError

from cases import each_case
from commonplace.faces.mcp.handlers import MAX_OFFSET, cursor_of, offset_of


@pytest.mark.parametrize("offset", [0, 1, 100, MAX_OFFSET])
def test_a_cursor_leads_back_to_its_place(offset: int) -> None:
    assert offset_of(cursor_of(offset)) == offset


def test_without_a_cursor_a_list_begins_at_its_beginning() -> None:
    assert offset_of(None) == 0


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@each_case(
    "cursor",
    [
        "",
        "x",
        "100",
        "é",
        "====",
        encoded("offset:"),
        encoded("offset:-1"),
        encoded("offset:1.5"),
        encoded("place:1"),
        encoded(f"offset:{MAX_OFFSET + 1}"),
        encoded("offset:" + "9" * 5000),
        encoded("offset:²"),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
)
def test_a_cursor_that_no_list_gave_is_refused(cursor: str) -> None:
    with pytest.raises(MCPError) as refused:
        offset_of(cursor)
    assert refused.value.error.code == types.INVALID_PARAMS
