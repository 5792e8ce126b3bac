"""Each situation of docs/runbook.md is made, and its page is followed: what one sees, what one does, when it is over.

Situations that other tests make are named in `ELSEWHERE`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.cluster import WRITES_SIGNATURE, WritesSignature
from remotes.replicas import WRITES, free_port, push, replica, team, wait_ready, writing_pair
from remotes.slow import slow_remote
from serving import Server, commonplace, create_key
from support import ROOT, eventually, new_repo

ELSEWHERE = {
    "The disk is full": "tests/acceptance/cluster/test_operator.py::_what_is_filling_up",
    "File descriptors run out": (
        "tests/acceptance/http/test_http.py::test_a_server_that_gets_no_more_files_says_so_in_one_line_and_goes_on"
    ),
    "The search cluster fails": (
        "tests/acceptance/cluster/test_search_cluster.py"
        "::test_a_cluster_that_goes_away_is_said_while_answers_go_on_and_is_used_again_when_it_is_back"
    ),
    "The search cluster is behind or was restarted": (
        "tests/acceptance/cluster/test_search_cluster.py::test_a_search_cluster_that_restarts_keeps_its_index"
    ),
    "An error of the product": (
        "tests/acceptance/projects/test_codes.py::test_a_fault_in_the_code_is_an_internal_error_that_tells_the_log_alone"
    ),
    "Upgrade order": (
        "tests/acceptance/http/test_replicas.py::test_a_server_that_is_told_to_end_serves_on_until_it_is_drained"
    ),
    "Restore from a backup": (
        "tests/acceptance/cli/test_backup.py::test_everything_is_lost_but_the_backup_and_the_remote"
    ),
}
"""The test or the step of one that makes a situation, by the situation's heading."""
SHARED = "of these two"


def test_every_situation_is_made_by_a_test() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8"), re.MULTILINE)[2:]
    made = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    left = {heading for heading in headings if heading.lower().replace("-", " ") not in made}
    assert left == ELSEWHERE.keys()
    for place in ELSEWHERE.values():
        path, _, name = place.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, place


@contextmanager
def one(place: Path, remote: Path | str, *flags: str, **more: Any) -> Generator[Server]:
    """A ready server that writes to a remote."""
    with replica(place, remote, flags=(*WRITES, *flags), **more) as server:
        wait_ready(server)
        yield server


def state(server: Server) -> Any:
    return server.ask("GET", "/health/collections").json["collections"]["team"]


def writes(server: Server) -> str:
    return server.ask("GET", "/health/writes").json["status"]


def rows(server: Server) -> dict[str, str]:
    """The rows of the table of servers, by server."""
    lines = server.ask("GET", "/health/cluster?format=text").body.decode().splitlines()[1:]
    return {line.split()[0]: line for line in lines}


def put(server: Server, page: str, text: str = "# Page\n", key: str = "") -> int:
    return server.page("PUT", page, {"content": text}, key=key).status


def logged(server: Server, words: str) -> bool:
    return any(words in line for line in server.lines)


