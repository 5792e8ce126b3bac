"""Positions in the units of each encoding, and edits of lines."""

from __future__ import annotations

import pytest
from lsprotocol.types import Position, PositionEncodingKind

from cases import each_case
from commonplace.domain.documents import Span
from commonplace.faces.lsp.pages import STEP, LineTable, text_edits

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


@pytest.mark.parametrize("encoding", [None, *PositionEncodingKind])
def test_positions_in_a_long_line_are_those_of_counting_from_its_start(encoding: PositionEncodingKind | None) -> None:
    text = "é" + "x" * (STEP - 2) + "😀ж文" * STEP + "\n" + "y" * 3 * STEP
    table = LineTable(text.encode(), encoding)
    unit, codec = (2, "utf-16-le") if encoding in {None, PositionEncodingKind.Utf16} else (1, "utf-8")
    unit, codec = (4, "utf-32-le") if encoding == PositionEncodingKind.Utf32 else (unit, codec)
    for end in (*range(len(text), 0, -97), *range(0, len(text), 89)):
        before = text[:end].rpartition("\n")[2]
        expected = Position(text.count("\n", 0, end), len(before.encode(codec)) // unit)
        assert table.position(len(text[:end].encode())) == expected


def test_a_byte_order_mark_is_in_no_line() -> None:
    table = LineTable(b"\xef\xbb\xbf# A\nb\n")
    assert (table.position(0), table.position(5), table.offset(Position(0, 2))) == (Position(0, 0), Position(0, 2), 5)
    assert table.line(0) == b"# A"
    (edit,) = text_edits(table, b"\xef\xbb\xbf# B\nb\n")
    assert (edit.range.start, edit.range.end, edit.new_text) == (Position(0, 0), Position(1, 0), "# B\n")


def test_lines_are_without_their_ends() -> None:
    table = LineTable(TEXT.encode())
    assert [table.line(number).decode() for number in range(6)] == ["eins", "zwei 😀 é", "двд", "", "", ""]
    assert table.range(Span(0, 4)) == table.line_range(0)


@each_case(
    ("before", "after"),
    [
        ("", "a\n"),
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\n", ""),
        ("a", "a\n"),
        ("a\r\nb\r\n", "a\r\nc\r\nb\r\n"),
        ("x\n", "x\n"),
        ("a\nb\n", "b\nc\n"),
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
