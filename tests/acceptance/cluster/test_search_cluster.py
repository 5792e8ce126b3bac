"""Servers that search in a cluster: a client sees no difference, and is told when the cluster is away."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from opensearchpy import OpenSearch

from opensearch_cluster.cluster import running
from opensearch_cluster.gateway import PASSWORD, USER, gateway
from serving import Answer, Server, commonplace, served
from support import ROOT, GitRepo, eventually, new_repo

WAIT_SECONDS = 40.0
QUESTIONS = (
    "restore backup",
    "restor",
    '"write-ahead log"',
    "postgress",
    "index -search",
    "zzqq",
    "how to roll back a deployment",
)
TOOLS = (("notes", "search"), ("kb", "kb_search"), ("wiki", "wiki_search"))
FOLLOWING = ("--replica-of", "/none", "--engine-url", "http://127.0.0.1:9")


@contextmanager
def replica(home: Path, remote: Path, *options: str, env: dict[str, str] | None = None) -> Generator[Server]:
    with served(
        "--replica-of", str(remote), "--replica-poll", "1", *options, env={"XDG_CACHE_HOME": str(home), **(env or {})}
    ) as server:
        yield server


def knowledge(folder: Path) -> tuple[GitRepo, Path]:
    """The example base in a repository, and its bare remote."""
    files = {
        file.relative_to(ROOT / "examples" / "kb").as_posix(): file.read_bytes()
        for file in sorted((ROOT / "examples" / "kb").rglob("*"))
        if file.is_file()
    }
    work = new_repo(folder / "work", files)
    remote = folder / f"team{secrets.token_hex(4)}.git"
    work.git("clone", "--quiet", "--bare", str(work.path), str(remote))
    work.git("remote", "add", "origin", str(remote))
    return work, remote


def push(work: GitRepo, path: str, text: str, *options: str) -> str:
    commit = work.commit(f"Write {path}", **{path: text})
    work.git("push", "--quiet", *options, "origin", "HEAD")
    return commit


def state(server: Server) -> str:
    (found_value,) = server.ask("GET", "/health/collections").json["collections"].values()
    return str(found_value.get("shared_index"))


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_SECONDS:.0f} s: {what}"
        time.sleep(0.1)


def rest(server: Server, text: str) -> Answer:
    return server.ask("GET", f"/api/v1/search?q={quote(text)}")


def without_scores(answer: Any) -> Any:
    """An answer without its scores, whose last digits are an engine's own."""
    if isinstance(answer, dict):
        return {key: without_scores(value) for key, value in answer.items() if key != "score"}
    if isinstance(answer, list):
        return [without_scores(item) for item in answer]
    return re.sub(r'"score": ?[0-9.]+', "", answer) if isinstance(answer, str) else answer


OLD = "---\nsuperseded_by: ledger/new.md\n---\n# Ledger\n\nThe walrus ledger, the walrus ledger of old.\n"
LEDGER = {f"ledger/old{number:02}.md": OLD for number in range(40)}
"""Superseded pages that match better than the one that holds, more than a search looks at."""


