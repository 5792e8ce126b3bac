"""Ids and anchors made from titles of any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.slugs import MAX_SLUG_BYTES, anchor, slug


@each_case(
    ("title", "expected"),
    [
        ("Hello, World!", "hello-world"),
        ("  Many   blanks -- and dashes  ", "many-blanks-and-dashes"),
        ("Über Größe & Maß", "über-größe-maß"),
        ("日本語 テスト", "日本語-テスト"),
        ("नमस्ते दुनिया", "नमस्ते-दुनिया"),
        ("Привет, мир", "привет-мир"),
        ("C++ / C#", "c-c"),
        ("v1.2.3", "v1-2-3"),
        ("Cafe\u0301", "café"),
        ("🚀", "rocket"),
        ("🚀 ❤️", "rocket-heavy-black-heart"),
        ("™", "trade-mark-sign"),
        ("../../etc/passwd", "etc-passwd"),
        (".git", "git"),
    ],
)
def test_slugs(title: str, expected: str) -> None:
    assert slug(title) == expected


@each_case("title", ["", " ", "!?.,;:", "---", "\u200d", "\ufe0f", "\ud800", "\n\t", "\u0301"])
def test_a_title_without_letters_and_symbols_is_refused(title: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        slug(title)
    assert caught.value.kind == "title"


@given(st.text(max_size=400))
@example("é" * 300)
@example("नि" * 200)
@example("\u0301" + "x" * 300)
@example("a" * 251 + " bb")
def test_every_slug_is_a_file_name_and_stays_itself(title: str) -> None:
    try:
        made = slug(title)
    except InvalidInputError:
        return
    assert len(made.encode()) <= MAX_SLUG_BYTES
    assert unicodedata.is_normalized("NFC", made)
    assert parse_address(f"{made}.md").stem == made
    assert slug(made) == made
    assert not made.startswith("-")
    assert not made.endswith("-")
    assert slug(title) == made


@each_case(
    ("heading", "expected"),
    [("A  B", "a--b"), ("Größe_x-1", "größe_x-1"), ("!?", ""), ("日本", "日本"), ("Ⅳ ④", "ⅳ-"), (" x ", "x")],
)
def test_anchors(heading: str, expected: str) -> None:
    assert anchor(heading) == expected
