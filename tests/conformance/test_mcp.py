"""The public MCP conformance suite: the server as it is shipped, and with a plugin that has what the suite calls."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from npm import environment, needs_npm
from serving import Server, served
from support import ROOT, GitRepo
from wiki_base import NOTES

HERE = Path(__file__).parent
NEEDS_FIXTURES: dict[str, list[str]] = json.loads((HERE / "needs_fixtures.json").read_text())
"""Scenarios by suite that call the suite's own tools, prompts and resources, which the product lacks."""
EXTENSION = "tasks-"
"""Scenarios of an optional extension that is not offered."""
SUITES = ("0.1.16", "0.2.0-alpha.12 2025-11-25", "0.2.0-alpha.12 2026-07-28")
"""A version of the suite, and the revision of the protocol where it takes one."""
DOCUMENTED = (ROOT / "docs" / "conformance.md").read_text().splitlines()

pytestmark = [needs_npm, pytest.mark.timeout(600)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Checks passed and failed, by scenario."""

    passed: dict[str, int]
    failed: dict[str, int]

    @property
    def failing(self) -> set[str]:
        return {name for name, checks in self.failed.items() if checks}


MakeServer = Callable[[str], Server]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeServer]:
    """A server "as shipped", or "with fixtures"."""
    with ExitStack() as stack:

        @cache
        def running(which: str) -> Server:
            repo = GitRepo(tmp_path_factory.mktemp("base"))
            repo.git("init", "--quiet")
            for path, text in NOTES.items():
                repo.write(path, text)
            env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
            if which == "with fixtures":
                env["PYTHONPATH"] = str(_installed(tmp_path_factory.mktemp("site")))
            return stack.enter_context(served(repo.path, env=env))

        yield running


def _installed(site: Path) -> Path:
    """A folder that Python takes for installed packages, with the plugin and its entry point."""
    about = site / "conformance_fixtures-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: conformance-fixtures\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[commonplace.plugins]\nfixtures = conformance_fixtures:Fixtures\n")
    (site / "conformance_fixtures.py").write_text((HERE / "fixtures" / "conformance_fixtures.py").read_text())
    return site


def _outcome(suite: str, server: Server) -> Outcome:
    version, _, revision = suite.partition(" ")
    command = [
        "conformance",
        "server",
        "--url",
        f"{server.url}/mcp",
        *(["--requirements", revision] if revision else []),
    ]
    env = environment(f"@modelcontextprotocol/conformance@{version}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=env)
    rows = re.findall(r"^[✓✗] ([\w.-]+): (\d+) passed, (\d+) failed", done.stdout, re.MULTILINE)
    assert rows, done.stdout[-2000:] + done.stderr[-2000:]
    return Outcome({name: int(passed) for name, passed, _ in rows}, {name: int(failed) for name, _, failed in rows})


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.sampled(2)
def test_with_fixtures_everything_passes_but_an_extension_that_is_not_offered(suite: str, server: MakeServer) -> None:
    outcome = _outcome(suite, server("with fixtures"))
    assert {name for name in outcome.failing if not name.startswith(EXTENSION)} == set()
    assert set(NEEDS_FIXTURES[suite]) <= set(outcome.passed)
    assert _row(suite, "with fixtures", outcome) in DOCUMENTED


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.sampled(3)
def test_as_shipped_nothing_fails_but_what_needs_fixtures(suite: str, server: MakeServer) -> None:
    outcome = _outcome(suite, server("as shipped"))
    assert {name for name in outcome.failing if not name.startswith(EXTENSION)} == set(NEEDS_FIXTURES[suite])
    assert _row(suite, "as shipped", outcome) in DOCUMENTED


def _row(suite: str, which: str, outcome: Outcome) -> str:
    """The row of the documentation that says what came out."""
    scenarios = f"{len(outcome.passed) - len(outcome.failing)} of {len(outcome.passed)}"
    good, bad = sum(outcome.passed.values()), sum(outcome.failed.values())
    return f"| {suite} | {which} | {scenarios} | {good} of {good + bad} |"
