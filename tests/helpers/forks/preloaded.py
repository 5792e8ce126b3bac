"""Processes of the product that need not load it: one process has loaded it, and forks for each, for all workers.

What such a process does, reads, writes and ends with is all its own; only what Python does before it reads the command
line is done once.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO

from forks.forked import Control

HERE = Path(__file__).resolve()
PROGRAM = "import sys; sys.path.append(sys.argv[1]); from forks import forking; sys.exit(forking.fork(sys.argv[2]))"
"""The one that forks; the product's path stays first."""
OWN = {
    "CN_EMAIL",
    "CN_SITE",
    "CN_TOKEN",
    "CODEX_HOME",
    "COLUMNS",
    "EDITOR",
    "FORCE_HYPERLINK",
    "HOME",
    "KNOWLEDGE_MCP_HOME",
    "KNOWLEDGE_MCP_LOG_LEVEL",
    "LINES",
    "MCP_PORT",
    "MEILI_API_KEY",
    "MEILI_URL",
    "NO_COLOR",
    "ORT_DISABLE_TELEMETRY",
    "OTTERWIKI_API_KEY",
    "OTTERWIKI_API_URL",
    "PAGER",
    "PYTEST_CURRENT_TEST",
    "PYTEST_XDIST_WORKER",
    "PYTHONPATH",
    "RETAIN_PAGE_NAME_CASE",
    "TERM",
    "VISUAL",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
}
"""Variables that are read by what a command runs, beside those of the product; all others may be read while loading."""
SPACES = "commonplace.cn"
"""The other program, by its module."""
Streams = tuple[int, int, int]
"""Each a descriptor, or what `subprocess.Popen` knows: `PIPE`, `DEVNULL`."""
TIMEOUT = 60.0
"""Seconds for an end."""
_session: dict[str, str] = {}
"""The environment of the session, before a test changes it."""
_sharing: list[Callable[[], str]] = []
"""Gives the address of the process that forks for all workers of the session."""


