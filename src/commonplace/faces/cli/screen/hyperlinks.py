"""Links that a terminal opens on a click (OSC 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from socket import gethostname
from urllib.parse import quote

PROGRAMS = frozenset({"Hyper", "WezTerm", "ghostty", "iTerm.app", "rio", "tabby", "vscode", "zed"})
"""Values of `TERM_PROGRAM` of terminals that show links."""
TERMS = ("alacritty", "contour", "foot", "xterm-ghostty", "xterm-kitty")
"""Beginnings of `TERM` of terminals that show links."""
VARIABLES = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
"""Variables that only terminals with links set."""
FIRST_VTE = 5000
"""The version of the library of GNOME's terminals from which on they show links."""
FIRST_TMUX = (3, 4)
"""The version of tmux from which on it passes links to its terminal."""

_LINK = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\")


def terminal_shows_links(environment: Mapping[str, str]) -> bool:
    """Whether the terminal is known to show links; `FORCE_HYPERLINK` says so, or with 0 that it does not."""
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
    """A text that opens a file; the file's name holds no control character afterwards."""
    return f"\x1b]8;;file://{gethostname()}{quote(str(file))}\x1b\\{text}\x1b]8;;\x1b\\"


def without_links(text: str) -> str:
    """The text with its links as plain text."""
    return _LINK.sub("", text)
