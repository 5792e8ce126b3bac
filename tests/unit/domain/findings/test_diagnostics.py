"""Results of a check that count as problems."""

from __future__ import annotations

import pytest

from commonplace.domain.documents import Severity
from commonplace.domain.findings import Diagnostic


@pytest.mark.parametrize(
    ("severity", "is_problem"),
    [(None, False), (Severity.INFO, False), (Severity.WARNING, True), (Severity.ERROR, True)],
)
def test_errors_and_warnings_are_problems_and_nothing_else_is(severity: Severity | None, is_problem: bool) -> None:
    assert Diagnostic("disk", severity, "cache", "12 GB free").is_problem is is_problem


def test_every_severity_is_decided() -> None:
    problems = {severity: Diagnostic("disk", severity, "cache", "").is_problem for severity in Severity}
    assert [severity for severity, is_problem in problems.items() if not is_problem] == [Severity.INFO]
