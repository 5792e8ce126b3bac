"""A process that is forked from the one that has the product loaded, as its starter knows it.

Run as a program, it stands for such a process: its streams, its signals and its exit code are those of the other.
It must begin quickly and therefore needs next to nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

MAX_MESSAGE = 100_000
"""Bytes of a command line and its environment."""
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Signals that are forwarded. If a starter is killed, its process is killed, too."""


class Control:
    """The line to one forked process, which is killed when nobody holds its end any longer.

    Args:
        address: Where the process listens that forks.
        line: The program as it was started, and its arguments.
        folder: In which it runs.
        environment: All of it.
        streams: Descriptors of its standard input, output and error.
        files: Further descriptors, which it has by the same numbers.
    """

    def __init__(
        self,
        address: str,
        line: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        streams: Sequence[int],
        files: Sequence[int] = (),
    ) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.connect(address)
            os.umask(mask := os.umask(0o077))
            numbers = " ".join(map(str, (mask, *files)))
            variables = (f"{name}={value}" for name, value in environment.items())
            message = "\0".join([numbers, folder, str(len(line)), *line, *variables])
            socket.send_fds(self._socket, [message.encode(errors="surrogateescape")], [*streams, *files])
            self.pid = int(self._socket.recv(MAX_MESSAGE))
        except BaseException:
            self.close()
            raise

    def send(self, number: int) -> None:
        """Send a signal; nothing happens when the process has ended."""
        tell(self._socket, number)

    def ended(self, timeout: float | None) -> int:
        """The exit code of the ended process; the negative number of the signal that ended it.

        Raises:
            TimeoutError: the process still runs after `timeout` seconds.
        """
        self._socket.settimeout(timeout)
        try:
            return int(self._socket.recv(MAX_MESSAGE))
        except BlockingIOError:
            raise TimeoutError from None

    def close(self) -> None:
        """Let go of the process."""
        self._socket.close()


def tell(line: socket.socket, number: int) -> None:
    """Send a number to whoever is still there."""
    with suppress(BrokenPipeError, ConnectionResetError):
        line.send(str(int(number)).encode())


def asked(message: bytes) -> tuple[list[int], str, list[str], dict[str, str]]:
    """Its umask with the numbers of its further descriptors, its folder, command line and environment, as sent."""
    numbers, folder, count, *rest = message.decode(errors="surrogateescape").split("\0")
    line, environment = rest[: int(count)], rest[int(count) :]
    return [int(number) for number in numbers.split()], folder, line, dict(part.split("=", 1) for part in environment)


def stand(address: str, files: str, line: Sequence[str]) -> None:
    """Start a process in one's own place, and end as it ends.

    Args:
        address: Where the process listens that forks.
        files: Numbers of inherited descriptors for it, with commas between.
        line: The program and its arguments.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # one that comes now is passed on in a moment
    passed = [int(number) for number in files.split(",") if number]
    control = Control(address, line, os.getcwd(), os.environ, (0, 1, 2), passed)  # noqa: PTH109 - pathlib loads for longer than all else
    for number in passed:
        os.close(number)
    for number in SIGNALS:
        signal.signal(number, lambda number, _: control.send(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # only the process itself keeps its pipes open
        os.dup2(nothing, stream)
    code = control.ended(None)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    stand(sys.argv[1], sys.argv[2], sys.argv[3:])
