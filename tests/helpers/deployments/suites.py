"""The acceptance suites that run on deployments with replicas, too, and a sample of them with one test of each face."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from deployments.deployment import ENGINE
from support import ROOT

ACCEPTANCE = "tests/acceptance"
SUITES = (
    "notes",
    "kb",
    "wiki",
    "test_wiki.py",
    "test_wiki_writing.py",
    "pages",
    "cascade",
    "http/test_rest.py",
    "http/test_preconditions.py",
    "web/test_pages.py",
    "web/test_kinds.py",
    "cli/test_reading.py",
    "cli/test_writing.py",
    "cli/test_transcripts.py",
)
"""Files and folders below the acceptance suites."""


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """The result of a run."""

    outcomes: Mapping[str, int]
    """Number of tests by outcome: passed, failed, skipped."""
    failed: Sequence[str]
    """Names of the tests that failed, or could not be set up."""
    skipped: Sequence[str]
    """Reasons of those that were left out, each once."""
    output: str
    """The end of what pytest printed."""


def run_suites(
    deployment: str, tests: Sequence[str], place: Path, *, engine: str = "", workers: int = 0
) -> SuiteReport:
    """Run tests on a deployment, in a process of its own.

    Args:
        deployment: As `deployment.DEPLOYMENT`.
        tests: Below the acceptance suites.
        place: An empty folder.
        engine: URL of the search cluster.
        workers: Number of processes beside each other; 0 for none.
    """
    own = {"DEPLOYMENT": deployment, **({ENGINE: engine} if engine else {})}
    inherited = {name: value for name, value in os.environ.items() if name != "SOAK" and not name.startswith("PYTEST_")}
    report = place / "report.xml"
    options = [
        "-q",
        "-n",
        str(workers),
        "-p",
        "no:cacheprovider",
        f"--junit-xml={report}",
        f"--basetemp={place / 'tests'}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(f"{ACCEPTANCE}/{test}" for test in tests)],
        cwd=ROOT,
        env={**inherited, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.is_file(), done.stdout[-2_000:] + done.stderr[-2_000:]
    cases = [(case, _outcome(case)) for case in ET.parse(report).getroot().iter("testcase")]  # noqa: S314 - just written
    reasons = [str(element.get("message")) for case, _ in cases for element in case.findall("skipped")]
    return SuiteReport(
        Counter(outcome for _, outcome in cases),
        [f"{case.get('classname')}.{case.get('name')}" for case, outcome in cases if outcome == "failed"],
        sorted(set(reasons)),
        done.stdout[-4_000:],
    )


def _outcome(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "passed" if case.find("skipped") is None else "skipped"
