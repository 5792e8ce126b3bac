"""Implements `make soak`: runs the campaigns of docs/soak whole, and writes the record of each.

`ARGS=NAME…` chooses campaigns; without, all are run, those first whose run is oldest, and those that this round has
already run are passed over until all are done. `BUDGET=10m`, `2h` or `24h` ends the run: a campaign is not begun if its
last run took longer than what is left, and ended when nothing is left. `ARGS=bug-NAME` brings an old defect back.

A campaign's `command` is a line of words, variables of the environment first. In one of pytest, `{others}` stands for
the tests that no other campaign runs. Its count is of the rounds for which the tests called `amount` and of the values
recorded with `record_property`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from list_reliability import PAGE, RECORDS, Bug, Campaign, page, read_campaigns, write_record
from sources import ROOT

STATE = ROOT / ".cache" / "soak.json"
"""The names of the campaigns that the present round has run; outside the tracked files."""
TIMEOUT = 3 * 3600
"""Timeout in seconds of one test."""
UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ending of a run, `passed`, `failed` or `not run`, and its figures as text."""

    name: str
    count: str = ""


def main(argv: list[str] | None = None) -> int:
    """Run what is chosen; return 0 if all that ran has passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a campaign, or bug-NAME")
    parser.add_argument("--list", action="store_true", help="name the campaigns and bugs, and run nothing")
    parser.add_argument("--budget", type=_seconds, default=os.environ.get("BUDGET") or "1000h")
    namespace = parser.parse_args(argv)
    campaigns = {campaign.name: campaign for campaign in read_campaigns(RECORDS)}
    bugs = {f"bug-{name}": bug for campaign in campaigns.values() for name, bug in campaign.bugs.items()}
    if namespace.list:
        print("\n".join([*campaigns, *bugs]))
        return 0
    if unknown := [name for name in namespace.names if name not in campaigns and name not in bugs]:
        parser.error(f"no campaign or bug is called {', '.join(unknown)}; make soak ARGS=--list names them")
    failed = [name for name in namespace.names if name in bugs and not _comes_back(name, bugs[name])]
    names = [name for name in namespace.names if name in campaigns]
    if names or not namespace.names:
        failed += _run(campaigns, names, time.monotonic() + namespace.budget)
    return int(bool(failed))


def _seconds(budget: str) -> float:
    match = re.fullmatch(r"(\d+)([smh])", budget)
    if not match:
        message = f"a budget is a number and s, m or h, as in 10m; not {budget!r}"
        raise argparse.ArgumentTypeError(message)
    return int(match[1]) * UNITS[match[2]]


def _run(campaigns: dict[str, Campaign], names: list[str], deadline: float) -> list[str]:
    """Run the named campaigns, or those that are left of the round; return the names of those that failed."""
    done: list[str] = json.loads(STATE.read_text()) if STATE.exists() else []
    left = [
        name for name in names or sorted(campaigns, key=lambda name: campaigns[name].date) if names or name not in done
    ]
    failed: list[str] = []
    skipped: list[str] = []
    for name in left:
        remaining = deadline - time.monotonic()
        if remaining < (campaigns[name].seconds or 0):
            skipped.append(name)
            continue
        print(f"soak: {name} …", flush=True)
        outcome, campaign = _run_campaign(campaigns, name, remaining)
        print(f"soak: {name}: {outcome.name} {outcome.count}", flush=True)
        if outcome.name == "not run":
            skipped.append(name)
            continue
        failed += [name] if outcome.name == "failed" else []
        write_record(campaign, RECORDS)
        done.append(name)
        STATE.write_text(json.dumps(done))
    PAGE.write_text(page(read_campaigns(RECORDS)), encoding="utf-8")
    if skipped:
        print(f"soak: not run: {', '.join(skipped)}")
    elif not names:
        STATE.unlink(missing_ok=True)
    return failed


def _run_campaign(campaigns: dict[str, Campaign], name: str, remaining: float) -> tuple[Outcome, Campaign]:
    """The outcome of one campaign, and its record after it."""
    campaign = campaigns[name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        environment, command = _command(campaign.command, _others(campaigns), report)
        code = _ended(command, os.environ | environment, remaining)
        count, seed = _figures(report) if report.exists() else ("", None)
    if code is None:
        return Outcome("not run", f"after {time.monotonic() - began:,.0f} s the budget was used up"), campaign
    outcome = Outcome("failed" if code else "passed", count)
    return outcome, replace(
        campaign,
        count=count or campaign.count,
        seed=seed or campaign.seed,
        outcome=outcome.name,
        commit=_git("describe", "--always", "--dirty"),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        seconds=round(time.monotonic() - began),
        load=round(os.getloadavg()[1], 1),
    )


def _command(line: str, others: list[str], report: Path) -> tuple[dict[str, str], list[str]]:
    """The environment and the words of a campaign's command."""
    words = shlex.split(line)
    environment: dict[str, str] = {}
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    program, *arguments = words
    arguments = [word for argument in arguments for word in (others if argument == "{others}" else [argument])]
    if program == "pytest":
        workers = [] if "-n" in arguments else ["-n", "auto"]
        options = [*workers, "-o", f"timeout={TIMEOUT}", f"--junit-xml={report}"]
        return environment, [sys.executable, "-m", "pytest", "-q", *options, *arguments]
    return environment, [sys.executable if program == "python" else program, *arguments]


