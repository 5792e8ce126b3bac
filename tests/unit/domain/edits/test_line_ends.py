"""Inserted text takes on the line ends of its document."""

from __future__ import annotations

from itertools import product

import pytest

from cases import each_case
from commonplace.domain.edits import is_mixed, utf8, with_line_ends, with_unix_line_ends
from commonplace.domain.errors import InvalidInputError

TEXTS = ["".join(letters) for length in range(1, 6) for letters in product("a\n\r", repeat=length)]
"""Every short text of these letters."""


@each_case(
    ("raw", "mixed"),
    [
        (b"", False),
        (b"one line", False),
        (b"a\nb\n", False),
        (b"a\r\nb\r\n", False),
        (b"a\r\nb\n", True),
        (b"a\rb\r", True),
        (b"a\rb\n", True),
        (b"a\r\nb\r", True),
        (b"a\r\nb\nc\r", True),
        (b"\n\r", True),
    ],
)
def test_a_document_is_mixed_when_it_has_several_kinds_of_line_ends_or_lone_returns(raw: bytes, mixed: bool) -> None:
    assert is_mixed(raw) is mixed


@each_case("text", ["", "a", "\r\n", "\n\r", "a\r\rb\n\nc\r\n", "\r\r\n\n", "ü\u2028x\r"])
def test_the_form_for_comparison_has_one_kind_of_line_end_and_as_many_lines(text: str) -> None:
    plain = with_unix_line_ends(text)
    assert "\r" not in plain
    assert plain.encode().split(b"\n") == [line.rstrip(b"|") for line in (text + "|").encode().splitlines()]


def test_a_text_takes_the_line_ends_of_its_document() -> None:
    assert with_line_ends("a\nü\n", "\r\n") == "a\r\nü\r\n".encode()
    assert with_line_ends("a\nb\n", "\n") == b"a\nb\n"
    assert with_line_ends("", "\r\n") == b""


@each_case(
    ("replaced", "text", "written"),
    [
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", b"a\r\nb\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nB\nc\n", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nnew\nb\nc\n", b"a\r\nnew\r\nb\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b\nc\n", b"b\nc\r\n"),
        (b"a\rb\nc", "a\nb\nc\nd", b"a\rb\nc\r\nd"),
        (b"a\nb\n", "A\nB\n", b"A\nB\n"),
        (b"a\nb\r\n", "", b""),
    ],
)
def test_lines_that_stay_keep_their_line_ends_in_a_mixed_document(replaced: bytes, text: str, written: bytes) -> None:
    assert with_line_ends(text, "\r\n", replaced) == written


def test_a_text_that_replaces_itself_changes_no_byte() -> None:
    for text in TEXTS:
        assert with_line_ends(with_unix_line_ends(text), "\r\n", text.encode()) == text.encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_no_line_is_lost_or_added_whatever_is_replaced(newline: str) -> None:
    for replaced in TEXTS:
        for text in ("", "\n\n\n", "a\n\nb\n", "\n\na", "b\na\n\n"):
            written = with_line_ends(text, newline, replaced.encode())
            assert with_unix_line_ends(written.decode()) == text


@pytest.mark.parametrize("replaced", [b"", b"a\r\nb\n"])
def test_a_lone_surrogate_is_refused(replaced: bytes) -> None:
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        with_line_ends("a\n\udc80\n", "\n", replaced)
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        utf8("\ud83d")
    assert utf8("\x00 é 🏗️") == b"\x00 \xc3\xa9 \xf0\x9f\x8f\x97\xef\xb8\x8f"
