"""Output to a terminal and to a pipe."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from commonplace.faces.cli.output import BOLD, PLAIN, Output, one_line, short_path, shown, terminal


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
