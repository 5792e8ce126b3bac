"""Several workers behind one port are one server: sessions, limits, metrics, writes, and the death of a worker."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import signal
import socket
import termios
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from remotes.replicas import WRITES, replica, team, wait_ready
from serving import RawSession, Server, Stream, commonplace, create_key, request, served
from support import GitRepo, eventually, is_running, new_repo
from ways import ENTRIES, Gate, gated

API = "/api/v1"
WORKERS = 2


def environment(folder: Path) -> dict[str, str]:
    return {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "STATE")}


@contextmanager
def workers(
    folder: Path, *arguments: str, pages: int = 20, env: Mapping[str, str] | None = None, fresh: bool = False
) -> Iterator[tuple[Server, GitRepo]]:
    """A server of two workers, both of which serve; `fresh` ones load the product each for itself."""
    repo = new_repo(folder / "notes", {f"page{number}.md": f"# Page {number}\n\nA word.\n" for number in range(pages)})
    row = ("--workers", str(WORKERS), "--tier", "write", "--commit", "auto", *arguments)
    around = {**environment(folder), "COMMONPLACE_EMBED": "false", **(env or {})}
    with served(repo.path, *row, env=around, fresh=fresh) as server:
        eventually(lambda: len(children(server)) == WORKERS and all(map(listens, children(server))), 60)
        yield server, repo


@pytest.fixture(scope="module")
def gate_and_env(tmp_path_factory: pytest.TempPathFactory) -> tuple[Gate, dict[str, str]]:
    return gated(tmp_path_factory.mktemp("gated"))


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory, gate_and_env: tuple[Gate, dict[str, str]]
) -> Iterator[tuple[Server, GitRepo]]:
    """Two workers for the tests that leave them as they are."""
    with workers(tmp_path_factory.mktemp("both"), pages=ENTRIES, env=gate_and_env[1], fresh=True) as made:
        yield made


def children(server: Server) -> list[int]:
    """The processes of the workers: those that listen at the server's port, but for the supervisor.

    They are its children, or, where they are forked from a process that has loaded the product, its siblings.
    """
    sockets = Path("/proc/self/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    place = f"0100007F:{server.port:04X}"
    (listening,) = {f"socket:[{row[9]}]" for row in map(str.split, sockets) if row[1] == place and row[3] == "0A"}
    family = set(children_of(server.process.pid)) | set(children_of(parent_of(server.process.pid)))
    return sorted(pid for pid in family - {server.process.pid, os.getpid()} if listening in opened(pid))


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(part) for thread in threads for part in thread.read_text(encoding="ascii").split()]


def opened(pid: int) -> set[str]:
    """What the descriptors of a process stand for."""
    names: set[str] = set()
    with suppress(FileNotFoundError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                names.add(str(file.readlink()))
    return names


def listens(worker: int) -> bool:
    """Whether a worker's event loop watches the listening socket and the channel, and so accepts connections."""
    try:
        watched = [
            len(re.findall(r"^tfd:", file.read_text(encoding="ascii"), re.MULTILINE))
            for file in Path(f"/proc/{worker}/fdinfo").iterdir()
            if Path(f"/proc/{worker}/fd/{file.name}").readlink() == Path("anon_inode:[eventpoll]")
        ]
    except FileNotFoundError:
        return False
    return max(watched, default=0) >= 3


def served_by(server: Server) -> dict[str, list[RawSession]]:
    """Sessions until each worker has three, by worker."""
    result: dict[str, list[RawSession]] = {}
    for _ in range(200):
        session = RawSession(server)
        result.setdefault(owner_of(session), []).append(session)
        if len(result) == WORKERS and min(map(len, result.values())) >= 3:
            return result
    raise AssertionError(
        f"connections come to one worker alone: { {text: len(all_) for text, all_ in result.items()} }"
    )


def owner_of(session: RawSession) -> str:
    return vars(session)["_headers"]["Mcp-Session-Id"].rpartition(".")[2]


def listed(session: RawSession, number: int) -> Any:
    return session.ask(number, "tools/call", {"name": "kb_list_entries", "arguments": {"limit": 3}})


@pytest.mark.soak
def test_a_session_is_found_by_whichever_worker_a_request_comes_to(both: tuple[Server, GitRepo]) -> None:
    server, _ = both
    sessions = [session for some in served_by(server).values() for session in some]
    for number in range(1, 5):
        for session in sessions:  # each request on a connection of its own
            assert len(listed(session, number)["result"]["structuredContent"]["entries"]) == 3
    long = "x" * 400_000
    for session in sessions:
        answer = session.ask(99, "tools/call", {"name": "kb_search", "arguments": {"query": long}})
        assert answer["result"]["structuredContent"]["query"] == long, "it came whole"


def test_a_kept_connection_stays_with_the_worker_of_its_session(both: tuple[Server, GitRepo]) -> None:
    server, _ = both
    for session in [some[0] for some in served_by(server).values()]:
        headers = {**vars(session)["_headers"], "Content-Type": "application/json"}
        body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}).encode()
        with server.connect() as connection:
            for cut in (0, 10, 60, 150, len(request("POST", "/mcp/kb", headers))):
                sent = request("POST", "/mcp/kb", headers, body)
                connection.sendall(sent[:cut])  # a head in pieces, as a network cuts it
                eventually(lambda: unread(connection) == 0)
                connection.sendall(sent[cut:])
                assert b'"tools"' in event(connection)


