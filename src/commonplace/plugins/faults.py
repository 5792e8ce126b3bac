"""What is wrong with plugins: each thing is said once in the log, and `doctor` lists all of them."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

log = logging.getLogger(__name__)

FAULTS_FILE = "plugin-faults.json"
"""In the state folder: what servers met, for `doctor`, which is another process."""
MAX_PER_PLUGIN = 50
"""Faults of one plugin that are kept and logged."""
RETENTION_SECONDS = 7 * 86_400.0
"""How long the file keeps a fault that is not met again."""
MAX_STORED_FAULTS = 500
"""Faults in the file."""
MAX_TEXT_CHARS = 300
"""Characters of a message."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a plugin."""

    plugin: str
    hook: str
    """The name of the method that it is about; "" for the plugin as a whole."""
    message: str
    """What was found, and what is expected."""

    def __str__(self) -> str:
        return f"{self.hook}: {self.message}" if self.hook else self.message


class Faults:
    """The faults of this process; safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Fault, None] = {}
        self._folder: Path | None = None
        self.stamps: dict[str, str] = {}
        """By plugin, what is another text once its code has changed."""

    def note(self, plugin: str, hook: str, message: str, *, in_call: bool = False) -> None:
        """Say what is wrong; what was said before is not said again.

        Args:
            plugin: With which.
            hook: With which of its methods, or of what that returned.
            message: What is wrong, and what is expected.
            in_call: Whether a call met it, so that who only loads the plugin does not.
        """
        fault = Fault(plugin, hook, message[:MAX_TEXT_CHARS])
        with self._lock:
            if fault in self._known or sum(one.plugin == plugin for one in self._known) >= MAX_PER_PLUGIN:
                return
            self._known[fault] = None
        log.warning("plugin %s: %s", plugin, fault)
        if in_call and self._folder:
            _keep(self._folder, fault, self.stamps.get(plugin, ""))

    @property
    def all(self) -> tuple[Fault, ...]:
        """All of them, in the order in which they were met."""
        with self._lock:
            return tuple(self._known)

    def store_in(self, folder: Path) -> None:
        """Write every fault that calls meet from now on to the file of a folder, for `stored_in`."""
        self._folder = folder

    def stored_in(self, folder: Path) -> list[Fault]:
        """The faults of these very plugins that calls in any process met within the last days."""
        rows = _read(folder / FAULTS_FILE).items()
        return [fault for fault, (stamp, _) in rows if self.stamps.get(fault.plugin) == stamp]


_KEEPING = threading.Lock()


def _keep(folder: Path, fault: Fault, stamp: str) -> None:
    """Add a fault to the file; one that cannot be written is in the log all the same."""
    file = folder / FAULTS_FILE
    with _KEEPING, suppress(OSError):
        kept = _read(file) | {fault: (stamp, time.time())}
        rows = [{**asdict(one), "stamp": of, "met": met} for one, (of, met) in list(kept.items())[-MAX_STORED_FAULTS:]]
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{FAULTS_FILE}.{os.getpid()}"
        beside.write_text(json.dumps(rows), encoding="utf-8")
        beside.replace(file)


def _read(file: Path) -> dict[Fault, tuple[str, float]]:
    """The faults of the last days, each with its plugin's stamp and when it was met."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    found: dict[Fault, tuple[str, float]] = {}
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        values = cast("dict[str, object]", row) if isinstance(row, dict) else {}
        texts = [values.get(name) for name in ("plugin", "hook", "message", "stamp")]
        met = values.get("met")
        if (
            all(isinstance(one, str) for one in texts)
            and isinstance(met, float)
            and met > time.time() - RETENTION_SECONDS
        ):
            plugin, hook, message, stamp = cast("list[str]", texts)
            found[Fault(plugin, hook, message)] = (stamp, met)
    return found
