"""The public MCP conformance suite against the shipped server; what it names fixtures for is listed in a file here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from serving import served
from support import MakeRepo
from wiki_base import wiki_repo

NEEDS_FIXTURES: dict[str, list[str]] = json.loads(Path(__file__).with_name("needs_fixtures.json").read_text())
"""By suite: scenarios that ask for tools, prompts and resources of the suite's own, which the product does not have."""

pytestmark = [
    pytest.mark.skipif(shutil.which("npx") is None, reason="needs npx, which runs the suite"),
    pytest.mark.timeout(900),
]


@pytest.mark.soak
@pytest.mark.parametrize("suite", list(NEEDS_FIXTURES))
def test_the_shipped_server_fails_nothing_but_what_needs_fixtures(
    suite: str, git_repo: MakeRepo, cache_dir: Path, tmp_path: Path
) -> None:
    assert cache_dir.is_dir()
    version, _, requirements = suite.partition(" ")
    with served(wiki_repo(git_repo).path) as server:
        asked = f"conformance server --url {server.url}/mcp" + (
            f" --requirements {requirements}" if requirements else ""
        )
        package = f"@modelcontextprotocol/conformance@{version}"
        done = subprocess.run(
            ["npx", "-y", "-p", "node@22.23.3", "-p", package, "-c", asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=800,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
        )
    failed = set(re.findall(r"^✗ ([\w.-]+):", done.stdout, re.MULTILINE))
    passed = set(re.findall(r"^✓ ([\w.-]+):", done.stdout, re.MULTILINE))
    assert passed, done.stdout[-2000:] + done.stderr[-2000:]
    assert failed == set(NEEDS_FIXTURES[suite])
