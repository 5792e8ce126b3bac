"""Proposals at replicas: branches in the remote, which every server lists and decides on, and which no server loses."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from forms import page, sent
from remotes.replicas import WRITES, replica, team
from remotes.slow import slow_remote
from serving import Answer, Server, create_key, served
from support import GitRepo, eventually

SECRET = "of the Git host"  # noqa: S105 - of these servers
OPEN, CLOSED = "refs/heads/proposals/", "refs/commonplace/proposals/"
PAGE = "# Alpha\n\nfirst words\n\nlast words\n"


@dataclass(frozen=True, slots=True)
class Team:
    """A remote, and a key of each kind."""

    work: GitRepo
    remote: Path
    keys: dict[str, str]

    def git(self, *arguments: str) -> str:
        """Output of git on the remote."""
        return self.work.git("--git-dir", str(self.remote), *arguments)

    def branches(self) -> dict[str, str]:
        """The commits of the refs of proposals."""
        rows = self.git("for-each-ref", "--format=%(refname) %(objectname)", OPEN, CLOSED).splitlines()
        return dict(row.split(" ") for row in rows)

    def ask(self, server: Server, who: str, method: str, path: str, body: Any = None) -> Answer:
        """An answer of the REST API."""
        return server.ask(method, f"/api/v1{path}", body, key=self.keys[who])

    def propose(self, server: Server, page: str, text: str, who: str = "agent") -> str:
        """Id of the proposal that an acknowledged write went to; the remote has it then."""
        revision = self.ask(server, who, "GET", f"/pages/{page}").json.get("revision", "")
        body = {"content": text, "revision": revision} if revision else {"content": text}
        answer = self.ask(server, who, "PUT", f"/pages/{page}", body)
        assert answer.status in {200, 201}, answer.body
        identifier = str(answer.json["proposal"]).split(" ")[7]
        assert OPEN + identifier in self.branches(), answer.body
        return identifier

    def decide(self, server: Server, who: str, identifier: str, action: str, **more: Any) -> Answer:
        """The answer to a decision."""
        return self.ask(server, who, "POST", f"/proposals/{identifier}/{action}", more)

    def accepted(self, identifier: str) -> list[str]:
        """The served commits that accepted a proposal."""
        return self.git("log", "--format=%H", f"--grep=^Proposal: {identifier}$", "HEAD").splitlines()


@pytest.fixture
def base(tmp_path: Path, cache_dir: Path) -> Team:
    assert cache_dir.is_dir()
    work, remote = team(tmp_path, text=PAGE)
    tiers = {"agent": "propose", "other": "propose", "Ada": "write", "Bob": "write", "reader": "read"}
    return Team(work, remote, {name: create_key(name, "--tier", tier) for name, tier in tiers.items()})


@contextmanager
def pair(base: Team, home: Path, url: str = "", *flags: str) -> Iterator[tuple[Server, Server]]:
    """Two ready servers with clones of their own, which read the remote on demand only."""
    with ExitStack() as servers:
        both = [
            servers.enter_context(
                replica(
                    home / name,
                    url or base.remote,
                    poll=3600,
                    flags=(*WRITES, *flags),
                    env={"COMMONPLACE_WEBHOOK_SECRET": SECRET},
                )
            )
            for name in ("one", "two")
        ]
        for server in both:
            eventually(lambda server=server: server.ask("GET", "/health/ready").status == 200, 60)
        yield both[0], both[1]


def told_of_pushes(base: Team, server: Server, identifier: str) -> Any:
    """What a server says of a proposal after its Git host told it of a push."""
    assert server.ask("POST", "/hooks/git", {}, headers={"X-Gitlab-Token": SECRET}).status == 202
    return base.ask(server, "Ada", "GET", f"/proposals/{identifier}").json


def require_only_reads(base: Team, reader: Server, identifier: str) -> None:
    """Check that a server that does not write shows a proposal, and says why it does not decide on it."""
    eventually(lambda: reader.ask("GET", "/health/ready").status == 200, 60)
    url, key = f"/proposals/{identifier}", base.keys["Ada"]
    html = page(reader, url, key=key)
    assert ("proposed" in html, "Nothing can be decided here: " in html, "at a server that writes" in html) == (
        True,
    ) * 3
    assert re.findall(r"<button[^>]*>(?:Accept|Decline|Withdraw)|Edit before accepting", html) == []
    tip = str(base.ask(reader, "Ada", "GET", url).json["tip"])
    for action in ("accept", "decline"):
        refused = sent(reader, url, key=key, tip=tip, action=action)
        assert (refused.status, OPEN + identifier in base.branches()) == (403, True), refused.body


def test_any_server_decides_on_a_proposal_and_none_is_lost_with_a_server(base: Team, tmp_path: Path) -> None:
    before = base.git("rev-parse", "HEAD")
    with pair(base, tmp_path) as (one, two):
        identifier = base.propose(one, "new", "# New\n\nproposed\n")
        assert base.git("rev-parse", "HEAD") == before
        assert base.ask(two, "reader", "GET", "/pages/new").status == 404
        with replica(tmp_path / "three", base.remote, poll=3600, flags=("--tier", "write")) as reader:
            require_only_reads(base, reader, identifier)
        one.process.kill()
        shown = base.ask(two, "Ada", "GET", f"/proposals/{identifier}")
        assert shown.status == 200, shown.body
        assert base.ask(two, "other", "GET", f"/proposals/{identifier}").status == 404
        assert "proposed" in base.ask(two, "agent", "GET", "/pages/new").json["content"]
        done = base.decide(two, "Ada", identifier, "accept")
        assert done.status == 200, done.body
    assert base.git("show", "HEAD:new.md") == "# New\n\nproposed"
    assert len(base.accepted(identifier)) == 1
    assert list(base.branches()) == [CLOSED + identifier]


def test_every_server_declines_amends_withdraws_and_accepts_in_part(base: Team, tmp_path: Path) -> None:
    with pair(base, tmp_path) as (one, two):
        first = base.propose(one, "a", PAGE.replace("first", "FIRST"))
        assert base.propose(two, "b", "# B\n\nbeta\n") == first, "the writes of a key gather at every server"
        part = base.decide(two, "Ada", first, "accept", pages=["a.md"])
        assert part.status == 200, part.body
        assert base.git("show", "HEAD:a.md") == PAGE.replace("first", "FIRST").rstrip()
        eventually(lambda: [file["path"] for file in told_of_pushes(base, one, first)["files"]] == ["b.md"])
        declined = base.decide(one, "Bob", first, "decline", word="No second page")
        assert declined.status == 200, declined.body
        again = base.decide(two, "Ada", first, "accept")
        assert (again.status, "was declined" in again.json["error"]) == (409, True), again.body
        eventually(lambda: told_of_pushes(base, two, first)["state"] == "declined")
        assert base.ask(two, "agent", "GET", f"/proposals/{first}").json["word"] == "No second page"
        second = base.propose(two, "c", "# C\n")
        assert second != first
        stranger = base.decide(one, "other", second, "withdraw")
        assert stranger.status == 404, stranger.body
        withdrawn = base.decide(one, "agent", second, "withdraw")
        assert withdrawn.status == 200, withdrawn.body
    assert set(base.branches()) == {CLOSED + first, CLOSED + second}
    assert base.git("ls-tree", "--name-only", "HEAD").splitlines() == ["a.md"]


def test_two_servers_that_accept_at_once_write_once(base: Team, tmp_path: Path) -> None:
    with pair(base, tmp_path) as servers:
        for turn in range(2):
            identifier = base.propose(servers[turn], f"page-{turn}", f"# Page {turn}\n\nproposed\n")
            both = _at_once([partial(base.decide, server, "Ada", identifier, "accept") for server in servers])
            assert {answer.status for answer in both} <= {200, 409}, [answer.body for answer in both]
            commits = base.accepted(identifier)
            assert len(commits) == 1, commits
            assert {answer.json["commit"] for answer in both if answer.status == 200} == set(commits)
            assert {CLOSED + identifier} == {name for name in base.branches() if name.endswith(identifier)}
            for server in servers:
                assert base.decide(server, "Bob", identifier, "accept").status == 409


@pytest.mark.parametrize("action", ["accept", "decline"])
def test_two_servers_that_decide_differently_at_once_agree_afterwards(base: Team, tmp_path: Path, action: str) -> None:
    with pair(base, tmp_path) as servers:
        identifier = base.propose(servers[0], "x", "# X\n")
        assert base.propose(servers[0], "y", "# Y\n") == identifier
        part = {"pages": ["y.md"]} if action == "accept" else {"word": "no"}
        first, second = _at_once(
            [
                partial(base.decide, servers[0], "Ada", identifier, "accept", pages=["x.md"]),
                partial(base.decide, servers[1], "Bob", identifier, action, **part),
            ]
        )
        state = "accepted" if action == "accept" else "declined" if second.status == 200 else "open"
        for server in servers:
            eventually(partial(_is_told, base, server, identifier, state))
        served = set(base.git("ls-tree", "--name-only", "HEAD").splitlines())
        assert (first.status, second.status) == (200, 200) or action == "decline", (first.body, second.body)
        assert ("x.md" in served) == (first.status == 200), first.body
        assert ("y.md" in served) == (action == "accept"), second.body


def test_what_is_served_was_accepted_whoever_else_closes_it_at_once(base: Team, tmp_path: Path) -> None:
    with pair(base, tmp_path) as servers:
        for number in range(4):
            identifier = base.propose(servers[0], f"page-{number}", "# Page\n")
            eventually(partial(_is_told, base, servers[1], identifier, "open"))
            first, second = _at_once(
                [
                    partial(base.decide, servers[0], "Ada", identifier, "accept"),
                    partial(base.decide, servers[1], "Bob", identifier, "decline", word="no"),
                ]
            )
            is_served = f"page-{number}.md" in base.git("ls-tree", "--name-only", "HEAD").splitlines()
            assert is_served == (first.status == 200), (first.body, second.body)
            for server in servers:
                eventually(partial(_is_told, base, server, identifier, "accepted" if is_served else "declined"))


def _is_told(base: Team, server: Server, identifier: str, state: str) -> bool:
    return told_of_pushes(base, server, identifier)["state"] == state


def _at_once(calls: list[Callable[[], Answer]]) -> list[Answer]:
    answers: list[Answer | None] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def run(number: int, call: Callable[[], Answer]) -> None:
        barrier.wait()
        answers[number] = call()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(answers)
    return [answer for answer in answers if answer]


def test_a_server_killed_between_its_push_and_its_answer_loses_nothing(base: Team, tmp_path: Path) -> None:
    with slow_remote(base.remote) as slow, pair(base, tmp_path, slow.url) as (one, two):
        waiting: list[str] = []
        slow.pace = "held"
        thread = threading.Thread(target=lambda: _quietly(waiting, lambda: base.propose(one, "new", "# New\n")))
        thread.start()
        assert slow.landed.wait(30)
        one.process.kill()
        slow.pace = "whole"
        slow.answering.set()
        thread.join(30)
        (identifier,) = [name.removeprefix(OPEN) for name in base.branches()]
        assert base.decide(two, "Ada", identifier, "accept").status == 200
    assert base.git("show", "HEAD:new.md") == "# New"


def _quietly(results: list[str], call: Callable[[], str]) -> None:
    try:
        results.append(call())
    except (OSError, EOFError):
        results.append("")


@pytest.mark.parametrize("pace", ["taken", "lost"])
def test_a_push_without_an_answer_is_looked_for(base: Team, tmp_path: Path, pace: Any) -> None:
    with slow_remote(base.remote) as slow, replica(tmp_path / "one", slow.url, flags=WRITES, poll=3600) as server:
        eventually(lambda: server.ask("GET", "/health/ready").status == 200, 60)
        slow.pace = pace
        answer = base.ask(server, "agent", "PUT", "/pages/new", {"content": "# New\n"})
        names = [name for name in base.branches() if name.startswith(OPEN)]
        assert (answer.status, len(names)) == ((201, 1) if pace == "taken" else (503, 0)), answer.body
        slow.pace = "whole"
        assert base.ask(server, "agent", "PUT", "/pages/other", {"content": "# Other\n"}).status == 201


def test_the_workers_of_a_replica_are_one_server(base: Team, tmp_path: Path) -> None:
    around = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "COMMONPLACE_EMBED": "false"}
    with served("--replica-of", str(base.remote), *WRITES, "--workers", "2", env=around) as server:
        eventually(lambda: server.ask("GET", "/health/ready").status == 200, 60)
        ids = {base.propose(server, f"page-{number}", f"# Page {number}\n") for number in range(6)}
        assert len(ids) == 1, "the writes of a key gather, whichever worker takes them"
        identifier = ids.pop()
        for _ in range(8):
            assert len(base.ask(server, "Ada", "GET", f"/proposals/{identifier}").json["files"]) == 6
            assert base.ask(server, "reader", "GET", "/pages/page-1").status == 404
        both = _at_once([partial(base.decide, server, who, identifier, "accept") for who in ("Ada", "Bob")])
        assert sorted(answer.status for answer in both) == [200, 409], [answer.body for answer in both]
        assert len(base.accepted(identifier)) == 1
        for _ in range(8):
            assert base.ask(server, "reader", "GET", "/pages/page-1").status == 200
