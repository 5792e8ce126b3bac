"""Texts that contain a string, as a search of every text would find them."""

from __future__ import annotations

from itertools import product

from cases import each_case
from commonplace.toolsets.projects.rules.search import SubstringIndex

TEXTS = [
    "",
    "c++ and c",
    "costs $x, not $xy.",
    "\u4e2d\u6587\u641c\u7d22 and more",
    "snake_case-name",
    "a+b=c; a++b",
    "line one\nline two",
    "caf\u00e9 cafe",
    "++",
    "one  two",
    "\U0001f600 x\U0001f600y",
    "common",
    "common",
]


def test_every_string_of_a_text_is_found_exactly_where_it_occurs() -> None:
    index = SubstringIndex(TEXTS)
    wanted_texts = {
        text[start:end] for text in TEXTS for start in range(len(text)) for end in range(start + 1, len(text) + 1)
    }
    for wanted_text in sorted(wanted_texts):
        assert sorted(index.holding(wanted_text)) == [
            number for number, text in enumerate(TEXTS) if wanted_text in text
        ], wanted_text


def test_every_short_string_of_a_small_alphabet_is_found_exactly_where_it_occurs() -> None:
    texts = ["".join(letters) for length in range(5) for letters in product("a+ ", repeat=length)]
    index = SubstringIndex(texts)
    for length in (1, 2, 3):
        for letters in product("a+ ", repeat=length):
            item = "".join(letters)
            assert sorted(index.holding(item)) == [number for number, text in enumerate(texts) if item in text], item


@each_case(
    ("wanted", "found"),
    [("c", [1, 5]), ("cafe", [7]), ("snake_case", [4]), ("nothing", []), ("common", [11, 12]), ("\u4e2d", [])],
)
def test_a_whole_word_is_one_that_no_letter_extends(wanted: str, found: list[int]) -> None:
    whole = SubstringIndex(TEXTS).whole_words(wanted)
    assert whole is not None
    assert sorted(whole) == found


@each_case("wanted", ["c++", "a b", "$x", "+", " "])
def test_what_is_no_word_has_no_whole_words(wanted: str) -> None:
    assert SubstringIndex(TEXTS).whole_words(wanted) is None


def test_an_index_of_nothing_finds_nothing() -> None:
    assert list(SubstringIndex([]).holding("a")) == []
    assert list(SubstringIndex([]).holding("a+b")) == []
