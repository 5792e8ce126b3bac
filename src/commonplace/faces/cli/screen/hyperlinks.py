"""Hyperlinks in terminals (OSC 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from socket import gethostname
from urllib.parse import quote

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