def unread(connection: socket.socket) -> int:
    """Bytes that were sent and that the other side's system has not taken."""
    return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), "little")


def event(connection: socket.socket) -> bytes:
    """The chunked answer on a connection."""
    received = bytearray()
    while not received.endswith(b"0\r\n\r\n"):
        piece = connection.recv(65_536)
        assert piece, received
        received += piece
    return bytes(received)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_official_clients_work_in_both_eras(both: tuple[Server, GitRepo], mode: Any) -> None:
    async def talk(server: Server, name: str) -> None:
        async with Client(f"{server.url}/mcp/kb", mode=mode) as client:
            body = {"kb_name": "notes", "entry_type": "note", "title": name, "body": "Written."}
            made = await client.call_tool("kb_create", body)
            assert not made.is_error, made
            found_result = await client.call_tool("kb_search", {"query": name, "mode": "keyword"})
            assert name in str(found_result.structured_content)

    async def all_talk(server: Server) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(talk, server, f"Entry{number}{mode}")

    server, repo = both
    before = int(repo.git("rev-list", "--count", "HEAD"))
    anyio.run(all_talk, server)
    assert int(repo.git("rev-list", "--count", "HEAD")) == before + 6


def test_who_follows_a_page_is_told_by_whichever_worker_wrote_it(both: tuple[Server, GitRepo]) -> None:
    uri = "pyrite://kbs/notes/entries/page1"
    server, _ = both
    with server.follow("kb", [uri]) as first, server.follow("kb", [uri]) as second:
        for stream in (first, second):
            assert stream.next()["method"] == "notifications/subscriptions/acknowledged"
        for number in range(4):  # written by either worker
            rewrite(server, "page1.md", f"# Page 1\n\nChange {number}.\n")
            for stream in (first, second):
                assert changed(stream) == uri


def changed(stream: Stream) -> str:
    """The resource of the next change; changes of the list, which other tests have made, are passed over."""
    while True:
        message = stream.next()
        if message["method"] == "notifications/resources/updated":
            return message["params"]["uri"]


def rewrite(server: Server, path: str, content: str) -> None:
    """Read a page, by one worker, and write it, by this or another one: what is read is never old."""
    revision = server.page("GET", path).json["revision"]
    answer = server.page("PUT", path, {"content": content, "revision": revision})
    assert answer.status == 200, answer


def test_a_write_is_seen_by_every_worker_at_once(both: tuple[Server, GitRepo]) -> None:
    server, _ = both
    for number in range(30):
        word = f"zebra{number}x"
        rewrite(server, "page2.md", f"# Page 2\n\nThe {word}.\n")
        for _ in range(4):
            found_json = server.ask("GET", f"{API}/search?q={word}").json
            assert [hit["path"] for hit in found_json["results"]] == ["page2"], number


def test_what_is_uploaded_through_one_worker_is_read_through_all(both: tuple[Server, GitRepo]) -> None:
    server, _ = both
    content = bytes(range(256)) * 4_000
    for number in range(4):
        upload = {"filename": f"figure{number}.bin", "content": b64encode(content).decode()}
        assert server.page("POST", "page3.md", upload, below="/attachments").status == 201
        for _ in range(4):
            answer = server.page("GET", "page3.md", below=f"/attachments/figure{number}.bin")
            assert answer.status == 200
            assert b64decode(answer.json["content"]) == content


SLOW = 1_000


@pytest.mark.soak
def test_a_thousand_slow_connections_keep_nobody_out_of_any_worker(both: tuple[Server, GitRepo]) -> None:
    server, _ = both
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, SLOW + 500)), hard))
    sessions = [some[0] for some in served_by(server).values()]
    with ExitStack() as stack:
        for _ in range(SLOW):
            stack.enter_context(server.connect(receive=4096)).sendall(b"GET /health HTTP/1.1\r\nHost: ")
        for number, session in enumerate(sessions * 4):
            assert listed(session, 200 + number)["result"]["structuredContent"]["entries"]
        assert [server.page("GET", "page1.md").status for _ in range(8)] == [200] * 8


def test_a_call_is_cancelled_by_a_request_that_comes_to_whichever_worker(
    both: tuple[Server, GitRepo], gate_and_env: tuple[Gate, dict[str, str]]
) -> None:
    gate, _ = gate_and_env
    for session in [some[0] for some in served_by(both[0]).values()]:
        with gate.closed(), ThreadPoolExecutor(1) as threads:
            call = threads.submit(session.ask, 70, "tools/call", {"name": "kb_qa_status", "arguments": {}})
            gate.reached()
            for number in range(4):  # each on a connection of its own
                assert listed(session, 80 + number)["result"]["structuredContent"]["entries"]
            assert session.tell("notifications/cancelled", {"requestId": 70}) == 202
            gate.open()
            assert "error" in call.result()


