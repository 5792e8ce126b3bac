"""After any writes, what is kept of earlier checks gives the answers of an index without an earlier state."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.index import open_index
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import collection_issues
from commonplace.services.health import finding_cache
from commonplace.toolsets.notes.service import overview
from indexed import Indexed
from support import Amount

NAMES = [f"{folder}{name}" for folder in ("", "in/", "in/deep/") for name in ("tea.md", "cup.md", "pot.md")]
PARTS = (
    "[[tea]]",
    "[[in/cup]] [[pot#Gone]]",
    "[x](cup.md#here) [y](no.md)",
    "[[nowhere]] and [[Nowhere#x]]",
    "## Here",
    "![](map.png)",
    "contradicts:: [[tea]]",
    "[[Green tea]] [[base:pot]]",
    "The quick brown fox jumps over the lazy dog, and then over the next one.",
)
FIELDS = (
    "title: Green tea",
    "id: tea",
    "aliases: [pot, Nowhere]",
    "contradicts: '[[cup]]'",
    "describes: in/cup.md",
    "review_by: 2020-01-01",
    "date: someday",
    "importance: 40",
    "type: event",
)
SCHEMA = "name: base\ntypes:\n  event:\n    required: [owner]\n"


def change(chance: random.Random, base: Indexed) -> None:
    """Change, create, delete or move some files, and tell the index."""
    touched: set[str] = set()
    for _ in range(chance.choice((1, 1, 2, 4))):
        name = chance.choice(NAMES)
        file = base.folder / name
        touched.add(name)
        if file.exists() and chance.random() < 0.4:
            target = chance.choice((*NAMES, ""))
            if target:
                touched.add(target)
                (base.folder / target).parent.mkdir(parents=True, exist_ok=True)
                file.rename(base.folder / target)
            else:
                file.unlink()
            continue
        fields = chance.sample(FIELDS, chance.randrange(3))
        lines = ["---", *fields, "---"] if fields else []
        base.write(name, "\n".join([*lines, "# Page", "", *chance.sample(PARTS, chance.randrange(5)), ""]))
    if chance.random() < 0.1:
        base.write("kb.yaml", SCHEMA)
    elif chance.random() < 0.3:
        (base.folder / "kb.yaml").unlink(missing_ok=True)
    base.index.update([Address(name) for name in sorted(touched)], 30)


def answers(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the kept values answer, without dates, which come later in a new index."""
    collections = Collections(lambda: [collection])
    issues = collection_issues(collections, collection)
    monkeypatch.setattr(overview, "_CACHE", BoundedCache[overview.FolderOverview](1))  # shared by indexes of a folder
    shown = overview.folder_overview(collections, collection, "")
    return {
        "records": [replace(record, created="", updated="") for record in collection.index.records()],
        "hubs": collection.index.hubs(20),
        "orphans": [record.address for record in collection.index.orphans()],
        "issues": sorted((issue.path, issue.line, issue.rule, issue.entry_id, issue.message) for issue in issues),
        "overview": replace(shown, recent=None, linking=""),
    }


@pytest.mark.parametrize("single", [50, 0])
def test_what_is_kept_answers_as_a_new_index(
    tmp_path: Path, amount: Amount, monkeypatch: pytest.MonkeyPatch, single: int
) -> None:
    monkeypatch.setattr(finding_cache, "MAX_SINGLE_QUERIES", single)
    for seed in range(amount(1, 40)):
        chance = random.Random(f"{seed}/{single}")
        with Indexed(tmp_path / str(seed), {"map.png": b"", "in/map.png": b""}) as base:
            for step in range(9):
                change(chance, base)
                fresh = open_index(base.store, tmp_path / f"{seed}-{step}")
                fresh.sync()
                kept_answers = answers(base.collection, monkeypatch)
                assert kept_answers == answers(replace(base.collection, index=fresh), monkeypatch), (seed, step)
                fresh.close()
