"""Replicas that write: what was confirmed is in the remote, each write its own commit, whoever writes beside them."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from commonplace.domain.changes import Author
from commonplace.domain.cluster import WRITES_SIGNATURE, WritesSignature, sign
from commonplace.store.git.commits import CommitMessage, Signature
from commonplace.store.replica.clone_repository import parse_source
from commonplace.store.replica.writer_lease import ForwardedWrite, format_writes
from remotes.replicas import WRITES, free_port, push, replica, team, wait_ready, writing_pair
from remotes.slow import slow_remote
from serving import Answer, Server
from support import GitRepo, eventually

AT_LEAST = "commonplace-at-least"


def put(server: Server, path: str, text: str, **more: object) -> Answer:
    return server.page("PUT", path, {"content": text, **more})


def history(remote: Path, work: GitRepo) -> list[str]:
    """Subjects of the remote's commits, oldest first."""
    return work.git("--git-dir", str(remote), "log", "--format=%s", "--reverse", "HEAD").splitlines()


def at(remote: Path, work: GitRepo, path: str) -> str:
    return work.git("--git-dir", str(remote), "show", f"HEAD:{path}")


def lease(remote: Path, work: GitRepo) -> str:
    return work.git("--git-dir", str(remote), "log", "-1", "--format=%B", "refs/commonplace/writer")


def tip(remote: Path, work: GitRepo) -> str:
    return work.git("--git-dir", str(remote), "rev-parse", "HEAD")


def test_a_confirmed_write_is_in_the_remote_and_any_replica_reads_it(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with (
        replica(tmp_path / "one", remote, flags=WRITES) as other_server,
        replica(tmp_path / "two", remote, poll=3600) as two,
    ):
        wait_ready(other_server)
        wait_ready(two)
        answer = put(other_server, "folder/new", "# New\n\nwords of the new page\n")
        assert answer.status == 201, answer.body
        assert at(remote, work, "folder/new.md") == "# New\n\nwords of the new page"
        commit = tip(remote, work)
        for server, headers in ((other_server, {}), (two, {AT_LEAST: commit})):
            found_results = server.ask("GET", "/api/v1/search?q=words+of+the+new", headers=headers).json["results"]
            assert found_results[0]["path"] == "folder/new"
        changed = put(other_server, "folder/new", "# New\n\nother words\n", revision=answer.json["revision"])
        assert changed.status == 200, changed.body
        assert len(history(remote, work)) == 3
        assert put(other_server, "folder/new", "# Stale\n", revision=answer.json["revision"]).status == 409


@pytest.mark.parametrize("peers", [False, True])
def test_a_page_read_at_one_server_is_changed_at_another_that_is_behind(tmp_path: Path, *, peers: bool) -> None:
    work, remote = team(tmp_path)
    with writing_pair(tmp_path, remote, peers=peers) as (other_server, two):
        seen = str(other_server.page("GET", "a").json["revision"])
        for number, server in enumerate((other_server, two, other_server, two, two, other_server), 1):
            answer = put(server, "a", f"# Alpha\n\nstate {number}\n", revision=seen)
            assert answer.status == 200, answer.body
            seen = str(answer.json["revision"])
        edited = two.call("notes", "edit", {"page": "a", "changes": [{"do": "append", "text": "appended"}]})
        assert not edited.get("isError"), edited
        stale = put(other_server, "a", "# Stale\n", revision=seen)
        assert (stale.status, stale.json["current_revision"]) == (409, tip(remote, work)), stale.body
    assert at(remote, work, "a.md").endswith("appended")


def test_agents_write_by_every_toolset_for_documents(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "one", remote, flags=WRITES) as server:
        wait_ready(server)
        edit = {"page": "a", "changes": [{"do": "append", "text": "appended"}]}
        assert not server.call("notes", "edit", edit).get("isError"), server.call("notes", "edit", edit)
        created = server.call(
            "kb", "kb_create", {"kb_name": "team", "entry_type": "note", "title": "By kb", "body": "Text of kb.\n"}
        )
        assert not created.get("isError"), created
        moved = server.call("notes", "move", {"page": "a", "to": "folder/alpha.md"})
        assert not moved.get("isError"), moved
        assert "appended" in at(remote, work, "folder/alpha.md")
        assert len(history(remote, work)) == 4
        revision = server.page("GET", "folder/alpha").headers["etag"].strip('"')
        gone = server.page("DELETE", "folder/alpha", headers={"If-Match": f'"{revision}"'})
        assert gone.status in {200, 204}, gone.body
        assert "folder/alpha.md" not in work.git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "HEAD")