@pytest.mark.soak
def test_a_server_does_not_answer(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    ports = (free_port(), free_port())
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    env = {"COMMONPLACE_CLUSTER_SECRET": SHARED}
    with one(tmp_path / "one", remote, "--node-url", urls[0], "--peer", urls[1], env=env, port=ports[0]) as server:
        flags = ("--node-url", urls[1], "--peer", urls[0])
        with one(tmp_path / "two", remote, *flags, env=env, port=ports[1]) as other:
            assert put(server, "first") == 201
            other.process.kill()
            other.process.wait()
            name = urls[1].partition("://")[2]
            eventually(lambda: "does not answer" in rows(server)[name], 60)
            assert put(server, "second") == 201
        with one(tmp_path / "anew", remote, *flags, env=env, port=ports[1]) as again:
            assert again.page("GET", "second").status == 200
            eventually(lambda: "does not answer" not in rows(server)[name], 60)


@pytest.mark.soak
def test_a_server_does_not_become_ready(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    away = remote.rename(tmp_path / "away.git")
    with replica(tmp_path / "one", remote) as server:
        eventually(lambda: logged(server, "team"), 60)
        assert server.ask("GET", "/health/ready").json["status"] == "starting"
        away.rename(remote)
        wait_ready(server)
        assert server.page("GET", "a").status == 200


@pytest.mark.soak
def test_a_replica_is_behind(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with one(tmp_path / "one", remote) as server:
        before = state(server)["commit"]
        (branch,) = work.git("branch", "--show-current").split()
        work.git("--git-dir", str(remote), "branch", "-m", branch, "hidden")
        work.git("--git-dir", str(remote), "symbolic-ref", "HEAD", f"refs/heads/{branch}")
        eventually(lambda: state(server)["problem"], 60)
        assert server.page("GET", "a").status == 200, "it serves the last commit that it has"
        assert state(server)["commit"] == before
        commit = push(work, "b.md", "# B\n")
        eventually(lambda: state(server)["commit"] == commit and not state(server)["problem"], 60)


@pytest.mark.soak
def test_the_remote_hangs_or_cannot_be_reached(tmp_path: Path) -> None:
    _, bare = team(tmp_path)
    env = {"COMMONPLACE_WRITE_TIMEOUT": "3"}
    with slow_remote(bare) as remote, one(tmp_path / "one", remote.url, env=env) as server:
        remote.hangs_in = "advertise"
        answer = server.page("PUT", "first", {"content": "# First\n"})
        assert answer.status == 503
        assert re.search("Nothing was written|unknown", answer.body.decode())
        assert writes(server) == "failing"
        assert server.page("GET", "a").status == 200
        remote.hangs_in = ""
        eventually(lambda: writes(server) == "writable", 60)
        assert put(server, "first") in {201, 409}


@pytest.mark.soak
def test_the_remote_was_rewritten(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    first = work.git("rev-parse", "HEAD")
    with one(tmp_path / "one", remote) as server:
        dropped = push(work, "b.md", "# Dropped\n")
        eventually(lambda: state(server)["commit"] == dropped, 60)
        work.git("reset", "--quiet", "--hard", first)
        forced = push(work, "c.md", "# Forced\n", "--force")
        eventually(lambda: state(server)["commit"] == forced, 60)
        assert logged(server, f"force-pushed from {dropped[:12]} to {forced[:12]}")
        assert server.page("GET", "b").status == 404
        assert server.ask("GET", f"/api/v1/search?q=page&at_least={dropped}").status == 404
        clone = next(path.parent for path in (tmp_path / "one").rglob("HEAD") if (path.parent / "objects").is_dir())
        # As the user of the server: from the server's own clone, to the branch that it follows.
        (branch,) = work.git("branch", "--show-current").split()
        work.git("--git-dir", str(clone), "push", "--quiet", "--force", str(remote), f"{dropped}:refs/heads/{branch}")
        eventually(lambda: server.page("GET", "b").status == 200, 60)
    assert "Write b.md" in commonplace("log", "-C", str(remote)).stdout


@pytest.mark.soak
def test_the_remote_has_a_refused_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, remote = team(tmp_path)
    (branch,) = work.git("branch", "--show-current").split()
    with one(tmp_path / "one", remote) as server:
        good = push(work, "b.md", "# B\n")
        eventually(lambda: state(server)["commit"] == good, 60)
        raw = subprocess.run(
            ["git", "--git-dir", remote, "cat-file", "commit", good], check=True, capture_output=True
        ).stdout
        bad = subprocess.run(
            ["git", "--git-dir", remote, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
            input=raw.replace(b"Write b.md", b"Write\0 b.md"), check=True, capture_output=True,
        ).stdout.decode().strip()  # fmt: skip
        work.git("--git-dir", str(remote), "update-ref", f"refs/heads/{branch}", bad)
        eventually(lambda: "nulInCommit" in (state(server)["problem"] or ""), 60)
        assert state(server)["commit"] == good
        work.git("--git-dir", str(remote), "update-ref", f"refs/heads/{branch}", good)
        eventually(lambda: not state(server)["problem"], 60)
    work.git("--git-dir", str(remote), "update-ref", f"refs/heads/{branch}", bad)
    (tmp_path / "skip").write_text(f"{bad}\n")
    (tmp_path / "config").write_text(f'[fetch "fsck"]\n\tskipList = {tmp_path / "skip"}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    with replica(tmp_path / "two", remote) as server:
        wait_ready(server)
        assert state(server)["commit"] == bad


@pytest.mark.soak
def test_writes_fail(tmp_path: Path) -> None:
    _, bare = team(tmp_path)
    with slow_remote(bare) as remote, one(tmp_path / "one", remote.url) as server:
        assert put(server, "first") == 201
        hook = bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho 'the branch is protected until Monday' >&2\nexit 1\n")
        hook.chmod(0o755)
        answer = server.page("PUT", "second", {"content": "# Second\n"})
        assert answer.status >= 400
        assert "protected until Monday" in answer.body.decode()
        assert writes(server) == "writable", "other writes may be accepted"
        assert "protected until Monday" in state(server)["refused"]["reason"]
        assert "The remote refused a write" in "".join(rows(server).values())
        hook.unlink()
        assert put(server, "second") == 201
        assert "refused" not in state(server)
    with replica(tmp_path / "two", bare) as reading:
        wait_ready(reading)
        assert writes(reading) == "read-only"


@pytest.mark.soak
def test_writes_are_slow(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    _, remote = team(tmp_path)
    key, operator = (create_key(name, "--tier", "write") for name in ("busy", "operator"))
    with one(tmp_path / "one", remote) as server:
        assert [put(server, f"page-{number}", key=key) for number in range(3)] == [201] * 3
        text = server.ask("GET", "/metrics", key=operator).body.decode()
        assert float(re.search(r'commonplace_step_seconds_count\{step="push"\} (\S+)', text)[1]) >= 1  # type: ignore[index]
        told = json.loads(commonplace("audit", "--days", "1", "--json").stdout)["writes"]
        assert [row["caller"] for row in told] == ["busy"] * 3
        assert commonplace("keys", "limit", "busy", "--pages-per-hour", "1").returncode == 0
        names = count()
        eventually(lambda: put(server, f"more-{next(names)}", key=key) == 429, 60)


@pytest.mark.soak
def test_the_lease_does_not_move(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    ports = (free_port(), free_port())
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    with (
        one(tmp_path / "one", remote, "--node-url", urls[0], "--peer", urls[1], port=ports[0],
            env={"COMMONPLACE_CLUSTER_SECRET": "one"}) as server,
        one(tmp_path / "two", remote, "--node-url", urls[1], "--peer", urls[0], port=ports[1],
            env={"COMMONPLACE_CLUSTER_SECRET": "another"}) as other,
    ):  # fmt: skip
        assert [put(server, "first"), put(other, "second"), put(server, "third")] == [201] * 3
        assert logged(server, "refuse") or logged(other, "refuse")
        work.git("push", "--quiet", str(remote), ":refs/commonplace/writer")
        assert [put(other, "fourth"), put(server, "fifth")] == [201] * 2
    assert work.git("--git-dir", str(remote), "rev-list", "--count", "HEAD") == "6"
    with writing_pair(tmp_path / "same", remote, peers=True) as (server, other):
        assert [put(server, "sixth"), put(other, "seventh")] == [201] * 2
        eventually(lambda: len(set(re.findall(r"127\.0\.0\.1:\d+ for", "\n".join(rows(server).values())))) == 1, 60)


@pytest.mark.soak
def test_two_servers_of_one_name(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    ports = (free_port(), free_port())
    name = f"http://127.0.0.1:{ports[0]}"
    env = {"COMMONPLACE_CLUSTER_SECRET": SHARED}
    flags = ("--node-url", name, "--peer", f"http://127.0.0.1:{ports[1]}")
    with (
        one(tmp_path / "one", remote, *flags, env=env, port=ports[0]) as server,
        one(tmp_path / "two", remote, *flags, env=env, port=ports[1]) as other,
    ):
        for number in range(4):
            assert [put(server, f"a{number}"), put(other, f"b{number}")] == [201] * 2
    assert work.git("--git-dir", str(remote), "rev-list", "--count", "HEAD") == "9"


@pytest.mark.soak
def test_clocks_differ(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    with writing_pair(tmp_path, remote, peers=True) as (server, other):
        assert put(server, "first") == 201
        body = b"{}"
        signature = WritesSignature(int(time.time()) - 90, "n" * 32, other.url, server.url)
        headers = {WRITES_SIGNATURE: signature.header(body, SHARED)}
        late = server.ask("POST", "/cluster/writes", body, headers=headers)
        assert "signed at another time" in late.body.decode()
        assert late.status == 401


@pytest.mark.soak
def test_calls_are_slow(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    key = create_key("kim", "--tier", "read", "--keys", str(tmp_path / "keys.json"))
    with one(tmp_path / "one", remote, "--log-format", "json", "--keys", str(tmp_path / "keys.json")) as server:
        server.call("notes", "search", {"query": "first"}, key=key)
        told = [json.loads(line) for line in server.lines if '"tool": "search"' in line or '"tool":"search"' in line]
        assert {"ms", "caller", "tool"} <= told[0].keys()


@pytest.mark.soak
def test_the_index_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, remote = team(tmp_path)
    with one(tmp_path / "one", remote.as_uri()) as server:
        assert put(server, "b", "# B\n\nwalrus\n") == 201
        for path in (tmp_path / "one").rglob("*.store"):
            path.write_bytes(b"\0" * path.stat().st_size)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
        assert commonplace("index", "--rebuild", "-C", remote.as_uri()).returncode == 0
        eventually(lambda: server.ask("GET", "/api/v1/search?q=walrus").json.get("total") == 1, 60)
        assert re.search(r"\b2\b", commonplace("index", "--status", "-C", remote.as_uri()).stdout)
    repo = new_repo(tmp_path / "folder", {"a.md": "# A\n"})
    assert commonplace("doctor", "-C", repo.path).returncode == 0


@pytest.mark.soak
def test_the_provider_of_models_or_sign_in_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, remote = team(tmp_path)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_URL", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_MODEL", "m")
    with one(tmp_path / "one", remote.as_uri()) as server:
        assert server.ask("GET", "/api/v1/search?q=first").json["total"] == 1
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
        eventually(lambda: "failing" in commonplace("model", "status", "-C", remote.as_uri()).stdout, 60)


@pytest.mark.soak
def test_a_key_has_leaked(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, remote = team(tmp_path)
    keys = tmp_path / "keys.json"
    leaked = create_key("leaked", "--tier", "write", "--keys", str(keys))
    with one(tmp_path / "one", remote, "--keys", str(keys)) as server:
        assert put(server, "bad", "# Bad\n", leaked) == 201
        assert commonplace("keys", "revoke", "leaked", "--keys", str(keys)).returncode == 0
        eventually(lambda: server.page("GET", "a", key=leaked).status == 401, 60)
        (told,) = json.loads(commonplace("audit", "--caller", "leaked", "--json").stdout)["writes"]
        assert told["files"] == ["bad.md"]
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache_dir))
        undone = commonplace("undo", told["commit"], "-C", remote.as_uri())
        assert undone.returncode == 0, undone.stderr
        assert "bad.md" not in work.git("--git-dir", str(remote), "ls-tree", "--name-only", "HEAD")
        less = create_key("again", "--tier", "write", "--folder", "inbox", "--keys", str(keys))
        eventually(lambda: put(server, "inbox/x", key=less) in {201, 409}, 60)
        assert put(server, "elsewhere", key=less) == 403


@pytest.mark.soak
def test_somebody_is_locked_out(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    keys = tmp_path / "keys.json"
    key = create_key("kim", "--tier", "write", "--folder", "inbox", "--keys", str(keys))
    operator = create_key("operator", "--tier", "write", "--keys", str(keys))
    with one(tmp_path / "one", remote, "--keys", str(keys)) as server:
        assert put(server, "elsewhere", key=key) == 403
        metrics = server.ask("GET", "/metrics", key=operator).body.decode()
        assert re.search(r'commonplace_refusals_total\{[^}]*caller="kim"[^}]*status="403"', metrics)
        assert "inbox" in commonplace("keys", "list", "--keys", str(keys)).stdout
        assert commonplace("keys", "limit", "kim", "--keys", str(keys)).returncode == 0
        eventually(lambda: put(server, "elsewhere", key=key) in {201, 409}, 60)


@pytest.mark.soak
def test_the_keys_file_is_cut(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    keys = tmp_path / "keys.json"
    key = create_key("kim", "--tier", "read", "--keys", str(keys))
    whole = keys.read_bytes()
    with one(tmp_path / "one", remote, "--keys", str(keys)) as server:
        assert server.page("GET", "a", key=key).status == 200
        keys.write_bytes(whole[: len(whole) // 2])
        eventually(lambda: server.page("GET", "a", key=key).status == 200 and logged(server, "damaged"), 60)
        late = commonplace("serve", "--keys", str(keys), "--port", "0", tmp_path)
        assert late.returncode != 0
        assert "is damaged" in late.stderr
        (tmp_path / "whole").write_bytes(whole)
        os.chmod(tmp_path / "whole", 0o600)  # noqa: PTH101
        os.replace(tmp_path / "whole", keys)  # noqa: PTH105
        assert "kim" in commonplace("keys", "list", "--keys", str(keys)).stdout
        assert server.page("GET", "a", key=key).status == 200
