"""Sessions of `mcp` over a resident: real processes, sockets and signals."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from commonplace.faces.cli.residents import running_residents
from serving import commonplace
from support import eventually, is_running, new_repo
from wire import Wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="residents are for Linux")
TIMEOUT = 60.0
NO_NEW_PRIVILEGES = 38
"""`PR_SET_NO_NEW_PRIVS` of prctl: what every program does that confines itself without privileges."""


class Place:
    """A folder to serve, and an environment in which only its own residents are found."""

    def __init__(self, folder: Path) -> None:
        self.login = folder / "run"
        self.login.mkdir(mode=0o700)
        self.repo = new_repo(folder / "notes", {"tea.md": "# Tea\n\ngreen leaves\n"})
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.login), "COMMONPLACE_EMBED": "false"}

    def residents(self) -> list[int]:
        """The processes of the residents."""
        files = {row.process: Path(f"/proc/{row.process}/cmdline") for row in running_residents()}
        return [process for process, file in files.items() if str(self.login) in file.read_text()]

    def command(self, *words: str) -> Any:
        """The JSON that a command writes."""
        return json.loads(commonplace(*words).stdout)

    def stop(self) -> None:
        """End the residents of this place, and none of anybody else."""
        for process in self.residents():
            os.kill(process, signal.SIGCONT)
            os.kill(process, signal.SIGTERM)

    @contextmanager
    def session(
        self, *words: str, setup: Callable[[], None] | None = None, cwd: Path | None = None, **environment: str
    ) -> Iterator[Wire]:
        """A session with these arguments, by default of this folder; its client goes at the end of the block."""
        process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "mcp", *(words or [str(self.repo.path)]), "--resident"],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**self.environment, **environment},
            cwd=cwd,
            preexec_fn=setup,  # noqa: PLW1509 - no other thread runs here
        )
        try:
            yield Wire(process)
        finally:
            process.kill()
            process.communicate()

    def is_relayed(self, wire: Wire) -> bool:
        """Whether a session has begun in another process: the one that was started has loaded nothing to serve with."""
        wire.initialize()
        return "pydantic_core" not in Path(f"/proc/{wire.process.pid}/maps").read_text()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place whose resident serves the tests of this file in turn."""
    made = Place(tmp_path_factory.mktemp("resident"))
    yield made
    made.stop()


@pytest.fixture
def own_place(tmp_path: Path) -> Iterator[Place]:
    """A place without any resident."""
    made = Place(tmp_path)
    yield made
    made.stop()


def _text(answer: dict[str, Any] | None) -> str:
    assert answer is not None
    return "\n".join(block["text"] for block in answer["content"])


def _end(wire: Wire) -> tuple[int, bytes]:
    """Close the input as a client does; the exit code and what stood on standard error."""
    _, errors = wire.process.communicate(timeout=TIMEOUT)
    assert wire.process.returncode is not None
    return wire.process.returncode, errors


def _session_of(wire: Wire) -> int:
    """The process that serves a session: the one that holds its relay's connection."""
    errors = Path(f"/proc/{wire.process.pid}/fd/2").readlink()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            serves = (folder / "comm").read_text() == "commonplace-mcp\n" and (folder / "fd/2").readlink() == errors
        except OSError:
            continue
        if serves:
            return int(folder.name)
    raise AssertionError("no process serves this session")


def test_what_a_session_says_and_how_it_ends_is_as_without_a_resident(place: Place) -> None:
    for words in (["/no/such/folder"], ["--tier", "all", "."], ["--help"], ["--no-such-option"]):
        usual = commonplace("mcp", "--no-resident", *words)
        line = [sys.executable, "-m", "commonplace", "mcp", "--resident", *words]
        done = subprocess.run(line, env=place.environment, input=b"", capture_output=True, check=False, timeout=TIMEOUT)
        ended = (done.returncode, done.stdout.decode(), done.stderr.decode())
        assert ended == (usual.returncode, usual.stdout, usual.stderr), words
    with place.session() as wire:
        assert place.is_relayed(wire)
        assert "green leaves" in _text(wire.call("search", query="leaves"))
        assert _end(wire) == (0, b"")
    assert len(place.residents()) == 1


def test_each_session_has_its_own_folder_tier_environment_and_working_folder(place: Place, tmp_path: Path) -> None:
    other = new_repo(tmp_path / ("deep" * 40) / "other", {"coffee.md": "# Coffee\n\nsecret-of-other\n"})
    author = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "API_TOKEN": "canary-of-first"}
    writer = ["--tier", "write", "--commit", "auto", str(place.repo.path)]
    with place.session(*writer, **author) as first, place.session(".", cwd=other.path) as second:
        assert place.is_relayed(first)
        assert place.is_relayed(second)
        written = first.call("write", page="new.md", text="# New\n\nsecret-of-first\n")
        refused = second.answer(second.ask("tools/call", {"name": "write", "arguments": {"page": "new", "text": "x"}}))
        assert written is not None
        assert not written.get("isError"), written
        assert refused is not None
        assert "error" in refused or refused["result"]["isError"]
        seen = [second.call("search", query=word) for word in ("secret-of-first", "secret-of-other", "leaves")]
        answers = [_text(answer) for answer in seen]
        environment = Path(f"/proc/{_session_of(second)}/environ").read_bytes()
    assert "secret-of-other" in answers[1]
    assert "secret-of-first" not in "".join([answers[0].replace("secret-of-first", "", 1), *answers[1:]])
    assert "green leaves" not in answers[2]
    assert b"canary-of-first" not in environment
    assert place.repo.git("log", "-1", "--format=%an") == "Ada"
    assert not (other.path / "new.md").exists()


