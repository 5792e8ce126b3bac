"""Output to a terminal and to a pipe."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from cases import each_case
from commonplace.faces.cli.output import (
    BOLD,
    PLAIN,
    Output,
    Terminal,
    activity,
    one_line,
    short_path,
    shown,
    terminal,
    width,
    without_links,
    wrapped,
)


class Screen(io.TextIOWrapper):
    """A stream that says that a person looks at it."""

    def isatty(self) -> bool:
        return True


def output(*, screen: bool, as_json: bool = False, no_color: bool = False, **environment: str) -> Output:
    kind = Screen if screen else io.TextIOWrapper
    streams = (kind(io.BytesIO(), encoding="ascii", errors="strict"), kind(io.BytesIO(), encoding="utf-8"))
    return Output(terminal(*streams, environment, no_color=no_color), as_json=as_json)


def written(out: Output) -> bytes:
    out.flush()
    buffer = out.terminal.stdout.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def said(out: Output) -> str:
    out.terminal.stderr.flush()
    buffer = out.terminal.stderr.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def test_a_pipe_gets_bytes_as_they_are() -> None:
    out = output(screen=False)
    out.raw(b"\xef\xbb\xbf# A\r\n\x1b[2J\xff no end")
    assert written(out) == b"\xef\xbb\xbf# A\r\n\x1b[2J\xff no end"


def test_a_screen_never_gets_control_characters_of_a_page() -> None:
    out = output(screen=True)
    out.raw("# A\r\n\x1b]0;owned\x07\ttab \u202egnirts \x9b31m\n".encode())
    assert written(out).decode() == "# A\n\\x1b]0;owned\\x07\ttab \\u202egnirts \\x9b31m\n"


def test_data_is_utf8_whatever_the_locale() -> None:
    out = output(screen=False)
    out.line("Tee für 茶")
    assert written(out) == "Tee für 茶\n".encode()


def test_what_is_no_text_is_written_out() -> None:
    assert shown("a\udcffb") == "a\\udcffb"
    assert one_line("two\nlines\t and\r\n blanks ") == "two lines and blanks"


def test_json_is_one_compact_line_in_every_script() -> None:
    out = output(screen=False, as_json=True)
    out.json({"title": "茶\n", "n": None, "list": [1, True]})
    assert written(out) == '{"title":"茶\\n","n":null,"list":[1,true]}\n'.encode()
    assert json.loads(written(out))["title"] == "茶\n"


@pytest.mark.parametrize(
    ("screen", "no_color", "environment", "styled"),
    [
        (True, False, {}, True),
        (True, False, {"NO_COLOR": ""}, True),
        (True, False, {"NO_COLOR": "1"}, False),
        (True, False, {"TERM": "dumb"}, False),
        (True, True, {}, False),
        (False, False, {}, False),
    ],
)
def test_styles_are_for_screens_that_want_them(
    screen: bool, no_color: bool, environment: dict[str, str], styled: bool
) -> None:
    out = output(screen=screen, no_color=no_color, **environment)
    assert out.styled(BOLD, "x") == (f"{BOLD}x{PLAIN}" if styled else "x")
    assert out.styled(BOLD, "") == ""
    assert out.styled("", "x") == "x"
    out.warn("Error:", "no")
    assert said(out) == ("\x1b[1m\x1b[31mError:\x1b[0m no\n" if styled else "Error: no\n")


def test_talk_goes_to_the_other_stream_and_nothing_is_no_line() -> None:
    out = output(screen=True)
    out.message("Showing 1 of 2\x1b[0m")
    out.message("")
    assert written(out) == b""
    assert said(out) == "Showing 1 of 2\\x1b[0m\n"


@pytest.mark.parametrize(
    ("typed", "shown_as"),
    [
        (".", "~/work/notes"),
        ("..", "~/work"),
        ("../other/", "~/work/other"),
        ("/srv/notes", "/srv/notes"),
        ("../..", "~"),
        ("../../../homes", "{parent}/homes"),
    ],
)
def test_a_folder_is_named_as_people_write_it(
    typed: str, shown_as: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "work/notes").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "work/notes")
    assert short_path(Path(typed)) == shown_as.format(parent=tmp_path)


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


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_one_line_for_each_step() -> None:
    lines: list[str] = []
    with activity(Terminal(io.StringIO(), io.StringIO(), styles=True), lines.append) as say:
        say("downloading")
        say("converting")
    assert lines == ["downloading", "converting"]


def test_a_terminal_gets_the_step_with_a_clock_and_is_clean_afterwards() -> None:
    screen = _Screen()
    with activity(Terminal(io.StringIO(), screen, styles=True), lambda _: None) as say:
        say("downloading [80 MB]")
    assert "downloading [80 MB]" in screen.getvalue()
    assert "0:00:0" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K"), "the line is erased"
