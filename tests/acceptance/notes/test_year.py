"""A year of a team: what held on a day comes first as of that day, and the review queue has every planted fault."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from agent import agent
from shell import COMMAND
from soak.year import Year, day_of, made_year
from support import Amount

MOMENTS = (330, 60, 10, 40, 70, 100, 130, 160, 190, 220, 250, 280)
_FIRST = re.compile(r"(?m)^\[1\] ([^ #]+)")


@pytest.mark.timeout(3600)
def test_a_year_of_a_team(tmp_path: Path, amount: Amount) -> None:
    year = Year(7, amount(30, 400), amount(8, 150), amount(40, 900), amount(60, 2_000))
    repo = made_year(tmp_path / "base", year)
    answers = right = 0
    with agent("mcp", repo.path, "--no-embed") as notes:
        for moment in MOMENTS[: amount(2, 12)]:
            for question, pages_held in year.held.items():
                held = [path for day, path in pages_held if day <= moment][-1]
                text = notes.text("search", query=question, at=day_of(moment), max_tokens=300)
                match = _FIRST.search(text)
                answers += 1
                right += match is not None and match[1] == held
                marked = [" SUPERSEDED " in line for line in text.splitlines() if re.match(r"\[\d+\] ", line)]
                assert marked == sorted(marked), text
    assert right >= 0.95 * answers
    command = [*COMMAND, "review", "--json", "--kb", str(repo.path)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=1_200)  # a machine may be busy for a year
    items = json.loads(done.stdout)["items"]
    rows = {(item["path"], item["rule"], item["line"]) for item in items}
    missed, false = year.faults - rows, rows - year.faults
    assert len(missed) <= 0.02 * len(year.faults), sorted(missed)[:5]
    assert len(false) <= 0.05 * len(rows), sorted(false)[:5]
    assert year.faults
