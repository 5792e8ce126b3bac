"""Writes docs/reliability.md from the records of campaigns, docs/soak/*.json; `--check` compares.

A record has the last run of one campaign. `make soak` fills in count, outcome, commit, date, seconds and load.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sources import ROOT

PAGE = ROOT / "docs" / "reliability.md"
RECORDS = ROOT / "docs" / "soak"
HEAD = """\
# Reliability: what is promised, and how it is shown

One row a campaign, its last whole run. `make test` runs a sample of most, the same in every run. `make soak` runs all
of them, `make soak ARGS=NAME` one, `BUDGET=2h` as many as fit, those first whose run is oldest; after a break it goes
on. It writes the record of each run, `docs/soak/NAME.json`. Add a row there, never here: this page is made by
`python tools/list_reliability.py`. All runs were on two cores that other programs shared; *load* is that of the machine
at the end. A run without a commit was made on one of its date or before. A defect that a campaign found is named under
*brings back*: `make soak ARGS=bug-NAME` runs the campaign's test on the code before its mend, and it fails.

| what is promised | how it is tried | how often | what was shown | last run | `make soak ARGS=…` | brings back |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Bug:
    """A defect that a campaign found; `test` fails on the parent of the commit `mended`.

    The tests are those of `mended`, or those of `tests` if the old code lacks what they name.
    """

    was: str
    mended: str
    test: str
    tests: str = ""


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign and its last run: `seconds` of wall time, `load` of the machine; None where it was not noted.

    `outcome` is `passed`, `failed`, or `not finished`; `passing` says what is shown if it passes.
    """

    name: str
    promise: str
    tried: str
    command: str
    passing: str
    count: str
    seed: str | None
    outcome: str
    commit: str | None
    date: str
    seconds: float | None
    load: float | None
    bugs: dict[str, Bug] = field(default_factory=dict[str, Bug])
    remark: str = ""


def read_campaigns(folder: Path = RECORDS) -> list[Campaign]:
    """All campaigns, by their promise and name; raise TypeError for a record with a missing or unknown key."""
    campaigns: list[Campaign] = []
    for path in folder.glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        bugs = {name: Bug(**bug) for name, bug in record.pop("bugs", {}).items()}
        campaigns.append(Campaign(name=path.stem, bugs=bugs, **record))
    return sorted(campaigns, key=lambda campaign: (campaign.promise, campaign.name))


def write_record(campaign: Campaign, folder: Path = RECORDS) -> None:
    """Write a campaign's record, for `read_campaigns` to read again."""
    record = asdict(campaign)
    text = json.dumps({key: value for key, value in record.items() if key != "name"}, indent=2, ensure_ascii=False)
    (folder / f"{campaign.name}.json").write_text(f"{text}\n", encoding="utf-8")


def page(campaigns: list[Campaign]) -> str:
    """The page, a promise being named in its first row."""
    lines: list[str] = []
    promise = ""
    for campaign in campaigns:
        cells = [
            campaign.promise if campaign.promise != promise else "",
            campaign.tried,
            campaign.count,
            _shown(campaign),
            _last_run(campaign),
            f"`{campaign.name}`",
            ", ".join(f"`bug-{name}`: {bug.was}" for name, bug in campaign.bugs.items()),
        ]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
        promise = campaign.promise
    return HEAD + "\n".join(lines) + "\n"


def _shown(campaign: Campaign) -> str:
    verdict = "" if campaign.outcome == "passed" else f"**{campaign.outcome}**: "
    return " ".join(part for part in (f"{verdict}{campaign.passing}.", campaign.remark) if part)


def _last_run(campaign: Campaign) -> str:
    facts = [
        campaign.date,
        campaign.commit and f"`{campaign.commit}`",
        campaign.seed and f"seed {campaign.seed}",
        None if campaign.seconds is None else f"{campaign.seconds:,.0f} s",
        None if campaign.load is None else f"load {campaign.load:.0f}",
    ]
    return ", ".join(fact for fact in facts if fact)


def main(argv: list[str] | None = None) -> int:
    """Write or check the page; return 1 if the check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when the page is out of date")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--records", type=Path, default=RECORDS)
    namespace = parser.parse_args(argv)
    made = page(read_campaigns(namespace.records))
    if not namespace.check:
        namespace.page.write_text(made, encoding="utf-8")
    elif namespace.page.read_text(encoding="utf-8") != made:
        print(
            "reliability.md is not as docs/soak is: change the record there and run python tools/list_reliability.py",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