def _others(campaigns: dict[str, Campaign]) -> list[str]:
    """Pytest's arguments for all tests but those files and folders that campaigns name whole."""
    commands = [campaign.command for campaign in campaigns.values() if " -k " not in campaign.command]
    return ["tests", *(f"--ignore={word}" for line in commands for word in line.split() if word.startswith("tests/"))]


def _ended(command: list[str], environment: dict[str, str], remaining: float) -> int | None:
    """The exit code of a command, or None if it was ended because its time was over."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        return process.wait(remaining)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _figures(report: Path) -> tuple[str, str | None]:
    """The recorded values of the tests that ran, added up, and their seed, from pytest's report."""
    cases = [case for case in ET.parse(report).getroot().iter("testcase") if case.find("skipped") is None]  # noqa: S314
    sums: Counter[str] = Counter()
    texts: dict[str, None] = {}
    seeds: dict[str, None] = {}
    for case in cases:
        for element in case.iter("property"):
            name, value = str(element.get("name")), str(element.get("value"))
            if name == "seed":
                seeds[value] = None
            elif value.isdecimal():
                sums[name] += int(value)
            else:
                texts[f"{name} {value}"] = None
    failures = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    figures = [f"{value:,} {name}" for name, value in sums.items()]
    tests = f"{len(cases)} tests" + (f", {failures} of them failed" if failures else "")
    return ", ".join([*figures, *texts, tests]), ", ".join(seeds) or None


def _comes_back(name: str, bug: Bug) -> bool:
    """Whether a defect's test fails on the code before its mend, in a work tree of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        (Path(scratch) / "shared").symlink_to(ROOT.parent / "shared")
        _git("worktree", "add", "--detach", str(tree), f"{bug.mended}^")
        try:
            _git("-C", str(tree), "checkout", _git("rev-parse", bug.tests or bug.mended), "--", "tests")
            words = [sys.executable, "-m", "pytest", "-q", "-n", "0", bug.test]
            ran = subprocess.run(
                words, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree / "src")}, check=False,
                capture_output=True, text=True,
            )  # fmt: skip
        finally:
            _git("worktree", "remove", "--force", str(tree))
    print(ran.stdout, ran.stderr)
    came = ran.returncode == 1  # pytest's code for tests that failed; others are errors of the run
    print(f"soak: {name}: {'comes back' if came else 'does NOT come back'} before {bug.mended}: {bug.was}")
    return came


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