class Preloaded:
    """A process that has the product loaded.

    Args:
        address: Where it listens.
        environment: With which it was started.
    """

    def __init__(self, address: str, environment: Mapping[str, str]) -> None:
        self._address = address
        self._environment = _while_loading(environment)

    def run(
        self, line: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes] | None:
        """Run one command with pipes on all three streams.

        Args:
            line: The program as it was started, and its arguments.
            folder: In which it runs.
            environment: All of it.
            stdin: What it can read.
            timeout: Seconds until nobody waits any longer.

        Returns:
            The exit code, and what it wrote on standard output and on standard error. None where it would not find what
            it finds in a new process.
        """
        process = self.start(line, environment, folder)
        if process is None:
            return None
        out, err = process.communicate(stdin, timeout)
        return process.wait(0), out, err

    def start(
        self,
        line: Sequence[str],
        environment: Mapping[str, str],
        folder: Path | None = None,
        streams: Streams = (PIPE, PIPE, PIPE),
    ) -> Forked | None:
        """Start a process; None where it would not find what it finds in a new one.

        Args:
            line: The program as it was started, and its arguments.
            environment: All of it.
            folder: In which it runs, by default the current one.
            streams: Standard input, output and error.
        """
        if not self.fits(environment):
            return None
        ours: list[IO[bytes] | None] = []
        with ExitStack() as handed:
            theirs = [
                _stream(stream, mode, ours, handed) for stream, mode in zip(streams, ("wb", "rb", "rb"), strict=True)
            ]
            control = Control(self._address, line, str(folder or Path.cwd()), environment, theirs)
        return Forked(control, *ours)

    def stand_in(self, environment: Mapping[str, str], program: str = "commonplace") -> list[str] | None:
        """The command that replaces a program, before its arguments; None if a fork does not fit the environment."""
        if not self.fits(environment):
            return None
        return [sys.executable, "-ISE", str(HERE.with_name("forked.py")), self._address, "", program]

    def programs(self) -> Path | None:
        """A folder in which `commonplace` is such a program, for shells; None as above."""
        line = self.stand_in(os.environ)
        return _folder_of(shlex.join(line)) if line else None

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a process with this environment would have loaded what this one has."""
        return _while_loading(environment) == self._environment


class Forked:
    """A forked process, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self, control: Control, stdin: IO[bytes] | None, stdout: IO[bytes] | None, stderr: IO[bytes] | None
    ) -> None:
        self._control = control
        self.pid = control.pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send a signal; nothing happens once it is known to have ended."""
        if self.returncode is None:
            self._control.send(number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it runs on after so many seconds.
        """
        if self.returncode is None:
            try:
                self.returncode = self._control.ended(timeout)
            except TimeoutError:
                raise subprocess.TimeoutExpired("commonplace", timeout or 0) from None
            self._control.close()
        return self.returncode

    def communicate(self, stdin: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Standard output and standard error of a process that is given this and left to end.

        Raises:
            subprocess.TimeoutExpired: it runs on after so many seconds; it is ended now.
        """
        assert self.stdout
        assert self.stderr
        with self.stdout, self.stderr, ThreadPoolExecutor(3) as streams:
            written = streams.submit(self._give, stdin)
            out, err = streams.submit(self.stdout.read), streams.submit(self.stderr.read)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            written.result(timeout)
            return out.result(timeout), err.result(timeout)

    def _give(self, content: bytes) -> None:
        # A process need not read what it is given.
        with suppress(BrokenPipeError), self.stdin or nullcontext() as stdin:
            if stdin:
                stdin.write(content)


def _stream(wanted_number: int, mode: str, ours: list[IO[bytes] | None], handed: ExitStack) -> int:
    """The descriptor that a new process gets; what its starter keeps of it is added to `ours`."""
    if wanted_number not in {PIPE, DEVNULL}:
        ours.append(None)
        return wanted_number
    if wanted_number == DEVNULL:
        ours.append(None)
        theirs = os.open(os.devnull, os.O_RDWR)
    else:
        read, write = os.pipe()
        theirs, kept_number = (read, write) if mode == "wb" else (write, read)
        ours.append(os.fdopen(kept_number, mode))
    handed.callback(os.close, theirs)
    return theirs


def keep_environment(sharing: Callable[[], str]) -> None:
    """Let the process that forks start with the environment of now, whichever test is the first that needs it.

    One that began with what a single test sets would fit no other test.

    Args:
        sharing: Gives the address of the process, with `forking`, when it is first needed.
    """
    _session.clear()
    _session.update(os.environ)
    _sharing[:] = [sharing]


@contextmanager
def forking() -> Generator[str]:
    """The address of a new process that forks; it ends with all that it has forked."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "forks")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(address)
            listener.listen(256)
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(HERE.parents[1]), str(listener.fileno())],
                pass_fds=[listener.fileno()],
                env=_session or None,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
        try:
            yield address
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(TIMEOUT)


def is_shared_state() -> bool:
    """Whether the state folder of now is that of all tests of this process."""
    return os.environ["XDG_STATE_HOME"] == _session["XDG_STATE_HOME"]


@cache
def preloaded() -> Preloaded:
    """The one that forks for this process, started when it is first needed."""
    sharing = _sharing[0] if _sharing else _alone
    return Preloaded(sharing(), _session or os.environ)


def _alone() -> str:
    """The address of a process that forks for this one alone, outside a test session."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(forking())


@cache
def _folder_of(line: str) -> Path:
    """A folder with a program `commonplace` that is this command line."""
    program = Path(tempfile.mkdtemp()) / "commonplace"
    atexit.register(shutil.rmtree, program.parent)
    program.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
    program.chmod(0o755)
    return program.parent


def started(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    streams: Streams = (PIPE, PIPE, PIPE),
    *,
    program: str = "commonplace",
    fresh: bool = False,
) -> subprocess.Popen[bytes] | Forked:
    """A new process of the product: a forked one where that makes no difference, unless it must be `fresh`.

    Args:
        arguments: Of the product.
        environment: All of it.
        folder: In which it runs, by default the current one.
        streams: Standard input, output and error.
        program: Which one.
        fresh: Whether Python itself is started, too.
    """
    line = [program, *arguments]
    forked = None if fresh else preloaded().start(line, environment, folder, streams)
    if forked:
        return forked
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        [sys.executable, "-m", *line], env=environment, cwd=folder, stdin=stdin, stdout=stdout, stderr=stderr
    )


def _while_loading(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in OWN and "COMMONPLACE" not in name}
