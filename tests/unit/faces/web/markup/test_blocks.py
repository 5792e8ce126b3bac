"""Admonitions and comments among the lines of a text."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.faces.web.markup.blocks import Piece, pieces


def of(text: str) -> list[Piece]:
    return list(pieces(text.encode()))


@pytest.mark.parametrize("text", ["", "plain", "a\n\nb\r\n", "100%% sure, ::: or !!! ahead"])
def test_a_text_without_either_is_one_piece(text: str) -> None:
    assert b"".join(piece.text for piece in of(text)) == text.encode()
    assert all(not piece.kind and piece.start == 0 for piece in of(text))


@each_case(
    ("text", "admonition", "title", "inside", "fold"),
    [
        ('!!! note "A *b*"\n    one\n\n    two\n', "note", "A *b*", "one\n\ntwo\n", ""),
        ("!!! Warning\n\tone\n", "warning", "", "one\n", ""),
        ("??? tip\n    one\n", "tip", "", "one\n", "-"),
        ("???+ tip\n    one\n", "tip", "", "one\n", "+"),
        ("!!! note\n", "note", "", "", ""),
        (":::note\none\n:::\n", "note", "", "one\n", ""),
        ("::: tip Mind this\none\n:::\n", "tip", "Mind this", "one\n", ""),
        (":::danger[Nöte]\r\none\r\n:::\r\n", "danger", "Nöte", "one\r\n", ""),
        ("::::info\n:::note\nx\n:::\n::::\n", "info", "", ":::note\nx\n:::\n", ""),
        ('::: details More {open=""}\none\n:::\n', "details", "More", "one\n", "-"),
    ],
)
def test_an_admonition_is_a_piece_with_its_inside(
    text: str, admonition: str, title: str, inside: str, fold: str
) -> None:
    before, made, after = of(f"before\n{text}after\n")
    assert (before.text, before.start) == (b"before\n", 0)
    assert (made.kind, made.title, made.text.decode(), made.fold) == (admonition, title, inside, fold)
    assert (after.text, after.start) == (b"after\n", len(f"before\n{text}".encode()))


@pytest.mark.parametrize(
    "text",
    [
        "```\n!!! note\n    x\n```\n",
        "~~~~\n:::note\nx\n:::\n~~~\n%%\n~~~~\n",
        ":::unknown\nx\n:::\n",
        ":::note\nnever closed\n",
        "%%\nnever closed\n",
        "    !!! note\n",
        "!!! two words here\n    x\n",
    ],
)
def test_what_only_looks_like_one_stays_text(text: str) -> None:
    assert "".join(piece.text.decode() for piece in of(text)) == text
    assert not any(piece.kind for piece in of(text))


def test_a_comment_of_several_lines_is_left_out() -> None:
    assert [piece.text for piece in of("a\n%%\nb\n\nc\n %% \nd %% e\n")] == [b"a\n", b"d %% e\n"]
    assert of("%%\nonly\n%%") == []


def test_pieces_of_a_text_are_found_in_linear_time() -> None:
    assert len(list(pieces(b":::note\n" * 60_000))) == 1
    assert len(list(pieces(b"!!! note\n\n%%\n" * 30_000))) <= 60_000


def test_bytes_that_are_no_text_do_not_stop_the_pieces() -> None:
    made = list(pieces(b'!!! note "\xff"\n    \xff\n\xff\n'))
    assert [piece.kind for piece in made] == ["note", ""]
    assert made[1].text == b"\xff\n"
