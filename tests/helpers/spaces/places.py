"""Spaces served by the real `cn`, and what its process says on standard error."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from commonplace.cn import main
from forks import preloaded as processes
from forks.preloaded import SPACES
from shell import TIMEOUT, Done


def cn(folder: Path, *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str = "") -> Done:
    """Run one `cn` command in a folder, all of it but its process: starting one costs more than most commands do."""
    out, err = _stream(), _stream()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        for name, value in {"HOME": str(folder), **(env or {})}.items():  # nobody's own configuration
            patch.setenv(name, value)
        code = main([str(argument) for argument in arguments])
        out.flush()
        err.flush()
    return Done(code, out.buffer.getvalue(), err.buffer.getvalue().decode())  # pyright: ignore[reportAttributeAccessIssue]


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def started(folder: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Done:
    """Run one `cn` command in a folder and in a process of its own, with nothing to read."""
    environment = {**os.environ, "HOME": str(folder), **(env or {})}
    process = processes.started([*map(str, arguments)], environment, folder, (DEVNULL, PIPE, PIPE), program=SPACES)
    out, err = process.communicate(timeout=TIMEOUT)
    return Done(process.wait(), out, err.decode())


class Served:
    """A `cn mcp` process whose client speaks bytes: for what no well-behaved client does."""

    def __init__(self, folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        environment = {**os.environ, "HOME": str(folder), **(env or {})}
        self.process = processes.started(["mcp", *arguments], environment, folder, program=SPACES)

    def send(self, message: str) -> None:
        """One line."""
        assert self.process.stdin is not None
        self.process.stdin.write(message.encode() + b"\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line of its standard output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def end(self, number: signal.Signals | None) -> Done:
        """End it by a signal, or by closing its input; what it left."""
        if number is not None:
            self.process.send_signal(number)
            # Its input stays open, so that nothing but the signal can end it.
            deadline = time.monotonic() + TIMEOUT
            while self.process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
        out, err = self.process.communicate(timeout=TIMEOUT)
        return Done(self.process.wait(), out, err.decode())