@pytest.mark.soak
def test_the_writes_of_two_sessions_are_those_of_two(place: Place) -> None:
    for page in ("one", "two"):
        with place.session(str(place.repo.path), "--tier", "write", "--commit", "auto") as wire:
            assert place.is_relayed(wire)
            assert wire.call("write", page=f"{page}.md", text="# A\n\nb\n") is not None
    rows = place.command("activity", "--json", "-C", str(place.repo.path))["sessions"]
    assert len({row["session"] for row in rows if row["writes"] and row["face"] == "mcp"}) >= 2


def test_signals_reach_the_session_and_its_end_reaches_the_client(place: Place) -> None:
    with place.session() as left, place.session() as cut, place.session() as dead, place.session() as stays:
        for wire in (left, cut, dead, stays):
            assert place.is_relayed(wire)
        processes = [_session_of(wire) for wire in (left, cut, dead)]
        left.process.send_signal(signal.SIGTERM)
        assert left.process.wait(TIMEOUT) == 0
        cut.process.kill()
        dead.ask("tools/call", {"name": "search", "arguments": {"query": "leaves"}})
        os.kill(processes[2], signal.SIGKILL)
        assert dead.process.wait(TIMEOUT) == -signal.SIGKILL
        eventually(lambda: not any(map(is_running, processes)))
        assert "green leaves" in _text(stays.call("search", query="leaves"))
        assert _end(stays)[0] == 0


def _confine() -> None:
    assert ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))


def test_no_resident_is_used_that_could_do_more(place: Place) -> None:
    with place.session() as usual:
        assert place.is_relayed(usual)
        (theirs,) = place.residents()
        with place.session(setup=_confine) as confined:
            assert not place.is_relayed(confined)
        # One that is confined and speaks to the socket itself gets no answer.
        (name,) = [entry.name for entry in (place.login / "commonplace").iterdir() if _peer(entry) == theirs]
        program = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r}); print(s.recv(9))"
        line = [sys.executable, "-c", program]
        done = subprocess.run(
            line, cwd=place.login / "commonplace", preexec_fn=_confine, capture_output=True, check=True, timeout=TIMEOUT
        )
        assert done.stdout == b"b'ended 256'\n"


def _peer(path: Path) -> int:
    """The process that listens at a socket; 0 if none does."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(os.path.relpath(path))
        except OSError:
            return 0
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(raw[:4], sys.byteorder)


def test_a_resident_that_dies_is_replaced_and_its_sessions_go_on(place: Place) -> None:
    with place.session() as first:
        assert place.is_relayed(first)
        (dead,) = place.residents()
        held = {str(link.readlink()) for link in Path(f"/proc/{dead}/fd").iterdir()}
        assert not held & _pipes(first)
        os.kill(dead, signal.SIGKILL)
        eventually(lambda: not is_running(dead))
        assert "green leaves" in _text(first.call("search", query="leaves"))
        with place.session() as second:
            assert place.is_relayed(second)
            assert place.residents() != [dead]
        os.kill(place.residents()[0], signal.SIGSTOP)
        with place.session() as third:
            assert not place.is_relayed(third)
            assert "green leaves" in _text(third.call("search", query="leaves"))
        os.kill(place.residents()[0], signal.SIGCONT)
        assert _end(first)[0] == 0


def _pipes(wire: Wire) -> set[str]:
    streams = (wire.process.stdin, wire.process.stdout, wire.process.stderr)
    return {str(Path(f"/proc/self/fd/{stream.fileno()}").readlink()) for stream in streams if stream}


@pytest.mark.soak
def test_a_resident_ends_when_it_is_idle_told_to_or_out_of_reach(place: Place) -> None:
    with place.session(setup=_limit, COMMONPLACE_RESIDENT_SECONDS="1") as brief, place.session() as other:
        assert place.is_relayed(brief)
        assert place.is_relayed(other)
        eventually(lambda: len(place.residents()) == 2)  # what is not equal for all sessions has another resident
        limits = Path(f"/proc/{_session_of(brief)}/limits").read_text()
        assert [line.split()[3:5] for line in limits.splitlines() if "open files" in line] == [["500", "500"]]
        rows = place.command("status", "--json", "-C", str(place.repo.path))["residents"]
        assert {row["process"]: row["sessions"] for row in rows} | dict.fromkeys(place.residents(), 1) == {
            row["process"]: row["sessions"] for row in rows
        }
        assert _end(brief)[0] == 0
        eventually(lambda: len(place.residents()) == 1)
        assert len(list((place.login / "commonplace").iterdir())) == 2  # the lock, and the other's socket
        assert _end(other)[0] == 0
    shutil.rmtree(place.login)  # as a logout does
    eventually(lambda: not place.residents())
    place.login.mkdir(mode=0o700)


@pytest.mark.soak
def test_the_path_of_a_socket_may_be_long_and_a_stale_one_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    long_place = Place(folder)
    try:
        for _ in range(2):
            with long_place.session() as wire:
                assert long_place.is_relayed(wire)
                (process,) = long_place.residents()
            os.kill(process, signal.SIGKILL)
            eventually(lambda process=process: not is_running(process))
        assert len(list((long_place.login / "commonplace").iterdir())) == 2
    finally:
        long_place.stop()


@pytest.mark.soak
def test_fifty_sessions_at_once_start_one_resident(own_place: Place) -> None:
    with ExitStack() as stack:
        wires = [stack.enter_context(own_place.session()) for _ in range(50)]
        assert all(own_place.is_relayed(wire) for wire in wires)
        assert len(own_place.residents()) == 1
        shutil.move(own_place.repo.path, own_place.repo.path.with_name("gone"))
        assert wires[0].call("search", query="leaves") is not None  # an error that says so; the process goes on
        assert {_end(wire)[0] for wire in wires} == {0}
