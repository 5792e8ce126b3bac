"""The page of reliability is made of its records, and `make soak` writes them, keeps to its budget and goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import list_reliability
import run_campaigns

PASSING_TEST = "def test_a(record_property):\n    record_property('kills', 1200)\n    record_property('seed', 7)\n"


def record(folder: Path, name: str, command: str, **changes: object) -> None:
    """A campaign that was run long ago."""
    values: dict[str, object] = {
        "promise": "It stays", "tried": f"by {name}", "command": command, "passing": "0 lost", "count": "1 kill",
        "seed": None, "outcome": "passed", "commit": None, "date": "2026-01-01", "seconds": None, "load": None,
    }  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(values | changes))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of records, with a page and a state of its own, for `run_campaigns.main`."""
    records = tmp_path / "records"
    records.mkdir()
    monkeypatch.setattr(run_campaigns, "RECORDS", records)
    monkeypatch.setattr(run_campaigns, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(run_campaigns, "STATE", tmp_path / "state.json")
    return records


def test_a_page_that_is_not_as_its_records_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(list_reliability.PAGE.read_text(encoding="utf-8") + "| one more row |\n")
    assert list_reliability.main(["--check", "--page", str(page)]) == 1
    assert "docs/soak" in capsys.readouterr().err
    assert list_reliability.main(["--page", str(page)]) == 0
    assert page.read_bytes() == list_reliability.PAGE.read_bytes()


def test_campaigns_are_recorded_and_those_without_time_are_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "test_a.py"
    test.write_text(PASSING_TEST)
    record(folder, "kills", f"NUMBER=3 pytest -n 0 -p no:cacheprovider --rootdir {tmp_path} {test}")
    record(folder, "failing", "python -c 'raise SystemExit(3)'", date="2026-01-02")
    record(folder, "long", "python -c pass", seconds=7200, date="2026-01-03")
    assert run_campaigns.main(["--budget", "1h"]) == 1
    assert "not run: long" in capsys.readouterr().out
    rows = {campaign.name: campaign for campaign in list_reliability.read_campaigns(folder)}
    assert (rows["kills"].outcome, rows["kills"].count, rows["kills"].seed) == ("passed", "1,200 kills, 1 tests", "7")
    assert rows["failing"].outcome == "failed"
    assert rows["kills"].commit
    assert (rows["long"].date, rows["long"].commit) == ("2026-01-03", None)
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "**failed**: 0 lost" in page
    assert run_campaigns.main(["--budget", "3h"]) == 0  # goes on with the one that is left
    assert "kills" not in capsys.readouterr().out
    assert not (tmp_path / "state.json").exists()


def test_a_campaign_is_ended_with_its_budget_and_not_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, "endless", "python -c 'import time; time.sleep(600)'")
    assert run_campaigns.main(["--budget", "1s"]) == 0
    assert "not run: endless" in capsys.readouterr().out
    assert [campaign.date for campaign in list_reliability.read_campaigns(folder)] == ["2026-01-01"]


def test_a_campaign_that_does_not_exist_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(folder, "kills", "python -c pass")
    with pytest.raises(SystemExit):
        run_campaigns.main(["power"])
    assert "make soak ARGS=--list" in capsys.readouterr().err


def test_every_command_runs_what_there_is() -> None:
    for campaign in list_reliability.read_campaigns():
        paths = [word.partition("::")[0] for word in campaign.command.split() if word.startswith(("tests/", "tools/"))]
        assert [path for path in paths if not (ROOT / path).exists()] == [], campaign.name
