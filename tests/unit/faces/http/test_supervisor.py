"""The supervisor with workers that are small programs: they serve, end, hang, and give connections away."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.faces.http import supervisor
from commonplace.faces.http.inherited import MAX_WORKERS, BindAddress, listening
from commonplace.faces.http.supervisor import Supervisor, default_count
from support import eventually, is_running

WORKER = """
import os, select, socket, sys, time
from pathlib import Path
from commonplace.faces.http.inherited import Frame, Kind
from commonplace.faces.http.inherited import inherited

given = inherited(os.environ)
folder = Path(sys.argv[1])
ways = sys.argv[2:]
way = ways[min(given.number, len(ways)) - 1]
channel = given.channel
if way.startswith("fails"):
    sys.exit(int(way[5:]))
channel.send(Frame(Kind.SERVING))
channel.send(Frame(Kind.INDEXED))
(folder / f".{given.number}").write_text(f"{os.getpid()} {given.row} {given.secret.hex()}")
(folder / f".{given.number}").rename(folder / f"{given.number}")
if way.startswith("ends"):
    sys.exit(int(way[4:]))
if way == "hangs":
    time.sleep(600)
if way.startswith("gives"):
    connection, _ = given.listener.accept()
    with connection:
        channel.send(Frame(Kind.CONNECTION, int(way[5:]), b"read by %d" % given.number, connection.fileno()))
while True:
    select.select([channel], [], [])
    try:
        frames = channel.receive()
    except EOFError:
        sys.exit(0)
    for frame in frames:
        if frame.kind is Kind.PING:
            channel.send(Frame(Kind.PONG))
        elif frame.kind is Kind.END:
            sys.exit(0)
        elif frame.kind is Kind.CONNECTION:
            with socket.socket(fileno=frame.descriptor) as connection:
                connection.sendall(b"%d: %s" % (given.number, frame.content))
"""


class Workers:
    """A supervisor in the main thread's place: a process of its own, because signals go to main threads."""

    def __init__(self, folder: Path, count: int, ways: tuple[str, ...]) -> None:
        self.folder = folder
        self.listener = listening(BindAddress("127.0.0.1", 0))
        self.pid = os.fork()
        if not self.pid:
            code = 99
            try:
                program = [sys.executable, "-c", WORKER, str(folder), *ways]
                code = Supervisor(program, count, self.listener).run()
            finally:
                os._exit(code)
        self.code: int | None = None

    def seen(self) -> dict[int, tuple[int, int, str]]:
        """Process, row and secret of the workers that have served, by their numbers."""
        files = [file for file in self.folder.iterdir() if file.name.isdigit()]
        parts = {int(file.name): file.read_text(encoding="ascii").split() for file in files}
        return {number: (int(pid), int(row), secret) for number, (pid, row, secret) in parts.items()}

    def wait(self) -> int:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def end(self) -> int:
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()


@contextmanager
def supervised(folder: Path, count: int, *ways: str) -> Iterator[Workers]:
    made = Workers(folder, count, ways)
    try:
        yield made
    finally:
        made.listener.close()
        if made.code is None:
            os.kill(made.pid, signal.SIGKILL)
            made.wait()


def test_every_row_has_a_worker_and_all_have_one_secret(tmp_path: Path) -> None:
    with supervised(tmp_path, 3, "serves") as workers:
        eventually(lambda: len(workers.seen()) == 3, 60)
        seen = workers.seen()
        assert sorted(row for _, row, _ in seen.values()) == [0, 1, 2]
        assert len({secret for _, _, secret in seen.values()}) == 1
        assert workers.end() == 0
        assert not any(is_running(pid) for pid, _, _ in seen.values())


def test_a_worker_that_ends_or_is_killed_is_replaced_by_one_with_another_number(tmp_path: Path) -> None:
    with supervised(tmp_path, 2, "serves", "ends3", "serves") as workers:
        eventually(lambda: set(workers.seen()) == {1, 2, 3}, 60)
        os.kill(workers.seen()[1][0], signal.SIGKILL)
        eventually(lambda: 4 in workers.seen(), 60)
        seen = workers.seen()
        assert (seen[3][1], seen[4][1]) == (1, 0), "in the row of the one that ended"
        assert workers.end() == 0


def test_a_first_worker_that_cannot_serve_ends_all_with_its_code(tmp_path: Path) -> None:
    with supervised(tmp_path, 4, "fails2") as workers:
        assert workers.wait() == 2
        assert not workers.seen()


def test_a_worker_that_hangs_is_killed_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "PING_SECONDS", 0.1)
    monkeypatch.setattr(supervisor, "HUNG_SECONDS", 1.0)
    with supervised(tmp_path, 1, "hangs", "serves") as workers:
        eventually(lambda: set(workers.seen()) == {1, 2}, 60)
        eventually(lambda: not is_running(workers.seen()[1][0]))
        assert workers.end() == 0


@pytest.mark.parametrize(("target", "answer"), [(2, b"2: read by 1"), (77, b"1: read by 1")])
def test_a_connection_goes_to_its_worker_and_back_if_there_is_none(tmp_path: Path, target: int, answer: bytes) -> None:
    with supervised(tmp_path, 2, f"gives{target}", "serves") as workers:
        eventually(lambda: set(workers.seen()) == {1, 2}, 60)
        with socket.create_connection(workers.listener.getsockname(), timeout=60) as connection:
            assert received(connection) == answer
        assert workers.end() == 0


def received(connection: socket.socket) -> bytes:
    """All that comes until the end, for which every process must have closed the connection."""
    return b"".join(iter(lambda: connection.recv(1000), b""))


def test_the_death_of_the_supervisor_ends_the_workers(tmp_path: Path) -> None:
    with supervised(tmp_path, 2, "serves") as workers:
        eventually(lambda: len(workers.seen()) == 2, 60)
        os.kill(workers.pid, signal.SIGKILL)
        workers.wait()
        eventually(lambda: not any(is_running(pid) for pid, _, _ in workers.seen().values()), 60)


def test_too_many_workers_are_refused() -> None:
    with (
        listening(BindAddress("127.0.0.1", 0)) as listener,
        pytest.raises(ConfigError, match="1000 workers are too many"),
    ):
        Supervisor(["true"], 1000, listener)
    assert 1 <= default_count() <= MAX_WORKERS