def test_a_taken_port_is_told_before_any_worker_starts(both: tuple[Server, GitRepo]) -> None:
    server, repo = both
    done = commonplace("serve", str(repo.path), "--port", str(server.port), "--workers", str(WORKERS))
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1, port {server.port}" in done.stderr


def test_calls_are_limited_by_all_workers_together(tmp_path: Path) -> None:
    with workers(tmp_path, "--rate-limit", "40") as (server, _):
        begun = time.monotonic()
        statuses: list[int] = []
        while 429 not in statuses and len(statuses) < 79:
            statuses.append(server.ask("GET", f"{API}/pages").status)
        allowed = 40 + (time.monotonic() - begun) * 40 / 60
        assert 40 <= statuses.count(200) <= allowed + 1, "each worker has limits of its own"


def test_metrics_count_what_every_worker_did(both: tuple[Server, GitRepo]) -> None:
    server, _ = both
    for _ in range(40):
        assert server.ask("GET", f"{API}/pages").status == 200
    for _ in range(6):
        shown = server.ask("GET", "/metrics").body.decode()
        counted = re.search(r'^commonplace_calls_total\{outcome="ok",verb="GET /pages"\} (\S+)$', shown, re.MULTILINE)
        assert counted is not None, shown
        assert float(counted[1]) == 40


def test_a_key_that_is_made_meanwhile_is_known_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    with workers(tmp_path) as (server, _):
        key = create_key("late", "--tier", "read")
        assert [server.ask("GET", f"{API}/pages", key=key).status for _ in range(10)] == [200] * 10
        eventually(lambda: [server.ask("GET", f"{API}/pages").status for _ in range(6)] == [401] * 6)


@pytest.mark.soak
def test_a_worker_that_is_killed_under_load_loses_nothing_and_is_replaced(tmp_path: Path) -> None:
    written: list[str] = []
    with workers(tmp_path, fresh=True) as (server, repo):
        by_owner = served_by(server)
        killed = min(children(server))
        stop = threading.Event()

        def write(number: int) -> None:
            for step in range(10_000):
                if stop.is_set():
                    return
                path = f"w{number}/page{step}.md"
                try:
                    answer = server.page("PUT", path, {"content": f"# {number} {step}\n"})
                except (OSError, EOFError):
                    continue  # its worker was killed: nothing was acknowledged
                if answer.status == 201:
                    written.append(path)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: len(written) >= 20, 60)
            os.kill(killed, signal.SIGKILL)
            before = len(written)
            eventually(lambda: len(written) >= before + 40, 60)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        lost, lives = sorted(by_owner, key=lambda owner: is_gone(by_owner[owner][0]), reverse=True)
        for number, session in enumerate(by_owner[lives]):
            assert listed(session, 50 + number)["result"]["structuredContent"]["entries"]
        assert all(is_gone(session) for session in by_owner[lost])
        for path in written:
            assert server.page("GET", path).status == 200, path
        assert set(written) <= set(repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines())
        eventually(lambda: len(children(server)) == WORKERS and all(map(listens, children(server))), 60)
        assert killed not in children(server)
        assert lost not in served_by(server), "a number is given once"
        left = children(server)
        assert server.stop(60) == 0
        eventually(lambda: not any(map(is_running, left)))


def is_gone(session: RawSession) -> bool:
    """Whether a session's client is told to begin another one."""
    headers = vars(session)["_headers"]
    server: Server = vars(session)["_server"]
    message = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    return server.ask("POST", "/mcp/kb", message, headers=headers).status == 404


@pytest.mark.soak
def test_the_death_of_the_supervisor_ends_the_workers(tmp_path: Path) -> None:
    with workers(tmp_path, fresh=True) as (server, _):
        pids = children(server)
        server.process.kill()
        eventually(lambda: not any(map(is_running, pids)), 60)


def test_workers_of_a_replica_write_and_see_each_others_writes(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    flags = ("--workers", str(WORKERS), *WRITES)
    with replica(tmp_path / "home", remote, env=environment(tmp_path), flags=flags, poll=3600) as server:
        eventually(lambda: len(children(server)) == WORKERS and all(map(listens, children(server))), 60)
        wait_ready(server)

        def write_and_read(writer: int) -> None:
            revision: dict[str, object] = {}
            for number in range(6):  # each request is a connection of its own, so either worker answers it
                word = f"zq{writer}n{number}"
                body = {"content": f"# W{writer}\n\n{word}\n", **revision}
                written = server.page("PUT", f"w{writer}", body)
                assert written.status in {200, 201}, written.body
                assert server.page("GET", f"w{writer}").json["content"].strip().endswith(word)
                found = server.ask("GET", f"{API}/search?q={word}").json["results"]
                assert [hit["path"] for hit in found] == [f"w{writer}"]
                revision = {"revision": server.page("GET", f"w{writer}").json["revision"]}

        with ThreadPoolExecutor(3) as threads:
            list(threads.map(write_and_read, range(3)))
        commits = work.git("--git-dir", str(remote), "log", "--format=%s", "HEAD").splitlines()
        assert len(commits) == 1 + 3 * 6