def test_without_the_setting_nothing_is_written(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "one", remote, flags=("--tier", "write")) as server:
        wait_ready(server)
        refused = put(server, "new", "# New\n")
        assert refused.status == 403, refused.body
    assert len(history(remote, work)) == 1


def _write_all(server: Server, name: str, confirmed: list[str], problems: list[bytes]) -> None:
    for step in range(4):
        path = f"{name}-{step}"
        answer = put(server, path, f"# {path}\n")
        (confirmed.append(path) if answer.status == 201 else problems.append(answer.body))


def _together(servers: Sequence[Server], outside: GitRepo) -> tuple[list[str], list[bytes]]:
    """Eight writers on these servers while another program pushes; returns confirmed pages and other answers."""
    confirmed: list[str] = []
    problems: list[bytes] = []
    threads = [
        threading.Thread(target=_write_all, args=(servers[number % len(servers)], f"w{number}", confirmed, problems))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for number in range(3):
        eventually(lambda number=number: _pushed(outside, f"outside-{number}.md"), 60)
    for thread in threads:
        thread.join()
    return confirmed, problems


def _pushed(work: GitRepo, path: str) -> bool:
    """Pull and push until the remote takes it, as a person does."""
    work.git("fetch", "--quiet", "origin", "HEAD")
    work.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    work.commit("Outside", **{path: f"# {path}\n"})
    try:
        work.git("push", "--quiet", "origin", "HEAD")
    except AssertionError:
        return False
    return True


def test_writers_on_two_replicas_and_another_program_lose_nothing(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with (
        replica(tmp_path / "one", remote, flags=WRITES) as server,
        replica(tmp_path / "two", remote, flags=WRITES) as two,
    ):
        wait_ready(server)
        wait_ready(two)
        confirmed, problems = _together((server, two), work)
    files = work.git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert problems == []
    assert {f"{path}.md" for path in confirmed} <= set(files)
    assert len(confirmed) == 32
    assert history(remote, work).count("Outside") == 3
    assert len(history(remote, work)) == 1 + 32 + 3


def test_what_a_killed_replica_had_confirmed_is_in_the_remote(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    confirmed: list[str] = []
    with replica(tmp_path / "one", remote, flags=WRITES) as server:
        wait_ready(server)

        def write(number: int) -> None:
            try:
                for step in range(50):
                    path = f"w{number}-{step}"
                    if put(server, path, f"# {path}\n").status == 201:
                        confirmed.append(path)
            except OSError:
                return  # killed

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(confirmed) > 10, 60)
        server.process.kill()
        for thread in threads:
            thread.join()
    files = set(work.git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    assert {f"{path}.md" for path in confirmed} <= files
    with replica(tmp_path / "one", remote, flags=WRITES) as again:  # with the clone of the killed one
        wait_ready(again)
        assert put(again, "after", "# After\n").status == 201


def test_a_page_that_was_changed_in_the_remote_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "one", remote, flags=WRITES, poll=3600) as server:
        wait_ready(server)
        seen = server.page("GET", "a").headers["etag"].strip('"')
        push(work, "a.md", "# Alpha\n\nby another program\n")
        refused = put(server, "a", "# Mine\n", revision=seen)
        assert refused.status == 409, refused.body
        assert "by another program" in at(remote, work, "a.md")
        eventually(lambda: "by another program" in server.page("GET", "a").json["content"], 30)


def test_while_the_remote_is_away_writes_are_refused_and_reads_go_on(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with replica(tmp_path / "one", remote, flags=WRITES) as server:
        wait_ready(server)
        remote.rename(tmp_path / "away.git")
        for _ in range(2):
            refused = put(server, "new", "# New\n")
            assert refused.status == 503, refused.body
            assert str(tmp_path) not in refused.body.decode()
            assert refused.headers["retry-after"]
        assert server.page("GET", "a").status == 200
        (tmp_path / "away.git").rename(remote)
        eventually(lambda: put(server, "new", "# New\n").status == 201, 60)
    assert len(history(remote, work)) == 2


@pytest.mark.parametrize("pace", ["taken", "lost"])
def test_a_push_without_an_answer_is_confirmed_only_if_the_remote_has_it(tmp_path: Path, pace: str) -> None:
    work, bare = team(tmp_path)
    with slow_remote(bare) as remote, replica(tmp_path / "one", remote.url, flags=WRITES) as server:
        wait_ready(server)
        remote.pace = "taken" if pace == "taken" else "lost"
        answer = put(server, "new", "# New\n")
        if pace == "taken":
            assert answer.status == 201, answer.body
        else:
            assert answer.status >= 500, answer.body
            assert "unknown" in answer.json["error"]
            remote.pace = "whole"
            eventually(lambda: put(server, "new", "# New\n").status == 201, 60)
    assert len(history(bare, work)) == 2


def _nodes(
    stack: ExitStack, folder: Path, remote: Path, count: int, env: Sequence[dict[str, str]] = ()
) -> list[Server]:
    """Servers that know each other and share a secret; `env` has further variables of each."""
    ports = [free_port() for _ in range(count)]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    nodes: list[Server] = []
    for number, port in enumerate(ports):
        others = [word for url in urls if url != urls[number] for word in ("--peer", url)]
        flags = (*WRITES, "--node-url", urls[number], *others)
        own = {"COMMONPLACE_CLUSTER_SECRET": "of these servers", **(env[number] if env else {})}
        nodes.append(stack.enter_context(replica(folder / str(number), remote, env=own, flags=flags, port=port)))
    for node in nodes:
        wait_ready(node)
    return nodes


def _ranked(nodes: Sequence[Server], remote: Path, work: GitRepo) -> list[Server]:
    """The servers, that with the lease first."""
    named = lease(remote, work)
    return sorted(nodes, key=lambda node: node.url not in named.splitlines())


def test_one_of_several_servers_writes_and_the_others_hand_over_to_it(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    with ExitStack() as stack:
        nodes = _nodes(stack, tmp_path, remote, 2)
        assert put(nodes[0], "one", "# One\n").status == 201
        first, second = _ranked(nodes, remote, work)
        answer = put(second, "two", "# Two\n\nby the second\n")
        assert answer.status == 201, answer.body
        assert second.url not in work.git(
            "--git-dir", str(remote), "log", "-1", "--format=%B", "refs/commonplace/writer"
        )
        assert second.page("GET", "two").json["content"] == "# Two\n\nby the second\n"
        seen = second.page("GET", "two").json["revision"]
        assert put(first, "two", "# Two\n\nby the first\n", revision=seen).status == 200
        refused = put(second, "two", "# Two\n\nlate\n", revision=seen)
        assert refused.status == 409, refused.body
        confirmed, problems = _together((first, second), work)
    assert problems == []
    files = work.git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert {f"{path}.md" for path in confirmed} <= set(files)
    assert len(history(remote, work)) == 1 + 3 + 32 + 3


@pytest.mark.soak
def test_servers_whose_clocks_are_an_hour_apart_agree_on_who_writes(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    clocks = [_moved_clock(tmp_path / name, by) for name, by in (("fast", 3600), ("slow", -3600))]
    with ExitStack() as stack:
        nodes = _nodes(stack, tmp_path, remote, 2, clocks)
        for number, node in enumerate((*nodes, *nodes)):
            assert put(node, f"page-{number}", f"# Page {number}\n").status == 201
        holder = lease(remote, work)
        assert put(nodes[0], "last", "# Last\n").status == put(nodes[1], "late", "# Late\n").status == 201
        assert lease(remote, work).splitlines()[2] == holder.splitlines()[2]
        commit = tip(remote, work)
        for node in nodes:
            listed = node.ask("GET", "/api/v1/search?q=page", headers={AT_LEAST: commit})
            assert {hit["path"] for hit in listed.json["results"]} >= {f"page-{number}" for number in range(4)}
            assert node.page("GET", "last").json["content"] == "# Last\n"
    dates = work.git("--git-dir", str(remote), "log", "--format=%ct", "-6", "HEAD").split()
    assert max(map(int, dates)) - min(map(int, dates)) > 7_000, "the clocks of both are in the history"


def _moved_clock(folder: Path, seconds: int) -> dict[str, str]:
    """Variables with which Python starts with another time of the day."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import time\n"
        f"_time, _time_ns, _by = time.time, time.time_ns, {seconds}\n"
        "time.time = lambda: _time() + _by\n"
        "time.time_ns = lambda: _time_ns() + _by * 10**9\n"
    )
    # Without the second one the server would be forked from a process that has started already.
    return {"PYTHONPATH": str(folder), "CLOCK": folder.name}


def test_after_a_forced_push_writes_go_on_top_of_it_and_nothing_that_was_dropped_comes_back(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    first = work.git("rev-parse", "HEAD")
    with replica(tmp_path / "one", remote, flags=WRITES, poll=3600) as server:
        assert put(server, "dropped", "# Dropped\n").status == 201
        assert put(server, "kept", "# Kept\n\nas dropped\n").status == 201
        revision = server.page("GET", "kept").json["revision"]
        kept_text = push(work, "kept.md", "# Kept\n\nas forced\n", "--force")
        answer = put(server, "new", "# New\n")
        assert answer.status == 201, answer.body
        refused = put(server, "kept", "# Kept\n\nlate\n", revision=revision)
        assert (refused.status, refused.json["code"]) == (409, "conflict")
        assert server.page("GET", "dropped").status == 404
        assert server.page("GET", "kept").json["content"] == "# Kept\n\nas forced\n"
    assert history(remote, work)[1:] == ["Write kept.md", "[api] Create: new"]
    files = work.git("--git-dir", str(remote), "ls-tree", "-r", "--name-only", "HEAD").split()
    assert files == ["a.md", "kept.md", "new.md"]
    assert work.git("--git-dir", str(remote), "rev-parse", "HEAD~1", "HEAD~2").split() == [kept_text, first]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_when_the_server_that_writes_is_killed_or_hangs_another_goes_on(tmp_path: Path, end: signal.Signals) -> None:
    work, remote = team(tmp_path)
    with ExitStack() as stack:
        nodes = _nodes(stack, tmp_path, remote, 2)
        assert put(nodes[0], "one", "# One\n").status == 201
        first, second = _ranked(nodes, remote, work)
        first.process.send_signal(end)
        answer = put(second, "two", "# Two\n")
        assert answer.status == 201, answer.body
        # The lease is replaced with the first push after a fetch has shown whose it is.
        pushes = (put(second, f"more-{number}", "# More\n").status for number in itertools.count())
        eventually(lambda: second.url in lease(remote, work) or next(pushes) != 201, 60)
    assert sum("two" in subject for subject in history(remote, work)) == 1


@pytest.mark.soak
def test_the_server_that_writes_is_killed_under_load_and_every_write_is_confirmed_once(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    confirmed: list[str] = []
    problems: list[bytes] = []
    with ExitStack() as stack:
        nodes = _nodes(stack, tmp_path, remote, 3)
        assert put(nodes[0], "one", "# One\n").status == 201
        first, second, third = _ranked(nodes, remote, work)
        threads = [
            threading.Thread(target=_write_all, args=((second, third)[number % 2], f"w{number}", confirmed, problems))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: len(confirmed) >= 4, 60)
        first.process.kill()
        for thread in threads:
            thread.join()
    assert problems == []
    assert len(confirmed) == 32
    assert sorted(history(remote, work)[2:]) == sorted(f"[api] Create: {path}" for path in confirmed)


@pytest.mark.parametrize("signed", [False, True])
def test_only_a_signed_call_hands_writes_over(tmp_path: Path, signed: bool) -> None:
    work, remote = team(tmp_path)
    with ExitStack() as stack:
        (node,) = _nodes(stack, tmp_path, remote, 1)
        body = b'{"base": "x", "writes": []}'
        secret = "of these servers" if signed else "another"
        headers = {WRITES_SIGNATURE: sign(body, secret, "", node.url)}
        answer = node.ask("POST", "/cluster/writes", body, headers=headers)
        assert answer.status == (422 if signed else 401), answer.body
        assert node.ask("GET", "/cluster/writes").status == 405
    assert len(history(remote, work)) == 1


def test_a_recorded_call_that_is_sent_again_changes_nothing(tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    who = Signature(Author("A", "a@example.org"), 1_700_000_000, 0)
    write = ForwardedWrite({"new.md": b"# New\n"}, {"new.md": ""}, CommitMessage("New", who, who))
    body = format_writes(parse_source(str(remote)).key, [write])
    number = 0

    def signed(to: str, seconds: int = 0) -> dict[str, str]:
        nonlocal number
        number += 1
        facts = WritesSignature(int(time.time()) + seconds, f"{number:032}", "-", to)
        return {WRITES_SIGNATURE: facts.header(body, "of these servers")}

    with ExitStack() as stack:
        server, two = _nodes(stack, tmp_path, remote, 2)
        for headers in (signed(server.url, -90), signed(server.url, 90), signed(two.url), signed("http://other")):
            assert server.ask("POST", "/cluster/writes", body, headers=headers).status == 401
        recorded = signed(server.url)
        assert server.ask("POST", "/cluster/writes", body, headers=recorded).status == 200
        assert server.page("DELETE", "new").status < 300
        count = len(history(remote, work))
        for node in (server, server, two):
            answer = node.ask("POST", "/cluster/writes", body, headers=recorded)
            assert (answer.status, answer.json["kind"]) == (401, "signature")
        assert server.page("GET", "new").status == 404
    assert len(history(remote, work)) == count
