"""Shows a long text in the user's pager, with the same rules as Git."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

DEFAULTS = ("less", "more")
"""Pagers that are tried if `$PAGER` is not set."""
OPTIONS = {"LESS": "FRX", "LV": "-c"}
"""Default options of pagers, if the user has set none: show styles, and leave the text on the screen at exit."""
FIRST_WITH_LINKS = 566
"""First version of less that passes hyperlinks to the terminal."""


def pager_command(environment: Mapping[str, str]) -> str:
    """The pager's command line: `$PAGER`, else less or more; "" if there is none, or `$PAGER` is empty or cat."""
    given = environment.get("PAGER")
    if given is None:
        given = next((name for name in DEFAULTS if shutil.which(name)), "")
    try:
        words = shlex.split(given)
    except ValueError:
        return ""
    return given if words and words != ["cat"] and shutil.which(words[0]) else ""


def shows_links(command: str) -> bool:
    """Whether a pager passes hyperlinks to the terminal. Only less since version 566 is known to do so."""
    words = shlex.split(command)
    if Path(words[0]).name != "less":
        return False
    done = subprocess.run([words[0], "--version"], capture_output=True, text=True, check=False, timeout=5)  # noqa: S603 - the user's own pager
    found = re.match(r"less (\d+)", done.stdout)
    return found is not None and int(found[1]) >= FIRST_WITH_LINKS


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
