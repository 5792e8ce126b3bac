"""Size of the terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import TextIO
from urllib.parse import quote

from commonplace.domain.addresses import DIRECTIONS
from commonplace.domain.json import Json


def screen_size(screen: TextIO, environment: Mapping[str, str]) -> tuple[int, int]:
    """Columns and lines of a terminal; 0 if unknown. `COLUMNS` and `LINES` override the detected values."""
    try:
        size = os.get_terminal_size(screen.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    columns, lines = (environment.get(name, "") for name in ("COLUMNS", "LINES"))
    return (
        int(columns) if columns.isdecimal() and int(columns) else size.columns,
        int(lines) if lines.isdecimal() and int(lines) else size.lines,
    )


# Hyperlinks in terminals (OSC 8).


PROGRAMS = frozenset({"Hyper", "WezTerm", "ghostty", "iTerm.app", "rio", "tabby", "vscode", "zed"})
"""Values of `TERM_PROGRAM` for terminals with hyperlinks."""
TERMS = ("alacritty", "contour", "foot", "xterm-ghostty", "xterm-kitty")
"""Prefixes of `TERM` for terminals with hyperlinks."""
VARIABLES = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
"""Variables that are set only by terminals with hyperlinks."""
FIRST_VTE = 5000
"""First version of VTE, the library of GNOME's terminals, that supports hyperlinks."""
FIRST_TMUX = (3, 4)
"""First version of tmux that passes hyperlinks to the terminal."""

_LINK = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\")


def terminal_shows_links(environment: Mapping[str, str]) -> bool:
    """Whether the terminal is known to support hyperlinks.

    `FORCE_HYPERLINK` overrides the detection; 0 disables them.
    """
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    program = environment.get("TERM_PROGRAM", "")
    if program == "tmux" or environment.get("TERM", "").startswith(("screen", "tmux")):
        version = re.match(r"(\d+)\.(\d+)", environment.get("TERM_PROGRAM_VERSION", ""))
        return version is not None and (int(version[1]), int(version[2])) >= FIRST_TMUX
    vte = environment.get("VTE_VERSION", "")
    return (
        program in PROGRAMS
        or environment.get("TERM", "").startswith(TERMS)
        or any(name in environment for name in VARIABLES)
        or (vte.isdecimal() and int(vte) >= FIRST_VTE)
    )


def file_link(text: str, file: Path) -> str:
    """A text as a hyperlink to a file. Control characters in the file's name are percent-encoded."""
    return f"\x1b]8;;file://{gethostname()}{quote(str(file))}\x1b\\{text}\x1b]8;;\x1b\\"


def without_links(text: str) -> str:
    """The text with hyperlinks replaced by their labels."""
    return _LINK.sub("", text)


# Shows a long text in the user's pager, with the same rules as Git.


DEFAULTS = ("less", "more")
"""Pagers that are tried if `$PAGER` is not set."""
OPTIONS = {"LESS": "FRX", "LV": "-c"}
"""Default options of pagers, if the user has set none: show styles, and leave the text on the screen at exit."""
FIRST_WITH_LINKS = 566
"""First version of less that passes hyperlinks to the terminal."""


def pager_command(environment: Mapping[str, str]) -> str:
    """The pager's command line: `$PAGER`, else less or more; "" if there is none, or `$PAGER` is empty or cat."""
    pager = environment.get("PAGER")
    if pager is None:
        pager = next((name for name in DEFAULTS if shutil.which(name)), "")
    try:
        words = shlex.split(pager)
    except ValueError:
        return ""
    return pager if words and words != ["cat"] and shutil.which(words[0]) else ""


def shows_links(command: str) -> bool:
    """Whether a pager passes hyperlinks to the terminal. Only less since version 566 is known to do so."""
    words = shlex.split(command)
    if Path(words[0]).name != "less":
        return False
    done = subprocess.run([words[0], "--version"], capture_output=True, text=True, check=False, timeout=5)  # noqa: S603 - the user's own pager
    match = re.match(r"less (\d+)", done.stdout)
    return match is not None and int(match[1]) >= FIRST_WITH_LINKS


