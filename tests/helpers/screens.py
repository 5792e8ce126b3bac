"""Terminals as a person sees them: `with Screen(folder, "commonplace find", columns=100) as screen: screen.wait(…)`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from forks.preloaded import preloaded
from shell import COMMAND

TIMEOUT = 60.0
"""Seconds for anything to be shown."""
_EXIT = re.compile(r"\[exit (\d+)\]")
NEEDS_TMUX = pytest.mark.skipif(shutil.which("tmux") is None and "REQUIRE_TOOLS" not in os.environ, reason="needs tmux")


class Screen:
    """A shell's command line in a terminal of its own, driven by keys and read as it looks.

    Args:
        folder: Where it runs.
        line: The command line; `commonplace` is the product.
        columns: Width.
        rows: Height.
        environment: Variables beside those of the tests.
        forked: Whether the product is forked from one that has loaded it. A terminal that is resized does not tell it.
    """

    def __init__(
        self,
        folder: Path,
        line: str,
        *,
        columns: int,
        rows: int = 24,
        environment: dict[str, str] | None = None,
        forked: bool = False,
    ) -> None:
        self._sockets = tempfile.mkdtemp(prefix="screen")
        programs = (preloaded().programs() if forked else None) or Path(COMMAND[0]).parent
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        kept_values = {key: value for key, value in os.environ.items() if key not in {"TMUX", "COLUMNS", "LINES"}}
        self._environment = {**kept_values, **(environment or {}), "PATH": path, "TMUX_TMPDIR": self._sockets}
        # The terminal stays when the command has ended, so that what it showed last can be read.
        line = f"{line}; printf '[exit %s]\\n' $?; exec cat"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder), line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        subprocess.run(
            ["tmux", "kill-server"], env=self._environment, capture_output=True, timeout=TIMEOUT, check=False
        )
        shutil.rmtree(self._sockets, ignore_errors=True)

    @property
    def lines(self) -> list[str]:
        """The visible lines without trailing blanks, and without empty lines at the end."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").rstrip().split("\n")]

    @property
    def styled(self) -> str:
        """The same with its styles as escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    def type(self, text: str) -> None:
        """Press the keys of a text."""
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by their names: Enter, Escape, Down, C-c, PageDown."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, seen: Callable[[list[str]], object], what: str = "") -> list[str]:
        """The lines as soon as they are as expected."""
        deadline = time.monotonic() + TIMEOUT
        while not seen(lines := self.lines):
            assert time.monotonic() < deadline, "\n".join([f"never seen: {what}", *lines])
            time.sleep(0.02)
        return lines

    def wait_for(self, text: str) -> list[str]:
        """The lines as soon as one of them holds the text."""
        return self.wait(lambda lines: any(text in line for line in lines), text)

    def wait_end(self) -> int:
        """The exit code of the command."""
        lines = self.wait(lambda lines: any(map(_EXIT.fullmatch, lines)), "the end")
        return next(int(match[1]) for match in map(_EXIT.fullmatch, reversed(lines)) if match)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", *arguments], env=self._environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout


def replay(screen: Screen, walk: str, folder: Path) -> None:
    """Take the steps of a recorded walk.

    Args:
        screen: A terminal with a shell.
        walk: A step a line: `$ COMMAND`, `type TEXT`, `press KEY…`, `see TEXT`, `gone TEXT`, `file PATH TEXT`.
        folder: Where the paths of `file` begin.
    """
    for number, line in enumerate(walk.splitlines(), 1):
        verb, _, rest = line.partition(" ")
        try:
            if line and not line.startswith("#"):
                _take(screen, verb, rest, folder)
        except AssertionError as error:
            error.add_note(f"line {number} of the walk: {line}")
            raise


def _take(screen: Screen, verb: str, rest: str, folder: Path) -> None:
    if verb == "$":
        screen.wait(lambda lines: lines[-1] == "$", "the shell's prompt")
        screen.type(rest)
        screen.press("Enter")
    elif verb == "type":
        screen.type(rest)
    elif verb == "press":
        screen.press(*rest.split())
    elif verb == "see":
        screen.wait_for(rest)
    elif verb == "gone":
        screen.wait(lambda lines: not any(rest in line for line in lines), f"the end of {rest}")
    elif verb == "file":
        path, _, text = rest.partition(" ")
        screen.wait(lambda _: text in (folder / path).read_text("utf-8"), f"{text} in {path}")
    else:
        raise ValueError(verb)
