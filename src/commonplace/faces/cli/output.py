"""What a command says: data on standard output, talk on standard error.

Data is UTF-8 whatever the locale. Text of pages is never passed to a terminal raw: control characters, which could
move the cursor or retitle the window, are shown instead of obeyed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
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
    plain = no_color or bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
    return Terminal(stdout, stderr, styles=not plain)


class Output:
    """Writes a command's answer.

    Args:
        to: Where.
        as_json: Whether the caller wants JSON.
    """

    def __init__(self, to: Terminal, *, as_json: bool) -> None:
        self.terminal = to
        self.as_json = as_json

    def raw(self, content: bytes) -> None:
        """Pass bytes on as they are; a person sees their text, with control characters made visible."""
        if self.terminal.interactive:
            self._write(shown(content.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")) + "\n")
        else:
            self._write_bytes(content)

    def line(self, text: str = "") -> None:
        """One line of data, already made safe and styled by the caller."""
        self._write(f"{text}\n")

    def json(self, value: Mapping[str, Json]) -> None:
        """The one JSON document of this answer, on one line."""
        self._write(json_text(value) + "\n")

    def message(self, text: str) -> None:
        """One line for the person, not part of the data; an empty text is no line."""
        if text:
            self.terminal.stderr.write(f"{shown(text)}\n")

    def warn(self, label: str, text: str) -> None:
        """One line for the person that begins with a label that stands out."""
        stands_out = self.terminal.styles and self.terminal.watched
        self.terminal.stderr.write(f"{_in(BOLD + RED, label) if stands_out else label} {shown(text)}\n")

    def styled(self, style: str, text: str) -> str:
        """The text made safe, in a style (none when empty) where styles are shown."""
        safe = shown(text)
        return _in(style, safe) if style and safe and self.terminal.styles and self.terminal.interactive else safe

    def flush(self) -> None:
        """Pass on what is held back, so that a closed pipe is noticed here and not at the end of the process."""
        self.terminal.stdout.flush()

    def _write(self, text: str) -> None:
        self._write_bytes(text.encode("utf-8", "backslashreplace"))

    def _write_bytes(self, content: bytes) -> None:
        self.terminal.stdout.buffer.write(content)  # past the locale's encoding; nothing else writes there


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


def left_out_message(counts: Mapping[str, int]) -> str:
    """One sentence on files that are not read, and the setting that changes it.

    Args:
        counts: Number of files by suffix, at least one.
    """
    files = ", ".join(f"{count:,} {suffix}" for suffix, count in counts.items())
    verb = "file is" if sum(counts.values()) == 1 else "files are"
    return f"{files} {verb} not read; the setting also_read = [{', '.join(map(repr, counts))}] reads them as Markdown"
