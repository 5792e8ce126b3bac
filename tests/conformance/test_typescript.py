"""The official TypeScript clients, of both major versions: every tool of every toolset, listed and called."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from npm import environment, needs_npm
from serving import served
from spaces.tree import write_space
from support import ROOT, UNPACKED, new_repo

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
TOOLS = {"kb": 24, "wiki": 16, "pages": 2, "cascade": 4, "projects": 29}

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


@pytest.fixture
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """What each client did with each toolset, over stdio and HTTP."""
    folder = tmp_path_factory.mktemp("walks")
    env = {name: str(folder / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "KNOWLEDGE_MCP_HOME")}
    wiki = new_repo(folder / "wiki", {"Hub.md": "# Hub\n"}).path
    base = new_repo(folder / "base", {"a.md": "# A\n", **SKILL})
    base.git("clone", "--quiet", "--bare", ".", str(folder / "origin.git"))
    base.git("remote", "add", "origin", str(folder / "origin.git"))
    space = write_space(folder / "space").root
    manifest = ROOT / "examples" / "cascade" / "layers.json"
    arguments: dict[str, list[str | Path]] = {
        "kb": [base.path, "--tier", "admin"],
        "wiki": [wiki, "--toolset", "wiki"],
        "pages": [space],
        "cascade": ["--manifest", manifest],
        "projects": [folder / "projects", "--toolset", "projects"],
    }
    with ExitStack() as stack:
        folders = stack.enter_context(served(wiki, base.path, space, "--tier", "admin", env=env))
        layers = stack.enter_context(served("--manifest", manifest, "--transport", "http", command="mcp", env=env))
        asked = {
            toolset: {
                "url": f"{(layers if toolset == 'cascade' else folders).url}/mcp/{toolset}",
                "command": sys.executable,
                "args": ["-m", "commonplace", "mcp", *map(str, given)],
                "env": env,
                "base": {"kb": "base", "pages": "page"}.get(toolset, ""),
            }
            for toolset, given in arguments.items()
        }
        yield _walked(asked)


def _walked(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    command = ["node", str(CLIENTS / "call.mjs"), str(installed()), json.dumps(asked)]
    env = environment(INSPECTOR)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_typescript_clients_list_and_call_every_tool(walks: list[dict[str, Any]]) -> None:
    ways = {(one["toolset"], one["client"], one["transport"]) for one in walks}
    assert ways == set(product(TOOLS, ("v1", "v2 legacy", "v2 modern"), ("stdio", "http")))
    for walk in walks:
        assert "error" not in walk, walk
        assert len(walk["listed"]) == TOOLS[walk["toolset"]]
        assert set(walk["called"]) == set(walk["listed"])
        assert walk["instructions"]
    skills = [walk["skills"] for walk in walks if "skills" in walk]
    files = {f"skill://base/{path}": True for path in SKILL}
    assert skills == [{"files": files, "directoryRead": True}] * 2