def page(content: bytes, command: str, environment: Mapping[str, str]) -> bool:
    """Show a text in a pager and wait until the user exits it.

    Args:
        content: The text.
        command: A command line from `pager_command`; run by the shell, as Git does.
        environment: Environment variables.

    Returns:
        Whether the pager could be started.
    """
    try:
        process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, env={**OPTIONS, **environment})  # noqa: S603, S607 - the user's own command
    except OSError:
        return False
    # Ctrl-C is handled by the pager: it cancels a search or exits the pager. This process keeps waiting.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(content)
    finally:
        signal.signal(signal.SIGINT, before)
    return True


# Output of commands: data on standard output, messages on standard error.
#
# Data is UTF-8 in every locale. In text of pages, control characters are shown as escapes, as they could move the
# cursor or change the window's title.


BOLD, FAINT, RED, GREEN, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[0m"

_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTIONS}]")
"""Characters with an effect on terminals, except tab and line feed: C0, DEL, C1 and directional formatting."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The streams for output, and the capabilities of the terminal."""

    stdout: TextIO
    stderr: TextIO
    styles: bool
    """Whether ANSI styles may be used for output to a terminal."""
    columns: int = 0
    """Width of the terminal on standard output in columns; 0 if unknown."""
    lines: int = 0
    """Height of the terminal in lines; 0 if unknown."""
    links: bool = False
    """Whether the terminal supports hyperlinks."""
    pager: bool = False
    """Whether a pager may be used."""

    @property
    def interactive(self) -> bool:
        """Whether standard output is a terminal."""
        return self.stdout.isatty()

    @property
    def watched(self) -> bool:
        """Whether standard error is a terminal, so that progress can be shown."""
        return self.stderr.isatty()


def terminal(stdout: TextIO, stderr: TextIO, environment: Mapping[str, str], *, no_color: bool) -> Terminal:
    """Detect the capabilities of the terminal. Styles are disabled by `no_color`, `NO_COLOR` or `TERM=dumb`."""
    dumb = environment.get("TERM") == "dumb"
    plain = no_color or bool(environment.get("NO_COLOR")) or dumb
    if not stdout.isatty():
        return Terminal(stdout, stderr, styles=not plain)

    columns, lines = screen_size(stdout, environment)
    links = not plain and terminal_shows_links(environment)
    return Terminal(stdout, stderr, styles=not plain, columns=columns, lines=lines, links=links, pager=not dumb)


