"""Every tool of every toolset, listed and called: by the official TypeScript clients of both major versions, and by the
Inspector's command line, which checks each answer against the protocol's and the tools' own schemas."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from confluence.clones import served_clone
from forks.preloaded import preloaded
from npm import environment, needs_npm
from serving import served
from support import ROOT, UNPACKED, Amount, new_repo

CLIENTS = Path(__file__).parent / "clients"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
"""Run on the same Node, so that there is one to install."""
SKILL = {
    "tools/tidy-up/SKILL.md": (
        "---\nname: tidy-up\ndescription: Puts a base in order.\nlicense: MIT\nmetadata:\n  version: '1.0'\n"
        "  since: '2026-01-02'\n---\n\nSee [the rules](references/rules.md).\n"
    ),
    "tools/tidy-up/references/rules.md": "# Rules\n\nNone.\n",
    "tools/tidy-up/scripts/run.sh": "echo ok\n",
    "tools/tidy-up/templates/picture.bin": b"\x00\xff\x01",
}
TOOLS = {"kb": 25, "notes": 14, "wiki": 16, "pages": 6, "cascade": 4, "projects": 29}

pytestmark = [needs_npm, pytest.mark.timeout(600)]


def installed() -> Path:
    """The folder of both clients, installed once as the lock says: each package is checked against its digest."""
    lock = (CLIENTS / "package-lock.json").read_bytes()
    place = UNPACKED.parent / f"clients-{hashlib.sha256(lock).hexdigest()[:16]}"
    UNPACKED.mkdir(parents=True, exist_ok=True)
    with (UNPACKED.parent / "clients.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (place / "done").exists():
            place.mkdir(exist_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(CLIENTS / name, place)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=300)
            assert done.returncode == 0, done.stderr
            (place / "done").touch()
    return place / "node_modules"


@pytest.fixture(scope="module")
def requested_values(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The connections to each toolset, over stdio and HTTP, on bases that all walks share."""
    folder = tmp_path_factory.mktemp("walks")
    env = {name: str(folder / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "KNOWLEDGE_MCP_HOME")}
    wiki = new_repo(folder / "wiki", {"Hub.md": "# Hub\n"}).path
    base = new_repo(folder / "base", {"a.md": "# A\n", **SKILL})
    base.git("clone", "--quiet", "--bare", ".", str(folder / "origin.git"))
    base.git("remote", "add", "origin", str(folder / "origin.git"))
    manifest = ROOT / "examples" / "cascade" / "layers.json"
    arguments: dict[str, list[str | Path]] = {
        "kb": [base.path, "--toolset", "kb", "--tier", "admin"],
        "notes": [base.path, "--tier", "admin"],
        "wiki": [wiki, "--toolset", "wiki"],
        "cascade": ["--manifest", manifest],
        "projects": [folder / "projects", "--toolset", "projects"],
    }
    command, *before = preloaded().stand_in(os.environ) or [sys.executable, "-m", "commonplace"]
    with ExitStack() as stack:
        site = stack.enter_context(served_clone(folder))
        space = site.folder
        site.clone()
        env |= {"CN_TOKEN": "secret", "CN_EMAIL": "ann@example.org"}
        arguments["pages"] = [space, "--tier", "admin"]
        folders = stack.enter_context(served(wiki, base.path, space, "--tier", "admin", env=env))
        layers = stack.enter_context(served("--manifest", manifest, "--transport", "http", command="mcp", env=env))
        yield {
            toolset: {
                "url": f"{(layers if toolset == 'cascade' else folders).url}/mcp/{toolset}",
                "command": command,
                "args": [*before, "mcp", *map(str, paths)],
                "env": env,
                "base": {"kb": "base", "pages": "deploy"}.get(toolset, ""),
            }
            for toolset, paths in arguments.items()
        }


def walked(script: str, module: Path, requested_values: Mapping[str, Any], *more: str) -> list[dict[str, Any]]:
    """The report of a script beside this file about each toolset. Every tool was listed and called."""
    command = ["node", str(CLIENTS / script), str(module), json.dumps(requested_values), *more]
    env = environment(INSPECTOR)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    walks = json.loads(done.stdout)
    for walk in walks:
        assert "error" not in walk, walk["error"]
        assert len(walk["listed"]) == TOOLS[walk["toolset"]]
        assert set(walk["called"]) == set(walk["listed"])
    return walks


def test_the_typescript_clients_list_and_call_every_tool(requested_values: dict[str, Any], amount: Amount) -> None:
    step = amount(2, 1)
    walks = walked("call.mjs", installed(), requested_values, str(step))
    ways = {(walk["toolset"], walk["client"], walk["transport"]) for walk in walks}
    clients, transports = ("v1", "v2 legacy", "v2 modern"), ("stdio", "http")
    assert ways <= set(product(TOOLS, clients, transports))
    assert len(ways) == len(walks) == len(TOOLS) * len(clients) * len(transports) // step
    for pair in ((0, 1), (1, 2)):  # each toolset by every client, each client over both transports
        assert len({tuple(way[part] for part in pair) for way in ways}) == len(clients) * (len(TOOLS), 2)[pair[0]]
    assert all(walk["instructions"] for walk in walks)
    skills = [walk["skills"] for walk in walks if "skills" in walk]
    files = {f"skill://base/{path}": True for path in SKILL}
    assert skills == [{"files": files, "directoryRead": True}] * (2 // step)


@pytest.mark.soak
def test_the_inspector_lists_and_calls_every_tool(requested_values: dict[str, Any], amount: Amount) -> None:
    programs = Path(environment(INSPECTOR)["PATH"].split(os.pathsep)[0])
    launcher = (programs / "mcp-inspector").resolve()
    walks = walked(
        "inspect.mjs", launcher.parents[2] / "cli" / "build" / "index.js", requested_values, str(step := amount(2, 1))
    )
    ways = {(walk["toolset"], walk["era"]) for walk in walks}
    assert ways <= set(product(TOOLS, ("legacy", "modern")))
    assert len(ways) == len(TOOLS) * 2 // step
    assert ({toolset for toolset, _ in ways}, len({era for _, era in ways})) == (set(TOOLS), 2)
