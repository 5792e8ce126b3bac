"""Assessments of entries: stored as entries, and not repeated while they are recent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.toolsets.kb.service import assess, assessable, coverage, history
from indexed import Indexed

FILES = {
    "kb.yaml": "name: Teas\ntypes:\n  tea:\n    required: [origin]\n",
    "good.md": "---\nid: good\ntitle: Good\ntype: tea\norigin: Assam\n---\n\nA tea.\n",
    "bad.md": "---\nid: bad\ntitle: Bad\ntype: tea\n---\n\nSee [[nowhere]].\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def assessed(base: Indexed, max_age_hours: float) -> dict[str, str]:
    results = assess(base.collections, base.collection, assessable(base.collection), max_age_hours)
    base.index.sync()
    return {result.reference: result.status for result in results}


def test_an_assessment_is_an_entry_that_is_not_assessed_itself(base: Indexed) -> None:
    statuses = assessed(base, 0)
    assert statuses.keys() == {"good", "bad"}
    assert statuses["bad"] != "pass"
    assert {record.id for record in assessable(base.collection)} == {"good", "bad"}
    kept = {assessment.target: assessment for assessment in history(base.collection)}
    assert {target: assessment.status for target, assessment in kept.items()} == statuses
    assert kept["bad"].issues_found > 0
    covered = coverage(base.collection)
    assert (covered.total, covered.assessed) == (2, 2)
    assert covered.by_status["pass"] == list(statuses.values()).count("pass")


def test_only_changed_entries_are_assessed_again_while_an_assessment_is_recent(base: Indexed) -> None:
    assessed(base, 24)
    assert assessed(base, 24) == {}
    base.write("good.md", FILES["good.md"] + "\nMore.\n")
    base.index.sync()
    assert assessed(base, 24).keys() == {"good"}
    assert assessed(base, 0).keys() == {"good", "bad"}
    assert len(history(base.collection)) == 5