@pytest.mark.soak
def test_searches_through_the_cluster_are_those_of_a_server_alone(tmp_path: Path, opensearch_url: str) -> None:
    work, remote = knowledge(tmp_path)
    new = "# Books\n\nSince spring, after much talk, a walrus has it in another system, in a ledger.\n"
    work.commit("The ledger", **LEDGER, **{"ledger/new.md": new})
    work.git("push", "--quiet", "origin", "HEAD")
    prefix = f"accept-{secrets.token_hex(4)}"
    options = ("--engine-url", opensearch_url)
    with (
        replica(tmp_path / "alone", remote) as alone,
        replica(tmp_path / "one", remote, *options, env={"COMMONPLACE_ENGINE_PREFIX": prefix}) as other_server,
        replica(tmp_path / "two", remote, *options, env={"COMMONPLACE_ENGINE_PREFIX": prefix}) as two,
        OpenSearch([opensearch_url]) as client,
    ):
        first = work.git("rev-parse", "HEAD")
        for server in (alone, other_server, two):
            assert server.ask("GET", f"/api/v1/search?q=restore&at_least={first}").status == 200
        assert state(alone) == "None"
        for server in (other_server, two):
            wait_until(lambda server=server: state(server) == "current", "the shared index")
        before = _searches(client, prefix)
        for text in QUESTIONS:
            scores = without_scores(rest(alone, text).json)
            assert without_scores(rest(other_server, text).json) == scores
            assert without_scores(rest(two, text).json) == scores
        for toolset, tool in TOOLS:
            answers = [server.call(toolset, tool, {"query": "restore"}) for server in (alone, other_server)]
            assert without_scores(answers[0]) == without_scores(answers[1])
        for status, path in (("any", "new"), ("current", "new"), ("superseded", "old")):
            arguments = {"query": "walrus ledger", "status": status}
            answers = [server.call("notes", "search", arguments) for server in (alone, other_server)]
            assert without_scores(answers[0]) == without_scores(answers[1])
            assert answers[1]["content"][0]["text"].startswith(f"[1] ledger/{path}")
        assert _searches(client, prefix) > before, "the cluster was asked"
        commit = push(work, "notes/new.md", "# Brand new\n\nunmistakable words about a restore\n")
        for server in (other_server, two):
            json = server.ask("GET", f"/api/v1/search?q=unmistakable&at_least={commit}").json
            assert [hit["path"] for hit in json["results"]] == ["notes/new"]
            wait_until(lambda server=server: state(server) == "current", "the shared index")
            assert without_scores(rest(server, "unmistakable").json) == without_scores(json)


def test_a_base_that_is_force_pushed_or_dropped_from_the_cluster_is_answered_right_all_the_while(
    tmp_path: Path, opensearch_url: str
) -> None:
    work, remote = knowledge(tmp_path)
    first = work.git("rev-parse", "HEAD")
    dropped = push(work, "notes/new.md", "# Brand new\n\nunmistakable words about a restore\n")
    prefix = f"accept-{secrets.token_hex(4)}"
    env = {"COMMONPLACE_ENGINE_PREFIX": prefix}
    with (
        replica(tmp_path / "one", remote, "--engine-url", opensearch_url, env=env) as server,
        OpenSearch([opensearch_url]) as client,
    ):
        assert _paths(server, "unmistakable", dropped) == ["notes/new"]
        wait_until(lambda: state(server) == "current", "the shared index")
        work.git("reset", "--quiet", "--hard", first)
        kept_text = push(work, "notes/kept.md", "# Kept\n\ninconfusable words\n", "--force")
        assert _paths(server, "unmistakable", kept_text) == []
        wait_until(lambda: state(server) == "current", "the index after the forced push")
        before = _searches(client, prefix)
        assert (_paths(server, "unmistakable"), _paths(server, "inconfusable")) == ([], ["notes/kept"])
        assert _searches(client, prefix) > before, "the cluster was asked"
        client.indices.delete(index=f"{prefix}-*")
        commit = push(work, "notes/more.md", "# More\n\nincomparable words\n")
        assert _paths(server, "incomparable", commit) == ["notes/more"]
        while state(server) != "current":
            assert _paths(server, "inconfusable") == ["notes/kept"]
        before = _searches(client, prefix)
        assert _paths(server, "incomparable") == ["notes/more"]
        assert _searches(client, prefix) > before, "the cluster is used again"


def _paths(server: Server, text: str, at_least: str = "") -> list[str]:
    answer = server.ask("GET", f"/api/v1/search?q={quote(text)}" + (f"&at_least={at_least}" if at_least else ""))
    assert answer.status == 200, answer.body
    return [hit["path"] for hit in answer.json["results"]]


