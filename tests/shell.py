"""The real command in a process of its own, as a shell starts it: `from shell import Shell`."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMAND = [str(Path(sys.executable).with_name("commonplace"))]
TIMEOUT = 60.0
"""Seconds that a command may take."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode()

    @property
    def lines(self) -> list[str]:
        """Standard output as lines."""
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        """Standard output, which is one JSON document on one line."""
        assert self.text.count("\n") == 1
        return json.loads(self.text)

    @property
    def error(self) -> Any:
        """The error on standard error, as `--json` shows it."""
        return json.loads(self.stderr)["error"]


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs `commonplace` in a folder."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str | Path, stdin: str | bytes = b"") -> Done:
        """Run one command with pipes on all three streams."""
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            cwd=self.folder,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**os.environ, **self.environment},
            timeout=TIMEOUT,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def ok(self, *arguments: str | Path, stdin: str | bytes = b"") -> Done:
        """The same for a command that must succeed."""
        done = self(*arguments, stdin=stdin)
        assert done.code == 0, done
        return done

    def on_a_terminal(self, *arguments: str | Path, interrupt_at: str = "") -> tuple[int, str]:
        """Run one command on a terminal; its exit code and everything that it showed.

        Args:
            arguments: Of the command.
            interrupt_at: Press Ctrl-C as soon as this is shown; "" for never.
        """
        screen, keyboard = pty.openpty()
        with subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=self.folder,
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200", **self.environment},
        ) as process:
            os.close(keyboard)
            shown = _everything(screen, process, interrupt_at.encode())
        os.close(screen)
        return process.returncode, shown.decode().replace("\r\n", "\n")


def _everything(screen: int, process: subprocess.Popen[bytes], interrupt_at: bytes) -> bytes:
    """What a terminal shows until the process has closed its end, which Linux reports as an error."""
    shown = b""
    deadline = time.monotonic() + TIMEOUT
    while select.select([screen], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            part = os.read(screen, 65_536)
        except OSError:
            return shown
        if not part:
            return shown
        shown += part
        if interrupt_at and interrupt_at in shown:
            process.send_signal(signal.SIGINT)
            interrupt_at = b""
    process.kill()
    raise AssertionError(f"still running after {TIMEOUT} s; it showed {shown!r}")