class Output:
    """Writes the output of a command.

    On a terminal, lines are wrapped between words and buffered until `flush`, which uses a pager if they exceed the
    screen.

    Args:
        to: The streams.
        as_json: Whether the output is JSON.
        paged: Whether a pager may be used.
    """

    def __init__(self, to: Terminal, *, as_json: bool, paged: bool = False) -> None:
        self.terminal = to
        self.as_json = as_json
        self._paged = paged
        self._held: list[str] = []
        """Buffered lines for the terminal."""
        self._messages: list[str] = []
        """Messages for standard error, written after the buffered lines."""

    def raw(self, content: bytes) -> None:
        """Write bytes unchanged. A terminal gets their text, with control characters escaped."""
        if self.terminal.interactive:
            for line in shown(content.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")).split("\n"):
                self.line(line, whole=not self._paged)
        else:
            self._write_bytes(content)

    def line(self, text: str = "", indent: int | None = None, *, whole: bool = False) -> None:
        """Write one line of data, which the caller has escaped and styled.

        Args:
            text: The line; line ends inside it are preserved.
            indent: Indentation of continuation lines, in blanks; None for the indentation of the line itself.
            whole: Whether the line is never wrapped, such as a command to copy.
        """
        if self.terminal.interactive:
            self._held += text.split("\n") if whole else self._fitted(text, indent)
        else:
            self._write(f"{text}\n")

    def _fitted(self, text: str, indent: int | None = None) -> list[str]:
        if not self.terminal.columns:
            return [text]
        from commonplace.faces.cli.line_breaks import wrapped

        return [row for line in text.split("\n") for row in wrapped(line, self.terminal.columns, indent)]

    def json(self, value: Mapping[str, Json]) -> None:
        """Write the JSON document of this answer, on one line."""
        self._write(json_text(value) + "\n")

    def message(self, text: str) -> None:
        """Write one message to standard error; nothing for an empty text."""
        if text:
            self._say(f"{shown(text)}\n")

    def warn(self, label: str, text: str) -> None:
        """Write one message to standard error, with a highlighted label."""
        stands_out = self.terminal.styles and self.terminal.watched
        self._say(f"{_in(BOLD + RED, label) if stands_out else label} {shown(text)}\n")

    def styled(self, style: str, text: str) -> str:
        """The escaped text, in this style if styles are shown and the style is not empty."""
        safe = shown(text)
        return _in(style, safe) if style and safe and self.terminal.styles and self.terminal.interactive else safe

    def file(self, text: str, file: Path | None) -> str:
        """The escaped name of a page, as a hyperlink to its file if the terminal supports it."""
        name = self.styled(BOLD, text)
        if file is None or not (self.terminal.links and self.terminal.interactive):
            return name

        return file_link(name, file)

    def flush(self) -> None:
        """Write all buffered output. A closed pipe raises an error here instead of at interpreter exit."""
        held, self._held = self._held, []
        messages, self._messages = self._messages, []
        if held and not self._page(held):
            self._write("\n".join(held) + "\n")
        self.terminal.stdout.flush()
        for message in messages:
            self.terminal.stderr.write(message)

    def _page(self, lines: list[str]) -> bool:
        """Show lines in the pager if they do not fit on the screen. Returns whether the pager was used."""
        if not (self._paged and self.terminal.pager and 0 < self.terminal.lines <= len(lines)):
            return False

        command = pager_command(os.environ)
        if not command:
            return False
        text = "\n".join(lines) + "\n"
        if self.terminal.links and not shows_links(command):
            text = without_links(text)
        return page(text.encode("utf-8", "backslashreplace"), command, os.environ)

    def _say(self, text: str) -> None:
        """Write to standard error, after any data that is still buffered."""
        if self.terminal.watched:
            text = "\n".join(self._fitted(text, 0))
        if self._held:
            self._messages.append(text)
        else:
            self.terminal.stderr.write(text)

    def _write(self, text: str) -> None:
        self._write_bytes(text.encode("utf-8", "backslashreplace"))

    def _write_bytes(self, content: bytes) -> None:
        self.terminal.stdout.buffer.write(content)  # avoids the locale's encoding; nothing else writes to this stream


INDENT = 4
"""Indentation of lines below a page's name, in blanks."""


def show_diff(out: Output, text: str) -> None:
    """Write a unified diff: coloured on a terminal, unchanged otherwise."""
    if not out.terminal.interactive:
        out.raw(text.encode("utf-8", "backslashreplace"))
        return
    for line in text.splitlines():
        out.line(out.styled({"+": GREEN, "-": RED, "@": FAINT}.get(line[:1], ""), line))


def _in(style: str, text: str) -> str:
    return f"{style}{text}{PLAIN}"


def json_text(value: Mapping[str, Json]) -> str:
    """Compact JSON without escapes of non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def one_line(text: str) -> str:
    """The escaped text with every run of white space replaced by one blank."""
    return shown(" ".join(text.split()))


def shown(text: str) -> str:
    """The text with control characters and unencodable characters escaped."""
    written_out = _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
    return written_out.encode("utf-8", "backslashreplace").decode()


def short_path(path: Path) -> str:
    """The absolute path without `.` and `..`, and with `~` for the home folder."""
    home = os.environ.get("HOME", "")
    text = os.path.abspath(path)  # noqa: PTH100 - `resolve` would follow links, which are named as typed
    return f"~{text[len(home) :]}" if len(home) > 1 and (text == home or text.startswith(f"{home}/")) else text


def left_out_message(counts: Mapping[str, int]) -> str:
    """One sentence about files that are not read, and the setting that includes them.

    Args:
        counts: Number of files by suffix, at least one.
    """
    files = ", ".join(f"{count:,} {suffix}" for suffix, count in counts.items())
    verb = "file is" if sum(counts.values()) == 1 else "files are"
    return f"{files} {verb} not read; the setting also_read = [{', '.join(map(repr, counts))}] reads them as Markdown"
