"""Output of commands: the size of the terminal, styles, JSON, lines that break between words, and a progress bar."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import unicodedata
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from commonplace.domain.addresses import DIRECTIONS
from commonplace.domain.json import Json

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from commonplace.domain.ports import Progress


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


# Wraps lines between words, so that the terminal does not break them inside a word.
#
# Escape sequences of styles and links have no width. They are closed before each line break and reopened after it,
# because a pager resets them at line ends.


MAX_INDENT_SHARE = 2
"""Continuation lines are indented by at most the width divided by this number."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")
_PIECE = re.compile(rf"{_ESCAPE.pattern}|.", re.DOTALL)
_UNIT = re.compile(r"(?P<blank>[ ]+)|[^ ]+")
_LEAD = re.compile(r"(?:\x1b\[[0-9;]*m)*(?P<lead>[ ]*(?:(?:[-*+]|\d{1,3}[.)]|>)[ ]+)*)")
_NOT_FIRST = frozenset({"Lm", "Mc", "Me", "Mn", "Cf", "Pe", "Pf", "Po"})
"""Unicode categories of characters that must not begin a line."""
_NOT_LAST = frozenset({"Ps", "Pi"})
"""Unicode categories of characters that must not end a line."""
_TAB = 8
_END_STYLE, _LINK_START, _END_LINK = "\x1b[0m", "\x1b]8;", "\x1b]8;;\x1b\\"


def width(text: str) -> int:
    """Width of a text without escape sequences, in columns."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def clipped(text: str, columns: int) -> str:
    """The text, truncated to this many columns, with an ellipsis if something was removed.

    Args:
        text: Text without escape sequences.
        columns: Maximum width, at least 1.
    """
    if width(text) <= columns:
        return text
    used = 1
    for index, letter in enumerate(text):
        used += _columns(letter)
        if used > columns:
            return f"{text[:index].rstrip()}…"
    return text


def _columns(letter: str) -> int:
    if _is_wide(letter):
        return 2
    return 0 if unicodedata.category(letter) in {"Mn", "Me", "Cf"} else 1


def wrapped(line: str, columns: int, indent: int | None = None) -> list[str]:
    """Wrap a line between words. A word longer than `columns` is not broken.

    Args:
        line: A line without a line end; may contain styles and links.
        columns: Maximum width, at least 1.
        indent: Indentation of continuation lines, in blanks; None for that of the first line including list marks.
    """
    line = line.expandtabs(_TAB) if "\t" in line else line
    if len(line) <= columns and line.isascii():
        return [line]
    if indent is None:
        match = _LEAD.match(line)
        indent = len(match["lead"]) if match else 0
    broken = _Lines(columns, min(indent, columns // MAX_INDENT_SHARE))
    for found_match in _UNIT.finditer(line):
        if found_match["blank"]:
            broken.blanks += found_match[0]
        else:
            for word in _words(found_match[0]):
                broken.take_word(word)
    return broken.end()


@dataclass(slots=True)
class _Lines:
    """Output lines of `wrapped`, and the state of the current one."""

    columns: int
    indent: int
    done: list[str] = field(default_factory=list[str])
    line: str = ""
    used: int = 0
    """Width of the current line, in columns."""
    filled: bool = False
    """Whether the line has a word."""
    blanks: str = ""
    """Blanks after the last word; dropped at a line break."""
    style: str = ""
    link: str = ""

    def take_word(self, word: str) -> None:
        """Append a word to the current line, or to a new line if it does not fit."""
        taken = width(_ESCAPE.sub("", word))
        if self.filled and self.used + len(self.blanks) + taken > self.columns:
            self._break()
        self.line += self.blanks + word
        self.used += len(self.blanks) + taken
        self.blanks = ""
        self.filled = True
        for sequence in _ESCAPE.findall(word):
            if sequence.startswith(_LINK_START):
                self.link = "" if sequence == _END_LINK else sequence
            else:
                self.style = "" if sequence == _END_STYLE else self.style + sequence

    def end(self) -> list[str]:
        """All lines, including the current one."""
        return [*self.done, self.line + self.blanks]

    def _break(self) -> None:
        closed = (_END_LINK if self.link else "") + (_END_STYLE if self.style else "")
        self.done.append(self.line.rstrip(" ") + closed)
        self.line = " " * self.indent + self.style + self.link
        self.used, self.filled, self.blanks = self.indent, False, ""


def _words(text: str) -> list[str]:
    """The parts of a word between which a line may break. Breaks are permitted around wide characters."""
    if text.isascii():
        return [text]
    parts: list[str] = []
    begun, last = "", " "  # escape sequences before the next letter, and the letter before it
    for piece in _PIECE.findall(text):
        if piece in {_END_STYLE, _END_LINK} and parts:
            parts[-1] += piece
        elif len(piece) > 1:
            begun += piece
        else:
            if not parts or _may_break(last, piece):
                parts.append(begun + piece)
            else:
                parts[-1] += begun + piece
            begun, last = "", piece
    return [*parts, begun] if begun else parts


def _may_break(last: str, letter: str) -> bool:
    """Whether a line may break between two adjacent letters."""
    if not (_is_wide(letter) or _is_wide(last)):
        return False
    return unicodedata.category(letter) not in _NOT_FIRST and unicodedata.category(last) not in _NOT_LAST


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


# A progress bar on standard error.


DELAY = 0.3
"""Delay in seconds before the bar is shown, so that short work shows none."""


@contextmanager
def progress_bar(label: str, terminal: Terminal) -> Generator[Progress | None]:
    """A callback for progress reports; None if standard error is not a terminal or styles are disabled."""
    if not (terminal.watched and terminal.styles):
        yield None
        return
    shown = _Shown(label, terminal.stderr)
    try:
        yield shown
    finally:
        shown.close()


@contextmanager
def activity(terminal: Terminal, message: Callable[[str], None]) -> Generator[Callable[[str], None]]:
    """A callback that takes the name of each step, for work of unknown length.

    On a terminal, the current step is shown with a running clock; otherwise each step is one line.

    Args:
        terminal: The terminal.
        message: Writes one line.
    """
    if not (terminal.watched and terminal.styles):
        yield message
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=terminal.stderr), transient=True) as clock:
        task = clock.add_task("", total=None)
        yield lambda step: clock.reset(task, description=step)


class _Shown:
    """Shows the bar at the first report after `DELAY`. The library is imported only then."""

    def __init__(self, label: str, stderr: TextIO) -> None:
        self._label = label
        self._stderr = stderr
        self._due = time.monotonic() + DELAY
        self._bar: Bar | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None and time.monotonic() >= self._due and done < total:
            self._draw(total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def close(self) -> None:
        """Remove the bar from the screen."""
        if self._bar is not None:
            self._bar.stop()

    def _draw(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(file=self._stderr), transient=True)
        self._bar.add_task(self._label, total=total)
        self._bar.start()  # the attribute is set before: if Ctrl-C arrives here, `close` restores the hidden cursor
