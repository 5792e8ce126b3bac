"""The MCP Inspector's command line, which checks every answer against the protocol's schemas: over SSE, and what is no
tool. In `test_every_tool.py` it lists and calls all tools."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npm import environment, needs_npm
from serving import Server, served
from support import GitRepo
from wiki_base import NOTES

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"

pytestmark = [needs_npm, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = GitRepo(tmp_path_factory.mktemp("base"))
    repo.git("init", "--quiet")
    for path, text in NOTES.items():
        repo.write(path, text)
    env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with served(repo.path, "--sse", env=env) as running:
        yield running


def inspected(url: str, transport: str, era: str, *requested_texts: str, folder: Path) -> Any:
    command = ["mcp-inspector", "--cli", url, "--transport", transport, "--protocol-era", era, *requested_texts]
    done = subprocess.run(
        [*command, "--format", "json", "-q"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env=environment(INSPECTOR),
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)["result"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.sampled(2)
def test_the_inspector_finds_nothing_wrong_over_sse(era: str, server: Server, tmp_path: Path) -> None:
    url = f"{server.url}/sse/wiki"
    tools = inspected(url, "sse", era, "--method", "tools/list", "--strict", folder=tmp_path)["tools"]
    assert len(tools) == 16
    call = ("--method", "tools/call", "--tool-name", "list_notes")
    shown = inspected(url, "sse", era, *call, folder=tmp_path)
    assert shown["content"][0]["text"].startswith("Found 6 notes:")


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.sampled(2)
def test_the_inspector_finds_nothing_wrong_with_what_is_no_tool(
    method: str, era: str, server: Server, tmp_path: Path
) -> None:
    shown = inspected(f"{server.url}/mcp/kb", "http", era, "--method", method, folder=tmp_path)
    assert all(rows for rows in shown.values() if isinstance(rows, list))
