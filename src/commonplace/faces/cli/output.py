"""Output of commands: data on standard output, messages on standard error.

Data is UTF-8 whatever the locale. Text of pages is never passed to a terminal raw: control characters, which could
move the cursor or retitle the window, are shown instead of obeyed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from commonplace.domain.json import Json

BOLD, FAINT, RED, GREEN, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Everything that a terminal may obey but tab and line feed: C0, DEL, C1 and changes of direction."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where the output goes, and what can be shown there."""

    stdout: TextIO
    stderr: TextIO
    styles: bool
    """Whether ANSI styles may be used where a person looks."""
    columns: int = 0
    """Width of standard output, if it is a terminal; 0 if not known."""
    lines: int = 0
    """Its height; 0 if not known."""
    links: bool = False
    """Whether it shows links to click."""
    pager: bool = False
    """Whether it can be handed to a pager."""

    @property
    def interactive(self) -> bool:
        """Whether a person looks at standard output."""
        return self.stdout.isatty()

    @property
    def watched(self) -> bool:
        """Whether a person looks at standard error: where progress is shown."""
        return self.stderr.isatty()


def terminal(stdout: TextIO, stderr: TextIO, environment: Mapping[str, str], *, no_color: bool) -> Terminal:
    """The terminal as it is; without styles when the caller, `NO_COLOR` or `TERM` says so."""
    dumb = environment.get("TERM") == "dumb"
    plain = no_color or bool(environment.get("NO_COLOR")) or dumb
    if not stdout.isatty():
        return Terminal(stdout, stderr, styles=not plain)
    from commonplace.faces.cli.screen.hyperlinks import terminal_shows_links
    from commonplace.faces.cli.screen.size import screen_size

    columns, lines = screen_size(stdout, environment)
    links = not plain and terminal_shows_links(environment)
    return Terminal(stdout, stderr, styles=not plain, columns=columns, lines=lines, links=links, pager=not dumb)


