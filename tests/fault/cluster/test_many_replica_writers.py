"""Many writers at two servers of one remote, beside pushes of people, with one server killed meanwhile.

No confirmed write is lost, none is made twice, and no commit removes a line, because nobody asked for that.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from remotes.replicas import WRITES, free_port, replica, team, wait_ready
from serving import Server
from support import Amount, GitRepo

PUSHES = 6
"""Commits that a person pushes meanwhile."""
PAGES = ("a", "b")


class Writers:
    """Writers of lines in common pages and in new ones. A write without an answer is repeated at the other server."""

    def __init__(self, servers: Sequence[Server], writers: int, lines: int) -> None:
        self.servers = servers
        self.writers, self.lines = writers, lines
        self.confirmed: list[tuple[str, str]] = []
        """The page and the line of each confirmed write."""
        self.half = threading.Semaphore(0)
        """Released by each confirmed write."""

    def write(self, number: int) -> None:
        """One writer's lines, one after the other."""
        chosen = random.Random(number)
        for count in range(self.lines):
            line = f"line {number}-{count}."
            page = chosen.choice((*PAGES, f"new/{number}-{count}"))
            tool, content = (
                ("write", {"text": line}) if "/" in page else ("edit", {"changes": [{"do": "append", "text": line}]})
            )
            arguments = {"page": page, "request_id": f"{number}-{count}", **content}
            for server in chosen.sample([*self.servers] * 3, 6):
                with suppress(OSError, HTTPException, StopIteration):
                    if not server.call("notes", tool, arguments).get("isError", True):
                        self.confirmed.append((page, line))
                        self.half.release()
                        break

    def run(self, work: GitRepo, killed: Server | None) -> None:
        """All writers at once; a server is killed when half of the lines are there."""
        threads = [threading.Thread(target=self.write, args=(number,)) for number in range(self.writers)]
        for thread in threads:
            thread.start()
        for count in range(PUSHES):
            for _ in range(self.writers * self.lines // 2 // PUSHES):
                assert self.half.acquire(timeout=60)
            self.push(work, f"line outside-{count}.")
        if killed is not None:
            killed.process.kill()
        for thread in threads:
            thread.join()

    def push(self, work: GitRepo, line: str) -> None:
        """A person's commit to a common page."""
        for _ in range(40):
            work.git("pull", "--quiet", "--rebase", "origin", "HEAD")
            page = work.path / f"{PAGES[0]}.md"
            work.commit("Outside", **{page.name: f"{page.read_text()}{line}\n"})
            with suppress(AssertionError):
                work.git("push", "--quiet", "origin", "HEAD")
                self.confirmed.append((PAGES[0], line))
                return
            work.git("reset", "--quiet", "--hard", "HEAD~1")
        pytest.fail("the remote never accepted a push")


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("peers", [True, False])
@pytest.mark.sampled(4)
def test_no_confirmed_write_of_many_is_lost_or_made_twice(tmp_path: Path, amount: Amount, *, peers: bool) -> None:
    lines = amount(6, 60)
    work, remote = team(tmp_path)
    for page in PAGES:
        work.commit(f"Begin {page}", **{f"{page}.md": f"# {page}\n\nfirst line.\n"})
    work.git("push", "--quiet", "origin", "HEAD")
    ports = (free_port(), free_port())
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    flags = [(*WRITES, "--node-url", own, "--peer", other) if peers else WRITES for own, other in (urls, urls[::-1])]
    secret = {"COMMONPLACE_CLUSTER_SECRET": "of these two"}
    with (
        replica(tmp_path / "one", remote, flags=flags[0], env=secret, port=ports[0]) as other_server,
        replica(tmp_path / "two", remote, flags=flags[1], env=secret, port=ports[1]) as two,
    ):
        for server in (other_server, two):
            wait_ready(server)
        writers = Writers((other_server, two), min(lines, 16), lines)
        writers.run(work, two if peers else None)
    assert len(writers.confirmed) > writers.writers * lines // 2
    shown = {page: work.git("--git-dir", str(remote), "show", f"HEAD:{page}.md") for page, _ in writers.confirmed}
    assert [(page, line) for page, line in writers.confirmed if shown[page].splitlines().count(line) != 1] == []
    assert [
        line for text in shown.values() for line, times in Counter(text.splitlines()).items() if times > 1 and line
    ] == []
    history = work.git("--git-dir", str(remote), "log", "--format=", "--patch", "--unified=0", "HEAD")
    assert [line for line in history.splitlines() if line.startswith("-line")] == []
    work.git("--git-dir", str(remote), "fsck", "--strict")
