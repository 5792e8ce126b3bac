"""Lines and JSON of the issues that a write newly causes."""

from __future__ import annotations

from commonplace.domain.documents import Severity
from commonplace.domain.findings import NewFinding, NewFindings
from commonplace.faces.new_findings import UNCHECKED, new_finding_json, new_finding_lines

ISSUE = NewFinding(
    path="a.md",
    rule="broken_link",
    severity=Severity.WARNING,
    message="The link to 'b' leads nowhere.",
    line=3,
)


def test_an_issue_is_one_line_with_its_place_and_rule() -> None:
    assert new_finding_lines(NewFindings((ISSUE,))) == [
        "Warning in a.md:3: The link to 'b' leads nowhere. [broken_link]"
    ]
    assert new_finding_json(NewFindings((ISSUE,))) == {
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
    assert new_finding_lines(NewFindings((ISSUE,), 1_200))[1:] == ["1,200 more findings are new; see check."]
    assert new_finding_json(NewFindings((ISSUE,), 1_200))["more_findings"] == 1_200


def test_a_write_without_new_findings_says_nothing() -> None:
    assert new_finding_lines(NewFindings()) == []
    assert new_finding_json(NewFindings()) == {}


def test_findings_that_were_not_looked_for_are_not_denied() -> None:
    late = NewFindings(complete=False)
    assert new_finding_lines(late) == [new_finding_json(late)["findings_note"]] == [UNCHECKED]