class Output:
    """Writes a command's answer.

    For a person lines are broken between words, and all that is written until `flush` is shown at once: in a pager if
    it is longer than the screen.

    Args:
        to: Where.
        as_json: Whether the caller wants JSON.
        paged: Whether a pager may show the answer.
    """

    def __init__(self, to: Terminal, *, as_json: bool, paged: bool = False) -> None:
        self.terminal = to
        self.as_json = as_json
        self._paged = paged
        self._held: list[str] = []
        """Lines for a person."""
        self._messages: list[str] = []
        """Messages after the lines, on standard error."""

    def raw(self, content: bytes) -> None:
        """Pass bytes on as they are; a person sees their text, with control characters made visible."""
        if self.terminal.interactive:
            for line in shown(content.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")).split("\n"):
                self.line(line, whole=not self._paged)
        else:
            self._write_bytes(content)

    def line(self, text: str = "", indent: int | None = None, *, whole: bool = False) -> None:
        """One line of data, already made safe and styled by the caller.

        Args:
            text: The line; a text of several keeps its line ends.
            indent: Blanks before what does not fit on the screen's first line; by default those before the line.
            whole: Whether it is not broken, such as a command that a person may copy.
        """
        if self.terminal.interactive:
            self._held += text.split("\n") if whole else self._fitted(text, indent)
        else:
            self._write(f"{text}\n")

    def _fitted(self, text: str, indent: int | None = None) -> list[str]:
        if not self.terminal.columns:
            return [text]
        from commonplace.faces.cli.screen.line_breaks import wrapped

        return [row for line in text.split("\n") for row in wrapped(line, self.terminal.columns, indent)]

    def json(self, value: Mapping[str, Json]) -> None:
        """The one JSON document of this answer, on one line."""
        self._write(json_text(value) + "\n")

    def message(self, text: str) -> None:
        """One line for the person, not part of the data; an empty text is no line."""
        if text:
            self._say(f"{shown(text)}\n")

    def warn(self, label: str, text: str) -> None:
        """One line for the person that begins with a label that stands out."""
        stands_out = self.terminal.styles and self.terminal.watched
        self._say(f"{_in(BOLD + RED, label) if stands_out else label} {shown(text)}\n")

    def styled(self, style: str, text: str) -> str:
        """The text made safe, in a style (none when empty) where styles are shown."""
        safe = shown(text)
        return _in(style, safe) if style and safe and self.terminal.styles and self.terminal.interactive else safe

    def file(self, text: str, file: Path | None) -> str:
        """A page's name made safe, that opens its file on a click where the terminal can."""
        name = self.styled(BOLD, text)
        if file is None or not (self.terminal.links and self.terminal.interactive):
            return name
        from commonplace.faces.cli.screen.hyperlinks import file_link

        return file_link(name, file)

    def flush(self) -> None:
        """Pass on what is held back, so that a closed pipe is noticed here and not at the end of the process."""
        held, self._held = self._held, []
        messages, self._messages = self._messages, []
        if held and not self._page(held):
            self._write("\n".join(held) + "\n")
        self.terminal.stdout.flush()
        for message in messages:
            self.terminal.stderr.write(message)

    def _page(self, lines: list[str]) -> bool:
        """Show lines in the pager if they do not fit on the screen; whether it did."""
        if not (self._paged and self.terminal.pager and 0 < self.terminal.lines <= len(lines)):
            return False
        from commonplace.faces.cli.screen.hyperlinks import without_links
        from commonplace.faces.cli.screen.pager import page, pager_command, shows_links

        command = pager_command(os.environ)
        if not command:
            return False
        text = "\n".join(lines) + "\n"
        if self.terminal.links and not shows_links(command):
            text = without_links(text)
        return page(text.encode("utf-8", "backslashreplace"), command, os.environ)

    def _say(self, text: str) -> None:
        """Write to standard error; behind the data that is still held back."""
        if self.terminal.watched:
            text = "\n".join(self._fitted(text, 0))
        if self._held:
            self._messages.append(text)
        else:
            self.terminal.stderr.write(text)

    def _write(self, text: str) -> None:
        self._write_bytes(text.encode("utf-8", "backslashreplace"))

    def _write_bytes(self, content: bytes) -> None:
        self.terminal.stdout.buffer.write(content)  # past the locale's encoding; nothing else writes there


INDENT = 4
"""Blanks before what a person is told below a page's name."""


def show_diff(out: Output, text: str) -> None:
    """Write a unified diff: coloured for a person, byte for byte for a program."""
    if not out.terminal.interactive:
        out.raw(text.encode("utf-8", "backslashreplace"))
        return
    for line in text.splitlines():
        out.line(out.styled({"+": GREEN, "-": RED, "@": FAINT}.get(line[:1], ""), line))


def _in(style: str, text: str) -> str:
    return f"{style}{text}{PLAIN}"


def json_text(value: Mapping[str, Json]) -> str:
    """Compact JSON in which every script stays readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def one_line(text: str) -> str:
    """The text made safe, with every run of blanks and line ends as one blank."""
    return shown(" ".join(text.split()))


def shown(text: str) -> str:
    """The text with control characters and what cannot be encoded written out by their numbers."""
    written_out = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return written_out.encode("utf-8", "backslashreplace").decode()


def short_path(path: Path) -> str:
    """The absolute path as a person writes it: without `.` and `..`, and with `~` for the own home."""
    home = os.environ.get("HOME", "")
    text = os.path.abspath(path)  # noqa: PTH100 - `resolve` would follow links, which are named as typed
    return f"~{text[len(home) :]}" if len(home) > 1 and (text == home or text.startswith(f"{home}/")) else text


def left_out_message(counts: Mapping[str, int]) -> str:
    """One sentence on files that are not read, and the setting that changes it.

    Args:
        counts: Number of files by suffix, at least one.
    """
    files = ", ".join(f"{count:,} {suffix}" for suffix, count in counts.items())
    verb = "file is" if sum(counts.values()) == 1 else "files are"
    return f"{files} {verb} not read; the setting also_read = [{', '.join(map(repr, counts))}] reads them as Markdown"