@pytest.mark.soak
def test_a_cluster_that_goes_away_is_said_while_answers_go_on_and_is_used_again_when_it_is_back(
    tmp_path: Path, opensearch_url: str
) -> None:
    work, remote = knowledge(tmp_path)
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    with gateway(opensearch_url, certificates) as (url, authority):
        environment = {
            "COMMONPLACE_ENGINE_URL": url,
            "COMMONPLACE_ENGINE_USER": USER,
            "COMMONPLACE_ENGINE_PASSWORD": PASSWORD,
            "COMMONPLACE_ENGINE_CA": str(authority),
            "COMMONPLACE_ENGINE_PREFIX": f"accept-{secrets.token_hex(4)}",
        }
        started = replica(tmp_path / "home", remote, env=environment)
        server = started.__enter__()
    try:
        # The door is closed now: the cluster is away from here on.
        commit = push(work, "notes/new.md", "# Brand new\n\nunmistakable words\n")
        assert server.ask("GET", f"/api/v1/search?q=unmistakable&at_least={commit}").status == 200
        wait_until(lambda: "cluster" in state(server), "the server knows that the cluster is away")
        found_value = server.call("notes", "search", {"query": "unmistakable"})
        assert "new" in str(found_value)
        assert "own index" in str(found_value)
        assert "own index" in str(server.call("kb", "kb_search", {"query": "unmistakable"}))
        assert "own index" in rest(server, "unmistakable").headers["commonplace-notice"]
        page = server.ask("GET", "/search?q=unmistakable")
        assert b"own index" in page.body
        assert server.page("GET", "notes/new").status == 200
        for secret in (PASSWORD, url.rpartition("/")[2]):
            assert secret not in state(server)
            assert secret not in str(found_value)
        with gateway(opensearch_url, certificates, int(url.rpartition(":")[2])):
            wait_until(lambda: state(server) == "current", "the cluster is used again")
            again = server.call("notes", "search", {"query": "unmistakable"})
            assert "own index" not in str(again)
            assert "commonplace-notice" not in rest(server, "unmistakable").headers
            assert "new" in str(again)
    finally:
        started.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (("--engine-url", "http://127.0.0.1:9"), {}, "--replica-of"),
        (("--replica-of", "/none", "--engine-url", "ftp://x"), {}, "engine_url"),
        (
            ("--replica-of", "/none", "--engine-url", "http://127.0.0.1:9"),
            {"COMMONPLACE_ENGINE_PREFIX": "A b"},
            "engine_prefix",
        ),
        (
            ("--replica-of", "/none", "--engine-url", "http://127.0.0.1:9"),
            {"COMMONPLACE_ENGINE_CA": "/none"},
            "engine_ca",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused_at_the_start(
    options: tuple[str, ...], environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ended = commonplace("serve", "--port", "0", *options)
    assert ended.returncode != 0
    assert said in ended.stderr


def _searches(client: OpenSearch, prefix: str) -> int:
    """Number of searches that the indexes with a prefix have answered."""
    stats = client.indices.stats(index=f"{prefix}-*", metric="search")
    return int(stats["_all"]["total"]["search"]["query_total"])


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_search_cluster_that_restarts_keeps_its_index(tmp_path: Path) -> None:
    work, remote = knowledge(tmp_path)
    with (
        running(1) as cluster,
        replica(tmp_path / "one", remote, "--engine-url", cluster.urls[0], "--log-level", "info") as server,
        cluster.client() as client,
    ):
        assert server.ask("GET", f"/api/v1/search?q=restore&at_least={work.git('rev-parse', 'HEAD')}").status == 200
        wait_until(lambda: state(server) == "current", "the shared index")
        indexes = _uuids(client)
        for number in range(int(os.environ.get("RESTARTS", "2"))):
            cluster.nodes[0].kill()
            push(work, f"notes/restart-{number}.md", f"# Restart {number}\n\nunmistakable{number} words\n")
            cluster.nodes[0].start()
            cluster.nodes[0].wait_until_up()
            eventually(lambda number=number: _is_found(server, f"unmistakable{number}"), 120)
            assert _uuids(client) == indexes, "the index is the one that was there before"
        assert sum("pages are in the shared index" in line for line in server.lines) == 1, server.lines


def _is_found(server: Server, word: str) -> bool:
    """Whether the cluster has a page with a word, and answers searches."""
    answer = rest(server, word)
    return state(server) == "current" and "commonplace-notice" not in answer.headers and bool(answer.json["results"])


def _uuids(client: OpenSearch) -> list[str]:
    return sorted(str(row["uuid"]) for row in client.cat.indices(params={"format": "json"}))
