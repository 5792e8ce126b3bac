"""One base behind three processes, as the tests of the protocol see it: ways to it, and what holds up its checks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent import Agent, Mode
from serving import Server
from support import GitRepo, eventually

ENTRIES = 200
ERAS: tuple[Mode, ...] = ("legacy", "auto")
"""Modes of the official client: with a handshake, or as in the newest revision."""
WAYS = tuple((transport, era) for transport in ("stdio", "http") for era in ERAS)


@dataclass(frozen=True, slots=True)
class Gate:
    """Holds up the checks of one process."""

    folder: Path

    @contextmanager
    def closed(self) -> Iterator[None]:
        """A check that begins in this block waits at its first entry until `open` is called, or the block ends."""
        for name in ("seen", "open"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "armed").touch()
        try:
            yield
        finally:
            self.open()
            (self.folder / "armed").unlink()

    def open(self) -> None:
        """Let checks go on."""
        (self.folder / "open").touch()

    def seen(self) -> int:
        """Number of entries that were checked since the gate was closed."""
        noted = self.folder / "seen"
        return len(noted.read_text().splitlines()) if noted.exists() else 0

    def reached(self) -> None:
        """Return once a check waits."""
        eventually(lambda: self.seen() > 0)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to the base."""

    transport: str
    era: Mode
    gate: Gate
    log: Path
    """File with the process's standard error."""
    server: Server | None = None
    heard: list[Any] = field(default_factory=list[Any])
    """Notifications of the older era, as they came."""

    async def hear(self, message: Any) -> None:
        """Record a notification."""
        self.heard.append(message)

    def logged(self) -> str:
        """The standard error of the process so far."""
        return "\n".join(self.server.lines) if self.server else self.log.read_text()


@dataclass(frozen=True, slots=True)
class Site:
    """The base and the ways to it."""

    repo: GitRepo
    ways: dict[tuple[str, str], Way]
    agents: dict[tuple[str, str], Agent]


def gated(folder: Path) -> tuple[Gate, dict[str, str]]:
    """A gate below an empty folder, and the environment of a process that has it, with folders of its own."""
    plugins, noted = folder / "plugins", folder / "gate"
    about = plugins / "gate-1.dist-info"
    about.mkdir(parents=True)
    noted.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gate\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[commonplace.plugins]\ngate = gate:Gate\n")
    shutil.copy(Path(__file__).with_name("gate.py"), plugins)
    own = {name: str(folder / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    return Gate(noted), {"PYTHONPATH": str(plugins), "GATE_OF_COMMONPLACE": str(noted), **own}
