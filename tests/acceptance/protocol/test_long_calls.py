"""Calls that take long: they say how far they are to who asks, and end where their client cancels them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from agent import Agent, Mode, Told, agent, start, text_of
from serving import RawSession, rpc_request
from support import eventually
from ways import ENTRIES, Site, Way

STEP = 50
"""Entries that a check looks at between two reports."""


@pytest.mark.parametrize("tool", ["kb_qa_validate", "kb_qa_status"])
@pytest.mark.soak
def test_a_check_of_all_says_how_far_it_is(tool: str, client: Agent) -> None:
    reported_told = Told()
    assert start(client, tool, reported_told).result().is_error is False
    assert reported_told.is_growing
    done, total = reported_told.counts[-1]
    assert done == total
    assert done >= ENTRIES


def test_bringing_the_index_up_to_date_says_how_far_it_is(client: Agent, site: Site) -> None:
    for number in range(70):
        site.repo.write(f"late/n{number}.md", f"# Late {number}\n")
    reported_told = Told()
    synced = start(client, "kb_index_sync", reported_told).result()
    assert '"synced":true' in text_of(synced)
    for file in (site.repo.path / "late").iterdir():
        file.unlink()
    assert client.call("kb_index_sync")["synced"]
    assert reported_told.is_growing


def test_a_commit_and_a_push_say_how_far_they_are(client: Agent, site: Site, tmp_path: Path) -> None:
    site.repo.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    site.repo.git("remote", "add", tmp_path.name, str(tmp_path / "remote.git"))
    paths = [f"committed/{tmp_path.name}-{number}.md" for number in range(3)]
    for path in paths:
        site.repo.write(path, "# New\n")
    committed, pushed = Told(), Told()
    start(client, "kb_commit", committed, kb="notes", message="New", paths=paths).result()
    done = start(client, "kb_push", pushed, kb="notes", remote=tmp_path.name).result()
    assert done.is_error is False
    assert (committed.counts[-1], committed.is_growing) == ((3, 3), True)
    assert (pushed.counts[-1], pushed.is_growing) == ((1, 1), True)


def test_who_does_not_ask_is_not_told(client: Agent) -> None:
    assert client.call("kb_qa_status")["total_entries"] >= ENTRIES


def test_a_cancelled_call_ends_its_work(way: Way, client: Agent) -> None:
    ended = way.logged().count("kb_qa_status Stopped")
    with way.gate.closed():
        call = start(client, "kb_qa_status", Told())
        way.gate.reached()
        call.cancel()
        with pytest.raises(CancelledError):
            call.result()
        assert client.call("kb_list")["knowledge_bases"], "others are served meanwhile"
        way.gate.open()
        eventually(lambda: way.logged().count("kb_qa_status Stopped") == ended + 1)
        assert way.gate.seen() <= STEP
    assert client.call("kb_qa_status")["total_entries"] >= ENTRIES


def test_a_cancelled_write_that_has_not_begun_to_write_changes_nothing(way: Way, client: Agent, site: Site) -> None:
    ended = way.logged().count("kb_qa_assess Stopped")
    with way.gate.closed():
        call = start(client, "kb_qa_assess", kb_name="notes")
        way.gate.reached()
        call.cancel()
        assert client.call("kb_list")["knowledge_bases"]
        way.gate.open()
        eventually(lambda: way.logged().count("kb_qa_assess Stopped") == ended + 1)
    assert not (site.repo.path / "qa_assessments").exists()


@contextmanager
def busy(cache: Path) -> Iterator[None]:
    """Another process is indexing, as far as a server can tell, for the length of the block."""
    (catalogue,) = cache.rglob("catalogue.sqlite3")
    with catalogue.with_name("lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.soak
def test_waiting_for_the_first_index_is_told_and_can_be_cancelled(era: Mode, tmp_path: Path) -> None:
    folder, cache, log = tmp_path / "notes", tmp_path / "cache", tmp_path / "log"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nalpha\n")
    arguments = {"env": {"XDG_CACHE_HOME": str(cache)}, "mode": era}
    with agent("mcp", folder, "--toolset", "kb", **arguments) as client:
        assert client.call("kb_stats")["total_entries"] == 1
    for number in range(80):
        (folder / f"n{number}.md").write_text(f"# N{number}\n")
    with ExitStack() as stack:
        with busy(cache):
            client = stack.enter_context(
                agent("mcp", folder, "--toolset", "kb", "--log-level", "info", log=log, **arguments)
            )
            reported_told = Told()
            left = start(client, "kb_stats")
            waiting = start(client, "kb_search", reported_told, query="alpha")
            eventually(lambda: len(reported_told.counts) > 0)
            left.cancel()
            eventually(lambda: "kb_stats Stopped" in log.read_text())
            assert not waiting.done()
        assert waiting.result().is_error is False
        assert reported_told.is_growing
        assert client.call("kb_stats")["total_entries"] == 81


def test_two_clients_that_use_the_same_ids_cancel_their_own_calls_alone(site: Site) -> None:
    way = site.ways["http", "legacy"]
    assert way.server is not None
    ended = way.logged().count("kb_qa_status Stopped")
    first, second = RawSession(way.server), RawSession(way.server)
    call = {"name": "kb_qa_status", "arguments": {}}
    with way.gate.closed(), ThreadPoolExecutor(2) as threads:
        future = threads.submit(first.ask, 7, "tools/call", call)
        way.gate.reached()
        dropped = threads.submit(second.ask, 7, "tools/call", call)
        eventually(lambda: way.gate.seen() == 2)
        assert second.tell("notifications/cancelled", {"requestId": 7}) == 202
        headers, body = rpc_request("notifications/cancelled", {"requestId": 7})
        del body["id"]
        assert way.server.ask("POST", "/mcp/kb", body, headers=headers).status == 202
        way.gate.open()
        assert future.result()["result"]["structuredContent"]["total_entries"] >= ENTRIES
        assert "error" in dropped.result()
    eventually(lambda: way.logged().count("kb_qa_status Stopped") == ended + 1)
