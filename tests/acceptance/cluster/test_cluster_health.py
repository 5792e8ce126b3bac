"""What health says is what callers meet: reads, writes, the remote, the lease, and all servers in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from remotes.replicas import WRITES, push, replica, team, wait_ready, writing_pair
from remotes.slow import slow_remote
from serving import Server
from support import eventually


def _writes(server: Server) -> tuple[int, str]:
    answer = server.ask("GET", "/health/writes")
    return answer.status, answer.json["status"]


def _state(server: Server, name: str = "team") -> Any:
    return server.ask("GET", "/health/collections").json["collections"][name]


def test_health_says_that_writes_fail_while_reads_work_and_since_when(tmp_path: Path) -> None:
    work, bare = team(tmp_path)
    env = {"COMMONPLACE_WRITE_TIMEOUT": "2"}
    with slow_remote(bare) as remote, replica(tmp_path / "one", remote.url, flags=WRITES, env=env, poll=3600) as server:
        wait_ready(server)
        assert server.page("PUT", "first", {"content": "# First\n"}).status == 201
        assert _writes(server) == (200, "writable")
        state = _state(server)
        assert state["writable"]
        assert state["remote"]["silent_seconds"] is None
        assert 0 <= state["remote"]["pushed_seconds"] < 60
        assert state["free_bytes"] > 0

        remote.hangs_in = "advertise"
        assert server.page("PUT", "second", {"content": "# Second\n"}).status == 503
        assert _writes(server) == (503, "failing")
        assert server.ask("GET", "/health/ready").status == 200
        state = _state(server)
        assert state["write_problem"].startswith("The remote has not answered for ")
        assert state["remote"]["silent_seconds"] >= 1

        remote.hangs_in = ""
        push(work, "c.md", "# C\n", "--force")
        assert server.page("PUT", "third", {"content": "# Third\n"}).status in {201, 409}
        eventually(lambda: _writes(server) == (200, "writable"), 60)

        remote.hangs_in = "receive"  # pushes alone: fetches are answered
        assert server.page("PUT", "fourth", {"content": "# Fourth\n"}).status == 503
        assert _writes(server) == (503, "failing"), "the fetch that looked for the commit was answered"
        remote.hangs_in = ""
        assert server.page("PUT", "fourth", {"content": "# Fourth\n"}).status in {201, 409}
        eventually(lambda: _writes(server) == (200, "writable"), 60)
        metrics = server.ask("GET", "/metrics").body.decode()
        assert 'commonplace_replica_write_problem{collection="team"} 0.0' in metrics
        assert "commonplace_open_files " in metrics
        assert 'commonplace_step_seconds_count{step="push"}' in metrics
    with replica(tmp_path / "two", bare) as reading:
        wait_ready(reading)
        assert _writes(reading) == (503, "read-only")


def test_all_servers_are_in_one_table(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    with writing_pair(tmp_path, remote, peers=True) as (server, two):
        for number, node in enumerate((server, two)):
            assert node.page("PUT", f"page-{number}", {"content": "# Page\n"}).status == 201
        names = sorted(node.url.partition("://")[2] for node in (server, two))
        told = server.ask("GET", "/health/cluster").json["servers"]
        assert sorted(state["server"]["name"] for state in told) == names
        leases = {state["collections"]["team"]["lease"]["owner"] for state in told} - {None}
        assert len(leases) == 1, "a server that hands its writes over need not have read the lease yet"
        assert leases <= set(names)
        assert {state["server"]["writes"] for state in told} == {"writable"}

        table = server.ask("GET", "/health/cluster?format=text")
        assert table.headers["content-type"].startswith("text/plain")
        head, *rows = table.body.decode().splitlines()
        assert head.split()[:3] == ["SERVER", "VERSION", "READS"]
        assert sorted(row.split()[0] for row in rows) == names
        page = server.ask("GET", "/health/cluster", headers={"Accept": "text/html"})
        assert page.headers["content-type"].startswith("text/html")
        assert page.body.count(b"<tr>") == 3

        assert server.ask("POST", "/cluster/state", {}).status == 401
        two.process.kill()
        two.process.wait()
        gone = server.ask("GET", "/health/cluster").json["servers"][1]["server"]
        assert gone["name"] == two.url.partition("://")[2]
        assert gone["problem"].startswith("It does not answer")
