"""A server of ours in a namespace: a replica that writes, searches in the cluster and hands writes to its peers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from soak.cluster.network import Host
from soak.sampling import sample

PORT = 8090
START_SECONDS = 120.0
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs on a host; `environment` is its whole environment."""

    host: Host
    words: Sequence[str]
    environment: Mapping[str, str]
    log: Path


class Running:
    """A program that can be killed and started again."""

    def __init__(self, program: Program) -> None:
        self.host = program.host
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._spent = 0.0

    def start(self) -> None:
        """Start it and return at once."""
        program = self._program
        with program.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*program.host.entering(), *program.words],
                env=dict(program.environment), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, and wait; kill it after STOP_SECONDS."""
        self._end(signal.SIGTERM)

    @property
    def cpu(self) -> float:
        """Seconds of processor time that all its starts have used so far, without programs that it started."""
        running = self._process
        with suppress(OSError):
            return self._spent + (sample(running.pid, 0).cpu if running is not None else 0)
        return self._spent

    @property
    def memory(self) -> float:
        """MB of its own; 0 while it does not run."""
        return sample(self._process.pid, 0).memory if self._process is not None else 0.0

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        self._spent, self._process = self.cpu, None
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True, slots=True)
class Team:
    """The common data of all our servers."""

    folder: Path
    remotes: Sequence[str]
    engines: Sequence[str]
    hosts: Sequence[Host]


def server(team: Team, host: Host, clock: Mapping[str, str]) -> Running:
    """A server of ours that has not started; `clock` is what shows it another time, if anything does."""
    others = [word for other_host in team.hosts if other_host is not host for word in ("--peer", url(other_host))]
    words = [
        str(Path(sys.executable).with_name("commonplace")), "serve",
        *(word for remote in team.remotes for word in ("--replica-of", remote)),
        *(word for engine in team.engines for word in ("--engine-url", engine)),
        "--replica-writes", "--tier", "write", "--rate-limit", "0", "--replica-poll", "5",
        "--host", host.address, "--port", str(PORT), "--node-url", url(host), *others,
    ]  # fmt: skip
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(team.folder),
        "XDG_STATE_HOME": str(team.folder / "state"),
        "XDG_CACHE_HOME": str(team.folder / host.namespace.name / "cache"),
        "XDG_DATA_HOME": str(team.folder / "data"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "COMMONPLACE_CLUSTER_SECRET": "of these servers",
        "COMMONPLACE_ENGINE_PREFIX": "soak",
        "COMMONPLACE_DRAIN": "3",
        **clock,
    }
    return Running(Program(host, words, environment, team.folder / f"{host.namespace.name}.log"))


def url(host: Host) -> str:
    """The URL of a host's server."""
    return f"http://{host.address}:{PORT}"


def is_ready(host: Host, seconds: float = 1.0) -> bool:
    """Whether a host's server says that it is ready."""
    connection = HTTPConnection(host.address, PORT, timeout=seconds)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def wait_until(condition: Callable[[], bool], what: str, seconds: float = START_SECONDS) -> None:
    """Wait until something is so; an assertion fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
