"""Quality checks of whole bases: 3,000 generated entries with types and links, some with faults, and real pages."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.measuring import Row, Spent, Work, spent
from benchmarks.trees import Tree, real_tree, skewed_prose, tree_of
from commonplace.bootstrap import Application
from commonplace.domain.addresses import Address
from commonplace.services import findings
from commonplace.services.collections import Collection, Collections
from commonplace.settings import default_settings
from commonplace.toolsets.notes.service.overview import folder_overview

PART = "quality"
ENTRIES = 3_000
PAGES = "powershell-docs"
"""A corpus of 3,000 pages that declares no types."""
MANY = 10_000
"""Number of pages of the generated tree that stands for a large corpus."""
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
    many = tree_of(work, MANY)
    yield _row(work, many.folder, f"{many.files:,} pages of {many.name}")
    yield from _overviews(work, many)


def _overviews(work: Work, tree: Tree) -> Iterator[Row]:
    """The CPU time of an overview of many pages: after a start, unchanged, after a write."""
    settings = replace(default_settings(), cache_dir=work.folder / "cache", state_dir=work.folder / "state")
    after_start: list[float] = []
    unchanged: list[float] = []
    after_write: list[float] = []
    file = min(tree.folder.rglob("*.md"))
    text = file.read_bytes()
    for _ in range(max(work.runs, 3)):
        application = Application([tree.folder], settings)
        try:
            application.sync()
            collections = application.services.collections
            (collection,) = collections
            show = partial(folder_overview, collections, collection, "")
            after_start.append(spent(show).cpu)
            unchanged.append(spent(show).cpu)
            for number in range(3):
                file.write_bytes(text + b"\nLine %d.\n" % number)
                collection.index.update([Address(file.relative_to(tree.folder).as_posix())], 60)
                after_write.append(spent(show).cpu)
        finally:
            application.close()
            file.write_bytes(text)
    for name, costs, reach in (
        ("after a start", after_start, ""),
        ("unchanged", unchanged, "≤ 20"),
        ("after a write", after_write, "≤ 100"),
    ):
        milliseconds = 1000 * median(costs)
        yield Row(PART, f"overview of {tree.files:,} pages of {tree.name}, {name}", milliseconds, "CPU ms", reach)


def _row(work: Work, folder: Path, what: str) -> Row:
    """The time of checking one base. Each check is the first of its process."""
    settings = replace(default_settings(), cache_dir=work.folder / "cache", state_dir=work.folder / "state")
    costs: list[Spent] = []
    rules = ""
    for _ in range(max(work.runs, 3)):
        application = Application([folder], settings)
        try:
            application.sync()
            collections = application.services.collections
            (collection,) = collections
            issues: list[findings.Issue] = []
            costs.append(spent(partial(_check, collections, collection, issues)))
            rules = ", ".join(
                f"{count} {rule}" for rule, count in Counter(issue.rule for issue in issues).most_common()
            )
        finally:
            application.close()
    cpu, wall = median(cost.cpu for cost in costs), median(cost.wall for cost in costs)
    return Row(PART, f"checks of a whole base, {what}", cpu, "CPU s", "< 1", f"{wall:.2f} s; found {rules}")


def _check(collections: Collections, collection: Collection, issues: list[findings.Issue]) -> None:
    issues += findings.collection_issues(collections, collection)


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
