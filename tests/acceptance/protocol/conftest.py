"""One base behind three processes: over stdio in each era of the protocol, and over HTTP in both."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import ways
from agent import Agent, agent, online
from serving import served
from support import new_repo
from ways import ENTRIES, ERAS, WAYS, Gate, Site, Way


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    repo = new_repo(tmp_path_factory.mktemp("base") / "notes", _files())
    plugins = _installed(tmp_path_factory.mktemp("site"))
    found: dict[tuple[str, str], Way] = {}
    agents: dict[tuple[str, str], Agent] = {}
    with ExitStack() as stack:
        for era in ERAS:
            gate, env = _gate(tmp_path_factory, plugins)
            log = tmp_path_factory.mktemp("log") / "stderr"
            arguments = ("mcp", repo.path, "--toolset", "kb", "--tier", "admin", "--log-level", "info")
            way = found["stdio", era] = Way("stdio", era, gate, log)
            more = {"mode": era, "env": env, "log": log, "message_handler": way.hear}
            agents["stdio", era] = stack.enter_context(agent(*arguments, **more))
        gate, env = _gate(tmp_path_factory, plugins)
        server = stack.enter_context(served(repo.path, "--tier", "admin", "--log-level", "info", env=env))
        for era in ERAS:
            way = found["http", era] = Way("http", era, gate, Path(), server)
            url = f"{server.url}/mcp/kb"
            agents["http", era] = stack.enter_context(online(url, mode=era, message_handler=way.hear))
        yield Site(repo, found, agents)


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


def _gate(folders: pytest.TempPathFactory, plugins: Path) -> tuple[Gate, dict[str, str]]:
    """A gate and the environment of a process that has it, with a cache of its own."""
    gate = Gate(folders.mktemp("gate"))
    own = {name: str(folders.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    return gate, {"PYTHONPATH": str(plugins), "GATE": str(gate.folder), **own}


def _installed(folder: Path) -> Path:
    """A folder that Python takes for installed packages, with the plugin and its entry point."""
    about = folder / "gate-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gate\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[commonplace.plugins]\ngate = gate:Gate\n")
    shutil.copy(Path(ways.__file__).with_name("gate.py"), folder)
    return folder
