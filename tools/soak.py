"""Implements `make soak`: runs every test that `make test` only samples at full size, and prints a page of results.

The figures go by hand into the campaign's row of `docs/reliability.md`. They are the rounds for which each test called
`amount`, and the values recorded with `record_property`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 3 * 3600
"""Timeout in seconds of one test."""


@dataclass(frozen=True, slots=True)
class Row:
    """One test of the run."""

    name: str
    outcome: str
    seconds: float
    figures: str


def main() -> int:
    """Run all tests; return pytest's exit code."""
    command = ["pytest", "-n", "auto", "-o", f"timeout={TIMEOUT}", *sys.argv[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", *command, f"--junit-xml={report}"],
            cwd=ROOT,
            env=os.environ | {"SOAK": "1"},
            check=False,
        )
        rows = _rows(report)
    print(_page(rows, " ".join(command), time.monotonic() - began))
    return done.returncode


def _rows(report: Path) -> list[Row]:
    """The tests that ran, from pytest's report, which is trusted because this process had it written."""
    cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314
    rows = [_row(case) for case in cases]
    return sorted((row for row in rows if row.outcome != "skipped"), key=lambda row: row.name)


def _row(case: ET.Element) -> Row:
    outcomes = {"failure": "failed", "error": "error", "skipped": "skipped"}
    outcome = next((outcomes[child.tag] for child in case if child.tag in outcomes), "passed")
    figures = dict.fromkeys(f"{element.get('name')} {element.get('value')}" for element in case.iter("property"))
    module = (case.get("classname") or "").removeprefix("tests.")
    return Row(f"{module} {case.get('name')}", outcome, float(case.get("time") or 0), ", ".join(figures))


def _page(rows: list[Row], command: str, seconds: float) -> str:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    failed = sum(row.outcome != "passed" for row in rows)
    lines = [
        f"# Soak run of {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "",
        f"`SOAK=1 {command}` at `{commit.stdout.strip() or 'no commit'}`: {len(rows)} tests, {failed} failed,",
        f"{seconds / 60:.0f} minutes on {_machine()}, Python {platform.python_version()}.",
        "",
        "| test | outcome | s | figures |",
        "|---|---|---:|---|",
        *(f"| {_cell(row.name)} | {row.outcome} | {row.seconds:,.0f} | {_cell(row.figures)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _machine() -> str:
    """Number of cores and processor name, as far as the system reports them."""
    facts = Path("/proc/cpuinfo")
    models = (
        [line.partition(": ")[2] for line in facts.read_text().splitlines() if "model name" in line]
        if facts.exists()
        else []
    )
    return f"{os.cpu_count()} cores ({models[0] if models else platform.machine()})"


if __name__ == "__main__":
    sys.exit(main())
