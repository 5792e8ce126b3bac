"""Four clients search over stdio while the index is built anew beside them; and the pages over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client

from agent import Agent, agent
from serving import served
from spaces.engines import KINDS
from spaces.places import started
from spaces.server import KEY
from spaces.tree import write_space
from support import Amount

CLIENTS = 4
WORDS = ("gateway", "invoice", "database", "widget")


class Watch:
    """Records the answers that clients receive until the end of reindexing."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.wrong: list[str] = []
        self.answers = [0] * CLIENTS

    def search(self, number: int, client: Agent, expected: int) -> None:
        while not self.over.is_set():
            try:
                shown = client.call("search", query=WORDS[number], limit=100)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
                self.wrong.append(repr(error))
                return
            if (shown["total"], len(shown["results"])) != (expected, expected):
                self.wrong.append(f"{shown['total']} pages instead of {expected}")
            self.answers[number] += 1


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_no_search_of_four_clients_fails_or_is_empty_while_the_index_is_built_anew(
    kind: str,
    tmp_path: Path,
    amount: Amount,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    space = write_space(tmp_path / "eng", search={"indexName": "four"})
    environment = request.getfixturevalue("search_server").environment if kind == "meilisearch" else {}
    assert started(space.root, "search", "index", env=environment).code == 0
    log = tmp_path / "stderr"
    watch = Watch()
    with ExitStack() as closing:
        clients = [
            closing.enter_context(
                agent("mcp", space.root, env=environment, log=log.with_suffix(f".{number}"), module="commonplace.cn")
            )
            for number in range(CLIENTS)
        ]
        totals = [client.call("search", query=word)["total"] for client, word in zip(clients, WORDS, strict=True)]
        threads = [
            threading.Thread(target=watch.search, args=row) for row in zip(range(CLIENTS), clients, totals, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in range(amount(1, 25)):
                done = started(space.root, "search", "index", "--force", env=environment)
                assert (done.code, done.text) == (0, f"Indexed {len(space.pages)} pages\n"), done.stderr
        finally:
            watch.over.set()
            for thread in threads:
                thread.join()
    record_property("searches", sum(watch.answers))
    assert watch.wrong == []
    assert min(watch.answers) > 0
    assert all(KEY not in file.read_text() for file in tmp_path.glob("stderr*"))


def test_the_pages_are_served_over_http_too(tmp_path: Path) -> None:
    space = write_space(tmp_path / "eng")
    with (
        served(space.root, "--toolset", "kb") as server,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(f"{server.url}/mcp/pages")) as connected,
    ):
        client = Agent(portal, connected)
        assert client.call("search", query="database")["total"] > 0
        error = client.protocol_error("read_page", path=".env")
        assert error.error.message == "Invalid params: path must be a Markdown page in the space"
