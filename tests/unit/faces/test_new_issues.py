"""Lines and JSON of the issues that a write newly causes."""

from __future__ import annotations

from typing import cast

from commonplace.domain.documents import Severity
from commonplace.faces.new_issues import new_issue_json, new_issue_lines
from commonplace.services.collections import Collection
from commonplace.services.findings import Issue, NewIssues

ISSUE = Issue(
    collection=cast("Collection", None),
    path="a.md",
    entry_id="a",
    rule="broken_link",
    severity=Severity.WARNING,
    message="The link to 'b' leads nowhere.",
    line=3,
)


def test_an_issue_is_one_line_with_its_place_and_rule() -> None:
    assert new_issue_lines(NewIssues((ISSUE,))) == ["Warning in a.md:3: The link to 'b' leads nowhere. [broken_link]"]
    assert new_issue_json(NewIssues((ISSUE,))) == {
        "findings": [
            {
                "path": "a.md",
                "line": 3,
                "severity": "warning",
                "rule": "broken_link",
                "message": "The link to 'b' leads nowhere.",
            }
        ]
    }


def test_others_are_counted() -> None:
    assert new_issue_lines(NewIssues((ISSUE,), 1_200))[1:] == ["1,200 more findings are new; see check."]
    assert new_issue_json(NewIssues((ISSUE,), 1_200))["more_findings"] == 1_200


def test_a_write_without_new_issues_says_nothing() -> None:
    assert new_issue_lines(None) == new_issue_lines(NewIssues()) == []
    assert new_issue_json(None) == new_issue_json(NewIssues()) == {}
