"""The size of the terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from commonplace.faces.cli.output import screen_size


@pytest.fixture
def screen() -> Iterator[TextIO]:
    """A terminal of 60 columns and 20 lines."""
    element, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    with os.fdopen(other, "w") as opened:
        yield opened
    os.close(element)


def test_a_terminal_says_how_large_it_is_and_variables_override_it(screen: TextIO) -> None:
    assert screen_size(screen, {}) == (60, 20)
    assert screen_size(screen, {"COLUMNS": "40"}) == (40, 20)
    assert screen_size(screen, {"LINES": "9", "COLUMNS": "wide"}) == (60, 9)
    assert screen_size(screen, {"LINES": "0"}) == (60, 20)


def test_what_is_no_terminal_has_no_size() -> None:
    assert screen_size(io.StringIO(), {}) == (0, 0)
