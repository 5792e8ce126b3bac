"""Lines break between words, and styles take no room."""

from __future__ import annotations

import re

from cases import each_case
from commonplace.faces.cli.line_breaks import width, wrapped
from commonplace.faces.cli.output import without_links

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
LINK, END = "\x1b]8;;file:///a\x1b\\", "\x1b]8;;\x1b\\"


def seen(line: str) -> str:
    """The visible part of a line."""
    return re.sub(r"\x1b\[[0-9;]*m", "", without_links(line))


@each_case(
    ("line", "columns", "expected"),
    [
        ("", 10, [""]),
        ("one two", 7, ["one two"]),
        ("one two", 6, ["one", "two"]),
        ("one two ", 7, ["one two "]),
        ("  one two three", 9, ["  one two", "  three"]),
        ("- one two three", 9, ["- one two", "  three"]),
        ("> 1. one two", 9, ["> 1. one", "    two"]),
        ("unbreakable word", 5, ["unbreakable", "word"]),
        ("a unbreakable", 5, ["a", "unbreakable"]),
        ("one two", 0, ["one", "two"]),
        ("caf\u00e9s ole\u0301 ab", 9, ["caf\u00e9s ole\u0301", "ab"]),
        ("茶の湯、茶", 6, ["茶の", "湯、茶"]),
        ("ab茶の湯", 4, ["ab茶", "の湯"]),
        ("a\tb c", 9, ["a       b", "c"]),
    ],
)
def test_a_line_breaks_between_words(line: str, columns: int, expected: list[str]) -> None:
    assert wrapped(line, columns) == expected


def test_what_goes_on_is_indented_as_wished_but_never_by_more_than_half_the_screen() -> None:
    assert wrapped("one two three", 8, 4) == ["one two", "    three"]
    assert wrapped("one two", 4, 30) == ["one", "  two"]


def test_a_style_and_a_link_end_before_a_break_and_begin_again_after_it() -> None:
    assert wrapped(f"{BOLD}one two{PLAIN} three", 9) == [f"{BOLD}one two{PLAIN}", "three"]
    assert wrapped(f"{BOLD}one two{PLAIN}", 4) == [f"{BOLD}one{PLAIN}", f"{BOLD}two{PLAIN}"]
    line = f"{LINK}{BOLD}my page.md{PLAIN}{END} x"
    assert wrapped(line, 8) == [f"{LINK}{BOLD}my{END}{PLAIN}", f"{BOLD}{LINK}page.md{PLAIN}{END}", "x"]


def test_a_mark_within_a_word_is_no_place_to_break() -> None:
    line = f"the {BOLD}tea{PLAIN}, {BOLD}green{PLAIN}house"
    assert [seen(element) for element in wrapped(line, 8)] == ["the tea,", "greenhouse"]
    assert [seen(element) for element in wrapped(f"({BOLD}茶{PLAIN}の。) é", 4)] == ["(茶", "の。)", "é"]


@each_case("columns", range(1, 60, 7))
def test_no_text_is_lost_and_only_a_long_word_is_too_wide(columns: int) -> None:
    line = f"    Tee für {BOLD}茶の湯{PLAIN} und «{LINK}naïve{END}» Leser: a-rather-long-word-here … שלום 😀 done"
    lines = wrapped(line, columns, 0)
    assert "".join(seen("".join(lines)).split()) == "".join(seen(line).split())
    assert all(width(seen(line)) <= columns or " " not in seen(line).strip() for line in lines)
