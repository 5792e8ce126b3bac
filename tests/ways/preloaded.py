"""Commands in processes of their own that need not load the product: one process has loaded it, and forks for each.

What a command does, reads, writes and ends with is all its own; only what Python does before it reads the command line
is done once. Run as a program, it is the process that forks.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock

MAX_MESSAGE = 100_000
"""Bytes of a command line and its environment."""
PARTS = (
    "commonplace.bootstrap",
    "commonplace.embed",
    "commonplace.index",
    "commonplace.plugins.loading",
    "commonplace.services.cataloguing",
    "commonplace.store",
)
OWN = {"COLUMNS", "NO_COLOR", "PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}
"""Variables that are read by what a command runs, beside those of the product; all others may be read while loading."""


class Preloaded:
    """A process that has the product loaded."""

    def __init__(self) -> None:
        self._environment = _while_loading(os.environ)
        self._free = Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self.close)

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
            it finds in a new process, or while another command runs.
        """
        if _while_loading(environment) != self._environment or not self._free.acquire(blocking=False):
            return None
        try:
            return self._run(line, folder, environment, stdin, timeout)
        except TimeoutError:
            self.close()
            preloaded.cache_clear()
            raise
        finally:
            self._free.release()

    def _run(
        self, line: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        message = json.dumps({"line": list(line), "folder": str(folder), "environment": dict(environment)}).encode()
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = os.pipe(), os.pipe(), os.pipe()
        with ThreadPoolExecutor(3) as streams:
            with ExitStack() as handed:
                for descriptor in (read_in, write_out, write_err):
                    handed.callback(os.close, descriptor)
                socket.send_fds(self._channel, [message], [read_in, write_out, write_err])
            out, err = (streams.submit(_read_all, descriptor) for descriptor in (read_out, read_err))
            streams.submit(_write_all, write_in, stdin)
            self._channel.settimeout(timeout)
            code = int(self._channel.recv(MAX_MESSAGE))
            return code, out.result(timeout), err.result(timeout)

    def close(self) -> None:
        """End it, with a command that it still waits for."""
        self._channel.close()
        self._process.kill()
        self._process.wait()


@cache
def preloaded() -> Preloaded:
    """The one of this process, started when it is first needed."""
    return Preloaded()


def _while_loading(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in OWN and "COMMONPLACE" not in name}


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as stream:
        return stream.read()


def _write_all(descriptor: int, content: bytes) -> None:
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
    except BrokenPipeError:  # a command need not read what it is given
        pass


def _serve(channel: socket.socket) -> int:
    """Fork for each command that comes; the exit code, in every process that ends here."""
    app = import_module("commonplace.faces.cli.app")
    for module in (*PARTS, *(f"commonplace.faces.cli.commands.{name}" for name in app.COMMANDS)):
        import_module(module)
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, MAX_MESSAGE, 3)
        if not message:
            return 0
        child = os.fork()
        if not child:
            channel.close()
            return _command(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(asked: Mapping[str, object], descriptors: Sequence[int]) -> int:
    for own, given in enumerate(descriptors):
        os.dup2(given, own)
        os.close(given)
    line, folder, environment = asked["line"], asked["folder"], asked["environment"]
    assert isinstance(line, list)
    assert isinstance(environment, dict)
    os.chdir(str(folder))
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = line
    return import_module("commonplace.main").main()


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
