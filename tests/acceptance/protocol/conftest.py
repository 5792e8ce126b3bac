"""One base behind three processes: over stdio in each era of the protocol, and over HTTP in both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent import Agent, agent, online
from serving import served
from support import new_repo
from ways import ENTRIES, ERAS, WAYS, Site, Way, gated


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    repo = new_repo(tmp_path_factory.mktemp("base") / "notes", _files())
    ways: dict[tuple[str, str], Way] = {}
    agents: dict[tuple[str, str], Agent] = {}
    with ExitStack() as stack:
        for era in ERAS:
            gate, env = gated(tmp_path_factory.mktemp("gated"))
            log = tmp_path_factory.mktemp("log") / "stderr"
            arguments = ("mcp", repo.path, "--toolset", "kb", "--tier", "admin", "--log-level", "info")
            way = ways["stdio", era] = Way("stdio", era, gate, log)
            more = {"mode": era, "env": env, "log": log, "message_handler": way.hear}
            agents["stdio", era] = stack.enter_context(agent(*arguments, **more))
        gate, env = gated(tmp_path_factory.mktemp("gated"))
        server = stack.enter_context(served(repo.path, "--tier", "admin", "--log-level", "info", env=env))
        for era in ERAS:
            way = ways["http", era] = Way("http", era, gate, Path(), server)
            url = f"{server.url}/mcp/kb"
            agents["http", era] = stack.enter_context(online(url, mode=era, message_handler=way.hear))
        yield Site(repo, ways, agents)


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest, site: Site) -> Way:
    return site.ways[request.param]


@pytest.fixture
def client(way: Way, site: Site) -> Agent:
    return site.agents[way.transport, way.era]


def _files() -> dict[str, str | bytes]:
    return {
        f"entries/e{number:03}.md": f"---\ntitle: Entry {number}\ntags: [group/g{number % 4}]\n---\n\nText {number}.\n"
        for number in range(ENTRIES)
    }
