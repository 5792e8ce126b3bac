"""Every rule of the quality checks: an entry that breaks it, and one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.bootstrap import Application
from commonplace.services import findings
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import Issue
from commonplace.settings import default_settings
from indexed import Indexed

KB = """\
name: base
types:
  runbook:
    required: [title]
    fields:
      severity: {type: select, options: [low, high]}
validation:
  rules:
    - {field: pages, min: 1, max: 100}
evaluation_rubric:
  - Every note has at least two words
policies: {stale_after_days: 30}
"""
NOW = "2999-01-01"
GOOD = "type: runbook\ntitle: Good\ndate: 2026-01-02\nimportance: 10\nseverity: low\npages: 100\n"
ENTRIES = {
    "good.md": f"---\n{GOOD}updated: {NOW}\n---\nTwo words, and [[odd]].\n",
    "odd.md": f"---\ntype: event\ntitle: Odd\ndate: 2024-02-29\nupdated: {NOW}\n---\nTwo words and [[good]].\n",
    "untitled.md": f"---\nupdated: {NOW}\n---\nNo heading [[good]].\n",
    "headed.md": f"---\nupdated: {NOW}\n---\n# Headed\n\nTwo words [[good]].\n",
    "empty.md": f"---\ntitle: Empty\nupdated: {NOW}\n---\n",
    "undated.md": f"---\ntype: event\ntitle: Undated\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "no-day.md": f"---\ntitle: No day\ndate: 2023-02-29\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "weighty.md": f"---\ntitle: Weighty\nimportance: 11\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "severe.md": f"---\ntype: runbook\ntitle: Severe\nseverity: extreme\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "thick.md": f"---\ntitle: Thick\npages: 101\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "broken.md": f"---\ntitle: Broken\nupdated: {NOW}\n---\nTwo words [[nowhere]].\n",
    "short.md": f"---\ntitle: Short\nupdated: {NOW}\n---\nOne\n",
    "twin-a.md": f"---\ntitle: Twin\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "twin-b.md": f"---\ntitle: twin\nupdated: {NOW}\n---\nTwo words [[good]].\n",
    "old.md": "---\ntitle: Old\nupdated: 2020-01-01\n---\nTwo words [[good]].\n",
}
BROKEN = [
    ("missing_title", "error", "untitled"),
    ("empty_body", "warning", "empty"),
    ("event_missing_date", "error", "undated"),
    ("invalid_date", "error", "no-day"),
    ("importance_range", "warning", "weighty"),
    ("broken_link", "warning", "broken"),
    ("schema_violation", "warning", "severe"),
    ("schema_violation", "warning", "thick"),
    ("rubric_violation", "warning", "short"),
    ("rubric_violation", "warning", "empty"),
    ("duplicate_title", "warning", "twin-a"),
    ("duplicate_title", "warning", "twin-b"),
    ("stale", "info", "old"),
]


@pytest.fixture(scope="module")
def issues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Issue]]:
    folder = tmp_path_factory.mktemp("quality")
    (folder / "base").mkdir()
    (folder / "base" / "kb.yaml").write_text(KB)
    for name, text in ENTRIES.items():
        (folder / "base" / name).write_text(text)
    settings = replace(default_settings(), cache_dir=folder / "cache", state_dir=folder / "state")
    application = Application([folder / "base"], settings)
    application.sync()
    (collection,) = application.services.collections
    yield findings.collection_issues(application.services.collections, collection)
    application.close()


@pytest.mark.parametrize(("rule", "severity", "entry"), BROKEN)
def test_a_rule_finds_what_breaks_it(issues: list[Issue], rule: str, severity: str, entry: str) -> None:
    assert (rule, severity) in [(issue.rule, issue.severity.value) for issue in issues if issue.entry_id == entry]


@pytest.mark.parametrize("rule", sorted({rule for rule, _, _ in BROKEN}))
def test_a_rule_finds_nothing_in_what_keeps_it(issues: list[Issue], rule: str) -> None:
    assert {issue.entry_id for issue in issues if issue.rule == rule} == {
        entry for name, _, entry in BROKEN if name == rule
    }


def test_an_entry_that_keeps_every_rule_has_no_issue_and_orphans_are_those_without_links_to_them(
    issues: list[Issue],
) -> None:
    assert not [issue for issue in issues if issue.entry_id in {"good", "odd"}]
    orphans = {issue.entry_id for issue in issues if issue.rule == "orphan_entry"}
    assert orphans == {name.removesuffix(".md") for name in ENTRIES} - {"good", "odd"}
    assert {issue.severity.value for issue in issues if issue.rule == "orphan_entry"} == {"info"}


def test_an_entry_that_is_deleted_meanwhile_does_not_stop_the_check_of_a_collection(tmp_path: Path) -> None:
    untitled = "---\ntype: note\n---\nNo heading.\n"
    with Indexed(tmp_path, {"kb.yaml": "name: base\n", "gone.md": untitled, "left.md": untitled}) as base:
        collection = Collection(name="base", store=base.store, index=base.index)
        (base.folder / "gone.md").unlink()
        collection_issues = findings.collection_issues(Collections(lambda: [collection]), collection)
    assert ("left", "missing_title") in {(issue.entry_id, issue.rule) for issue in collection_issues}
