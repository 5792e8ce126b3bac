"""The real command in a process of its own: `from shell import Shell`."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deployments.deployment import deployed, in_step
from forks.preloaded import Forked, preloaded, started
from remotes import canary

COMMAND = [str(Path(sys.executable).with_name("commonplace"))]
TIMEOUT = 60.0
"""Seconds that a command may take."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command."""

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
        assert self.text.count("\n") == 1, self.stderr[-4000:]
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
    fresh: bool = False
    """Whether Python itself is started for each command, too."""

    def __call__(self, *arguments: str | Path, stdin: str | bytes = b"") -> Done:
        """Run one command with pipes on all three streams."""
        canary.plant([self.folder, *arguments])
        with in_step():
            return self._run(deployed(arguments, folder=self.folder)[0], stdin)

    def _run(self, arguments: Sequence[str | Path], stdin: str | bytes) -> Done:
        line = [*COMMAND, *map(str, arguments)]
        environment = {**os.environ, **self.environment}
        given_stdin = stdin.encode() if isinstance(stdin, str) else stdin
        if not self.fresh and (row := preloaded().run(line, self.folder, environment, given_stdin, TIMEOUT)):
            code, out, err = row
            return Done(code, out, err.decode())
        done = subprocess.run(
            line, cwd=self.folder, input=given_stdin, capture_output=True, env=environment, timeout=TIMEOUT, check=False
        )
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def ok(self, *arguments: str | Path, stdin: str | bytes = b"") -> Done:
        """The same for a command that must succeed."""
        done = self(*arguments, stdin=stdin)
        assert done.code == 0, done
        return done

    def on_a_terminal(self, *arguments: str | Path, interrupt_at: str = "", typed: str = "") -> tuple[int, str]:
        """Run one command on a terminal; its exit code and everything that it showed.

        Args:
            arguments: Of the command.
            interrupt_at: Press Ctrl-C as soon as this is shown; "" for never.
            typed: What is typed before the command asks for it.
        """
        screen, keyboard = pty.openpty()
        os.write(screen, typed.encode())
        line = [*map(str, arguments)]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "PAGER": "cat", **self.environment}
        process = started(line, environment, self.folder, (keyboard, keyboard, keyboard))
        os.close(keyboard)
        shown = _everything(screen, process, interrupt_at.encode())
        os.close(screen)
        return process.wait(TIMEOUT), shown.decode().replace("\r\n", "\n")


HEX = re.compile(r"\b[0-9a-f]{10}\b")
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b")


def transcript(text: str) -> list[tuple[str, str]]:
    """The commands of a transcript, each behind `$ `, with what they should say, in order."""
    steps = [step.partition("\n") for step in text.removeprefix("$ ").split("\n$ ")]
    return [(command, said.rstrip("\n")) for command, _, said in steps]


def play(steps: list[tuple[str, str]], folder: Path, *, codes: bool = True) -> None:
    """Run the commands of a transcript in a shell and compare what they say, on both streams.

    In what is expected an ellipsis stands for anything, every id of ten digits for any other, and so does every moment.
    Where codes are compared, too, a last line `[exit N]` is the exit code, 0 without one.
    """
    path = f"{preloaded().programs() or Path(COMMAND[0]).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in steps:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PATH": path, "COLUMNS": "80"},
            timeout=TIMEOUT,
            check=False,
        )
        shown = "\n".join(line for line in done.stdout.split("\n") if line != f"?? {canary.NAME}")
        said = shown.rstrip("\n") + (f"\n[exit {done.returncode}]" if codes and done.returncode else "")
        assert _pattern(expected).fullmatch(_steady(said).lstrip("\n")), f"$ {command}\n{said}"


def _steady(text: str) -> str:
    """The text without what differs from run to run."""
    return MOMENT.sub("<moment>", HEX.sub("<id>", text))


def _pattern(expected: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, _steady(expected).rstrip("\n").split("…"))), re.DOTALL)


def _everything(screen: int, process: subprocess.Popen[bytes] | Forked, interrupt_at: bytes) -> bytes:
    """The output on a terminal until the process has closed its end, which Linux reports as an error."""
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
