"""Faults of plugins: each is logged once, and `doctor` lists all of them."""

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
"""File name in the state folder. Servers record faults there, so that `doctor`, another process, can list them."""
MAX_PER_PLUGIN = 50
"""Maximum number of faults per plugin that are stored and logged."""
RETENTION_SECONDS = 7 * 86_400.0
"""Seconds for which the file stores a fault that does not recur."""
MAX_STORED_FAULTS = 500
"""Maximum number of faults in the file."""
MAX_TEXT_CHARS = 300
"""Maximum length of a message in characters."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plugin."""

    plugin: str
    hook: str
    """Name of the method concerned; "" if the fault concerns the whole plugin."""
    message: str
    """The invalid value or error, and the valid values."""

    def __str__(self) -> str:
        return f"{self.hook}: {self.message}" if self.hook else self.message


class Faults:
    """The faults of this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Fault, None] = {}
        self._folder: Path | None = None
        self.stamps: dict[str, str] = {}
        """A stamp for each plugin, which changes with the plugin's code."""

    def note(self, plugin: str, hook: str, message: str, *, in_call: bool = False) -> None:
        """Record and log a fault unless it has been recorded already.

        Args:
            plugin: Name of the plugin.
            hook: The method concerned, or the function that it returned.
            message: The invalid value or error, and the valid values.
            in_call: Whether the fault occurred in a call, so that loading the plugin does not reproduce it.
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
        """All faults, in the order in which they were recorded."""
        with self._lock:
            return tuple(self._known)

    def store_in(self, folder: Path) -> None:
        """Write every later fault of a call to a file in this folder, for `stored_in`."""
        self._folder = folder

    def stored_in(self, folder: Path) -> list[Fault]:
        """Recent faults of calls in any process, if the plugin's code is unchanged."""
        rows = _read(folder / FAULTS_FILE).items()
        return [fault for fault, (stamp, _) in rows if self.stamps.get(fault.plugin) == stamp]


_KEEPING = threading.Lock()


def _keep(folder: Path, fault: Fault, stamp: str) -> None:
    """Add a fault to the file. If it cannot be written, the fault is still in the log."""
    file = folder / FAULTS_FILE
    with _KEEPING, suppress(OSError):
        kept = _read(file) | {fault: (stamp, time.time())}
        rows = [{**asdict(one), "stamp": of, "met": met} for one, (of, met) in list(kept.items())[-MAX_STORED_FAULTS:]]
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{FAULTS_FILE}.{os.getpid()}"
        beside.write_text(json.dumps(rows), encoding="utf-8")
        beside.replace(file)


def _read(file: Path) -> dict[Fault, tuple[str, float]]:
    """The recent faults, each with its plugin's stamp and its time."""
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
