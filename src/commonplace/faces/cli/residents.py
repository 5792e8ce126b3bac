"""The residents of this user, for the commands that show or stop them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.words.amounts import amount
from commonplace.relay import RESIDENT_MODULE, SESSION_TITLE


@dataclass(frozen=True, slots=True)
class RunningResident:
    """A resident of this user."""

    process: int
    sessions: int
    """Number of sessions that run."""

    @property
    def text(self) -> str:
        """The resident in a few words."""
        return f"resident: process {self.process}, {amount(self.sessions, 'session')}"


def running_residents() -> Iterator[RunningResident]:
    """The residents of this user, found among the processes of the machine; none where there is no `/proc`."""
    processes = [(folder, _words(folder)) for folder in Path("/proc").glob("[0-9]*")]
    ours = {folder: words[4:6] for folder, words in processes if words[2:4] == ["-m", RESIDENT_MODULE]}
    titles = {folder: _text(folder / "comm").strip() for folder in ours}
    for folder, place in ours.items():
        if titles[folder] != SESSION_TITLE:
            count = sum(titles[other] == SESSION_TITLE and ours[other] == place for other in ours)
            yield RunningResident(int(folder.name), count)


def _words(folder: Path) -> list[str]:
    try:
        return _text(folder / "cmdline").split("\0") if folder.stat().st_uid == os.geteuid() else []
    except OSError:  # it has ended meanwhile
        return []


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode(errors="replace")
    except OSError:
        return ""
