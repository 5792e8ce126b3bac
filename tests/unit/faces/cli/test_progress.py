"""Progress of a step of unknown length."""

from __future__ import annotations

import io

from commonplace.faces.cli.output import Terminal
from commonplace.faces.cli.progress import activity


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
