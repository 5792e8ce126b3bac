"""Servers that follow Git remotes: any of them answers, each names its commit, and none can be written."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from remotes.replicas import push, replica, team, wait_ready
from serving import Answer, Server, create_key, rpc_request
from support import eventually, is_running

COMMIT = "commonplace-commit"
AT_LEAST = "commonplace-at-least"
SECRET = "shared with the Git host"  # noqa: S105 - of these tests
NEVER = "1" * 40


def search(server: Server, words: str, at_least: str = "", **headers: str) -> Answer:
    given_values = {**({AT_LEAST: at_least} if at_least else {}), **headers}
    return server.ask("GET", f"/api/v1/search?q={quote(words)}", headers=given_values)


def found(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [hit["path"] for hit in answer.json["results"]]


def page(server: Server, path: str) -> str:
    return str(server.page("GET", path).json["content"])


def test_two_replicas_answer_what_was_pushed_and_one_goes_on_when_the_other_is_killed(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "one", remote) as other_server, replica(tmp_path / "two", remote) as two:
        first = work.git("rev-parse", "HEAD")
        for server in (other_server, two):
            answer = search(server, "first", first)
            assert (found(answer), answer.headers[COMMIT]) == (["a"], f"team={first}")
            wait_ready(server)
        second = push(work, "b.md", "# Beta\n\nsecond words\n")
        answers = [search(server, "second words", second) for server in (other_server, two)]
        assert [found(answer) for answer in answers] == [["b", "a"]] * 2
        # Scores depend on when each replica's index was flushed.
        shown = [[{**hit, "score": 0} for hit in answer.json["results"]] for answer in answers]
        assert shown[0] == shown[1]
        assert {answer.headers[COMMIT] for answer in answers} == {f"team={second}"}
        other_server.process.kill()
        third = push(work, "b.md", "# Beta\n\nthird words\n")
        assert found(search(two, "third", third)) == ["b"]
        assert "third words" in page(two, "b")
    with replica(tmp_path / "one", remote) as again:
        assert found(search(again, "third", third)) == ["b"]


def test_what_an_answer_named_can_be_sent_back_as_it_is(tmp_path: Path) -> None:
    _, first = team(tmp_path, "ä=,b")
    _, other = team(tmp_path, "other", "# Other\n")
    with replica(tmp_path / "home", first, other) as server:
        server.ask("GET", "/api/v1/search?q=first")  # waits until both are indexed
        named = search(server, "first").headers[COMMIT]
        assert named.count("=") == 2
        assert found(search(server, "first", named)) == ["a"]


def test_a_forced_push_is_followed_and_the_dropped_commit_is_said_to_be_gone(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    first = work.git("rev-parse", "HEAD")
    dropped = push(work, "b.md", "# Dropped\n")
    with replica(tmp_path / "home", remote) as server:
        assert found(search(server, "dropped", dropped)) == ["b"]
        work.git("reset", "--quiet", "--hard", first)
        kept_text = push(work, "c.md", "# Kept\n", "--force")
        assert found(search(server, "dropped", kept_text)) == []
        assert server.page("GET", "b").status == 404
        refused = search(server, "kept", dropped)
        assert (refused.status, refused.json["kind"]) == (404, "commit")
        assert found(search(server, "kept", first)) == ["c"]
        forced = f"the remote was force-pushed from {dropped[:12]} to {kept_text[:12]}"
        (line,) = [line for line in server.lines if forced in line]
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} WARNING commonplace\.\S+: team: ", line), line


def test_reads_go_on_while_the_remote_is_away_and_newer_commits_arrive_when_it_is_back(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    first = work.git("rev-parse", "HEAD")
    with replica(tmp_path / "home", remote) as server:
        assert found(search(server, "first", first)) == ["a"]
        second = push(work, "b.md", "# Second\n")
        # It may have followed already; what comes next it cannot have.
        remote.rename(tmp_path / "away.git")
        assert search(server, "first", first).status == 200
        behind = search(server, "first", NEVER, prefer="wait=1")
        assert (behind.status, behind.json["kind"]) == (503, "commit")
        assert behind.headers["retry-after"] == "1"
        assert "cannot be read" in behind.json["error"]
        assert str(tmp_path) not in behind.body.decode()
        assert "cannot be read" in server.ask("GET", "/health/collections").json["collections"]["team"]["problem"]
        assert server.ask("GET", "/health/ready").status == 200
        (tmp_path / "away.git").rename(remote)
        assert found(search(server, "second", second)) == ["b"]
    remote.rename(tmp_path / "away.git")
    with replica(tmp_path / "home", remote) as again:  # from the clone of the one before
        assert found(search(again, "second", second)) == ["b"]
        assert again.ask("GET", "/health/collections").json["collections"]["team"]["age_seconds"] is None


def test_a_replica_that_never_reached_its_remote_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    with replica(tmp_path / "home", tmp_path / "none.git") as server:
        ready = server.ask("GET", "/health/ready")
        assert (ready.status, ready.json) == (503, {"status": "starting"})
        assert server.ask("GET", "/health").status == 200
        subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "none.git")], check=True)
        assert found(search(server, "anything")) == []
        assert COMMIT not in search(server, "anything").headers


def test_nothing_can_be_written(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    before = work.git("ls-remote", str(remote))
    env = {"KNOWLEDGE_MCP_HOME": str(tmp_path / "projects"), "COMMONPLACE_TIER": "write"}
    with replica(tmp_path / "home", remote, env=env) as server:
        refused = server.page("PUT", "new", {"content": "# New\n"})
        assert (refused.status, refused.json["code"]) == (403, "read_only")
        assert "push to its remote" in refused.json["error"]
        result = server.call("notes", "write", {"page": "new.md", "text": "# New\n"})
        assert result.get("isError"), result
        assert "push to its remote" in json.dumps(result)
        assert server.ask("POST", "/mcp/projects", {}).status == 404
    assert work.git("ls-remote", str(remote)) == before
    assert not (tmp_path / "projects").exists()


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"}


@pytest.mark.soak
def test_a_signed_webhook_makes_a_replica_read_its_remote_at_once(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "home", remote, env={"COMMONPLACE_WEBHOOK_SECRET": SECRET}, poll=3600) as server:
        first = work.git("rev-parse", "HEAD")
        assert search(server, "first", first).status == 200
        body = json.dumps({"repository": {"clone_url": f"https://host{remote}", "ssh_url": "[::x"}}).encode()
        for headers in ({}, signed(body, "wrong"), signed(b"{}"), {"X-Gitlab-Token": "wrong"}, {"X-Gitlab-Token": ""}):
            refused = server.ask("POST", "/hooks/git", body, headers=headers)
            assert (refused.status, refused.json["kind"]) == (401, "signature")
        for headers in (
            signed,
            lambda _: {"X-Gitlab-Token": SECRET},
            lambda body: {"X-Gitea-Signature": signed(body)["X-Hub-Signature-256"][7:]},
        ):
            commit = push(work, "b.md", f"# {headers}\n")
            body = json.dumps({"after": commit, "repository": {"clone_url": f"https://host{remote}"}}).encode()
            assert server.ask("POST", "/hooks/git", body, headers=headers(body)).status == 202
            # The answer names the commit although nobody asked for it.
            wait_for_change(server, commit)
        for odd in (b"[]", b"{", b'{"repository": 3}', b'{"repository": {"clone_url": null}}', b"[" * 100_000):
            assert server.ask("POST", "/hooks/git", odd, headers=signed(odd)).status == 202
        assert server.ask("GET", "/hooks/git").status == 405
        assert server.ask("POST", "/hooks/git/x", b"{}", headers=signed(b"{}")).status == 404


def wait_for_change(server: Server, commit: str) -> None:
    """Wait until an answer names a commit; asks for no commit, which would make the server read the remote."""
    for _ in range(600):
        if search(server, "first").headers[COMMIT] == f"team={commit}":
            return
    raise AssertionError("the commit did not arrive")


@pytest.mark.soak
def test_the_base_is_read_as_it_was_at_a_tag_of_the_remote(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    first = work.git("rev-parse", "HEAD")
    work.git("tag", "--annotate", "v1", "--message", "first")
    second = push(work, "a.md", "# Alpha\n\nsecond words\n", "--follow-tags")
    with replica(tmp_path / "home", remote, env={"COMMONPLACE_WEBHOOK_SECRET": SECRET}, poll=3600) as server:
        assert found(search(server, "second", second)) == ["a"]
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        for moment, words in (("v1", "first"), (first, "first"), (first[:9], "first"), (today, "second")):
            assert f"{words} words" in text_at(server, moment)
        assert "elsewhere" in text_at(server, "elsewhere")  # a tag that does not exist is named in the refusal
        work.git("tag", "--force", "v1", second)
        work.git("tag", "v2", second)
        work.git("push", "--quiet", "--force", "--tags", "origin")
        assert server.ask("POST", "/hooks/git", b"{}", headers=signed(b"{}")).status == 202
        eventually(lambda: "second words" in text_at(server, "v1"))
        assert "second words" in text_at(server, "v2")
        assert "first words" in text_at(server, "before v2")
        work.git("push", "--quiet", "origin", ":refs/tags/v2")
        assert server.ask("POST", "/hooks/git", b"[]", headers=signed(b"[]")).status == 202
        eventually(lambda: "words" not in text_at(server, "v2"))


def text_at(server: Server, moment: str) -> str:
    """The page `a` at a moment, or why there is none."""
    result = server.call("notes", "read", {"page": "a", "at": moment})
    return str(result["content"][0]["text"])


def test_without_a_secret_there_is_no_webhook(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    with replica(tmp_path / "home", remote) as server:
        assert server.ask("POST", "/hooks/git", b"{}", headers=signed(b"{}", "")).status in {404, 405, 413}


@pytest.mark.parametrize("text", ["1234567", NEVER.upper() + "g", f"team={NEVER[1:]}", ",", "=", "a" * 5_000])
def test_a_commit_that_is_none_is_refused(text: str, two_teams: tuple[Server, list[str]]) -> None:
    server, _ = two_teams
    refused = search(server, "first", text)
    assert (refused.status, refused.json["kind"]) == (422, "commit")


def test_with_several_collections_a_commit_needs_the_name(two_teams: tuple[Server, list[str]]) -> None:
    server, commits = two_teams
    assert search(server, "first", commits[0]).json["hint"] == "Send NAME=COMMIT."
    assert search(server, "first", f"team={commits[0]}").status == 200
    assert search(server, "first", f"none={commits[0]}").json["kind"] == "collection"


def test_the_commit_may_stand_in_the_query_and_in_the_meta_of_a_call(two_teams: tuple[Server, list[str]]) -> None:
    server, commits = two_teams
    answer = server.ask("GET", f"/api/v1/search?at_least=team%3D{commits[0]}&q=first")
    assert answer.status == 200
    behind = server.ask("GET", f"/api/v1/search?q=first&at_least=team={NEVER}", headers={"Prefer": "wait=0"})
    assert behind.status == 503
    arguments = {"name": "search", "arguments": {"query": "first"}}
    assert meta_call(server, arguments, f"team={commits[0]}")["isError"] is False
    assert "40 hexadecimal digits" in json.dumps(meta_call(server, arguments, "none"))


def meta_call(server: Server, params: dict[str, Any], at_least: str) -> Any:
    """The result of a tool call of the newer era that names a commit."""
    headers, body = rpc_request("tools/call", params)
    body["params"]["_meta"]["commonplace/at_least"] = at_least
    answer = server.ask("POST", "/mcp/notes", body, headers=headers)
    if answer.headers["content-type"] == "application/json":
        return answer.json.get("result", answer.json)
    data = [line[5:] for line in answer.body.decode().splitlines() if line.startswith("data:")]
    return json.loads(data[-1])["result"]


def test_an_answer_over_mcp_names_the_commit_that_the_index_contains(two_teams: tuple[Server, list[str]]) -> None:
    server, commits = two_teams
    result = server.call("notes", "search", {"query": "first"})
    assert [element["commit"] for element in result["_meta"]["commonplace/sources"]] == commits


@pytest.fixture(scope="module")
def two_teams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[str]]]:
    """A replica of two remotes, and the commits of both."""
    folder = tmp_path_factory.mktemp("teams")
    with ExitStack() as stack:
        works = [team(folder, name) for name in ("team", "other")]
        server = stack.enter_context(replica(folder / "home", *(remote for _, remote in works)))
        search(server, "first")
        yield server, [work.git("rev-parse", "HEAD") for work, _ in works]


def test_a_key_of_one_collection_learns_nothing_of_the_commits_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (work, remote), (hidden, other) = team(tmp_path), team(tmp_path, "other")
    key = create_key("mine", "--tier", "read", "--collection", "team")
    with replica(tmp_path / "home", remote, other) as server:
        wait_ready(server)
        answer = server.ask("GET", "/api/v1/search?q=first", key=key)
        assert (answer.status, answer.headers[COMMIT]) == (200, f"team={work.git('rev-parse', 'HEAD')}")
        commit = hidden.git("rev-parse", "HEAD")
        for text in (f"other={commit}", f"nowhere={commit}"):
            refused = server.ask("GET", "/api/v1/search?q=first", key=key, headers={AT_LEAST: text})
            assert (refused.status, refused.json["kind"]) == (404, "collection")
            assert "other" not in refused.body.decode().replace(f"'{text.partition('=')[0]}'", "")
        assert list(server.ask("GET", "/health/collections", key=key).json["collections"]) == ["team"]
        assert server.ask("GET", "/health/collections").status == 401


@pytest.mark.soak
def test_a_fetch_that_hangs_ends_with_the_server(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho $$ > '{mark}'.$$\nmv '{mark}'.$$ '{mark}'\nexec sleep 600\n")
    ssh.chmod(0o755)
    with replica(tmp_path / "home", "ssh://nowhere.invalid/a.git", env={"GIT_SSH_COMMAND": str(ssh)}) as server:
        assert server.ask("GET", "/health/ready").status == 503
        for _ in range(10_000):
            if mark.exists():
                break
            server.ask("GET", "/health")
        assert server.stop() == 0
        started = int(mark.read_text())
        eventually(lambda: not is_running(started))


def test_a_server_that_is_told_to_end_serves_on_until_it_is_drained(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    with replica(tmp_path / "home", remote, env={"COMMONPLACE_DRAIN": "600"}) as server:
        assert found(search(server, "first")) == ["a"]
        server.process.send_signal(signal.SIGTERM)
        assert any(server.ask("GET", "/health/ready").status == 503 for _ in range(10_000))
        assert server.ask("GET", "/health/ready").json == {"status": "ending"}
        assert found(search(server, "first")) == ["a"]
        assert server.stop() == 0  # the second signal


def test_a_drained_server_ends_by_itself(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    with replica(tmp_path / "home", remote, env={"COMMONPLACE_DRAIN": "1"}) as server:
        assert found(search(server, "first")) == ["a"]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20.0) == 0


def test_metrics_show_the_replicas_that_a_key_may_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (_, remote), (_, other) = team(tmp_path), team(tmp_path, "other")
    keys = [create_key("mine", "--tier", "read", "--collection", "team"), create_key("all", "--tier", "read")]
    with replica(tmp_path / "home", remote, other) as server:
        wait_ready(server)
        mine, everything = (server.ask("GET", "/metrics", key=key).body.decode() for key in keys)
    assert 'commonplace_replica_ready{collection="team"} 1.0' in mine
    assert 'commonplace_replica_problem{collection="team"} 0.0' in mine
    assert 'collection="other"' not in mine
    assert 'commonplace_replica_ready{collection="other"} 1.0' in everything
