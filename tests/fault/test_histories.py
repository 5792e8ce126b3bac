"""Clients of stdio, HTTP and the command line write to the same pages while servers are stopped and killed.

Each page is a compare-and-swap register: every client reads it, and writes on top of what it has read.
"""

from __future__ import annotations

import json
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Protocol

import pytest

from serving import Server, commonplace, served
from soak.cluster.register_history import Outcome, Read, Register, Write, problems, stale_reads
from support import Amount, GitRepo, MakeRepo
from wire import Wire, wire

PAGES = ("shared-0", "shared-1")
MARKER = re.compile(r"^\+?(m-\S+)$", re.MULTILINE)
"""The one line of a text that tells who wrote it; all are different."""
Answer = tuple[Outcome, str]


def text_of(page: str, marker: str) -> str:
    """The file of a page."""
    return f"---\nid: {page}\ntitle: {page}\n---\n\n{marker}\n"


class Client(Protocol):
    """One way to read and write."""

    def read(self, page: str) -> tuple[str, str] | None:
        """Text and revision; None if the server was killed."""
        ...

    def write(self, page: str, marker: str, revision: str) -> Outcome:
        """Replace a page that has this revision."""
        ...


@dataclass
class Http:
    """A client of a server that is started again whenever it is killed."""

    server: Server

    def read(self, page: str) -> tuple[str, str] | None:
        with suppress(OSError, HTTPException):
            note = self.server.page("GET", page).json
            return note["content"], note["revision"]
        return None

    def write(self, page: str, marker: str, revision: str) -> Outcome:
        body = {"content": text_of(page, marker), "revision": revision}
        try:
            status = self.server.page("PUT", page, body).status
        except ConnectionRefusedError:
            return "refused"
        except (OSError, HTTPException):
            return "unknown"
        return {200: "acknowledged", 409: "conflict", 503: "unknown"}[status]  # type: ignore[return-value]


class Stdio:
    """A session of its own, which is started again when it was killed."""

    def __init__(self, folder: Path) -> None:
        self._line = ("mcp", "--toolset", "kb", folder, "--tier", "write", "--commit", "auto")
        self._stack = ExitStack()
        self.session = self._started()

    def _started(self) -> Wire:
        self._stack.close()
        session = self._stack.enter_context(wire(*self._line))
        with suppress(AssertionError, BrokenPipeError):  # killed at once; the next call starts one more
            session.initialize()
        return session

    def _call(self, tool: str, **arguments: str) -> dict[str, object] | None:
        with suppress(BrokenPipeError):
            if (result := self.session.call(tool, kb_name="kb", **arguments)) is not None:
                return json.loads(result["content"][0]["text"])
        self.session = self._started()
        return None

    def read(self, page: str) -> tuple[str, str] | None:
        shown = self._call("kb_get", entry_id=page)
        entry = shown and shown.get("entry")
        return (entry["body"], entry["revision"]) if isinstance(entry, dict) else None  # type: ignore[index]

    def write(self, page: str, marker: str, revision: str) -> Outcome:
        shown = self._call("kb_update", entry_id=page, body=marker, revision=revision)
        if shown is None:
            return "unknown"
        if shown.get("error_code") == "CONFLICT":
            return "conflict"
        assert "error_code" not in shown, shown
        return "acknowledged"

    def close(self) -> None:
        """End the session."""
        self._stack.close()


@dataclass(frozen=True)
class Command:
    """The command line."""

    folder: Path

    def read(self, page: str) -> tuple[str, str] | None:
        shown = json.loads(commonplace("read", page, "--json", "-C", self.folder).stdout)
        return shown["text"], shown["revision"]

    def write(self, page: str, marker: str, revision: str) -> Outcome:
        file = self.folder.parent / marker
        file.write_text(text_of(page, marker))
        done = commonplace("write", page, file, "--revision", revision, "--json", "-C", self.folder)
        if done.returncode == 0:
            return "acknowledged"
        assert json.loads(done.stderr)["error"]["code"] == "conflict", done.stderr
        return "conflict"


@dataclass
class History:
    """What the clients were told, by page."""

    writes: dict[str, list[Write]] = field(default_factory=lambda: {page: [] for page in PAGES})
    reads: dict[str, list[Read]] = field(default_factory=lambda: {page: [] for page in PAGES})


def work(client: Client, name: str, operations: int, history: History) -> None:
    """Read a page and write on top of it, so many times."""
    chance = random.Random(name)
    for number in range(operations):
        page, marker = chance.choice(PAGES), f"m-{name}-{number}"
        began = time.monotonic()
        if (shown := client.read(page)) is None:
            continue
        (before,) = MARKER.findall(shown[0])
        history.reads[page].append(Read(before, began, time.monotonic()))
        began = time.monotonic()
        outcome = client.write(page, marker, shown[1])
        history.writes[page].append(Write(before, marker, began, time.monotonic(), outcome))


@contextmanager
def disturbed(folder: Path, http: Http, sessions: list[Stdio], faults: Counter[str]) -> Generator[None]:
    """Stop servers for a moment, or kill them, all the time; one of HTTP is replaced by the next at another port."""
    over = threading.Event()
    chance = random.Random(5)

    def disturb() -> None:
        with ExitStack() as stack:
            while not over.wait(chance.uniform(0.1, 0.6)):
                session = chance.choice([*sessions, None])
                process = session.session.process if session else http.server.process
                if chance.random() < 0.6:
                    process.send_signal(signal.SIGSTOP)
                    over.wait(chance.uniform(0.05, 0.5))
                    process.send_signal(signal.SIGCONT)
                    faults["stops"] += 1
                    continue
                process.kill()
                faults["kills"] += 1
                if session is None:
                    http.server = stack.enter_context(served(folder))
            over.wait()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(disturb)
        try:
            yield
        finally:
            over.set()
            done.result()


@pytest.fixture
def repo(git_repo: MakeRepo, cache_dir: Path) -> GitRepo:
    """A repository with the pages."""
    assert cache_dir.is_dir()
    return git_repo(name="kb", files={f"{page}.md": text_of(page, f"m-{page}") for page in PAGES})


@pytest.mark.timeout(6 * 3600)
def test_every_page_is_a_register(
    repo: GitRepo, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    each, operations = amount(1, 3), amount(8, 2_000)
    history, faults = History(), Counter[str]()
    with served(repo.path) as server, ExitStack() as stack:
        http = Http(server)
        sessions = [Stdio(repo.path) for _ in range(each)]
        for session in sessions:
            stack.callback(session.close)
        clients: list[Client] = [*[http] * each, *sessions, *[Command(repo.path)] * each]
        with disturbed(repo.path, http, sessions, faults), ThreadPoolExecutor(len(clients)) as pool:
            for done in [pool.submit(work, client, str(n), operations, history) for n, client in enumerate(clients)]:
                done.result()
    outcomes = Counter(write.outcome for page in PAGES for write in history.writes[page])
    for page in PAGES:
        log = repo.git("log", "--reverse", "--format=", "-p", "-U0", "--", f"{page}.md")
        register = Register(MARKER.findall(log), history.writes[page], history.reads[page])
        assert [*problems(register), *stale_reads(register)] == []
    assert outcomes["acknowledged"] > 0
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict", "--no-dangling")
    record_property("reads", sum(map(len, history.reads.values())))
    for name, count in (outcomes + faults).items():
        record_property(name, count)
