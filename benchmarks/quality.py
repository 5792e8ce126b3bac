"""Quality checks of whole bases: 3,000 generated entries with types and links, some with faults, and real pages."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.measuring import Row, Work, median_spent
from benchmarks.trees import real_tree, skewed_prose
from commonplace.bootstrap import Application
from commonplace.services import findings
from commonplace.settings import default_settings

PART = "quality"
ENTRIES = 3_000
PAGES = "powershell-docs"
"""A corpus of 3,000 pages that declares no types."""
SCHEMA = """\
name: bench
types:
  runbook:
    required: [title, owner]
    fields:
      owner: {type: text, required: true}
      severity: {type: select, options: [low, medium, high]}
      minutes: {type: number, min: 1, max: 500}
evaluation_rubric:
  - "At least two tags"
  - "Has at least three links"
policies: {stale_after_days: 36500}
"""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    folder = work.folder / "base"
    write_base(folder)
    yield _row(work, folder, f"{ENTRIES:,} entries")
    tree = real_tree(work.folder, PAGES)
    if tree is not None:
        yield _row(work, tree.folder, f"{tree.files:,} pages of {PAGES}")


def _row(work: Work, folder: Path, what: str) -> Row:
    """The time of checking one base. No check reuses the result of another."""
    settings = replace(default_settings(), cache_dir=work.folder / "cache", state_dir=work.folder / "state")
    application = Application([folder], settings)
    try:
        application.sync()
        collections = application.services.collections
        (collection,) = collections
        found = findings.collection_issues(collections, collection)
        rules = ", ".join(f"{count} {rule}" for rule, count in Counter(one.rule for one in found).most_common())
        cost = median_spent(max(work.runs, 3), lambda: findings.collection_issues(collections, collection))
        return Row(
            PART, f"checks of a whole base, {what}", cost.cpu, "CPU s", "< 1", f"{cost.wall:.2f} s; found {rules}"
        )
    finally:
        application.close()


def write_base(folder: Path) -> None:
    """Write the entries, some of which violate a rule."""
    chance = random.Random(ENTRIES)
    prose = skewed_prose(chance)
    (folder / "runbooks").mkdir(parents=True)
    (folder / "kb.yaml").write_text(SCHEMA)
    for number in range(ENTRIES):
        (folder / "runbooks" / f"entry-{number}.md").write_text(entry(chance, prose, number))


def entry(chance: random.Random, prose: list[str], number: int) -> str:
    """A runbook of about 150 words with three links; every fiftieth has a fault."""
    at = chance.randrange(len(prose) - 200)
    links = " ".join(f"[[runbooks/entry-{chance.randrange(ENTRIES)}]]" for _ in range(3))
    odd = number % 50 == 0
    lines = [
        "---",
        "type: runbook",
        f"title: {' '.join(prose[at : at + 4])} {number}",
        f"tags: [{prose[at]}, area/{number % 20}]",
        f"severity: {'extreme' if odd else 'low'}",
        f"minutes: {number % 400 + 1}",
        f"importance: {11 if odd else number % 10 + 1}",
        f"date: {'someday' if odd else '2026-01-02'}",
        *(() if number % 100 == 1 else ("owner: harbour office",)),
        "---",
        f"See {links}{' [[nowhere]]' if odd else ''}.",
        "",
        " ".join(prose[at : at + 150]),
    ]
    return "\n".join([*lines, ""])
