"""Size of the terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO


def screen_size(screen: TextIO, environment: Mapping[str, str]) -> tuple[int, int]:
    """Columns and lines of a terminal; 0 if unknown. `COLUMNS` and `LINES` override the detected values."""
    try:
        found = os.get_terminal_size(screen.fileno())
    except (OSError, ValueError):
        found = os.terminal_size((0, 0))
    columns, lines = (environment.get(name, "") for name in ("COLUMNS", "LINES"))
    return (
        int(columns) if columns.isdecimal() and int(columns) else found.columns,
        int(lines) if lines.isdecimal() and int(lines) else found.lines,
    )
