"""Positions in the units of each encoding, and edits of lines."""

from __future__ import annotations

import pytest
from lsprotocol.types import Position, PositionEncodingKind

from commonplace.domain.documents import Span
from commonplace.faces.lsp.positions import LineTable, text_edits

TEXT = "eins\r\nzwei 😀 é\rдвд\n\n"


@pytest.mark.parametrize("encoding", [None, *PositionEncodingKind])
def test_every_offset_has_its_position_and_comes_back(encoding: PositionEncodingKind | None) -> None:
    table = LineTable(TEXT.encode(), encoding)
    for end in range(len(TEXT) + 1):
        offset = len(TEXT[:end].encode())
        if TEXT[:end].endswith("\r") and TEXT[end : end + 1] == "\n":
            continue  # between the two halves of a line end
        assert table.offset(table.position(offset)) == offset


@pytest.mark.parametrize(("encoding", "character"), [(None, 8), ("utf-16", 8), ("utf-8", 10), ("utf-32", 7)])
def test_characters_count_in_the_units_of_the_encoding(encoding: str | None, character: int) -> None:
    table = LineTable(TEXT.encode(), encoding)
    assert table.position(TEXT.encode().index("é".encode())) == Position(1, character)


@pytest.mark.parametrize(("position", "end"), [(Position(0, 99), 4), (Position(99, 0), 27), (Position(4, 5), 27)])
def test_a_position_past_an_end_means_that_end(position: Position, end: int) -> None:
    assert len(TEXT.encode()) == 27
    assert LineTable(TEXT.encode()).offset(position) == end


def test_lines_are_without_their_ends() -> None:
    table = LineTable(TEXT.encode())
    assert [table.line(number).decode() for number in range(6)] == ["eins", "zwei 😀 é", "двд", "", "", ""]
    assert table.range(Span(0, 4)) == table.line_range(0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a\n"),
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\n", ""),
        ("a", "a\n"),
        ("a\r\nb\r\n", "a\r\nc\r\nb\r\n"),
        ("x\n", "x\n"),
    ],
)
def test_edits_of_lines_turn_one_text_into_the_other(before: str, after: str) -> None:
    table = LineTable(before.encode())
    result = before.encode()
    for edit in reversed(text_edits(table, after.encode())):
        start, end = table.offset(edit.range.start), table.offset(edit.range.end)
        result = result[:start] + edit.new_text.encode() + result[end:]
    assert result.decode() == after
    assert len(text_edits(table, after.encode())) <= 1
